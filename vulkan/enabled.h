// What an application has enabled of its device.
#pragma once
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// The physical device less the features and extensions that `created` does not enable, and at most of the version that the
/// application asked Vulkan for. A pure function.
Snapshot enabled(Snapshot physical, const VkDeviceCreateInfo& created, uint32_t api_version);

}  // namespace pumice::vulkan
