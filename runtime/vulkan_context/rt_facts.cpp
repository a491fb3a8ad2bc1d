// Reading of a physical device's properties, and the table of features by which they are read, enabled and found in an
// application's chain of structures.
#include <stddef.h>
#include <string.h>

#include "runtime/bundle/bundle_format.h"
#include "runtime/vulkan_context/rt_properties.h"

namespace pumice_rt::vulkan {
namespace {

/// A VkBool32 in a structure that a VkDeviceCreateInfo may chain, and the feature that it stands for.
struct FeatureSwitch {
    VkStructureType type;
    uint32_t offset, feature;
};

#define FEATURE(TYPE, structure, member, name) \
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE, offsetof(VkPhysicalDevice##structure, member), feature::name},
constexpr FeatureSwitch switches[] = {
#include "runtime/vulkan_rules/device_features.def"
};
#undef FEATURE

/// Prepends `item` to a pNext chain. All chained structures begin as VkBaseOutStructure does.
template <class Item> void chain(void*& head, Item& item, VkStructureType type) {
    item.sType = type;
    item.pNext = head;
    head = &item;
}

pumice_status read_extensions(const InstanceFunctions& vk, VkPhysicalDevice device, const pumice_hooks& hooks, Facts& f) {
    uint32_t count = 0;
    vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    List<VkExtensionProperties> found(hooks);
    if (!found.resize(count)) return fail(PUMICE_ERROR_MEMORY, "the host has no memory for the extensions of a Vulkan device");
    vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, found.data());
    for (uint32_t i = 0; i < count && i < found.size(); ++i)
        for (uint32_t bit = 0; bit < extension::count; ++bit)
            if (strcmp(found[i].extensionName, extension_name(1u << bit)) == 0) f.extensions |= 1u << bit;
    return PUMICE_OK;
}

bool sizes_subgroups(const Facts& f) { return f.api_version >= VK_API_VERSION_1_3 || (f.extensions & extension::subgroup_sizes); }

int64_t clamped(VkDeviceSize size) { return size > VkDeviceSize(INT64_MAX) ? INT64_MAX : int64_t(size); }

void read_properties(const InstanceFunctions& vk, VkPhysicalDevice device, Facts& f) {
    VkPhysicalDeviceMaintenance3Properties allocation{};
    VkPhysicalDeviceSubgroupProperties subgroup{};
    VkPhysicalDeviceDriverProperties driver{};
    VkPhysicalDeviceMaintenance4Properties buffer{};
    VkPhysicalDeviceFloatControlsProperties floats{};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{};
    VkPhysicalDevicePushDescriptorPropertiesKHR push{};
    void* head = nullptr;
    chain(head, allocation, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES);
    chain(head, subgroup, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
    if (f.api_version >= VK_API_VERSION_1_2) chain(head, driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES);
    if (f.api_version >= VK_API_VERSION_1_2) chain(head, floats, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES);
    if (f.api_version >= VK_API_VERSION_1_3) chain(head, buffer, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES);
    if (sizes_subgroups(f)) chain(head, sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES);
    if (f.extensions & extension::push_descriptor)
        chain(head, push, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR);
    VkPhysicalDeviceProperties2 all{};
    chain(head, all, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2);
    vk.GetPhysicalDeviceProperties2(device, &all);

    f.max_allocation_bytes = clamped(allocation.maxMemoryAllocationSize);
    f.max_buffer_bytes = clamped(buffer.maxBufferSize);
    if (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) f.subgroup_operations = subgroup.supportedOperations;
    f.subgroup_size = subgroup.subgroupSize > 0 ? subgroup.subgroupSize : 1;
    if (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) {
        f.min_subgroup_size = sizes.minSubgroupSize;
        f.max_subgroup_size = sizes.maxSubgroupSize;
        f.max_group_subgroups = sizes.maxComputeWorkgroupSubgroups;
    }
    if (floats.shaderSignedZeroInfNanPreserveFloat32) f.float_modes |= property::float_specials;
    const bool own_subnormals = floats.denormBehaviorIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    const bool own_rounding = floats.roundingModeIndependence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    if (floats.shaderSignedZeroInfNanPreserveFloat64) f.float_modes |= property::double_specials;
    if (floats.shaderDenormPreserveFloat32 && own_subnormals) f.float_modes |= property::float_subnormals;
    if (floats.shaderRoundingModeRTEFloat32 && own_rounding) f.float_modes |= property::float_to_even;
    f.max_push_descriptors = push.maxPushDescriptors;
    f.driver = driver.driverID;
    memcpy(f.driver_info, driver.driverInfo, sizeof f.driver_info);
}

void read_features(const InstanceFunctions& vk, VkPhysicalDevice device, Facts& f) {
    VkPhysicalDeviceVulkan11Features v11{};
    VkPhysicalDeviceVulkan12Features v12{};
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes{};
    VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics{};
    void* head = nullptr;
    chain(head, v11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
    chain(head, v12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    if (sizes_subgroups(f)) chain(head, sizes, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    if (f.extensions & extension::atomic_float)
        chain(head, atomics, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT);
    VkPhysicalDeviceFeatures2 all{};
    chain(head, all, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2);
    vk.GetPhysicalDeviceFeatures2(device, &all);
    f.features = features_in(&all);
}

}  // namespace

const char* extension_name(uint32_t bit) {
    switch (bit) {
        case extension::push_descriptor: return VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME;
        case extension::atomic_float: return VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME;
        case extension::subgroup_sizes: return VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
        default: return "VK_KHR_portability_subset";  // its macro needs VK_ENABLE_BETA_EXTENSIONS
    }
}

uint32_t features_in(const void* head) {
    uint32_t features = 0;
    for (auto* next = static_cast<const VkBaseInStructure*>(head); next; next = next->pNext)
        for (const FeatureSwitch& one : switches) {
            VkBool32 set = VK_FALSE;
            if (one.type == next->sType) memcpy(&set, reinterpret_cast<const char*>(next) + one.offset, sizeof set);
            if (set) features |= one.feature;
        }
    return features;
}

void switch_on(void* head, uint32_t features) {
    const VkBool32 set = VK_TRUE;
    for (auto* next = static_cast<VkBaseOutStructure*>(head); next; next = next->pNext)
        for (const FeatureSwitch& one : switches)
            if (one.type == next->sType && (features & one.feature))
                memcpy(reinterpret_cast<char*>(next) + one.offset, &set, sizeof set);
}

pumice_status read_facts(const InstanceFunctions& vk, VkPhysicalDevice device, const pumice_hooks& hooks, Facts& f) {
    f = {};
    f.subgroup_size = 1;
    f.buffer_memory_types = ~0u;
    vk.GetPhysicalDeviceProperties(device, &f.basic);
    f.api_version = f.basic.apiVersion;
    vk.GetPhysicalDeviceMemoryProperties(device, &f.memory);
    f.family_count = sizeof f.families / sizeof *f.families;
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &f.family_count, f.families);
    RT_TRY(read_extensions(vk, device, hooks, f));
    if (f.api_version >= VK_API_VERSION_1_1) read_properties(vk, device, f);
    if (f.api_version >= VK_API_VERSION_1_2) read_features(vk, device, f);
    return PUMICE_OK;
}

}  // namespace pumice_rt::vulkan
