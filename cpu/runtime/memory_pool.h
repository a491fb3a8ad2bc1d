// Mapped memory that arrays gave back, kept for the next ones: new pages cost more than most kernels that fill them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace pumice::cpu {

class Pool {
public:
    /// Keeps this many bytes at most; of more, what has lain longest goes back to the system.
    explicit Pool(int64_t most) : most(most) {}
    ~Pool() { trim(); }
    Pool(const Pool&) = delete;

    struct Block {
        std::byte* data = nullptr;  ///< null where the system gives no memory
        int64_t bytes = 0;          ///< what was asked for, rounded up by an eighth at most
        bool zero = false;          ///< whether it is all zeros: new from the system
    };
    Block take(int64_t bytes);
    void give(const Block& block);
    /// Gives all that is kept back to the system.
    void trim();
    int64_t kept() const;

private:
    const int64_t most;
    mutable std::mutex mutex;
    std::deque<Block> blocks;  ///< in the order in which they came
    int64_t sum = 0;
};

}  // namespace pumice::cpu
