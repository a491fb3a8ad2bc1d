// What an application has enabled of its device.
#pragma once
#include <span>

#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// The features and extensions that an application says it has enabled.
struct Enabled {
    const void* features = nullptr;                 ///< a chain of structures
    const VkPhysicalDeviceFeatures* old = nullptr;  ///< besides
    std::span<const char* const> extensions;
};
/// The features that the arguments of a device's creation enable.
Enabled enabled_by(const VkDeviceCreateInfo& created);

/// The physical device less the features and extensions that are not enabled, and at most of the version that the application asked
/// Vulkan for. A pure function.
Snapshot enabled(Snapshot physical, const Enabled& by, uint32_t api_version);

}  // namespace pumice::vulkan
