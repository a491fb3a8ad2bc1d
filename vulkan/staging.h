// Host-visible memory that copies between host and device pass through.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "vulkan/memory.h"
#include "vulkan/queue.h"

namespace pumice::vulkan {

/// A ring: pieces are taken in order and each is free again when the device has reached the value it was used with.
class Staging {
public:
    static constexpr int64_t capacity = int64_t(16) << 20;
    static constexpr int64_t largest_piece = capacity / 4;  ///< so that copying in, the device's copy and copying out overlap

    /// `id` tells its block from all others in the hazard tracker.
    Staging(Context& context, Queue& queue, uint32_t memory_type, uint64_t id)
        : context(context), queue(queue), memory_type(memory_type), id(id) {}

    struct Piece {
        Block* block = nullptr;
        int64_t offset = 0, bytes = 0;
        std::byte* data() const { return block->mapped + offset; }
    };
    /// Locked by the caller from take() to the last use of the piece by the host. Always before the queue's mutex.
    std::mutex mutex;
    /// `bytes` of at most largest_piece. Waits for the device where the ring is full; the queue's mutex is not held. Call used()
    /// before the next take().
    Piece take(int64_t bytes);
    /// The piece just taken is in use until the value is reached.
    void used(uint64_t value);
    /// Gives the memory back where it is idle. Takes nothing while another thread copies.
    void release();

private:
    struct Use {
        int64_t begin, end;
        uint64_t value;
    };
    Context& context;
    Queue& queue;
    const uint32_t memory_type;
    const uint64_t id;
    std::unique_ptr<Block> block;
    std::deque<Use> uses;   // oldest first
    int64_t head = 0;       // where the next piece begins
    Piece current;
};

}  // namespace pumice::vulkan
