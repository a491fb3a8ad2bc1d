// Copies between host and device, fills, and copies within the device.
#include <algorithm>
#include <cstring>

#include "vulkan/command_recorder.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {

// Up to this size, a write to an array in use goes through staging memory; above, it waits for the device.
constexpr int64_t small_write = 256 << 10;

BufferAccess access(const Buffer& buffer, int64_t offset, int64_t bytes, bool write) {
    const int64_t begin = buffer.range.offset + offset;
    return {buffer.range.block->id, begin, begin + bytes, write};
}

}  // namespace

/// Marks the resource as used by the command being recorded: raises `last_use`, and after a write `last_write`, to the command's
/// timeline value. They never fall: a command that goes ahead of a host call (queue.h) has a lower value than the commands that
/// the call holds back. While commands are recorded for the application, the CommandRecorder keeps the buffer instead.
void VulkanDevice::used(Buffer& buffer, bool write) {
    if (CommandRecorder* const recorder = queue.recorder()) return recorder->keep(buffer);
    used(static_cast<TimelineUse&>(buffer), write);
}

void VulkanDevice::used(TimelineUse& resource, bool write) {
    if (queue.recorder()) return;  // an image, which borrow() keeps
    resource.last_use = std::max(resource.last_use, queue.value());
    if (write) resource.last_write = std::max(resource.last_write, queue.value());
}

/// The value that a command must follow: that of the last conflicting use of the resource, and of the stream's last command. On
/// the default stream, conflicts alone decide.
uint64_t VulkanDevice::after(const TimelineUse& resource, bool write, int stream) const {
    return std::max(write ? resource.last_use : resource.last_write, stream > 0 ? streams.at(size_t(stream)).last : 0);
}

/// Staging memory for values that the next command reads. Those of a recorded command keep their place.
Staging::Piece VulkanDevice::take_upload(int64_t bytes) {
    CommandRecorder* const recorder = queue.recorder();
    return recorder ? recorder->take(bytes) : upload.take(bytes);
}

void VulkanDevice::refuse_download() const {
    if (queue.recorder()) CommandRecorder::refuse("an array is copied to the host");
}

void VulkanDevice::write(Allocation& to, int64_t offset, const void* from, int64_t bytes) {
    queue.make_room();
    if (bytes == 0) return;
    auto& buffer = static_cast<Buffer&>(to);
    const auto* data = static_cast<const std::byte*>(from);
    std::byte* mapped = buffer.range.block->mapped;
    if (!mapped || queue.recorder()) return write_staged(buffer, offset, data, bytes, 0);
    uint64_t last;
    bool busy;
    {
        const std::lock_guard lock(queue.mutex);
        last = std::max(buffer.last_use, queue.awaited());
        busy = last > queue.poll();
    }
    // Inside a call the device may be busy with work that follows the call. A card copies without keeping the host waiting.
    if (busy && (bytes <= small_write || queue.in_call() || !buffer.range.block->is_cached))
        return write_staged(buffer, offset, data, bytes, 0);
    if (busy) queue.wait(last);
    // Coherent memory: the next submission makes the write visible.
    std::memcpy(mapped + buffer.range.offset + offset, data, size_t(bytes));
}

/// True if work given inside a call depends on nothing that the call holds back, so that it is done at once.
bool VulkanDevice::goes_ahead(const Buffer& buffer, bool write, int stream) {
    if (!queue.in_call()) return false;
    const std::lock_guard lock(queue.mutex);
    return queue.ahead(after(buffer, write, stream));
}

void VulkanDevice::write_async(Allocation& to, int64_t offset, const void* from, int64_t bytes, int stream) {
    queue.make_room();
    if (bytes == 0) return;
    auto& buffer = static_cast<Buffer&>(to);
    const auto* data = static_cast<const std::byte*>(from);
    std::byte* mapped = buffer.range.block->mapped;
    if (!buffer.range.block->readable() || bytes <= small_write || queue.recorder() || goes_ahead(buffer, true, stream))
        return write_staged(buffer, offset, data, bytes, stream);
    std::byte* pointer = mapped + buffer.range.offset + offset;
    const std::lock_guard lock(queue.mutex);
    queue.call([=] { std::memcpy(pointer, data, size_t(bytes)); });
    buffer.last_use = buffer.last_write = streams.at(size_t(stream)).last = queue.last();
}

