// A cache of host memory for launches: local memory of groups, and private copies of sums.
#pragma once
#include "runtime/support/hook_memory.h"
#include "runtime/support/lock.h"

namespace pumice_rt {

/// Blocks aligned to 64 bytes. Thread-safe. Blocks that are given back are kept for the next launch, up to `most_kept` bytes.
class ScratchBlocks {
public:
    explicit ScratchBlocks(const pumice_hooks& with) : hooks(with), free(with) {}
    ~ScratchBlocks() { clear(); }
    struct MemoryBlock {
        char* data;
        size_t bytes;
    };
    /// At least `bytes`, uninitialised; data is null if the system gives no more memory.
    MemoryBlock take(size_t bytes) {
        {
            const Lock lock(mutex);
            for (size_t i = 0; i < free.size(); ++i)
                if (free[i].bytes >= bytes && free[i].bytes / 4 <= bytes) {
                    const MemoryBlock found = free[i];
                    free.remove_unordered(i), kept -= found.bytes;
                    return found;
                }
        }
        const size_t rounded = (bytes + 4095) / 4096 * 4096;
        char* data = static_cast<char*>(allocate(hooks, rounded, 64));
        if (!data) clear(), data = static_cast<char*>(allocate(hooks, rounded, 64));
        return {data, rounded};
    }
    void give(const MemoryBlock& block) {
        if (!block.data) return;
        {
            const Lock lock(mutex);
            if (kept + block.bytes <= most_kept && free.push(block)) {
                kept += block.bytes;
                return;
            }
        }
        release(hooks, block.data, block.bytes);
    }
    void clear() {
        const Lock lock(mutex);
        for (const MemoryBlock& block : free) release(hooks, block.data, block.bytes);
        free.clear(), kept = 0;
    }

private:
    static constexpr size_t most_kept = 64 << 20;
    const pumice_hooks& hooks;
    Mutex mutex;
    List<MemoryBlock> free;
    size_t kept = 0;
};

}  // namespace pumice_rt
