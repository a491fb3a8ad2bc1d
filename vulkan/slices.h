// Slicing of launches: each slice is a submission of its own, so that none takes longer than a watchdog allows.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/vulkan_rules/slice_rule.h"
#include "vulkan/time_stamps.h"

namespace pumice::vulkan {

using pumice_rt::vulkan::fewest_timed_groups;
using GroupRange = pumice_rt::vulkan::GroupBox<std::array<int64_t, 3>>;

/// Calls `record` with each of these boxes.
template <typename F> void for_each_slice(const GroupRange& range, int64_t most_groups, const F& record) {
    std::array<int64_t, 3> step;
    pumice_rt::vulkan::slice_extents(range, most_groups, step);
    GroupRange slice;
    for (slice.begin[2] = range.begin[2]; slice.begin[2] < range.end[2]; slice.begin[2] += step[2])
        for (slice.begin[1] = range.begin[1]; slice.begin[1] < range.end[1]; slice.begin[1] += step[1])
            for (slice.begin[0] = range.begin[0]; slice.begin[0] < range.end[0]; slice.begin[0] += step[0]) {
                for (size_t axis = 0; axis < 3; ++axis)
                    slice.end[axis] = std::min(slice.begin[axis] + step[axis], range.end[axis]);
                record(slice);
            }
}

/// A pipeline's time for one group, measured on its last timed slice. The time depends on the arguments, so every launch that is
/// large enough is timed, unless a timing is in progress or the launch is brief.
struct Pace {
    /// True if a launch of so many groups needs neither slices nor a measurement; counts it then, and returns false for each
    /// `launches_a_measurement`-th of them, which is measured. Takes no mutex.
    bool is_brief(int64_t groups, double most_seconds);

    std::mutex mutex;                         // locked before the queue's mutex
    std::atomic<double> seconds_a_group = 0;  // 0: unknown
    std::atomic<unsigned> unmeasured = 0;     // brief launches since the last measurement
    struct {
        bool is_on = false;
        Query begin, end;
        uint64_t value = 0;  // timeline value at which both queries are written
        int64_t groups = 0;
    } timing;
};

}  // namespace pumice::vulkan
