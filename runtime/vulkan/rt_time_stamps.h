// Time stamps: how long a group of a pipeline takes.
#pragma once
#include "runtime/vulkan_context/rt_queue.h"
#include "runtime/vulkan_rules/slice_rule.h"

namespace pumice_rt::vulkan {

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

/// The timings of a device. Guarded by the queue's mutex.
class TimeStamps {
public:
    TimeStamps(Context& context, Queue& queue) : context(context), queue(queue) {}

    /// Begins a timing if there is a free one: writes the first time stamp.
    bool begin(VkCommandBuffer commands, Pace& pace);
    /// Writes a time stamp: the first or the second one of a timing.
    void write(VkCommandBuffer commands, uint32_t query);
    /// Updates the pace from the timing of a finished launch, and frees it.
    void read(Pace& pace);
    /// The device is idle.
    void stop();

private:
    Context& context;
    Queue& queue;
    VkQueryPool pool = VK_NULL_HANDLE;
    uint32_t unused = ~0u;  // each bit is a timing that nobody uses
    Pace* paces[32] = {};
};

}  // namespace pumice_rt::vulkan
