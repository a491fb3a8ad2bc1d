// Host-visible memory that copies between host and device pass through.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "vulkan/queue.h"
#include "vulkan/vulkan_memory.h"

namespace pumice::vulkan {

/// A ring: pieces are taken in order, and each is free again when host and device are done with it. Any thread.
class Staging {
public:
    static constexpr int64_t capacity = int64_t(16) << 20;
    static constexpr int64_t largest_piece = capacity / 4;  ///< so that copying in, the device's copy and copying out overlap

    /// `ids` gives each block a number that tells it from all others in the hazard tracker.
    Staging(Context& context, Queue& queue, uint32_t memory_type, std::atomic<uint64_t>& ids)
        : context(context), queue(queue), memory_type(memory_type), ids(ids) {}

    /// Memory that the host may use while the piece is there. Its end takes the queue's mutex.
    class Piece {
    public:
        Piece(Staging& staging, std::shared_ptr<Block> block, int64_t offset, int64_t bytes, uint64_t number)
            : block(std::move(block)), offset(offset), bytes(bytes), staging(&staging), number(number) {}
        Piece(Piece&&) = default;
        ~Piece();
        std::byte* data() const { return block->mapped + offset; }
        /// The bytes that the device has copied there.
        const std::byte* received() const { return block->invalidate(offset, bytes), data(); }
        /// The device uses it until the value is reached.
        void until(uint64_t value) { last = value; }

        const std::shared_ptr<Block> block;
        const int64_t offset, bytes;

    private:
        struct Owner {  // none of a piece that was moved
            Owner(Staging* staging) : staging(staging) {}
            Owner(Owner&& other) : staging(std::exchange(other.staging, nullptr)) {}
            Staging* staging;
        } staging;
        uint64_t number, last = 0;
    };
    /// `bytes` of at most largest_piece, of the ring or of a block of its own where the ring's next place is held by a call, or by
    /// another thread. Waits for the device where the ring is full, with no lock held.
    Piece take(int64_t bytes);
    /// Gives the ring's memory back where it is idle.
    void release();

private:
    static constexpr uint64_t in_hand = ~uint64_t(0);  ///< of a use that the host has not ended
    struct Use {
        int64_t begin, end;
        uint64_t number;
        uint64_t value;  ///< of the device's last use
    };
    std::shared_ptr<Block> new_block(int64_t bytes);
    std::optional<Piece> next(int64_t bytes, uint64_t& blocked_until);
    void end(const Piece& piece, uint64_t number, uint64_t value);

    Context& context;
    Queue& queue;
    const uint32_t memory_type;
    std::atomic<uint64_t>& ids;
    std::mutex mutex;       // over all below; before the queue's
    std::shared_ptr<Block> block;
    std::deque<Use> uses;   // oldest first
    int64_t head = 0;       // where the next piece begins
    uint64_t pieces = 0;    // taken so far
};

/// Blocks of host-visible memory for one copy each, used again and again. Any thread.
class StagingBlocks {
public:
    StagingBlocks(Context& context, uint32_t memory_type, std::atomic<uint64_t>& ids) : context(context), memory_type(memory_type), ids(ids) {}
    /// Of `bytes` or more; null where there is no memory.
    std::shared_ptr<Block> take(int64_t bytes);
    /// Once neither host nor device uses it.
    void give_back(std::shared_ptr<Block> block);
    /// Gives the memory of unused ones back to the driver.
    void release();

private:
    static constexpr int64_t most_kept = int64_t(64) << 20;  ///< bytes, unused
    Context& context;
    const uint32_t memory_type;
    std::atomic<uint64_t>& ids;
    std::mutex mutex;
    std::vector<std::shared_ptr<Block>> unused;
};

}  // namespace pumice::vulkan
