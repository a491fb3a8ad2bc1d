#include "vulkan/enabled.h"

#include <gtest/gtest.h>

namespace pumice::vulkan {
namespace {

/// A device with every feature that kernels can use.
Snapshot all() {
    Snapshot s;
    s.api_version = VK_API_VERSION_1_3;
    s.timeline_semaphore = s.buffer_device_address = s.scalar_block_layout = true;
    s.shader_int8 = s.shader_int16 = s.shader_int64 = s.shader_float16 = s.shader_float64 = true;
    s.storage_8bit = s.storage_16bit = s.buffer_int64_atomics = s.shared_int64_atomics = true;
    s.buffer_float32_atomic_add = s.shared_float32_atomic_add = s.subgroup_extended_types = true;
    s.subgroup_size_control = s.full_subgroups = true;
    s.extensions = {VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME};
    return s;
}

int count(const Snapshot& s) {
    return s.timeline_semaphore + s.buffer_device_address + s.scalar_block_layout + s.shader_int8 + s.shader_int16 +
           s.shader_int64 + s.shader_float16 + s.shader_float64 + s.storage_8bit + s.storage_16bit + s.buffer_int64_atomics +
           s.shared_int64_atomics + s.buffer_float32_atomic_add + s.shared_float32_atomic_add + s.subgroup_extended_types +
           s.subgroup_size_control + s.full_subgroups;
}

TEST(Enabled, NothingIsOnUnlessItIsEnabled) {
    const Snapshot s = enabled(all(), {}, VK_API_VERSION_1_2);
    EXPECT_EQ(count(s), 0);
    EXPECT_TRUE(s.extensions.empty());
    EXPECT_EQ(s.api_version, VK_API_VERSION_1_2);
}

TEST(Enabled, TheStructuresOfTheVersions) {
    VkPhysicalDeviceVulkan12Features v12{};
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v12.timelineSemaphore = v12.shaderInt8 = true;
    VkPhysicalDeviceVulkan11Features v11{};
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    v11.pNext = &v12;
    v11.storageBuffer16BitAccess = true;
    VkPhysicalDeviceFeatures old{};
    old.shaderFloat64 = true;
    const char* const extensions[] = {"VK_KHR_swapchain", VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME};
    VkDeviceCreateInfo created{};
    created.pNext = &v11;
    created.pEnabledFeatures = &old;
    created.enabledExtensionCount = 2;
    created.ppEnabledExtensionNames = extensions;
    const Snapshot s = enabled(all(), enabled_by(created), VK_API_VERSION_1_3);
    EXPECT_TRUE(s.timeline_semaphore && s.shader_int8 && s.storage_16bit && s.shader_float64);
    EXPECT_EQ(count(s), 4);
    EXPECT_EQ(s.extensions, std::vector<std::string>{VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME});
    EXPECT_EQ(s.api_version, VK_API_VERSION_1_3);
}

TEST(Enabled, TheStructuresOfTheExtensions) {
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.timelineSemaphore = true;
    VkPhysicalDeviceShaderFloat16Int8Features small{};
    small.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    small.pNext = &timeline;
    small.shaderFloat16 = true;
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features.pNext = &small;
    features.features.shaderInt64 = true;
    VkDeviceCreateInfo created{};
    created.pNext = &features;
    const Snapshot s = enabled(all(), enabled_by(created), VK_API_VERSION_1_2);
    EXPECT_TRUE(s.timeline_semaphore && s.shader_float16 && s.shader_int64);
    EXPECT_EQ(count(s), 3);
    Snapshot without = all();
    without.shader_float16 = false;
    EXPECT_FALSE(enabled(without, enabled_by(created), VK_API_VERSION_1_2).shader_float16)
        << "enabling does not make a device have it";
}

}  // namespace
}  // namespace pumice::vulkan
