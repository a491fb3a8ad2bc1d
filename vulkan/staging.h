// Staging memory: host-visible memory for copies between host and device.
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

/// A ring buffer: pieces are taken in order, and each is free again when host and device are done with it. Thread-safe.
class Staging {
public:
    static constexpr int64_t capacity = int64_t(16) << 20;
    static constexpr int64_t first_capacity = int64_t(1) << 20;  ///< until a large piece is taken, or one too many
    static constexpr int64_t largest_piece = capacity / 4;  ///< so that copying in, the device's copy and copying out overlap

    /// `ids` gives each block a number that identifies it in the hazard tracker.
    Staging(Context& context, Queue& queue, uint32_t memory_type, std::atomic<uint64_t>& ids)
        : context(context), queue(queue), memory_type(memory_type), ids(ids) {}

    /// A piece of the ring, which the host may use while the object exists. The destructor takes the queue's mutex.
    class Piece {
    public:
        Piece(Staging& staging, std::shared_ptr<MemoryBlock> block, int64_t offset, int64_t bytes, uint64_t number)
            : block(std::move(block)), offset(offset), bytes(bytes), staging(&staging), number(number) {}
        /// Bytes of a block that the caller keeps for as long as they are used.
        Piece(std::shared_ptr<MemoryBlock> block, int64_t offset, int64_t bytes)
            : block(std::move(block)), offset(offset), bytes(bytes), staging(nullptr), number(0) {}
        Piece(Piece&&) = default;
        ~Piece();
        std::byte* data() const { return block->mapped + offset; }
        /// The bytes that the device has copied into the piece.
        const std::byte* received() const { return block->invalidate(offset, bytes), data(); }
        BufferAccess access(bool write) const { return {block->id, offset, offset + bytes, write}; }
        /// Declares that the device uses the piece until the value is reached.
        void until(uint64_t value) { last = value; }

        const std::shared_ptr<MemoryBlock> block;
        const int64_t offset, bytes;

    private:
        struct StagingPointer {  // null in a piece that was moved from
            StagingPointer(Staging* staging) : staging(staging) {}
            StagingPointer(StagingPointer&& other) : staging(std::exchange(other.staging, nullptr)) {}
            Staging* staging;
        } staging;
        uint64_t number, last = 0;
    };
    /// A piece of `bytes`, at most largest_piece. It is in a block of its own if a call or the host holds the ring's next bytes.
    /// Waits for the device, with no lock held, if the ring is full.
    Piece take(int64_t bytes);
    /// Frees the ring's memory if no piece is in use.
    void release();

private:
    static constexpr uint64_t in_hand = ~uint64_t(0);  ///< value of a use that the host has not ended
    struct PieceUse {
        int64_t begin, end;
        uint64_t number;
        uint64_t value;  ///< timeline value of the device's last use
    };
    std::shared_ptr<MemoryBlock> new_block(int64_t bytes);
    std::optional<Piece> next(int64_t bytes, uint64_t& blocked_until);
    std::optional<Piece> next_in_block(int64_t bytes, uint64_t& blocked_until);
    bool grow();
    void end(const Piece& piece, uint64_t number, uint64_t value);

    Context& context;
    Queue& queue;
    const uint32_t memory_type;
    std::atomic<uint64_t>& ids;
    std::mutex mutex;  // guards the members below; locked before the queue's mutex
    std::shared_ptr<MemoryBlock> block;
    std::deque<PieceUse> uses;  // oldest first
    int64_t head = 0;           // where the next piece begins
    uint64_t pieces = 0;        // taken so far
    uint64_t earlier = 0;       // pieces of blocks that were replaced
};

/// Copies to the host in pieces, pipelined: the device copies one piece while the host empties the previous one.
class PipelinedDownload {
public:
    explicit PipelinedDownload(Queue& queue) : queue(queue) {}
    /// Empties the piece before this one, whose copy of the device ends with `value`.
    void add(Staging::Piece piece, uint64_t value, std::byte* to, int64_t bytes);
    /// Empties the last piece.
    void end();

private:
    struct PendingPiece {
        Staging::Piece piece;
        uint64_t value;
        std::byte* to;
        int64_t bytes;
    };
    Queue& queue;
    std::optional<PendingPiece> before;
};

/// Blocks of host-visible memory for one copy each, which are recycled. Thread-safe.
class StagingBlocks {
public:
    StagingBlocks(Context& context, uint32_t memory_type, std::atomic<uint64_t>& ids)
        : context(context), memory_type(memory_type), ids(ids) {}
    /// A block of `bytes` or more; null if there is no memory.
    std::shared_ptr<MemoryBlock> take(int64_t bytes);
    /// Returns a block that neither host nor device uses any more.
    void give_back(std::shared_ptr<MemoryBlock> block);
    /// Frees the memory of unused blocks.
    void release();

private:
    static constexpr int64_t most_kept = int64_t(64) << 20;  ///< bytes, unused
    Context& context;
    const uint32_t memory_type;
    std::atomic<uint64_t>& ids;
    std::mutex mutex;
    std::vector<std::shared_ptr<MemoryBlock>> unused;
};

}  // namespace pumice::vulkan
