#include "vulkan/vulkan_group_size.h"

#include <algorithm>
#include <bit>

#include "core/interp/interp_program.h"

namespace pumice::vulkan {
namespace {

using Extents = std::array<int64_t, 3>;

int64_t bytes_of(const ir::Kernel& kernel, const ir::Memory& memory, const Extents& group) {
    return interp::asked_elements(kernel, memory, group) * memory.element.size;
}

int64_t items(const Extents& group) { return group[0] * group[1] * group[2]; }

int64_t floor_power(int64_t n) { return int64_t(std::bit_floor(uint64_t(std::max<int64_t>(n, 1)))); }

/// The largest power of two up to `most` whose next multiple exceeds `extent` by at most a quarter of it. A row of 8 items, and
/// one item along the other axes, is always taken.
int64_t fitting(int64_t extent, int64_t most, int axis) {
    int64_t group = std::min(most, int64_t(std::bit_ceil(uint64_t(std::max<int64_t>(extent, 1)))));
    const auto padded = [&] { return (extent + group - 1) / group * group; };
    while (group > (axis == 0 ? 8 : 1) && padded() - extent > extent / 4) group /= 2;
    return group;
}

/// Halves the largest extent.
void shrink(Extents& group) { *std::max_element(group.begin(), group.end()) /= 2; }

}  // namespace

int64_t local_memory(const ir::Kernel& kernel, const Extents& group) {
    int64_t bytes = 0;
    for (const ir::Memory& memory : kernel.memories)
        if (memory.kind == ir::MemoryKind::local) bytes += bytes_of(kernel, memory, group);
    return bytes;
}

Extents choose_group(const ir::Kernel& kernel, const Extents& extent, int rank, const GroupLimits& with) {
    const Limits& limits = with.limits;
    // Axis 0 gets a row of items first, for contiguous access; the other axes get the rest.
    int64_t left = floor_power(std::min<int64_t>(limits.max_group_size, 256));
    const int64_t wanted[3] = {rank == 1 || with.rows ? left : 32, rank == 2 ? left : 4, left};
    Extents group{1, 1, 1};
    for (int axis = 0; axis < std::clamp(rank, 1, 3); ++axis) {
        group[axis] = fitting(extent[axis], std::min({wanted[axis], left, floor_power(limits.max_group_extent[axis])}), axis);
        left /= group[axis];
    }
    // If later axes are short, axis 0 takes the rest.
    group[0] = fitting(extent[0], std::min(group[0] * left, floor_power(limits.max_group_extent[0])), 0);
    // Larger groups if the range would otherwise not fit one dispatch.
    const auto count = [&](int axis) { return (extent[axis] + group[axis] - 1) / group[axis]; };
    for (int axis = 0; axis < 3; ++axis)
        while (count(axis) > with.max_count[axis] && items(group) * 2 <= limits.max_group_size &&
               group[axis] * 2 <= limits.max_group_extent[axis])
            group[axis] *= 2;
    while (items(group) > 1 && local_memory(kernel, group) > limits.local_memory) shrink(group);
    return group;
}

}  // namespace pumice::vulkan
