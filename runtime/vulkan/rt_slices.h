// Slicing of launches: each slice is a submission of its own, so that none takes longer than a system's watchdog allows.
#pragma once
#include <stdint.h>

namespace pumice_rt::vulkan {

/// Groups of a launch, along each axis; the end is excluded.
struct GroupRange {
    int64_t begin[3], end[3];
    int64_t groups() const { return (end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]); }
};

/// A pipeline's time for one group, measured on its last timed slice. The time depends on the arguments, so every launch that is
/// large enough is timed, unless a timing is in progress or the launch is brief. Guarded by the queue's mutex.
struct Pace {
    static constexpr double shortest_measured = 1000;       ///< a brief launch is shorter than the longest slice by this factor
    static constexpr uint32_t launches_a_measurement = 16;  ///< of brief launches

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

/// Launches of fewer groups are not timed.
constexpr int64_t fewest_timed_groups = 256;

/// The extents of boxes that have at most `most_groups` groups (at least 1) and cover the range in the order of the groups. A row
/// that has more groups is split.
void slice_extents(const GroupRange& range, int64_t most_groups, int64_t (&extents)[3]);
/// Splits a launch for a first measurement: a box of at most one group in 64 (at least one group), and the boxes that remain, in
/// the order of the groups, of which some may be empty.
GroupRange take_probe(const GroupRange& all, GroupRange (&others)[3]);

}  // namespace pumice_rt::vulkan
