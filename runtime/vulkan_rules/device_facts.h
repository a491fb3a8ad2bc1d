// Facts for the plans of library and runtime: properties of a physical device, and switches of the environment.
#pragma once
#include "runtime/vulkan_rules/device_rules.h"
#include "runtime/vulkan_rules/vulkan_calls.h"

namespace pumice_rt::vulkan {

/// Switches from the environment. Those named PUMICE_VULKAN_ force code paths that a driver would not take otherwise.
struct SharedSwitches {
    bool validate = false;         ///< PUMICE_VALIDATE=1
    bool pairs = false;            ///< PUMICE_VULKAN_PAIRS=1: 64-bit integers by pairs of 32-bit ones
    bool bare = false;             ///< PUMICE_VULKAN_BARE=1: no subgroup operations, no float atomics, no bytes in buffers
    bool staging = false;          ///< PUMICE_VULKAN_STAGING=1: never map arrays, copy through staging memory
    bool descriptor_sets = false;  ///< PUMICE_VULKAN_SETS=1: no push descriptors
    bool divides = false;  ///< PUMICE_VULKAN_DIVIDE=1: do not trust the driver's division and square root under strict maths
    bool loops = false;    ///< PUMICE_VULKAN_LOOPS=1: check at a kernel's end that the driver has not ended loops
    bool slices = false;   ///< PUMICE_VULKAN_SLICES=1: slice every launch whose pace is known, however short

    /// `set`: whether a variable of the environment is set.
    template <class Set> void read(const Set& set) {
        validate = set("PUMICE_VALIDATE");
        pairs = set("PUMICE_VULKAN_PAIRS");
        bare = set("PUMICE_VULKAN_BARE");
        staging = set("PUMICE_VULKAN_STAGING");
        descriptor_sets = set("PUMICE_VULKAN_SETS");
        divides = set("PUMICE_VULKAN_DIVIDE");
        loops = set("PUMICE_VULKAN_LOOPS");
        slices = set("PUMICE_VULKAN_SLICES");
    }
};

/// Bits of the float modes that shaders may request for one width alone, as in codegen::FloatModes.
namespace float_mode {
constexpr uint32_t specials = 1, subnormals = 2, to_even = 4, double_specials = 16;
}  // namespace float_mode

struct DeviceFacts {
    uint32_t api_version = 0;          ///< at most the one that the application has asked for
    VkDriverId driver_id{};            ///< 0: unknown
    int64_t max_allocation_bytes = 0;  ///< of one VkDeviceMemory; the driver may refuse larger ones
    int64_t max_buffer_bytes = 0;      ///< of one VkBuffer; 0 if unknown
    uint32_t max_push_descriptors = 0;
    uint32_t subgroup_size = 1;
    uint32_t min_subgroup_size = 0, max_subgroup_size = 0;  ///< sizes that a compute pipeline may require; 0: none
    uint32_t max_group_subgroups = 0;                       ///< of one work-group with a required size
    uint32_t subgroup_operations = 0;                       ///< VkSubgroupFeatureFlagBits of compute shaders
    uint32_t float_modes = 0;                               ///< bits of float_mode
    VkPhysicalDeviceMemoryProperties memory{};
    uint32_t buffer_memory_types = ~0u;  ///< a bit for each memory type that a buffer may have: known once the device is open

    SubgroupSizes subgroup_sizes() const { return {subgroup_size, min_subgroup_size, max_subgroup_size, max_group_subgroups}; }
};

/// Reads the properties of a device of Vulkan 1.1 or later. `head`: further structures to be filled. `sizes_subgroups`: its
/// version or an extension defines required subgroup sizes; `push_descriptors`: it has that extension.
template <class Functions> VkPhysicalDeviceDriverProperties read_properties(const Functions& vk, VkPhysicalDevice device,
                                                                            bool sizes_subgroups, bool push_descriptors,
                                                                            DeviceFacts& f, void* head = nullptr) {
    auto allocation =
        structure<VkPhysicalDeviceMaintenance3Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    auto subgroup = structure<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    auto driver = structure<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    auto buffer = structure<VkPhysicalDeviceMaintenance4Properties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    auto floats = structure<VkPhysicalDeviceFloatControlsProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
    auto sizes = structure<VkPhysicalDeviceSubgroupSizeControlProperties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    auto push =
        structure<VkPhysicalDevicePushDescriptorPropertiesKHR>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR);
    chain(head, allocation);
    chain(head, subgroup);
    if (f.api_version >= VK_API_VERSION_1_2) chain(head, driver);
    if (f.api_version >= VK_API_VERSION_1_2) chain(head, floats);
    if (f.api_version >= VK_API_VERSION_1_3) chain(head, buffer);
    if (sizes_subgroups) chain(head, sizes);
    if (push_descriptors) chain(head, push);
    auto all = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, head);
    vk.GetPhysicalDeviceProperties2(device, &all);

    const auto clamped = [](VkDeviceSize size) { return size > VkDeviceSize(INT64_MAX) ? INT64_MAX : int64_t(size); };
    f.max_allocation_bytes = clamped(allocation.maxMemoryAllocationSize);
    f.max_buffer_bytes = clamped(buffer.maxBufferSize);
    if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) f.subgroup_operations = subgroup.supportedOperations;
    f.subgroup_size = subgroup.subgroupSize > 0 ? subgroup.subgroupSize : 1;
    if (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) {
        f.min_subgroup_size = sizes.minSubgroupSize;
        f.max_subgroup_size = sizes.maxSubgroupSize;
        f.max_group_subgroups = sizes.maxComputeWorkgroupSubgroups;
    }
    if (floats.shaderSignedZeroInfNanPreserveFloat32) f.float_modes |= float_mode::specials;
    const bool own_subnormals = floats.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    const bool own_rounding = floats.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    if (floats.shaderSignedZeroInfNanPreserveFloat64) f.float_modes |= float_mode::double_specials;
    if (floats.shaderDenormPreserveFloat32 && own_subnormals) f.float_modes |= float_mode::subnormals;
    if (floats.shaderRoundingModeRTEFloat32 && own_rounding) f.float_modes |= float_mode::to_even;
    f.max_push_descriptors = push.maxPushDescriptors;
    f.driver_id = driver.driverID;
    return driver;
}

/// Gives `take` a chain with the features of a device of Vulkan 1.2 or later.
template <class Functions, class Take>
void read_features(const Functions& vk, VkPhysicalDevice device, bool sizes_subgroups, bool float_atomics, const Take& take) {
    auto v11 = structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    auto v12 = structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    auto sizes =
        structure<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    auto atomics = structure<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
    void* head = nullptr;
    chain(head, v11);
    chain(head, v12);
    if (sizes_subgroups) chain(head, sizes);
    if (float_atomics) chain(head, atomics);
    auto all = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, head);
    vk.GetPhysicalDeviceFeatures2(device, &all);
    take(&all);
}

}  // namespace pumice_rt::vulkan
