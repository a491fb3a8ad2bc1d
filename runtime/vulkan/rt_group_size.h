// The default group size of a launch: a pure function.
#pragma once
#include "runtime/device/rt_device.h"
#include "runtime/vulkan_rules/group_size_rule.h"

namespace pumice_rt::vulkan {

/// Bytes of all local arrays of a kernel in groups of these extents.
int64_t local_memory(const Bundle& bundle, const KernelRecord& kernel, const int64_t (&group)[3]);
/// Chooses extents for a launch, within the limits. All are powers of two, so that ranges of many sizes share few pipelines.
void choose_group(const Launch& launch, const GroupLimits& limits, int64_t (&group)[3]);

}  // namespace pumice_rt::vulkan
