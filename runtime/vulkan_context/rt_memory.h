// Device memory in large blocks, from which arrays get ranges; and rings of staging memory.
#pragma once
#include "runtime/vulkan_context/rt_context.h"
#include "runtime/vulkan_context/rt_suballocator.h"

namespace pumice_rt::vulkan {

/// One allocation of the driver with one buffer over all of it; or an application's buffer.
struct MemoryBlock {
    MemoryBlock(const pumice_hooks& hooks, int64_t bytes) : bytes(bytes), ranges(hooks, bytes) {}
    const int64_t bytes;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkBuffer buffer = VK_NULL_HANDLE;
    char* mapped = nullptr;  ///< null unless mapped
    bool is_cached = false;  ///< cached for the host, which otherwise reads it slowly
    bool is_coherent = true;
    bool is_spare = false;        ///< for arrays that did not fit the best memory
    VkDeviceAddress address = 0;  ///< 0 if the device has no addresses
    Suballocator ranges;
    MemoryBlock* next = nullptr;

    /// The mapped memory if the host reads arrays in place, else null.
    const char* readable() const { return is_cached ? mapped : nullptr; }
};

/// A new block; null in `block` if host or device have no memory for it.
pumice_status make_block(Context& context, uint32_t memory_type, int64_t bytes, bool map, MemoryBlock*& block);
void destroy_block(Context& context, MemoryBlock* block);
/// Before the host reads data of the device: drops the host's stale copies if memory is not coherent.
pumice_status invalidate(Context& context, const MemoryBlock& block, int64_t offset, int64_t bytes);

/// A part of a block.
struct MemoryRange {
    MemoryBlock* block = nullptr;
    int64_t offset = 0, bytes = 0;  ///< both multiples of DevicePlan::alignment
};

/// The memory of arrays. Guarded by the queue's mutex.
class DeviceMemory {
public:
    explicit DeviceMemory(Context& context) : context(context) {}
    ~DeviceMemory();
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    /// `bytes` > 0 and at most DevicePlan::max_block_bytes. A null block in `range` if the driver has no memory left. `spare`: in
    /// memory of any type for arrays, else in the best.
    pumice_status allocate(int64_t bytes, bool spare, MemoryRange& range);
    void release(const MemoryRange& range);
    /// Frees every block without a range.
    void release_empty() { trim(0); }

private:
    pumice_status new_block(int64_t bytes, MemoryBlock*& block);
    pumice_status new_spare_block(int64_t bytes, MemoryBlock*& block);
    void trim(int64_t keep);

    Context& context;
    MemoryBlock* blocks = nullptr;
};

/// Staging memory as a ring: pieces are taken in order. The ring consists of segments, each of which is free again when the
/// timeline has reached the value of its last use. Guarded by its user.
class StagingRing {
public:
    StagingRing(Context& context, int64_t most_bytes);
    ~StagingRing() { release(); }
    StagingRing(const StagingRing&) = delete;
    StagingRing& operator=(const StagingRing&) = delete;

    static constexpr uint32_t segments = 16;
    /// Allocates the memory, unless it is there: less than the most if the device is short of it.
    pumice_status start(uint32_t memory_type);
    // After start():
    int64_t largest_piece() const { return capacity / 4; }  ///< so that copying in, the device's copy and copying out overlap
    /// The value that the timeline must have reached before a piece of this size may be taken; 0: none.
    uint64_t needed(int64_t bytes) const;
    /// Takes a piece, once needed() is reached; returns its offset in the block.
    int64_t take(int64_t bytes);
    /// The device uses the piece that was taken last until the value is reached.
    void until(uint64_t value);
    /// Frees the memory; the device must not use it any more.
    void release();
    /// The value after which the device uses no piece.
    uint64_t last() const;

    MemoryBlock* block = nullptr;

private:
    int64_t begin_of(int64_t bytes) const { return head + bytes > capacity ? 0 : head; }
    int64_t segment_of(int64_t offset) const { return offset / (capacity / segments); }

    Context& context;
    const int64_t most_bytes;
    int64_t capacity;
    int64_t head = 0, piece_begin = 0;
    int64_t entered = -1;            // the segment in which the last piece ended
    uint64_t values[segments] = {};  // of the last use of each segment
};

}  // namespace pumice_rt::vulkan
