// Ownership partition of reduction targets: threads own disjoint rows of an array, and need neither atomics nor private copies.
// axis_of_owners() finds the axis along which items own rows; OwnershipPartition cuts the range into strips along one or two such
// axes. owned_ranges() finds the arrays of which each item owns a range that begins where its neighbour's ends.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/host/backend.h"

namespace pumice::cpu {

/// The axis along which items own rows of the array: every access uses global_index(axis) + c, with one constant c, as the index
/// of one fixed dimension. -1: no such axis is known.
int axis_of_owners(const ir::Kernel& kernel, ir::MemoryId array);

/// Item i of a one-dimensional range adds only to the elements bounds[i + offset] to bounds[i + offset + 1] - 1 of one dimension.
struct OwnedRanges {
    int bounds = -1;  ///< the argument
    int64_t offset = 0;
    bool operator==(const OwnedRanges&) const = default;
};

/// The ranges that items own of an array; nothing if none are known.
std::optional<OwnedRanges> owned_ranges(const ir::Kernel& kernel, ir::MemoryId array);

/// True if the ranges between adjacent bounds are disjoint: no bound is less than the one before.
bool never_decrease(std::span<const int32_t> bounds);

/// The partition of the groups of a launch into pieces of work for threads.
class OwnershipPartition {
public:
    OwnershipPartition() = default;
    /// `owners`: an axis for each argument of the kernel, by axis_of_owners(); -1 where none is known or it is no array.
    /// `ranges`: likewise by owned_ranges(); OwnedRanges::bounds is -1 where none are known. It may be empty. `groups`: number of
    /// groups along each axis.
    OwnershipPartition(std::vector<int> owners, std::vector<OwnedRanges> ranges, const std::array<int64_t, 3>& groups,
                       int threads);

    /// True if some array has owners of rows, and there are enough groups for all threads.
    bool any() const { return count > 0; }
    /// True if threads may add to this argument without a private copy: each owns rows of it, or its items own ranges.
    bool cover(int argument) const { return covers_rows(argument) || ranges_of(argument).bounds >= 0; }
    /// True if each thread owns rows of this argument.
    bool covers_rows(int argument) const { return any() && cut(owners[size_t(argument)]); }
    /// The ranges of this argument that items own if the launch finds the bounds in order; `bounds` is -1 if there are none.
    OwnedRanges ranges_of(int argument) const { return ranges.empty() ? OwnedRanges() : ranges[size_t(argument)]; }

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
    std::vector<OwnedRanges> ranges;
    std::array<int64_t, 3> groups{};
    std::array<int, 2> axes{-1, -1};  ///< axes that are cut into strips; the second may be -1
    int64_t count = 0;                ///< strips along each cut axis
};

}  // namespace pumice::cpu
