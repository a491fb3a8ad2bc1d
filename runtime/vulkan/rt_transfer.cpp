// Copies between host and device, fills, and copies within the device.
//
// Mapped arrays are copied in place. Others go through staging rings in pieces of a quarter of the ring, so that the host copies
// one piece while the device copies another.
#include "runtime/vulkan/rt_transfer.h"

namespace pumice_rt::vulkan {
namespace {

// Up to this size, a write to an array in use goes through staging memory; above, it waits for the device.
constexpr int64_t small_write = 256 << 10;

BufferAccess access(const VulkanMemory& memory, int64_t offset, int64_t bytes, bool write) {
    const int64_t begin = memory.range.offset + offset;
    return {uint64_t(memory.range.block->buffer), begin, begin + bytes, write};
}

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

}  // namespace

pumice_status Transfers::allocate(int64_t bytes, VulkanMemory*& to) {
    RT_TRY(context.alive());
    VulkanMemory* made = nullptr;
    RT_TRY(arrays.allocate(bytes, made));
    // A new range is unused, so that mapped memory is cleared in place.
    pumice_status status = PUMICE_OK;
    if (char* const mapped = made->range.block->mapped)
        memset(mapped + made->range.offset, 0, size_t(bytes));
    else
        status = fill_words(*made, 0, (bytes + 3) / 4 * 4, 0, nullptr);
    if (status != PUMICE_OK)
        arrays.release(made);
    else
        to = made;
    return status;
}

/// Takes a piece of a staging ring; waits for the device if the ring is full. The ring's mutex is held, the queue's is not.
pumice_status Transfers::take(StagingRing& ring, int64_t bytes, int64_t& offset) {
    RT_TRY(queue.wait(ring.needed(bytes)));
    offset = ring.take(bytes);
    return PUMICE_OK;
}

pumice_status Transfers::write(VulkanMemory& to, int64_t offset, const void* from, int64_t bytes) {
    const MemoryBlock& block = *to.range.block;
    if (!block.mapped) return write_staged(to, offset, static_cast<const char*>(from), bytes);
    bool staged = false;
    {
        const Lock lock(queue.mutex);
        RT_TRY(context.alive());
        const uint64_t awaited = queue.awaited(), last = to.last_use > awaited ? to.last_use : awaited;
        const bool busy = last > queue.poll();
        staged = busy && (bytes <= small_write || !block.is_cached);  // a card copies without keeping the host waiting
        if (busy && !staged) RT_TRY(queue.await(last, true));
    }
    if (staged) return write_staged(to, offset, static_cast<const char*>(from), bytes);
    // Coherent memory: the next submission makes the write visible.
    memcpy(block.mapped + to.range.offset + offset, from, size_t(bytes));
    return PUMICE_OK;
}

pumice_status Transfers::write_staged(VulkanMemory& to, int64_t offset, const char* from, int64_t bytes) {
    const Lock alone(arrays.uploading);
    RT_TRY(arrays.need(arrays.upload, context.plan.upload_memory));
    for (int64_t done = 0; done < bytes;) {
        const int64_t part = least(bytes - done, arrays.upload.largest_piece());
        int64_t piece = 0;
        RT_TRY(take(arrays.upload, part, piece));
        memcpy(arrays.upload.block->mapped + piece, from + done, size_t(part));
        const Lock lock(queue.mutex);
        RT_TRY(queue.make_room());
        const BufferAccess target = access(to, offset + done, part, true);
        const VkBufferCopy region{VkDeviceSize(piece), VkDeviceSize(target.begin), VkDeviceSize(part)};
        VkCommandBuffer commands;
        RT_TRY(queue.begin(&target, 1, commands));
        context.vk.CmdCopyBuffer(commands, arrays.upload.block->buffer, to.range.block->buffer, 1, &region);
        touch(queue, to, true);
        streams.touch(queue, nullptr);
        arrays.upload.until(queue.value());
        RT_TRY(queue.end());
        done += part;
    }
    return PUMICE_OK;
}

pumice_status Transfers::read(VulkanMemory& from, int64_t offset, void* to, int64_t bytes) {
    const char* const mapped = from.range.block->readable();
    if (!mapped) return read_staged(from, offset, static_cast<char*>(to), bytes);
    uint64_t last;
    {
        const Lock lock(queue.mutex);
        last = from.last_write > queue.awaited() ? from.last_write : queue.awaited();
    }
    RT_TRY(queue.wait(last));
    memcpy(to, mapped + from.range.offset + offset, size_t(bytes));
    return PUMICE_OK;
}

/// Records a copy of the device into a piece, and submits it. The queue's mutex is not held.
pumice_status Transfers::copy_out(VulkanMemory& from, int64_t offset, int64_t piece, int64_t bytes, uint64_t& value) {
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    const BufferAccess source = access(from, offset, bytes, false);
    const VkBufferCopy region{VkDeviceSize(source.begin), VkDeviceSize(piece), VkDeviceSize(bytes)};
    VkCommandBuffer commands;
    RT_TRY(queue.begin(&source, 1, commands));
    context.vk.CmdCopyBuffer(commands, from.range.block->buffer, arrays.download.block->buffer, 1, &region);
    touch(queue, from, false);
    streams.touch(queue, nullptr);
    value = queue.value();
    arrays.download.until(value);
    RT_TRY(queue.end());
    return queue.submit();
}

/// Pipelined: the device copies one piece while the host empties the previous one.
pumice_status Transfers::read_staged(VulkanMemory& from, int64_t offset, char* to, int64_t bytes) {
    const Lock alone(arrays.downloading);
    RT_TRY(arrays.need(arrays.download, context.plan.download_memory));
    struct PendingPiece {
        int64_t piece = 0, bytes = 0;
        uint64_t value = 0;
        char* to = nullptr;
    } before;
    for (int64_t done = 0;;) {
        PendingPiece now;
        if (done < bytes) {
            now.bytes = least(bytes - done, arrays.download.largest_piece());
            now.to = to + done;
            RT_TRY(take(arrays.download, now.bytes, now.piece));
            RT_TRY(copy_out(from, offset + done, now.piece, now.bytes, now.value));
            done += now.bytes;
        }
        if (before.bytes > 0) {
            RT_TRY(queue.wait(before.value));
            RT_TRY(invalidate(context, *arrays.download.block, before.piece, before.bytes));
            memcpy(before.to, arrays.download.block->mapped + before.piece, size_t(before.bytes));
        }
        if (now.bytes == 0) return PUMICE_OK;
        before = now;
    }
}

pumice_status Transfers::fill(VulkanMemory& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_bytes,
                              pumice_stream stream) {
    // vkCmdFillBuffer takes a pattern of four bytes: shorter ones are repeated; longer ones may be periodic.
    const char* const data = static_cast<const char*>(pattern);
    char word[4];
    for (int64_t i = 0; i < 4; ++i) word[i] = data[i % pattern_bytes];
    bool repeats = pattern_bytes % 4 == 0 || 4 % pattern_bytes == 0;
    for (int64_t i = 0; i < pattern_bytes && repeats; ++i) repeats = data[i] == word[i % 4];
    if (!repeats || offset % 4 != 0 || bytes % 4 != 0) return fill_staged(to, offset, bytes, data, pattern_bytes, stream);
    uint32_t value;
    memcpy(&value, word, 4);
    return fill_words(to, offset, bytes, value, stream);
}

pumice_status Transfers::fill_words(VulkanMemory& to, int64_t offset, int64_t bytes, uint32_t value, pumice_stream stream) {
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    const BufferAccess target = access(to, offset, bytes, true);
    VkCommandBuffer commands;
    RT_TRY(queue.begin(&target, 1, commands));
    context.vk.CmdFillBuffer(commands, to.range.block->buffer, VkDeviceSize(target.begin), VkDeviceSize(bytes), value);
    touch(queue, to, true);
    streams.touch(queue, stream);
    return queue.end();
}

/// Fills with any pattern at any offset: copies a piece of staging memory that holds the repeated pattern.
pumice_status Transfers::fill_staged(VulkanMemory& to, int64_t offset, int64_t bytes, const char* pattern, int64_t pattern_bytes,
                                     pumice_stream stream) {
    constexpr uint32_t most_regions = 16;
    const Lock alone(arrays.uploading);
    RT_TRY(arrays.need(arrays.upload, context.plan.upload_memory));
    const int64_t most = least(bytes, arrays.upload.largest_piece() / 4), whole = most / pattern_bytes * pattern_bytes;
    const int64_t part = whole > 0 ? whole : pattern_bytes;
    int64_t piece = 0;
    RT_TRY(take(arrays.upload, part, piece));
    char* const staged = arrays.upload.block->mapped + piece;
    for (int64_t i = 0; i < part; i += pattern_bytes) memcpy(staged + i, pattern, size_t(pattern_bytes));
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    const BufferAccess target = access(to, offset, bytes, true);
    VkCommandBuffer commands;
    RT_TRY(queue.begin(&target, 1, commands));
    for (int64_t done = 0; done < bytes;) {
        VkBufferCopy regions[most_regions];
        uint32_t count = 0;
        for (; count < most_regions && done < bytes; done += part)
            regions[count++] = {VkDeviceSize(piece), VkDeviceSize(target.begin + done), VkDeviceSize(least(part, bytes - done))};
        context.vk.CmdCopyBuffer(commands, arrays.upload.block->buffer, to.range.block->buffer, count, regions);
    }
    touch(queue, to, true);
    streams.touch(queue, stream);
    arrays.upload.until(queue.value());
    return queue.end();
}

pumice_status Transfers::copy(VulkanMemory& from, int64_t from_offset, VulkanMemory& to, int64_t to_offset, int64_t bytes,
                              pumice_stream stream) {
    const BufferAccess read = access(from, from_offset, bytes, false), written = access(to, to_offset, bytes, true);
    const bool overlap = read.buffer == written.buffer && read.begin < written.end && written.begin < read.end;
    if (!overlap) return copy_now(from, from_offset, to, to_offset, bytes, stream);
    // Vulkan's copy regions may not overlap.
    VulkanMemory* between = nullptr;
    RT_TRY(allocate(bytes, between));
    pumice_status status = copy_now(from, from_offset, *between, 0, bytes, stream);
    if (status == PUMICE_OK) status = copy_now(*between, 0, to, to_offset, bytes, stream);
    arrays.release(between);
    return status;
}

pumice_status Transfers::copy_now(VulkanMemory& from, int64_t from_offset, VulkanMemory& to, int64_t to_offset, int64_t bytes,
                                  pumice_stream stream) {
    const Lock lock(queue.mutex);
    RT_TRY(queue.make_room());
    const BufferAccess both[] = {access(from, from_offset, bytes, false), access(to, to_offset, bytes, true)};
    const VkBufferCopy region{VkDeviceSize(both[0].begin), VkDeviceSize(both[1].begin), VkDeviceSize(bytes)};
    VkCommandBuffer commands;
    RT_TRY(queue.begin(both, 2, commands));
    context.vk.CmdCopyBuffer(commands, from.range.block->buffer, to.range.block->buffer, 1, &region);
    touch(queue, from, false);
    touch(queue, to, true);
    streams.touch(queue, stream);
    return queue.end();
}

}  // namespace pumice_rt::vulkan
