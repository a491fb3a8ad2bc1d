// Rules by which the library and the runtime plan the use of a Vulkan device: memory types, queue family, subgroups, drivers.
// Pure functions of what the driver reports. The two plans (vulkan/plan.h, runtime/vulkan_context/rt_properties.h) keep the
// results in their own form.
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>

namespace pumice_rt::vulkan {

constexpr VkMemoryPropertyFlags host_reached = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags host_coherent = host_reached | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags host_cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags device_local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
/// Memory to which ordinary buffers cannot be bound.
constexpr VkMemoryPropertyFlags special_memory =
    VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD;
constexpr uint32_t none = ~0u, intel = 0x8086;  // intel: a PCI vendor

/// The memory of a device, and the largest buffer.
struct MemoryFacts {
    const VkPhysicalDeviceMemoryProperties& types;
    uint32_t for_buffers;  ///< a bit for each memory type that a buffer may have
    bool integrated;       ///< the device is an integrated GPU
    VkDeviceSize offset_alignment;
    int64_t max_buffer_bytes;  ///< 0 if unknown

    VkDeviceSize heap(uint32_t type) const { return types.memoryHeaps[types.memoryTypes[type].heapIndex].size; }
    /// The first memory type for buffers with all of `wanted` and none of `unwanted`, in the largest heap that has one, or
    /// `none`. Drivers list faster types first.
    uint32_t find(VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted = special_memory) const {
        uint32_t best = none;
        for (uint32_t i = 0; i < types.memoryTypeCount; ++i) {
            const VkMemoryPropertyFlags flags = types.memoryTypes[i].propertyFlags;
            const bool fits = (flags & wanted) == wanted && !(flags & unwanted) && (for_buffers >> i & 1);
            if (fits && heap(i) > (best == none ? 0 : heap(best))) best = i;
        }
        return best;
    }
};

/// A memory type for arrays.
struct ArrayMemory {
    uint32_t type = 0;
    bool mapped = false;  ///< the host writes arrays in place, and reads them in place if the memory is host-cached
};
struct MemoryPlan {
    ArrayMemory arrays[5];  ///< the best first; the others are used when it is full
    uint32_t array_count = 0;
    uint32_t upload_memory = none, download_memory = none;  ///< memory types of the staging memory
    int64_t alignment = 256;                                ///< of allocations' offsets and sizes; a power of two
    int64_t memory_bytes = 0;                               ///< of the heap of arrays
    int64_t max_block_bytes = 0;                            ///< of one allocation from the driver
    /// False if there is no memory that both host and device can use.
    bool usable() const { return array_count > 0 && upload_memory != none; }
};

/// `staged`: arrays are never mapped.
inline MemoryPlan memory_plan(const MemoryFacts& memory, bool staged) {
    MemoryPlan plan;
    const uint32_t local = memory.find(device_local), unified = memory.find(device_local | host_coherent | host_cached),
                   window = memory.find(device_local | host_coherent);
    const auto add = [&](uint32_t type, bool mapped) {
        for (uint32_t i = 0; i < plan.array_count; ++i)
            if (plan.arrays[i].type == type) return;
        if (type != none) plan.arrays[plan.array_count++] = {type, mapped && !staged};
    };
    // Device-local memory that is cached for the host (unified memory). On an integrated GPU whose driver splits the host's
    // memory into heaps, any of them will do.
    if (unified != none && (memory.integrated || memory.heap(unified) >= memory.heap(local))) add(unified, true);
    // A host-visible window over all of a card's memory (resizable BAR): written in place, but read by a copy, as it is not
    // cached. A smaller window is not used for arrays.
    if (window != none && memory.heap(window) >= memory.heap(local)) add(window, true);
    add(local, false);
    // The host's memory, which the device reaches across a bus.
    add(memory.find(host_coherent | host_cached, special_memory | device_local), true);
    add(memory.find(host_coherent, special_memory | device_local), true);
    if (plan.array_count == 0) add(memory.find(0), false);
    plan.upload_memory = memory.find(host_coherent);
    if (!plan.usable()) return plan;
    plan.download_memory = memory.find(host_coherent | host_cached);
    if (plan.download_memory == none) plan.download_memory = memory.find(host_reached | host_cached);
    if (plan.download_memory == none) plan.download_memory = plan.upload_memory;
    if (memory.offset_alignment > 256) plan.alignment = int64_t(memory.offset_alignment);
    const VkDeviceSize bytes = memory.heap(plan.arrays[0].type);
    plan.memory_bytes = bytes > VkDeviceSize(INT64_MAX) ? INT64_MAX : int64_t(bytes);
    // Not limited by maxMemoryAllocationSize. The specification says that vkAllocateMemory may return
    // VK_ERROR_OUT_OF_DEVICE_MEMORY for more, and has no rule of valid usage about it (one was withdrawn in 1.2.189); drivers
    // allocate more than they promise there. The size of the heap is a rule, VUID-vkAllocateMemory-pAllocateInfo-01713.
    plan.max_block_bytes = plan.memory_bytes;
    if (memory.max_buffer_bytes > 0 && memory.max_buffer_bytes < plan.memory_bytes)
        plan.max_block_bytes = memory.max_buffer_bytes;
    plan.max_block_bytes -= plan.max_block_bytes % plan.alignment;
    return plan;
}

/// The first queue family with compute and graphics, else the first with compute, or `none`. On desktop GPUs, families without
/// graphics are meant for asynchronous compute beside drawing, and get less of the machine. A family with compute can also copy.
inline uint32_t queue_family(const VkQueueFamilyProperties* families, uint32_t count) {
    for (const VkQueueFlags wanted :
         {VkQueueFlags(VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT), VkQueueFlags(VK_QUEUE_COMPUTE_BIT)})
        for (uint32_t i = 0; i < count; ++i)
            if (families[i].queueCount > 0 && (families[i].queueFlags & wanted) == wanted) return i;
    return none;
}

/// The longest submission in seconds, or 0 where there is no limit. `slices`: every launch is sliced, however short.
inline double most_seconds(const VkQueueFamilyProperties& family, VkPhysicalDeviceType type, bool slices) {
    if (family.timestampValidBits == 0) return 0;  // without a clock no launch is measured
    // A watchdog of the system resets a card that does not answer for 2 seconds (Windows) or 10 (Linux). Nor can it draw
    // meanwhile. No system watches a driver that is a program on the host's processor.
    const bool has_watchdog = type != VK_PHYSICAL_DEVICE_TYPE_CPU;
    return slices ? 1e-6 : has_watchdog ? 0.25 : 0;
}

/// Mesa's major version: 22 for "Mesa 22.3.6 (LLVM 15.0.6)"; 0 for other drivers.
inline int mesa_version(const char* driver) {
    // Intel's driver is called "Intel open-source Mesa driver": the number stands after a later "Mesa ".
    int version = 0;
    for (const char* at = strstr(driver, "Mesa "); at && version == 0; at = strstr(at + 1, "Mesa ")) version = atoi(at + 5);
    return version;
}

/// The subgroup sizes of a device.
struct SubgroupSizes {
    uint32_t reported, least, most;  ///< least, most: that a pipeline may require; 0: none
    uint32_t max_group_subgroups;    ///< of one work-group with a required size
};
/// The subgroup size that pipelines require: the one that the device reports. Without a requirement a driver may choose another
/// size: Intel's driver reports 32 and runs 8, 16 or 32. On Intel the plan requires 16, the driver's usual choice, since 32 lanes
/// have half the registers each. The size is doubled until a group of the largest size fits the largest number of subgroups.
inline uint32_t required_subgroup_size(const SubgroupSizes& sizes, uint32_t vendor, uint32_t largest_group) {
    if (sizes.most == 0) return 0;
    uint32_t size = vendor == intel ? 16 : sizes.reported;
    if (size < sizes.least) size = sizes.least;
    if (size > sizes.most) size = sizes.most;
    while (size < sizes.most && uint64_t(size) * sizes.max_group_subgroups < largest_group) size *= 2;
    return size;
}

/// True for drivers that assign subgroups and lanes to the items of a group in the order of their linear indices. Vulkan promises
/// no order.
inline bool has_linear_subgroups(VkDriverId driver) {
    constexpr VkDriverId known[] = {
        VK_DRIVER_ID_AMD_PROPRIETARY,    VK_DRIVER_ID_AMD_OPEN_SOURCE,           VK_DRIVER_ID_MESA_RADV,
        VK_DRIVER_ID_NVIDIA_PROPRIETARY, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
        VK_DRIVER_ID_MESA_LLVMPIPE,      VK_DRIVER_ID_GOOGLE_SWIFTSHADER};
    for (const VkDriverId one : known)
        if (one == driver) return true;
    return false;
}

}  // namespace pumice_rt::vulkan
