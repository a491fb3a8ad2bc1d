// Heuristics for the group size of launches that leave it open.
#pragma once
#include <array>

#include "core/host/backend.h"

namespace pumice::cpu {

inline constexpr int64_t max_group_items = 1024;
inline constexpr int64_t long_range = 65536;  ///< items of a range; analysing the kernel costs little beside running that many
inline constexpr int64_t max_local_bytes = 256 << 10;  ///< a quarter of a common second-level cache

/// Bytes of local memory of a group of these extents. Throws Error for an array of no elements.
int64_t local_bytes(const ir::Kernel& kernel, const std::array<int64_t, 3>& group);

/// The argument of the first transposed access: its last index, along which elements are contiguous, depends on `axis` and not on
/// axis 0; an index before the last one depends on axis 0. -1: there is no such access.
int argument_across(const ir::Kernel& kernel, int axis = 1);

/// The kernel after interchange of axes 1 and 2 of its 3-dimensional range.
ir::Kernel with_axes_swapped(const ir::Kernel& kernel);

/// Bit set of the axes 1 and 2 along which neighbouring items load the same elements, as in a stencil.
uint32_t axes_of_stencils(const ir::Kernel& kernel);

/// Bytes of the largest element of the kernel's arrays.
int64_t largest_element(const ir::Kernel& kernel);

/// The group size for a stencil with these axes over elements of at most so many bytes. Only for kernels whose result does not
/// depend on the group size.
std::array<int64_t, 3> group_of_stencil(const std::array<int64_t, 3>& extent, uint32_t axes, int64_t bytes = 4);

/// The group size of such a kernel over rows, each of which it loads once: a group costs as much as some packets.
std::array<int64_t, 3> with_long_rows(std::array<int64_t, 3> group);

/// The group size for a kernel with an argument_across. With alignment peeling (cpu/plan/alignment_peeling.h) each row of a group
/// loads one packet more than it stores; wider groups have fewer such packets.
inline constexpr std::array<int64_t, 3> group_across{16, 16, 1}, peeled_group_across{32, 16, 1};

/// The group size of such a kernel over rows of `row` items: no wider than a short row needs, since a packet is no wider than its
/// group.
std::array<int64_t, 3> with_short_rows(std::array<int64_t, 3> group, int64_t row);

/// The default group size. Extents are powers of two: long along axis 0, the axis of the vectors; squares for kernels with an
/// argument_across. There are few different sizes, because each size needs its own compilation.
std::array<int64_t, 3> choose_group(const ir::Kernel& kernel, const std::array<int64_t, 3>& extent, int rank);

}  // namespace pumice::cpu
