// The properties of a physical device, and the plan for its use: the properties that modules may want, the features to enable,
// the queue family and the memory types.
//
// read_facts() asks the driver, make_plan() decides and asks nobody, so that a test can call it with any facts.
#pragma once
#include <stdint.h>

#include "runtime/support/hook_memory.h"
#include "runtime/vulkan_context/rt_functions.h"
#include "runtime/vulkan_rules/device_facts.h"

namespace pumice_rt::vulkan {

/// Features of Vulkan that the runtime uses.
namespace feature {
constexpr uint32_t timeline_semaphore = 1u << 0, buffer_device_address = 1u << 1, scalar_block_layout = 1u << 2,
                   shader_int8 = 1u << 3, shader_int16 = 1u << 4, shader_int64 = 1u << 5, shader_float16 = 1u << 6,
                   shader_float64 = 1u << 7, storage_8bit = 1u << 8, storage_16bit = 1u << 9, buffer_int64_atomics = 1u << 10,
                   shared_int64_atomics = 1u << 11, buffer_float32_atomic_add = 1u << 12, shared_float32_atomic_add = 1u << 13,
                   subgroup_extended_types = 1u << 14, subgroup_size_control = 1u << 15, full_subgroups = 1u << 16;
}  // namespace feature

/// Device extensions that the runtime uses.
namespace extension {
constexpr uint32_t push_descriptor = 1, atomic_float = 2, subgroup_sizes = 4, portability_subset = 8, count = 4;
}  // namespace extension
/// The name of the extension with this bit.
const char* extension_name(uint32_t bit);

struct Facts : DeviceFacts {
    VkPhysicalDeviceProperties basic{};  ///< name, type, limits
    char driver_info[VK_MAX_DRIVER_INFO_SIZE] = "";
    uint32_t features = 0, extensions = 0;
    uint32_t family_count = 0;
    VkQueueFamilyProperties families[16]{};
};

/// The rules by which commands are collected in batches. Each batch is one submission.
struct Batching {
    bool when_idle;           ///< an idle device is given commands at once, but for the interval
    bool by_thread;           ///< a thread submits an open batch about a millisecond after the last command
    bool spins;               ///< a wait begins by asking again and again
    int64_t interval_ns;      ///< shortest time between two submissions that nobody waits for
    uint32_t most_commands;   ///< largest number of commands in a batch
    uint32_t most_in_flight;  ///< largest number of batches; a host that runs further ahead waits. At most 64
};

using Switches = SharedSwitches;
Switches switches_from_environment();

struct DevicePlan : MemoryPlan {
    char unusable[160];             ///< the reason why the device cannot be used, as the end of a sentence; "" if it can
    uint64_t properties;            ///< the bits of property:: in bundle_format.h
    uint32_t features, extensions;  ///< to enable
    uint32_t queue_family;
    uint32_t time_stamp_bits;         ///< valid bits of the queue's time stamps; 0: none
    double most_seconds;              ///< longest submission, on devices with a watchdog; 0: no limit
    uint32_t required_subgroup_size;  ///< of pipelines that use subgroups; 0: none can be required
    bool pipelines_at_origin;         ///< ranges that begin at 0 have a pipeline of their own
    bool row_groups;                  ///< the default groups of a range are long rows, not tiles
    bool push_descriptors;            ///< else descriptor sets
    uint32_t max_bindings;            ///< storage buffers of one kernel
    bool always_staged;               ///< arrays are never mapped
    Batching batching;
};

/// Asks the driver for everything. Below Vulkan 1.1 only name, version and limits: such a device is not usable anyway.
pumice_status read_facts(const InstanceFunctions& vk, VkPhysicalDevice device, const pumice_hooks& hooks, Facts& facts);
void make_plan(const Facts& facts, const Switches& switches, DevicePlan& plan);
/// Plans the use of a queue family, which an application chooses itself.
void plan_queue(const Facts& facts, const Switches& switches, uint32_t family, DevicePlan& plan);
/// Plans the memory again: only once the device is open is it known which memory types buffers may have.
void plan_memory(const Facts& facts, DevicePlan& plan);

/// The features in a chain of structures as in VkDeviceCreateInfo::pNext; unknown structures are skipped.
uint32_t features_in(const void* chain);
/// Switches features on in the structures of a chain. Most features are in a structure of a Vulkan version and in one of an
/// extension, of which a chain has one.
void switch_on(void* chain, uint32_t features);

/// Vulkan's name for a property that a device lacks, such as "shaderFloat64": of the lowest bit set.
const char* property_name(uint64_t bits);

}  // namespace pumice_rt::vulkan