void VulkanDevice::read_async(Allocation& from, int64_t offset, void* to, int64_t bytes, int stream) {
    queue.make_room();
    if (bytes == 0) return;
    refuse_download();
    auto& buffer = static_cast<Buffer&>(from);
    const std::byte* mapped = buffer.range.block->readable();
    if (goes_ahead(buffer, false, stream)) return read(from, offset, to, bytes);
    if (mapped) {
        const std::byte* pointer = mapped + buffer.range.offset + offset;
        const std::lock_guard lock(queue.mutex);
        queue.call([=] { std::memcpy(to, pointer, size_t(bytes)); });
        buffer.last_use = streams.at(size_t(stream)).last = queue.last();
        return;
    }
    // In the ring, later pieces would wait for the host to empty this one: takes a block of its own.
    std::shared_ptr<MemoryBlock> block = own_blocks.take(bytes);
    if (!block) return Backend::read_async(from, offset, to, bytes, stream);
    const std::lock_guard lock(queue.mutex);
    const BufferAccess both[] = {access(buffer, offset, bytes, false), {block->id, 0, bytes, true}};
    const VkBufferCopy region{VkDeviceSize(both[0].begin), 0, VkDeviceSize(bytes)};
    context.vk.CmdCopyBuffer(queue.begin(both), buffer.range.block->buffer, block->buffer, 1, &region);
    used(buffer, false);
    queue.end();
    queue.call([=, this, block = std::move(block)]() mutable {
        block->invalidate(0, bytes);
        std::memcpy(to, block->mapped, size_t(bytes));
        own_blocks.give_back(std::move(block));
    });
    streams.at(size_t(stream)).last = queue.last();
}

void VulkanDevice::write_staged(Buffer& to, int64_t offset, const std::byte* from, int64_t bytes, int stream) {
    for (int64_t done = 0; done < bytes;) {
        const int64_t part = std::min(bytes - done, Staging::largest_piece);
        Staging::Piece piece = take_upload(part);
        std::memcpy(piece.data(), from + done, size_t(part));
        const std::lock_guard lock(queue.mutex);
        const BufferAccess both[] = {piece.access(false), access(to, offset + done, part, true)};
        const VkBufferCopy region{VkDeviceSize(piece.offset), VkDeviceSize(both[1].begin), VkDeviceSize(part)};
        const bool ahead = queue.in_call() && queue.ahead(after(to, true, stream));
        context.vk.CmdCopyBuffer(queue.begin(both, ahead), piece.block->buffer, to.range.block->buffer, 1, &region);
        used(to, true);
        piece.until(queue.value());
        touched(stream);
        queue.end();
        done += part;
    }
}

void VulkanDevice::read(Allocation& from, int64_t offset, void* to, int64_t bytes) {
    queue.make_room();
    if (bytes == 0) return;
    refuse_download();
    auto& buffer = static_cast<Buffer&>(from);
    auto* data = static_cast<std::byte*>(to);
    const std::byte* mapped = buffer.range.block->readable();
    if (mapped) {
        uint64_t last;
        {
            const std::lock_guard lock(queue.mutex);
            last = std::max(buffer.last_write, queue.awaited());
        }
        queue.wait(last);
        std::memcpy(data, mapped + buffer.range.offset + offset, size_t(bytes));
    } else {
        read_staged(buffer, offset, data, bytes);
    }
    settle();
}

void VulkanDevice::read_staged(Buffer& from, int64_t offset, std::byte* to, int64_t bytes) {
    PipelinedDownload received(queue);
    for (int64_t done = 0; done < bytes;) {
        const int64_t part = std::min(bytes - done, Staging::largest_piece);
        Staging::Piece piece = download.take(part);
        uint64_t value;
        {
            const std::lock_guard lock(queue.mutex);
            value = copy_out(from, offset + done, piece, queue.ahead(after(from, false, 0)));
        }
        received.add(std::move(piece), value, to + done, part);
        done += part;
    }
    received.end();
}

/// Records a copy of the device into a piece; returns its value. The queue's mutex is held.
uint64_t VulkanDevice::copy_out(Buffer& from, int64_t offset, Staging::Piece& piece, bool ahead) {
    const BufferAccess both[] = {access(from, offset, piece.bytes, false), piece.access(true)};
    const VkBufferCopy region{VkDeviceSize(both[0].begin), VkDeviceSize(piece.offset), VkDeviceSize(piece.bytes)};
    context.vk.CmdCopyBuffer(queue.begin(both, ahead), from.range.block->buffer, piece.block->buffer, 1, &region);
    used(from, false);
    const uint64_t value = queue.value();
    piece.until(value);
    queue.end();
    if (value > queue.last_submitted()) queue.submit();
    return value;
}

/// Records a command with its label, and its times for the trace. The queue's mutex is held.
template <class Record>
void VulkanDevice::record_traced(const char* name, std::span<const BufferAccess> accesses, bool ahead, const Record& record) {
    const VkCommandBuffer commands = queue.begin(accesses, ahead);
    const bool traces = !queue.recorder();  // the times of an application's own commands are its own
    if (traces) traced.begin(commands, queue.batch(), queue.recorded());
    {
        const Label label(context.names, commands, name);
        record(commands);
    }
    if (traces) traced.end(commands, queue.value());
}

