#include "runtime/cpu/rt_memory_pool.h"

#include <stdint.h>
#include <sys/mman.h>

namespace pumice_rt {
namespace {

constexpr size_t huge_page = 2 << 20, page = 4096, most_kept = 256 << 20;

/// In eight sizes from one power of two to the next, so that requests of similar size find a block.
size_t rounded(size_t bytes) {
    size_t power = page;
    while (power <= bytes / 2) power *= 2;
    const size_t step = power / 8 > page ? power / 8 : page;
    return (bytes + step - 1) / step * step;
}

}  // namespace

MemoryPool::~MemoryPool() { trim(0); }

MemoryPool::MemoryBlock MemoryPool::map(size_t bytes) {
    const size_t whole = bytes + page;
    char* data = nullptr;
    if (hooks.allocate) {
        data = static_cast<char*>(allocate(hooks, whole, page));
        if (data) memset(data, 0, whole);
    } else {
        const size_t slack = whole >= huge_page ? huge_page : 0;
        void* const mapped = mmap(nullptr, whole + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return {nullptr, bytes};
        data = static_cast<char*>(mapped);
        if (slack > 0) {
            const size_t before = (huge_page - reinterpret_cast<uintptr_t>(data) % huge_page) % huge_page;
            const size_t end = (whole + page - 1) / page * page;
            if (before > 0) munmap(data, before);
            if (slack > before) munmap(data + before + end, slack - before - (end - whole));
            data += before;
            madvise(data, whole, MADV_HUGEPAGE);
        }
    }
    if (!data) return {nullptr, bytes};
    // Offsets of successive mappings differ by about the golden ratio of a page, in pairs of cache lines.
    const size_t shift = __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED) * 19 % 32 * 128;
    return {data + shift, bytes};
}

void MemoryPool::unmap(const MemoryBlock& block) {
    char* const begin = block.data - reinterpret_cast<uintptr_t>(block.data) % page;
    if (hooks.allocate)
        release(hooks, begin, block.bytes + page);
    else
        munmap(begin, block.bytes + page);
}

MemoryPool::MemoryBlock MemoryPool::take(size_t bytes) {
    const size_t wanted = rounded(bytes);
    {
        const Lock lock(mutex);
        for (size_t n = kept.size(); n-- > 0;) {
            if (kept[n].bytes != wanted) continue;
            const MemoryBlock found = kept[n];
            kept.remove_unordered(n), kept_bytes -= wanted;
            memset(found.data, 0, bytes);
            return found;
        }
    }
    MemoryBlock made_now = map(wanted);
    if (made_now.data) return made_now;
    trim(0);
    return map(wanted);
}

void MemoryPool::give(const MemoryBlock& block) {
    if (!block.data) return;
    if (block.bytes <= most_kept) {
        trim(most_kept - block.bytes);
        const Lock lock(mutex);
        if (kept.push(block)) {
            kept_bytes += block.bytes;
            return;
        }
    }
    unmap(block);
}

/// Unmaps the oldest blocks until at most `most` bytes are kept.
void MemoryPool::trim(size_t most) {
    const Lock lock(mutex);
    size_t gone = 0;
    while (kept_bytes > most && gone < kept.size()) {
        kept_bytes -= kept[gone].bytes;
        unmap(kept[gone++]);
    }
    if (gone == 0) return;
    for (size_t n = gone; n < kept.size(); ++n) kept[n - gone] = kept[n];
    for (size_t n = 0; n < gone; ++n) kept.remove_unordered(kept.size() - 1);
}

}  // namespace pumice_rt
