// The default group size of a launch: a row of items first, for contiguous access; then the other axes. A pure function.
#pragma once
#include <stdint.h>

#include <algorithm>

namespace pumice_rt::vulkan {

/// Inputs of the choice besides the kernel and the range.
struct GroupLimits {
    int64_t max_size;       ///< items of a group
    int64_t max_extent[3];  ///< along each axis
    int64_t max_count[3];   ///< groups of one dispatch along each axis
    int64_t local_memory;   ///< bytes of a group
    bool rows;              ///< DevicePlan::row_groups
};

inline int64_t floor_power(int64_t n) { return int64_t(1) << (63 - __builtin_clzll(uint64_t(n > 1 ? n : 1))); }
inline int64_t ceil_power(int64_t n) { return n <= 1 ? 1 : int64_t(1) << (64 - __builtin_clzll(uint64_t(n - 1))); }

/// The largest power of two up to `most` whose next multiple exceeds `extent` by at most a quarter of it. The search halves, and
/// stops at 8 items along axis 0 and at 1 along the others: these are taken however far they exceed the extent.
inline int64_t fitting(int64_t extent, int64_t most, int axis) {
    int64_t group = extent > most ? most : std::min(most, ceil_power(extent));
    const auto padded = [&] { return (extent + group - 1) / group * group; };
    while (group > (axis == 0 ? 8 : 1) && padded() - extent > extent / 4) group /= 2;
    return group;
}

/// Chooses extents for a range, within the limits; never fails. All are powers of two, so that ranges of many sizes share few
/// pipelines. Extents: an array of three; `local_bytes` gives the local memory of a group.
template <class Extents, class LocalBytes>
void choose_extents(const Extents& extent, int rank, const GroupLimits& limits, const LocalBytes& local_bytes, Extents& group) {
    // Axis 0 gets a row of items first, for contiguous access; the other axes get the rest.
    int64_t left = floor_power(std::min<int64_t>(limits.max_size, 256));
    const int64_t wanted[3] = {rank <= 1 || limits.rows ? left : 32, rank == 2 ? left : 4, left};
    group[0] = group[1] = group[2] = 1;
    for (int axis = 0; axis < std::clamp(rank, 1, 3); ++axis) {
        group[axis] = fitting(extent[axis], std::min({wanted[axis], left, floor_power(limits.max_extent[axis])}), axis);
        left /= group[axis];
    }
    // If later axes are short, axis 0 takes the rest.
    group[0] = fitting(extent[0], std::min(group[0] * left, floor_power(limits.max_extent[0])), 0);
    // Larger groups if the range would otherwise not fit one dispatch.
    const auto items = [&] { return group[0] * group[1] * group[2]; };
    for (int axis = 0; axis < 3; ++axis)
        while ((extent[axis] + group[axis] - 1) / group[axis] > limits.max_count[axis] && items() * 2 <= limits.max_size &&
               group[axis] * 2 <= limits.max_extent[axis])
            group[axis] *= 2;
    while (items() > 1 && local_bytes(group) > limits.local_memory) *std::max_element(&group[0], &group[0] + 3) /= 2;
}

}  // namespace pumice_rt::vulkan
