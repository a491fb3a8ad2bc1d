#include "vulkan/snapshot.h"

#include <algorithm>
#include <cstring>

#include "codegen/glsl/codegen.h"
#include "vulkan/enabled.h"
#include "vulkan/image_formats.h"

namespace pumice::vulkan {
namespace {

/// Prepends `item` to a pNext chain. All chained structures begin as VkBaseOutStructure does.
template <class Item> void chain(void*& head, Item& item) {
    item.pNext = head;
    head = &item;
}

void read_extensions(const InstanceFunctions& vk, VkPhysicalDevice device, Snapshot& s) {
    uint32_t count = 0;
    vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> found(count);
    vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, found.data());
    found.resize(count);
    for (const auto& extension : found) s.extensions.push_back(extension.extensionName);
}

void read_properties(const InstanceFunctions& vk, VkPhysicalDevice device, Snapshot& s) {
    VkPhysicalDeviceIDProperties id{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES, nullptr, {}, {}, {}, 0, false};
    VkPhysicalDeviceMaintenance3Properties allocation{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, nullptr, 0, 0};
    auto subgroup = structure<VkPhysicalDeviceSubgroupProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    auto driver = structure<VkPhysicalDeviceDriverProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    VkPhysicalDeviceMaintenance4Properties buffer{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES, nullptr, 0};
    auto floats = structure<VkPhysicalDeviceFloatControlsProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
    auto sizes = structure<VkPhysicalDeviceSubgroupSizeControlProperties>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    auto push =
        structure<VkPhysicalDevicePushDescriptorPropertiesKHR>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR);
    void* head = nullptr;
    chain(head, id);
    chain(head, allocation);
    chain(head, subgroup);
    if (s.api_version >= VK_API_VERSION_1_2) chain(head, driver);
    if (s.api_version >= VK_API_VERSION_1_2) chain(head, floats);
    if (s.api_version >= VK_API_VERSION_1_3) chain(head, buffer);
    if (s.sizes_subgroups()) chain(head, sizes);
    if (s.has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) chain(head, push);
    auto all = structure<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, head);
    vk.GetPhysicalDeviceProperties2(device, &all);

    std::memcpy(s.device_uuid.data(), id.deviceUUID, VK_UUID_SIZE);
    std::memcpy(s.driver_uuid.data(), id.driverUUID, VK_UUID_SIZE);
    s.max_allocation_bytes = int64_t(std::min<uint64_t>(allocation.maxMemoryAllocationSize, INT64_MAX));
    s.max_buffer_bytes = int64_t(std::min<uint64_t>(buffer.maxBufferSize, INT64_MAX));
    if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) s.subgroup_operations = subgroup.supportedOperations;
    s.subgroup_size = std::max(1, int(subgroup.subgroupSize));
    if (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) {
        s.min_subgroup_size = int(sizes.minSubgroupSize);
        s.max_subgroup_size = int(sizes.maxSubgroupSize);
        s.max_group_subgroups = sizes.maxComputeWorkgroupSubgroups;
    }
    if (floats.shaderSignedZeroInfNanPreserveFloat32) s.float_modes |= codegen::FloatModes::specials;
    const bool own_subnormals = floats.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    const bool own_rounding = floats.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    if (floats.shaderSignedZeroInfNanPreserveFloat64) s.float_modes |= codegen::FloatModes::double_specials;
    if (floats.shaderDenormPreserveFloat32 && own_subnormals) s.float_modes |= codegen::FloatModes::subnormals;
    if (floats.shaderRoundingModeRTEFloat32 && own_rounding) s.float_modes |= codegen::FloatModes::to_even;
    s.max_push_descriptors = push.maxPushDescriptors;
    s.driver = driver.driverName;
    s.driver_id = driver.driverID;
    if (driver.driverInfo[0]) s.driver += std::string(s.driver.empty() ? "" : " ") + driver.driverInfo;
}

void read_features(const InstanceFunctions& vk, VkPhysicalDevice device, Snapshot& s) {
    auto v11 = structure<VkPhysicalDeviceVulkan11Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    auto v12 = structure<VkPhysicalDeviceVulkan12Features>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    auto sizes =
        structure<VkPhysicalDeviceSubgroupSizeControlFeatures>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    auto atomics = structure<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
    void* head = nullptr;
    chain(head, v11);
    chain(head, v12);
    if (s.sizes_subgroups()) chain(head, sizes);
    if (s.has(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) chain(head, atomics);
    auto all = structure<VkPhysicalDeviceFeatures2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, head);
    vk.GetPhysicalDeviceFeatures2(device, &all);
    add_features(s, &all);
}

void read_formats(const InstanceFunctions& vk, VkPhysicalDevice device, Snapshot& s) {
    for (const VkFormat format : image_formats()) {
        VkFormatProperties properties{};
        vk.GetPhysicalDeviceFormatProperties(device, format, &properties);
        s.formats.push_back({format, properties.optimalTilingFeatures});
    }
}

}  // namespace

VkFormatFeatureFlags Snapshot::features_of(VkFormat format) const {
    const auto found = std::ranges::find_if(formats, [&](const FormatSupport& f) { return f.format == format; });
    return found == formats.end() ? 0 : found->features;
}

bool Snapshot::has(const char* extension) const { return std::ranges::find(extensions, extension) != extensions.end(); }

bool Snapshot::sizes_subgroups() const {
    return api_version >= VK_API_VERSION_1_3 || has(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
}

Snapshot read_snapshot(const InstanceFunctions& vk, VkPhysicalDevice device) {
    Snapshot s;
    VkPhysicalDeviceProperties basic{};
    vk.GetPhysicalDeviceProperties(device, &basic);
    s.name = basic.deviceName;
    s.type = basic.deviceType;
    s.api_version = basic.apiVersion;
    s.vendor = basic.vendorID;
    s.device = basic.deviceID;
    s.driver_version = basic.driverVersion;
    s.limits = basic.limits;
    vk.GetPhysicalDeviceMemoryProperties(device, &s.memory);
    uint32_t families = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &families, nullptr);
    s.queue_families.resize(families);
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &families, s.queue_families.data());
    s.queue_families.resize(families);
    read_extensions(vk, device, s);
    if (s.api_version >= VK_API_VERSION_1_1) read_properties(vk, device, s);
    if (s.api_version >= VK_API_VERSION_1_2) read_features(vk, device, s);
    read_formats(vk, device, s);
    return s;
}

}  // namespace pumice::vulkan
