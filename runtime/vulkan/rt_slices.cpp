// Slicing of long launches by time stamps, so that no submission takes longer than a system's watchdog allows; after
// vulkan/slices.cpp. Only on devices with time stamps that are no software driver.
//
//   pace 0.1 ms a group, limit 0.25 s  ->  at most 2500 groups a slice
//   groups 100 x 80 x 1                ->  boxes of 100 x 25 x 1; a probe of 100 x 1 x 1
//
// The first launch of a pipeline waits for a probe of at most one group in 64, which gives the pace. Later launches are sliced by
// the last pace, and their first slice is timed again (of launches shorter than a thousandth of the limit, one in 16). Limits:
// the pace is that of earlier arguments, and a group that alone exceeds the limit cannot be split. Launches of fewer than 256
// groups and indirect ones are neither measured nor sliced. An application's device takes no probe, since it may wait for work
// that is not submitted yet: its first launch is one submission, which is measured.
#include "runtime/vulkan/rt_slices.h"

namespace pumice_rt::vulkan {

/// Records the groups of a range in slices of at most `most` groups, each a submission. `first`: the launch has no part yet.
pumice_status LaunchSlices::record_range(RecordedLaunch& r, const GroupRange& range, double most, bool& first) {
    int64_t step[3];
    slice_extents(range, most < double(range.groups()) ? int64_t(most) : range.groups(), step);
    GroupRange part;
    for (part.begin[2] = range.begin[2]; part.begin[2] < range.end[2]; part.begin[2] += step[2])
        for (part.begin[1] = range.begin[1]; part.begin[1] < range.end[1]; part.begin[1] += step[1])
            for (part.begin[0] = range.begin[0]; part.begin[0] < range.end[0]; part.begin[0] += step[0]) {
                for (int axis = 0; axis < 3; ++axis) {
                    const int64_t end = part.begin[axis] + step[axis];
                    part.end[axis] = end < range.end[axis] ? end : range.end[axis];
                }
                if (!first) RT_TRY(queue.submit());
                RT_TRY(queue.make_room());
                RT_TRY(recorder.record_part(r, part, first && !r.pipeline.pace.is_timed));
                first = false;
            }
    return PUMICE_OK;
}

pumice_status LaunchSlices::record(RecordedLaunch& r) {
    GroupRange all{};
    for (int axis = 0; axis < 3; ++axis)
        all.end[axis] = (r.launch.extent[axis] + r.launch.group[axis] - 1) / r.launch.group[axis];
    for (int axis = 0; axis < 3; ++axis) r.groups[axis] = all.end[axis];
    if (__builtin_expect(context.plan.most_seconds <= 0 || all.groups() < fewest_timed_groups, true) || r.launch.counted)
        return recorder.record_part(r, all, false);
    Pace& pace = r.pipeline.pace;
    if (pace.is_brief(all.groups(), context.plan.most_seconds)) return recorder.record_part(r, all, false);
    times.read(pace);
    GroupRange others[3];
    const GroupRange* parts = &all;
    int count = 1;
    // An application's device may depend on work that is not submitted yet.
    if (!context.wrapped && pace.seconds_a_group == 0 && !pace.is_timed) {
        RT_TRY(recorder.record_part(r, take_probe(all, others), true));
        parts = others, count = 3;
        RT_TRY(queue.submit());
        RT_TRY(queue.await(r.value, true));
        times.read(pace);
    }
    const double most = pace.seconds_a_group > 0 ? context.plan.most_seconds / pace.seconds_a_group : double(all.groups());
    bool first = true;
    for (const GroupRange* one = parts; one < parts + count; ++one)
        if (one->groups() > 0) RT_TRY(record_range(r, *one, most, first));
    return PUMICE_OK;
}

}  // namespace pumice_rt::vulkan
