// The default group size: a row of items first, for contiguous access; then the other axes; after vulkan/vulkan_group_size.cpp.
#include "runtime/vulkan/rt_group_size.h"

namespace pumice_rt::vulkan {
namespace {

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
int64_t floor_power(int64_t n) { return int64_t(1) << (63 - __builtin_clzll(uint64_t(n > 1 ? n : 1))); }
int64_t ceil_power(int64_t n) { return n <= 1 ? 1 : int64_t(1) << (64 - __builtin_clzll(uint64_t(n - 1))); }

/// The largest power of two up to `most` whose next multiple exceeds `extent` by at most a quarter of it. A row of 8 items, and
/// one item along the other axes, is always taken.
int64_t fitting(int64_t extent, int64_t most, int axis) {
    int64_t group = least(most, extent > most ? most : ceil_power(extent));
    const int64_t smallest = axis == 0 ? 8 : 1;
    while (group > smallest && (extent + group - 1) / group * group - extent > extent / 4) group /= 2;
    return group;
}

}  // namespace

int64_t local_memory(const Bundle& bundle, const KernelRecord& kernel, const int64_t (&group)[3]) {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < kernel.locals.count; ++i) {
        const LocalRecord& one = bundle.locals[kernel.locals.first + i];
        bytes += bundle.size_of(one.steps, group) * one.element_bytes;
    }
    return bytes;
}

void choose_group(const Launch& launch, const GroupLimits& limits, int64_t (&group)[3]) {
    const int rank = launch.rank < 1 ? 1 : launch.rank > 3 ? 3 : launch.rank;
    int64_t left = floor_power(least(limits.max_size, 256));
    const int64_t wanted[3] = {rank == 1 || limits.rows ? left : 32, rank == 2 ? left : 4, left};
    group[0] = group[1] = group[2] = 1;
    for (int axis = 0; axis < rank; ++axis) {
        const int64_t most = least(wanted[axis], least(left, floor_power(limits.max_extent[axis])));
        group[axis] = fitting(launch.extent[axis], most, axis);
        left /= group[axis];
    }
    // If later axes are short, axis 0 takes the rest.
    group[0] = fitting(launch.extent[0], least(group[0] * left, floor_power(limits.max_extent[0])), 0);
    // Larger groups if the range would otherwise not fit one dispatch.
    for (int axis = 0; axis < 3; ++axis)
        while ((launch.extent[axis] + group[axis] - 1) / group[axis] > limits.max_count[axis] &&
               group[0] * group[1] * group[2] * 2 <= limits.max_size && group[axis] * 2 <= limits.max_extent[axis])
            group[axis] *= 2;
    const KernelRecord& kernel = launch.record();
    if (kernel.locals.count == 0) return;
    while (group[0] * group[1] * group[2] > 1 && local_memory(*launch.bundle, kernel, group) > limits.local_memory) {
        int largest = 0;
        for (int axis = 1; axis < 3; ++axis)
            if (group[axis] > group[largest]) largest = axis;
        group[largest] /= 2;
    }
}

}  // namespace pumice_rt::vulkan
