// Slicing of launches: each slice is a submission of its own, so that none takes longer than a system's watchdog allows.
#pragma once
#include "runtime/vulkan_rules/slice_rule.h"

namespace pumice_rt::vulkan {

using GroupRange = GroupBox<int64_t[3]>;

/// A pipeline's time for one group, measured on its last timed slice. The time depends on the arguments, so every launch that is
/// large enough is timed, unless a timing is in progress or the launch is brief. Guarded by the queue's mutex.
struct Pace {
    /// True if a launch of so many groups needs neither slices nor a measurement.
    bool is_brief(int64_t of_groups, double most_seconds) {
        const double seconds = seconds_a_group * double(of_groups);
        return seconds > 0 && seconds * shortest_measured < most_seconds && ++unmeasured % launches_a_measurement != 0;
    }

    double seconds_a_group = 0;  ///< 0: unknown
    bool is_timed = false;       ///< a timing is in progress
    uint32_t timing = 0;         ///< its number: queries 2 * timing and the next one
    uint64_t value = 0;          ///< timeline value at which both queries are written
    int64_t groups = 0;
    uint32_t unmeasured = 0;  ///< brief launches
};

}  // namespace pumice_rt::vulkan