void VulkanDevice::fill(Allocation& to, int64_t offset, int64_t bytes, const void* pattern, int64_t pattern_size, int stream) {
    queue.make_room();
    if (bytes == 0) return;
    auto& buffer = static_cast<Buffer&>(to);
    const auto* data = static_cast<const std::byte*>(pattern);
    // vkCmdFillBuffer takes a pattern of four bytes: shorter ones are repeated; longer ones may be periodic.
    std::byte word[4];
    for (int64_t i = 0; i < 4; ++i) word[i] = data[i % pattern_size];
    bool repeats = pattern_size % 4 == 0 || 4 % pattern_size == 0;
    for (int64_t i = 0; i < pattern_size && repeats; ++i) repeats = data[i] == word[i % 4];
    if (!repeats || offset % 4 != 0 || bytes % 4 != 0) return fill_staged(buffer, offset, bytes, data, pattern_size, stream);
    uint32_t value;
    std::memcpy(&value, word, 4);
    const std::lock_guard lock(queue.mutex);
    const BufferAccess target = access(buffer, offset, bytes, true);
    const bool ahead = queue.in_call() && queue.ahead(after(buffer, true, stream));
    record_traced("fill", {&target, 1}, ahead, [&](VkCommandBuffer commands) {
        context.vk.CmdFillBuffer(commands, buffer.range.block->buffer, VkDeviceSize(target.begin), VkDeviceSize(bytes), value);
    });
    used(buffer, true);
    touched(stream);
    queue.end();
}

/// Fills with any pattern at any offset: copies a piece of staging memory that holds the repeated pattern.
void VulkanDevice::fill_staged(Buffer& to, int64_t offset, int64_t bytes, const std::byte* pattern, int64_t pattern_size,
                               int stream) {
    const int64_t most = std::min(bytes, Staging::largest_piece / 4);
    const int64_t part = std::max(most / pattern_size, int64_t(1)) * pattern_size;
    Staging::Piece piece = take_upload(part);
    for (int64_t i = 0; i < part; i += pattern_size) std::memcpy(piece.data() + i, pattern, size_t(pattern_size));
    const std::lock_guard lock(queue.mutex);
    const BufferAccess both[] = {piece.access(false), access(to, offset, bytes, true)};
    std::vector<VkBufferCopy> regions;
    for (int64_t done = 0; done < bytes; done += part)
        regions.push_back(
            {VkDeviceSize(piece.offset), VkDeviceSize(both[1].begin + done), VkDeviceSize(std::min(part, bytes - done))});
    const bool ahead = queue.in_call() && queue.ahead(after(to, true, stream));
    record_traced("fill", both, ahead, [&](VkCommandBuffer commands) {
        context.vk.CmdCopyBuffer(commands, piece.block->buffer, to.range.block->buffer, uint32_t(regions.size()), regions.data());
    });
    used(to, true);
    piece.until(queue.value());
    touched(stream);
    queue.end();
}

void VulkanDevice::copy(Allocation& from, int64_t from_offset, Allocation& to, int64_t to_offset, int64_t bytes, int stream) {
    queue.make_room();
    if (bytes == 0) return;
    auto& source = static_cast<Buffer&>(from);
    auto& target = static_cast<Buffer&>(to);
    if (&source == &target && from_offset < to_offset + bytes && to_offset < from_offset + bytes) {
        // Vulkan's copy regions may not overlap.
        const auto between = std::make_shared<Buffer>(self(), allocate_range(bytes), bytes);
        copy_between(source, from_offset, *between, 0, bytes, stream);
        copy_between(*between, 0, target, to_offset, bytes, stream);
        return;
    }
    copy_between(source, from_offset, target, to_offset, bytes, stream);
}

void VulkanDevice::copy_between(Buffer& from, int64_t from_offset, Buffer& to, int64_t to_offset, int64_t bytes, int stream) {
    const std::lock_guard lock(queue.mutex);
    const BufferAccess both[] = {access(from, from_offset, bytes, false), access(to, to_offset, bytes, true)};
    const VkBufferCopy region{VkDeviceSize(both[0].begin), VkDeviceSize(both[1].begin), VkDeviceSize(bytes)};
    const bool ahead = queue.in_call() && queue.ahead(std::max(after(from, false, stream), after(to, true, stream)));
    record_traced("copy", both, ahead, [&](VkCommandBuffer commands) {
        context.vk.CmdCopyBuffer(commands, from.range.block->buffer, to.range.block->buffer, 1, &region);
    });
    used(from, false);
    used(to, true);
    touched(stream);
    queue.end();
}

}  // namespace pumice::vulkan
