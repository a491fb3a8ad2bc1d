// Group sizes: the default choice, and the local memory of a group. Pure functions.
#pragma once
#include <array>
#include <cstdint>

#include "core/host/backend.h"

namespace pumice::vulkan {

/// Bytes of all local memory.
int64_t local_memory(const ir::Kernel& kernel, const std::array<int64_t, 3>& group);

/// Inputs of the choice besides the kernel and the range.
struct GroupLimits {
    Limits limits;
    std::array<int64_t, 3> max_count{65535, 65535, 65535};  ///< groups of one dispatch along each axis
    bool rows = false;                                      ///< DevicePlan::row_groups
};

/// Chooses extents for a range of `extent` items, within the limits; never fails. All are powers of two, so that ranges of many
/// sizes share few pipelines.
std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const std::array<int64_t, 3>& extent, int rank,
                                    const GroupLimits& limits);

}  // namespace pumice::vulkan
