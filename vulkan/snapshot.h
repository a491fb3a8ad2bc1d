// A snapshot of a physical device's properties as plain data: the input of the plan.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/vulkan_rules/device_facts.h"
#include "vulkan/vulkan_functions.h"

namespace pumice::vulkan {

struct Snapshot : pumice_rt::vulkan::DeviceFacts {
    std::string name;    ///< "llvmpipe (LLVM 15.0.6, 256 bits)"
    std::string driver;  ///< driver's name and version as text; may be empty
    VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
    uint32_t vendor = 0, device = 0, driver_version = 0;
    std::array<uint8_t, VK_UUID_SIZE> device_uuid{}, driver_uuid{};

    VkPhysicalDeviceLimits limits{};
    std::vector<std::string> extensions;
    std::vector<VkQueueFamilyProperties> queue_families;

    /// A format of images, and what the device does with it where the tiling is optimal: none of it for a format that it lacks.
    struct FormatSupport {
        VkFormat format;
        VkFormatFeatureFlags features;
    };
    std::vector<FormatSupport> formats;  ///< those of image_formats.h
    VkFormatFeatureFlags features_of(VkFormat format) const;

    // features, by Vulkan's names
    bool timeline_semaphore = false, buffer_device_address = false, scalar_block_layout = false;
    bool shader_int8 = false, shader_int16 = false, shader_int64 = false, shader_float16 = false, shader_float64 = false;
    bool storage_8bit = false, storage_16bit = false;
    bool buffer_int64_atomics = false, shared_int64_atomics = false;
    bool buffer_float32_atomic_add = false, shared_float32_atomic_add = false;
    bool storage_image_extended_formats = false;  ///< storage images of formats beyond those of every device
    bool storage_image_read_without_format = false, storage_image_write_without_format = false;
    bool subgroup_extended_types = false, subgroup_size_control = false, full_subgroups = false;

    bool has(const char* extension) const;
    /// True if its version or an extension defines required subgroup sizes; the features say whether they are supported.
    bool sizes_subgroups() const;
    bool software() const { return type == VK_PHYSICAL_DEVICE_TYPE_CPU; }
};

/// Reads a snapshot. Below Vulkan 1.1 only name, version and limits: the plan rejects such a device anyway.
Snapshot read_snapshot(const InstanceFunctions& vk, VkPhysicalDevice device);

}  // namespace pumice::vulkan
