#include "cpu/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/error.h"

namespace pumice::cpu {
namespace {

// From here on memory is mapped of its own: it is zero without being touched, and goes back to the system when it is freed.
constexpr int64_t large = 256 << 10;
constexpr int64_t huge_page = 2 << 20;

void put(std::vector<Point>& uses, const Point& point) {
    for (Point& use : uses)
        if (use.stream == point.stream) {
            use.number = point.number;
            return;
        }
    std::erase_if(uses, [](const Point& use) { return use.reached(); });
    uses.push_back(point);
}

/// Mapped memory that begins at a huge page where it fills some: the processor then looks up far fewer addresses.
void* map(size_t bytes) {
    const size_t slack = bytes >= size_t(huge_page) ? size_t(huge_page) : 0;
    void* const mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    if (slack == 0) return mapped;
    std::byte* const begin = static_cast<std::byte*>(mapped);
    const size_t before = (size_t(huge_page) - reinterpret_cast<uintptr_t>(begin) % size_t(huge_page)) % size_t(huge_page);
    const size_t page = size_t(sysconf(_SC_PAGESIZE)), kept = (bytes + page - 1) / page * page;
    if (before > 0) munmap(begin, before);
    if (slack > before) munmap(begin + before + kept, slack - before);
    madvise(begin + before, kept, MADV_HUGEPAGE);
    return begin + before;
}

}  // namespace

int64_t physical_memory() {
    static const int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGE_SIZE));
    return bytes;
}

Memory::Memory(InUse counter, int64_t size, bool zero, const std::string& device) : in_use(std::move(counter)), mapped(size >= large) {
    // The system would promise more than there is, and end the process when it is used.
    if (size > physical_memory() - *in_use)
        fail("cannot allocate ", size, " bytes on ", device, ": of the machine's ", physical_memory(), " bytes of memory its arrays take ",
             in_use->load(), " already");
    const size_t rounded = (size_t(size) + 63) / 64 * 64;
    data = static_cast<std::byte*>(mapped ? map(size_t(size)) : std::aligned_alloc(64, rounded));
    if (!data) fail("cannot allocate ", size, " bytes on ", device, ": the system gives no more memory");
    if (zero && !mapped) std::memset(data, 0, rounded);
    *in_use += bytes = size;
}

Memory::~Memory() {
    if (mapped) munmap(data, size_t(bytes));
    else std::free(data);
    *in_use -= bytes;
}

void note_use(Memory& memory, const Point& point, bool write) { put(write ? memory.writes : memory.reads, point); }

void conflicts(const Memory& memory, const Stream* stream, const Stream& standard, bool write, std::vector<Point>& after) {
    const auto add = [&](const std::vector<Point>& uses) {
        for (const Point& use : uses) {
            const bool ordered = !stream || stream == &standard || use.stream == &standard;
            if (ordered && use.stream != stream && !use.reached()) after.push_back(use);
        }
    };
    add(memory.writes);
    if (write) add(memory.reads);
}

}  // namespace pumice::cpu
