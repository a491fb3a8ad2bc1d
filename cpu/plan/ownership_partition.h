// Ownership partition of reduction targets: threads own disjoint rows of an array, and need neither atomics nor private copies.
// axis_of_owners() finds the axis along which items own rows; OwnershipPartition cuts the range into strips along one or two such
// axes.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/host/backend.h"

namespace pumice::cpu {

/// The axis along which items own rows of the array: every access uses global_index(axis) + c, with one constant c, as the index
/// of one fixed dimension. -1: no such axis is known.
int axis_of_owners(const ir::Kernel& kernel, ir::MemoryId array);

/// The partition of the groups of a launch into pieces of work for threads.
class OwnershipPartition {
public:
    OwnershipPartition() = default;
    /// `owners`: axis_of_owners for each argument, or -1; `groups`: number of groups along each axis.
    OwnershipPartition(std::vector<int> owners, const std::array<int64_t, 3>& groups, int threads);

    /// True if some array has owners, and there are enough groups for all threads.
    bool any() const { return count > 0; }
    /// True if threads may add to this argument in place.
    bool cover(int argument) const { return any() && cut(owners[size_t(argument)]); }

    /// Wavefronts of the schedule, which run one after the other: the diagonals of the blocks.
    int64_t wavefronts() const { return axes[1] < 0 ? 1 : count; }
    /// Parts of a wavefront, which may run at the same time.
    int64_t parts_in_wavefront() const { return count; }
    struct GroupRange {
        std::array<int64_t, 3> begin, end;  ///< groups along each axis
    };
    GroupRange part(int64_t wavefront, int64_t number) const;

private:
    bool cut(int axis) const { return axis >= 0 && (axis == axes[0] || axis == axes[1]); }

    std::vector<int> owners;
    std::array<int64_t, 3> groups{};
    std::array<int, 2> axes{-1, -1};  ///< axes that are cut into strips; the second may be -1
    int64_t count = 0;                ///< strips along each cut axis
};

}  // namespace pumice::cpu
