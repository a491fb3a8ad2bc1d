// Slicing of long launches: a launch is split into submissions, so that none takes longer than a system's watchdog allows.
//
// A pipeline's pace, the seconds for one group, is measured with time stamps. The first launch of a pipeline probes at most one
// group in 64; later launches are sliced by the last measurement, and measured again: each time, or one time in 16 if they take
// less than a thousandth of the limit by the last measurement.
//
//   pace 0.1 ms a group, limit 0.25 s  ->  at most 2500 groups a slice
//   groups 100 x 80 x 1                ->  boxes of 100 x 25 x 1; a probe of 100 x 1 x 1
//
// slice_extents() cuts along the slowest axis first, so slices are whole planes or rows if these fit, and run in the order of the
// groups. VulkanDevice::record_slices (vulkan_launch.cpp) divides the limit by the pace. The probe is the first such box. The
// groups that it leaves are up to three boxes: the rest of its row, the other rows of its plane, and the other planes.
//
// Cost: two time stamps a measured launch, and one wait for the probe of each pipeline. Limits: the pace is that of earlier
// arguments; a group that alone exceeds the limit cannot be split. Neither measured nor sliced are launches of fewer than 256
// groups, indirect ones, those that a host function on a stream makes, and those recorded for an application. An application's
// device, and a queue behind a pending host call, take no probe: a launch of unknown pace is then one submission, which is
// measured.
#include "vulkan/slices.h"

#include <algorithm>

#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {

bool Pace::is_brief(int64_t groups, double most_seconds) {
    const double seconds = seconds_a_group * double(groups);
    using namespace pumice_rt::vulkan;
    if (seconds <= 0 || seconds * shortest_measured >= most_seconds || unmeasured + 1 >= launches_a_measurement) return false;
    ++unmeasured;
    return true;
}

/// Updates the pace from the timing of a finished launch; releases the queries.
void VulkanDevice::read_pace(Pace& pace) {
    if (!pace.timing.is_on || !queue.is_past(pace.timing.value)) return;
    if (const auto seconds = seconds_between(pace.timing.begin, pace.timing.end))
        pace.seconds_a_group = *seconds / double(pace.timing.groups);
    pace.timing.is_on = false;
    const std::lock_guard lock(queue.mutex);
    queries.give_back(pace.timing.begin);
    queries.give_back(pace.timing.end);
}

/// Runs the probe of a launch and waits for it, once for each pipeline; returns the groups that remain.
std::array<GroupRange, 3> VulkanDevice::take_probe(const ShaderPermutation::RecordedLaunch& recorded, const Launch& launch,
                                                   Pace& pace) {
    GroupRange others[3];
    const GroupRange first = pumice_rt::vulkan::take_probe(GroupRange{{}, groups_of(launch)}, others);
    const uint64_t value = record_slices(recorded, launch, {&first, 1}, pace, true);
    {
        const std::lock_guard lock(queue.mutex);
        queue.submit();
    }
    queue.wait(value);
    read_pace(pace);
    return std::to_array(others);
}

}  // namespace pumice::vulkan
