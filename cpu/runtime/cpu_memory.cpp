#include "cpu/runtime/cpu_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/support/error.h"

namespace pumice::cpu {
namespace {

// Allocations from this size on get mapped pages of their own.
constexpr int64_t large = 256 << 10;

constexpr size_t most_few = 16;

}  // namespace

int64_t physical_memory() {
    static const int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * int64_t(sysconf(_SC_PAGE_SIZE));
    return bytes;
}

std::shared_ptr<MemoryPool> new_pool() {
    return std::make_shared<MemoryPool>(std::min<int64_t>(256 << 20, physical_memory() / 16));
}

CpuMemory::CpuMemory(InUse counter, std::shared_ptr<MemoryPool> given_pool, int64_t size, const std::string& device)
    : in_use(std::move(counter)), pool(std::move(given_pool)) {
    // The system overcommits, and kills the process when the memory is used.
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

CpuMemory::~CpuMemory() {
    if (bytes >= large)
        pool->give(block);
    else
        std::free(data);
    *in_use -= bytes;
}

void UnfinishedUses::put(const StreamPoint& point) {
    if (!many.empty()) {
        many[point.stream] = point;
        if (many.size() < prune_at) return;
        std::erase_if(many, [](const auto& use) { return use.second.settled(); });
        prune_at = 2 * many.size() + 4 * most_few;
        return;
    }
    for (StreamPoint& use : few)
        if (use.stream == point.stream) {
            use.number = point.number;
            return;
        }
    std::erase_if(few, [](const StreamPoint& use) { return use.settled(); });
    few.push_back(point);
    if (few.size() <= most_few) return;
    for (const StreamPoint& use : few) many[use.stream] = use;
    few.clear();
    prune_at = 4 * most_few;
}

void UnfinishedUses::all(const CpuStream* except, std::vector<StreamPoint>& to) {
    std::erase_if(many, [](const auto& use) { return use.second.settled(); });
    for (const auto& [stream, use] : many)
        if (stream != except) to.push_back(use);
    for (const StreamPoint& use : few)
        if (use.stream != except && !use.settled()) to.push_back(use);
}

void UnfinishedUses::of(const CpuStream& stream, std::vector<StreamPoint>& to) const {
    if (const auto use = many.find(&stream); use != many.end() && !use->second.settled()) to.push_back(use->second);
    for (const StreamPoint& use : few)
        if (use.stream == &stream && !use.settled()) to.push_back(use);
}

void note_use(CpuMemory& memory, const StreamPoint& point, bool write) { (write ? memory.writes : memory.reads).put(point); }

void conflicts(CpuMemory& memory, const CpuStream* stream, const CpuStream& standard, bool write,
               std::vector<StreamPoint>& after) {
    const auto add = [&](UnfinishedUses& uses) {
        if (!stream || stream == &standard)
            uses.all(stream, after);
        else
            uses.of(standard, after);
    };
    add(memory.writes);
    if (write) add(memory.reads);
}

}  // namespace pumice::cpu
