// Staging memory for copies between host and device: a ring buffer of up to 16 MiB, and blocks that are recycled.
//
// Arrays that are not mapped are copied through host-visible memory. Staging takes pieces of a ring in order; a piece is free
// again when the host has dropped it and the device has reached the timeline value of its last use.
//
//   take(n) -> piece at head        upload: memcpy to piece, vkCmdCopyBuffer, until(value)
//   head past the end -> 0          download: vkCmdCopyBuffer, wait, memcpy from piece
//
// A piece is at most a quarter of the ring, so that the host's copy and the device's copy overlap (pipelining). If the ring is
// full, take() waits for the device, except where that wait could deadlock: after a host call, or while another thread holds the
// piece. A block of its own is allocated then. The ring begins with 1 MiB, since host memory that a card reaches is slow to make
// (0.3 ms a MiB on an NVIDIA H100), and grows where that is too small. Asynchronous reads and recorded commands hold their
// memory longer and do not use the ring: StagingBlocks lends them a block each and keeps up to 64 MiB of returned blocks, first
// fit within a factor of 4. Cost: one copy more than mapped memory. Limits: pieces are freed in the order of their age.
#include "vulkan/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/support/error.h"

namespace pumice::vulkan {

Staging::Piece::~Piece() {
    if (staging.staging) staging.staging->end(*this, number, last);
}

std::shared_ptr<MemoryBlock> Staging::new_block(int64_t bytes) {
    std::shared_ptr<MemoryBlock> made = make_block(context, ids++, memory_type, bytes, true);
    if (!made) fail("cannot allocate ", bytes, " bytes on ", context.name, " for copies between host and device");
    return made;
}

Staging::Piece Staging::take(int64_t bytes) {
    for (;;) {
        uint64_t blocked_until = 0;
        if (auto piece = next(bytes, blocked_until)) return std::move(*piece);
        bool held = blocked_until == in_hand;
        if (!held) {
            const std::lock_guard lock(queue.mutex);
            held = queue.waits_for_call(blocked_until);
        }
        if (held) return {*this, new_block(bytes), 0, bytes, 0};
        queue.wait(blocked_until);
    }
}

/// The ring's next piece; nullopt if earlier pieces still use its bytes, and then `blocked_until` is the value to wait for. A
/// ring that is too small grows.
std::optional<Staging::Piece> Staging::next(int64_t bytes, uint64_t& blocked_until) {
    const std::lock_guard lock(mutex);
    if (!block) block = new_block(bytes <= first_capacity / 4 ? first_capacity : capacity), head = 0;
    if (bytes <= block->bytes / 4) {
        auto piece = next_in_block(bytes, blocked_until);
        if (piece || block->bytes == capacity) return piece;
    }
    if (!grow()) {
        if (bytes <= block->bytes / 4) return std::nullopt;
        return Piece(*this, new_block(bytes), 0, bytes, 0);
    }
    blocked_until = 0;
    return next_in_block(bytes, blocked_until);
}

/// Replaces the first ring by the full one; false if there is no memory. The pieces in use keep the memory of the first.
bool Staging::grow() {
    std::shared_ptr<MemoryBlock> larger = make_block(context, ids++, memory_type, capacity, true);
    if (!larger) return false;
    uint64_t last = 0;
    for (const PieceUse& use : uses)
        if (use.value != in_hand) last = std::max(last, use.value);
    if (last > 0) {
        const std::lock_guard with_queue(queue.mutex);
        queue.retire(last, [first = block] {});
    }
    block = std::move(larger);
    uses.clear();
    head = 0;
    earlier = pieces;
    return true;
}

std::optional<Staging::Piece> Staging::next_in_block(int64_t bytes, uint64_t& blocked_until) {
    // If the piece does not fit before the ring's end, the pieces after `head` must be free, too.
    const int64_t begin = head + bytes > block->bytes ? 0 : head, end = begin + bytes;
    // Pieces are in the ring in the order of their age, so those that overlap are among the oldest.
    size_t last = 0;
    for (; last < uses.size(); ++last) {
        const PieceUse& use = uses[last];
        const bool overlaps = use.begin < end && begin < use.end, behind = begin != head && use.begin >= head;
        if (!overlaps && !behind) break;
        blocked_until = std::max(blocked_until, use.value);
    }
    if (blocked_until == in_hand || (blocked_until > 0 && !queue.reached(blocked_until))) return std::nullopt;
    uses.erase(uses.begin(), uses.begin() + std::ptrdiff_t(last));
    uses.push_back({begin, end, ++pieces, in_hand});
    Piece piece(*this, block, begin, bytes, pieces);
    // The next piece starts at a multiple of 256, which suits every copy engine.
    head = (end + 255) / 256 * 256;
    return piece;
}

/// Ends the host's use of a piece. The device's use ends when the value is reached.
void Staging::end(const Piece& piece, uint64_t number, uint64_t value) {
    const std::lock_guard lock(mutex);
    if (number <= earlier) {  // in a block of its own, or in one that was replaced
        const std::lock_guard with_queue(queue.mutex);
        if (value > 0) queue.retire(value, [block = piece.block] {});
        return;
    }
    uses[number - uses.front().number].value = value;  // an older piece that the host still holds keeps this one from reuse
}

void PipelinedDownload::end() {
    if (!before) return;
    queue.wait(before->value);
    std::memcpy(before->to, before->piece.received(), size_t(before->bytes));
    before.reset();
}

void PipelinedDownload::add(Staging::Piece piece, uint64_t value, std::byte* to, int64_t bytes) {
    end();
    before.emplace(PendingPiece{std::move(piece), value, to, bytes});
}

std::shared_ptr<MemoryBlock> StagingBlocks::take(int64_t bytes) {
    {
        const std::lock_guard lock(mutex);
        // A block of at most about 4 times the size.
        const auto fits = [&](const auto& block) { return block->bytes >= bytes && block->bytes / 4 <= bytes; };
        const auto found = std::ranges::find_if(unused, fits);
        if (found != unused.end()) {
            std::shared_ptr<MemoryBlock> block = std::move(*found);
            unused.erase(found);
            return block;
        }
    }
    return make_block(context, ids++, memory_type, int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(bytes, 4096)))), true);
}

void StagingBlocks::give_back(std::shared_ptr<MemoryBlock> block) {
    const std::lock_guard lock(mutex);
    unused.push_back(std::move(block));
    int64_t kept = 0;
    for (const auto& one : unused) kept += one->bytes;
    for (; kept > most_kept; unused.erase(unused.begin())) kept -= unused.front()->bytes;
}

void StagingBlocks::release() {
    const std::lock_guard lock(mutex);
    unused.clear();
}

void Staging::release() {
    const std::lock_guard lock(mutex);
    for (const PieceUse& use : uses)
        if (use.value == in_hand || (use.value > 0 && !queue.reached(use.value))) return;
    uses.clear();
    block = nullptr;
}

}  // namespace pumice::vulkan
