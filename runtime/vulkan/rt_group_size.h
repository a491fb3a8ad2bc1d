// The default group size of a launch: a pure function.
#pragma once
#include "runtime/device/rt_device.h"

namespace pumice_rt::vulkan {

/// Inputs of the choice besides the kernel and the range.
struct GroupLimits {
    int64_t max_size;       ///< items of a group
    int64_t max_extent[3];  ///< along each axis
    int64_t max_count[3];   ///< groups of one dispatch along each axis
    int64_t local_memory;   ///< bytes of a group
    bool rows;              ///< DevicePlan::row_groups
};

/// Bytes of all local arrays of a kernel in groups of these extents.
int64_t local_memory(const Bundle& bundle, const KernelRecord& kernel, const int64_t (&group)[3]);
/// Chooses extents for a launch, within the limits. All are powers of two, so that ranges of many sizes share few pipelines.
void choose_group(const Launch& launch, const GroupLimits& limits, int64_t (&group)[3]);

}  // namespace pumice_rt::vulkan
