// The features and extensions that an application has enabled on its device.
#pragma once
#include <span>

#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// The enabled features and extensions of an application's device.
struct Enabled {
    const void* features = nullptr;                 ///< a pNext chain of structures
    const VkPhysicalDeviceFeatures* old = nullptr;  ///< additional features
    std::span<const char* const> extensions;
};
/// The features that these creation arguments of a device enable.
Enabled enabled_by(const VkDeviceCreateInfo& created);

/// Sets the features that are set in a chain of structures as in VkDeviceCreateInfo::pNext; unknown structures are skipped.
void add_features(Snapshot& snapshot, const void* chain);

/// The physical device without the features and extensions that are not enabled, and of at most the Vulkan version that the
/// application requested. A pure function.
Snapshot enabled(Snapshot physical, const Enabled& by, uint32_t api_version);

}  // namespace pumice::vulkan
