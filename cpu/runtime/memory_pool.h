// Keeps mapped memory of freed arrays for new ones: fresh pages cost more than most kernels that fill them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace pumice::cpu {

class MemoryPool {
public:
    /// Keeps at most this many bytes; beyond that, the oldest blocks return to the system.
    explicit MemoryPool(int64_t most) : most(most) {}
    ~MemoryPool() { trim(); }
    MemoryPool(const MemoryPool&) = delete;

    struct MemoryBlock {
        std::byte* data = nullptr;  ///< null if the system has no memory
        int64_t bytes = 0;          ///< the requested size, rounded up by at most an eighth
        bool zero = false;          ///< all zeros: new from the system
    };
    MemoryBlock take(int64_t bytes);
    void give(const MemoryBlock& block);
    /// Returns all blocks to the system.
    void trim();
    int64_t kept() const;

private:
    const int64_t most;
    mutable std::mutex mutex;
    std::deque<MemoryBlock> blocks;  ///< oldest first
    int64_t sum = 0;
};

}  // namespace pumice::cpu
