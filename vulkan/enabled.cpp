#include "vulkan/enabled.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace pumice::vulkan {
namespace {

/// A VkBool32 in a structure that a VkDeviceCreateInfo may chain, and the features that it enables.
struct FeatureSwitch {
    VkStructureType type;
    size_t offset;
    bool Snapshot::* feature;
};

#define FEATURE(TYPE, structure, member, feature) \
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE, offsetof(VkPhysicalDevice##structure, member), &Snapshot::feature},
// clang-format off
constexpr FeatureSwitch switches[] = {
    FEATURE(FEATURES_2, Features2, features.shaderStorageImageExtendedFormats, storage_image_extended_formats)
    FEATURE(FEATURES_2, Features2, features.shaderStorageImageReadWithoutFormat, storage_image_read_without_format)
    FEATURE(FEATURES_2, Features2, features.shaderStorageImageWriteWithoutFormat, storage_image_write_without_format)
#include "runtime/vulkan_rules/device_features.def"
};
// clang-format on
#undef FEATURE

}  // namespace

Enabled enabled_by(const VkDeviceCreateInfo& created) {
    return {created.pNext, created.pEnabledFeatures, {created.ppEnabledExtensionNames, created.enabledExtensionCount}};
}

void add_features(Snapshot& s, const void* chain) {
    for (auto* next = static_cast<const VkBaseInStructure*>(chain); next; next = next->pNext)
        for (const FeatureSwitch& one : switches) {
            VkBool32 set = VK_FALSE;
            if (one.type == next->sType) std::memcpy(&set, reinterpret_cast<const std::byte*>(next) + one.offset, sizeof set);
            if (set) s.*one.feature = true;
        }
}

Snapshot enabled(Snapshot s, const Enabled& by, uint32_t api_version) {
    s.api_version = std::min(s.api_version, api_version);

    Snapshot on;  // initially without features
    if (by.old) {
        const VkPhysicalDeviceFeatures2 same{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, nullptr, *by.old};
        add_features(on, &same);
    }
    add_features(on, by.features);
    for (const FeatureSwitch& one : switches) s.*one.feature = s.*one.feature && on.*one.feature;

    const auto is_on = [&](const std::string& name) {
        return std::ranges::any_of(by.extensions, [&](const char* one) { return name == one; });
    };
    std::erase_if(s.extensions, [&](const std::string& name) { return !is_on(name); });
    return s;
}

}  // namespace pumice::vulkan
