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
    vk.GetPhysicalDeviceProperties(device, &f.basic);
    f.api_version = f.basic.apiVersion;
    vk.GetPhysicalDeviceMemoryProperties(device, &f.memory);
    f.family_count = sizeof f.families / sizeof *f.families;
    vk.GetPhysicalDeviceQueueFamilyProperties(device, &f.family_count, f.families);
    RT_TRY(read_extensions(vk, device, hooks, f));
    if (f.api_version >= VK_API_VERSION_1_1) {
        const auto driver = read_properties(vk, device, sizes_subgroups(f), f.extensions & extension::push_descriptor, f);
        memcpy(f.driver_info, driver.driverInfo, sizeof f.driver_info);
    }
    if (f.api_version >= VK_API_VERSION_1_2)
        read_features(vk, device, sizes_subgroups(f), f.extensions & extension::atomic_float,
                      [&](const void* chain) { f.features = features_in(chain); });
    return PUMICE_OK;
}

}  // namespace pumice_rt::vulkan
