// The memory of arrays, and staging memory.
#pragma once
#include "runtime/vulkan_context/rt_memory.h"
#include "runtime/vulkan_context/rt_queue.h"

namespace pumice_rt::vulkan {

/// A range of device memory, or an application's buffer.
struct VulkanMemory : pumice_memory_t {
    MemoryRange range;
    bool lent = false;  ///< the block is an application's buffer, and belongs to this object
    /// Timeline values of the last command that wrote, and of the last that accessed. Guarded by the queue's mutex.
    uint64_t last_write = 0, last_use = 0;
    VulkanMemory* next_released = nullptr;
};

/// Marks the memory as used by the command being recorded.
void touch(const Queue& queue, VulkanMemory& memory, bool write);

/// Memory of the device itself.
struct OwnMemory {
    VulkanMemory* dummy = nullptr;       ///< bound for an array without elements
    VulkanMemory* lock_words = nullptr;  ///< for 64-bit atomics on a device without them: zero whenever no kernel runs
    VulkanMemory* ring = nullptr;        ///< of print and require
};

/// Device memory is freed when the device no longer uses it, or when there is no other left.
class Arrays {
public:
    Arrays(pumice_device_t& device, Context& context, Queue& queue)
        : upload(context, staging_bytes),
          download(context, staging_bytes),
          device(device),
          context(context),
          queue(queue),
          memory(context) {}

    /// Memory with any bytes.
    pumice_status allocate(int64_t bytes, VulkanMemory*& memory);
    /// An application's buffer as memory of this device.
    pumice_status lend(VkBuffer buffer, int64_t offset, int64_t bytes, pumice_memory* memory);
    void release(VulkanMemory* one);
    /// Allocates the memory of a staging ring at its first use, if need be instead of empty blocks for arrays. The ring's mutex
    /// is held.
    pumice_status need(StagingRing& ring, uint32_t memory_type);

    // The queue's mutex is held.
    void free(VulkanMemory* one);
    void free_released();

    // Locked in this order, and before the queue's mutex.
    Mutex uploading, downloading;
    StagingRing upload, download;  ///< guarded by their mutexes

private:
    static constexpr int64_t staging_bytes = int64_t(16) << 20;

    pumice_status allocate_range(int64_t bytes, MemoryRange& range);
    pumice_status try_allocate(int64_t bytes, bool spare, MemoryRange& range);
    void collect();

    pumice_device_t& device;
    Context& context;
    Queue& queue;
    DeviceMemory memory;               // guarded by the queue's mutex
    VulkanMemory* released = nullptr;  // still in use by the device
};

}  // namespace pumice_rt::vulkan
