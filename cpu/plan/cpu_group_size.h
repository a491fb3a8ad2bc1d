// How many work-items a group gets where the range does not say.
#pragma once
#include <array>

#include "core/host/backend.h"

namespace pumice::cpu {

inline constexpr int64_t max_group_items = 1024;
inline constexpr int64_t long_range = 65536;  ///< items: the work is more than looking at the kernel
inline constexpr int64_t max_local_bytes = 256 << 10;  ///< a quarter of a common second-level cache

/// Bytes of local memory of a group of these extents. Throws Error for an array of no elements.
int64_t local_bytes(const ir::Kernel& kernel, const std::array<int64_t, 3>& group);

/// The argument of the first access that has the range's axis 0 in another place than last, where the elements of a row lie side by side, and
/// this axis there; -1: there is none.
int argument_across(const ir::Kernel& kernel, int axis = 1);

/// The kernel of a range of 3 dimensions that has axes 1 and 2 the other way round.
ir::Kernel with_axes_swapped(const ir::Kernel& kernel);

/// The axes but 0, as bits, along which items load what others some way on load, too, as those of a stencil do.
uint32_t axes_of_stencils(const ir::Kernel& kernel);

/// The group for a kernel that cannot tell and has such axes.
std::array<int64_t, 3> group_of_stencil(const std::array<int64_t, 3>& extent, uint32_t axes);

/// The group for a kernel with an argument_across, and for one whose packets lie in whole lines besides (cpu/plan/alignment_peeling.h): each group loads a packet more of a row than it
/// stores, of which wider ones have fewer.
inline constexpr std::array<int64_t, 3> group_across{16, 16, 1}, group_across_with_lead{32, 16, 1};

/// Powers of two, long along axis 0, where vectors lie; squares where another array's rows go along axis 1. Few different ones, as
/// each is compiled for itself.
std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const std::array<int64_t, 3>& extent, int rank);

}  // namespace pumice::cpu
