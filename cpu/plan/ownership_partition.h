// Arrays to which a kernel only adds, and of which items that stand apart along an axis of the range have rows of their own, as `i` has in
// c[i, k] += ...: threads that take whole slabs of the range across that axis meet in no element, and add to the array itself. The
// derivative of a matrix product has two such arrays, with rows along one axis and along the other. There the slabs of both axes make
// blocks, and the blocks of a diagonal share neither rows nor columns: threads take these at a time, one diagonal after the other.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/host/backend.h"

namespace pumice::cpu {

/// The axis of the range along which items at different places have different elements of an array: in each access one index is the item's
/// place and the same constant. -1: none is known.
int axis_of_owners(const ir::Kernel& kernel, ir::MemoryId array);

/// How the groups of a launch are shared out for such arrays.
class Shares {
public:
    Shares() = default;
    /// `owners`: of each argument axis_of_owners, or -1; `groups`: their number along each axis.
    Shares(std::vector<int> owners, const std::array<int64_t, 3>& groups, int threads);

    /// Whether there are such arrays, and enough groups for all threads.
    bool any() const { return count > 0; }
    /// Whether this argument may be added to where it is.
    bool cover(int argument) const { return any() && cut(owners[size_t(argument)]); }

    /// Diagonals, one after the other.
    int64_t phases() const { return axes[1] < 0 ? 1 : count; }
    /// Shares of each, which may be done at the same time.
    int64_t in_phase() const { return count; }
    struct Box {
        std::array<int64_t, 3> begin, end;  ///< groups along each axis
    };
    Box share(int64_t phase, int64_t number) const;

private:
    bool cut(int axis) const { return axis >= 0 && (axis == axes[0] || axis == axes[1]); }

    std::vector<int> owners;
    std::array<int64_t, 3> groups{};
    std::array<int, 2> axes{-1, -1};  ///< which are cut into slabs; the second may be -1
    int64_t count = 0;                ///< slabs along each of these
};

}  // namespace pumice::cpu
