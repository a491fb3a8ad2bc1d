// Group sizes: what a launch gets that asks for none, and what local memory a group of a size takes. Pure functions.
#pragma once
#include <array>
#include <cstdint>

#include "core/host/backend.h"

namespace pumice::vulkan {

/// Bytes of all local memory.
int64_t local_memory(const ir::Kernel& kernel, const std::array<int64_t, 3>& group);

/// What the choice depends on besides the kernel and the range.
struct GroupLimits {
    Limits limits;
    std::array<int64_t, 3> max_count{65535, 65535, 65535};  ///< groups of one dispatch along each axis
    bool on_host = false;                                   ///< work-items run on the host's processor
};

/// Extents for a range of `extent` items, within the limits, never a failure. All are powers of two, so that ranges of many
/// sizes share few pipelines.
std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const std::array<int64_t, 3>& extent, int rank,
                                    const GroupLimits& limits);

}  // namespace pumice::vulkan
