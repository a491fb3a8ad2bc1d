// Slicing of launches: each slice is a submission of its own, so that none takes longer than a system's watchdog allows.
//
// slice_extents() cuts along the slowest axis first, so slices are whole planes or rows if these fit, and run in the order of the
// groups.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace pumice_rt::vulkan {

/// Launches of fewer groups are not timed.
constexpr int64_t fewest_timed_groups = 256;
/// A brief launch is shorter than the longest slice by the first factor, and is measured one time in the second.
constexpr double shortest_measured = 1000;
constexpr uint32_t launches_a_measurement = 16;

/// Groups of a launch, along each axis; the end is excluded.
template <class Extents> struct GroupBox {
    Extents begin{}, end{};
    int64_t groups() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
};

/// The extents of boxes that have at most `most_groups` groups (at least 1) and cover the range in the order of the groups. A row
/// that has more groups is split.
template <class Extents> void slice_extents(const GroupBox<Extents>& range, int64_t most_groups, Extents& extents) {
    int64_t left = most_groups > 1 ? most_groups : 1;
    for (size_t axis = 0; axis < 3; ++axis) {
        const int64_t all = range.end[axis] - range.begin[axis], most = all > 1 ? all : 1;
        extents[axis] = left < most ? left : most;
        left = left < most ? 1 : left / most;
    }
}

/// Splits a launch for a first measurement: a box of at most one group in 64 (at least one group), and in `others` the boxes that
/// remain, in the order of the groups, of which some may be empty.
template <class Extents> GroupBox<Extents> take_probe(const GroupBox<Extents>& all, GroupBox<Extents> (&others)[3]) {
    GroupBox<Extents> first = all, beside = all;
    slice_extents(all, all.groups() / 64, first.end);
    for (size_t axis = 0; axis < 3; ++axis) beside.end[axis] = first.end[axis] += first.begin[axis];
    // Behind the probe along one axis after the other.
    for (size_t axis = 0; axis < 3; ++axis) {
        beside.begin[axis] = first.end[axis], beside.end[axis] = all.end[axis];
        others[axis] = beside;
        beside.begin[axis] = all.begin[axis];
    }
    return first;
}

}  // namespace pumice_rt::vulkan
