#include "vulkan/snapshot.h"

#include <algorithm>
#include <cstring>

#include "codegen/glsl/codegen.h"
#include "vulkan/enabled.h"
#include "vulkan/image_formats.h"

namespace pumice::vulkan {
namespace {

namespace float_mode = pumice_rt::vulkan::float_mode;
using codegen::FloatModes;
static_assert(float_mode::specials == FloatModes::specials && float_mode::subnormals == FloatModes::subnormals &&
              float_mode::to_even == FloatModes::to_even && float_mode::double_specials == FloatModes::double_specials);

void read_extensions(const InstanceFunctions& vk, VkPhysicalDevice device, Snapshot& s) {
    uint32_t count = 0;
    vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> found(count);
    vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, found.data());
    found.resize(count);
    for (const auto& extension : found) s.extensions.push_back(extension.extensionName);
}

void read_properties(const InstanceFunctions& vk, VkPhysicalDevice device, Snapshot& s) {
    auto id = structure<VkPhysicalDeviceIDProperties>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES);
    const VkPhysicalDeviceDriverProperties driver =
        pumice_rt::vulkan::read_properties(vk, device, s.sizes_subgroups(), s.has(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME), s, &id);
    std::memcpy(s.device_uuid.data(), id.deviceUUID, VK_UUID_SIZE);
    std::memcpy(s.driver_uuid.data(), id.driverUUID, VK_UUID_SIZE);
    s.driver = driver.driverName;
    if (driver.driverInfo[0]) s.driver += std::string(s.driver.empty() ? "" : " ") + driver.driverInfo;
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
    if (s.api_version >= VK_API_VERSION_1_2)
        pumice_rt::vulkan::read_features(vk, device, s.sizes_subgroups(), s.has(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME),
                                         [&](const void* chain) { add_features(s, chain); });
    read_formats(vk, device, s);
    return s;
}

}  // namespace pumice::vulkan
