#include "cpu/runtime/memory_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace pumice::cpu {
namespace {

constexpr size_t huge_page = 2 << 20, line_bytes = 64;

/// The offset of a new block in its first page. Why: a load waits for an earlier store whose address has the same offset in its
/// page (4K aliasing), and equal indices of arrays that begin at equal offsets have such addresses. Each offset is 19 of 32 pairs
/// of lines behind the one before, about the golden ratio of a page, so that blocks made one after another begin far apart. Pairs
/// of lines, since the processor fetches both lines of a pair.
size_t next_shift() {
    static std::atomic<size_t> count = 0;
    constexpr size_t pairs = 32, apart = 19;
    return count.fetch_add(1, std::memory_order_relaxed) * apart % pairs * 2 * line_bytes;
}

size_t page_bytes() { return size_t(sysconf(_SC_PAGESIZE)); }

/// Maps whole pages; huge ones if the memory fills some, which saves TLB misses.
std::byte* map(size_t bytes) {
    const size_t slack = bytes >= huge_page ? huge_page : 0;
    void* const mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    std::byte* const begin = static_cast<std::byte*>(mapped);
    if (slack == 0) return begin;
    const size_t before = (huge_page - reinterpret_cast<uintptr_t>(begin) % huge_page) % huge_page;
    if (before > 0) munmap(begin, before);
    if (slack > before) munmap(begin + before + bytes, slack - before);
    madvise(begin + before, bytes, MADV_HUGEPAGE);
    return begin + before;
}

/// Unmaps a block, which is a page longer than `bytes` for its shift.
void unmap(const MemoryPool::MemoryBlock& block) {
    munmap(block.data - reinterpret_cast<uintptr_t>(block.data) % page_bytes(), size_t(block.bytes) + page_bytes());
}

/// Rounds up to whole pages, with eight sizes from one power of two to the next, so that requests of similar size find a block.
int64_t rounded(int64_t bytes) {
    const int64_t step = std::max(int64_t(page_bytes()), int64_t(std::bit_floor(uint64_t(bytes))) / 8);
    return (bytes + step - 1) / step * step;
}

}  // namespace

MemoryPool::MemoryBlock MemoryPool::take(int64_t bytes) {
    const int64_t wanted = rounded(bytes);
    {
        const std::lock_guard lock(mutex);
        // The youngest block is the likeliest to be cached.
        for (size_t n = blocks.size(); n-- > 0;) {
            if (blocks[n].bytes != wanted) continue;
            const MemoryBlock found = blocks[n];
            blocks.erase(blocks.begin() + long(n));
            sum -= found.bytes;
            return found;
        }
    }
    const size_t whole = size_t(wanted) + page_bytes();
    std::byte* data = map(whole);
    if (!data) trim(), data = map(whole);
    return {data ? data + next_shift() : nullptr, wanted, true};
}

void MemoryPool::give(const MemoryBlock& block) {
    if (block.bytes > most) return unmap(block);
    const std::lock_guard lock(mutex);
    blocks.push_back({block.data, block.bytes, false});
    for (sum += block.bytes; sum > most; blocks.pop_front()) {
        sum -= blocks.front().bytes;
        unmap(blocks.front());
    }
}

void MemoryPool::trim() {
    const std::lock_guard lock(mutex);
    for (const MemoryBlock& block : blocks) unmap(block);
    blocks.clear();
    sum = 0;
}

int64_t MemoryPool::kept() const {
    const std::lock_guard lock(mutex);
    return sum;
}

}  // namespace pumice::cpu
