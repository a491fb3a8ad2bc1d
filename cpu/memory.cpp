#include "cpu/memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"

namespace pumice::cpu {
namespace {

// From here on memory is mapped of its own.
constexpr int64_t large = 256 << 10;

void put(std::vector<Point>& uses, const Point& point) {
    for (Point& use : uses)
        if (use.stream == point.stream) {
            use.number = point.number;
            return;
        }
    std::erase_if(uses, [](const Point& use) { return use.reached(); });
    uses.push_back(point);
}

}  // namespace

int64_t physical_memory() {
    static const int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGE_SIZE));
    return bytes;
}

std::shared_ptr<Pool> new_pool() { return std::make_shared<Pool>(std::min<int64_t>(256 << 20, physical_memory() / 16)); }

Memory::Memory(InUse counter, std::shared_ptr<Pool> given_pool, int64_t size, const std::string& device)
    : in_use(std::move(counter)), pool(std::move(given_pool)) {
    // The system would promise more than there is, and end the process when it is used.
    if (size > physical_memory() - *in_use)
        fail("cannot allocate ", size, " bytes on ", device, ": of the machine's ", physical_memory(),
             " bytes of memory its arrays take ", in_use->load(), " already");
    if (size > physical_memory() - *in_use - pool->kept()) pool->trim();
    if (size >= large) {
        block = pool->take(size);
    } else {
        block.bytes = (size + 63) / 64 * 64;
        block.data = static_cast<std::byte*>(std::aligned_alloc(64, size_t(block.bytes)));
    }
    if (!block.data) fail("cannot allocate ", size, " bytes on ", device, ": the system gives no more memory");
    data = block.data;
    *in_use += bytes = size;
}

Memory::~Memory() {
    if (bytes >= large) pool->give(block);
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
