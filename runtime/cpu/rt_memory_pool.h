// Memory of arrays on the device cpu: mapped pages, huge ones where they fit, with different offsets in their first page.
#pragma once
#include "runtime/support/hook_memory.h"
#include "runtime/support/lock.h"

namespace pumice_rt {

/// A cache of mappings. Thread-safe. The reasons are those of cpu/runtime/memory_pool.cpp: huge pages save TLB misses; equal page
/// offsets of arrays would make loads wait for stores (4K aliasing).
class MemoryPool {
public:
    explicit MemoryPool(const pumice_hooks& with) : hooks(with), kept(with) {}
    ~MemoryPool();
    struct MemoryBlock {
        char* data;
        size_t bytes;  ///< without the page for the shift
    };
    /// Memory of at least `bytes`, aligned to 128 bytes, whose bytes are 0; data is null if the system gives no more. 128 bytes
    /// more can be read, since kernels may read a few past an array's end.
    MemoryBlock take(size_t bytes);
    void give(const MemoryBlock& block);

private:
    MemoryBlock map(size_t bytes);
    void unmap(const MemoryBlock& block);
    void trim(size_t most);

    const pumice_hooks& hooks;
    Mutex mutex;
    List<MemoryBlock> kept;
    size_t kept_bytes = 0, made = 0;
};

}  // namespace pumice_rt
