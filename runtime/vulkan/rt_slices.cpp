// Slicing of long launches by time stamps, after vulkan/slices.cpp.
//
//   pace 0.1 ms a group, limit 0.25 s  ->  at most 2500 groups a slice
//   groups 100 x 80 x 1                ->  boxes of 100 x 25 x 1; a probe of 100 x 1 x 1
//
// The first launch of a pipeline waits for a probe of at most one group in 64; later launches are sliced by the last measurement,
// and measured again. The pace is that of earlier arguments; a group that alone exceeds the limit cannot be split. Neither
// measured nor sliced are launches of fewer than 256 groups and indirect ones. An application's device takes no probe.
#include "runtime/vulkan/rt_slices.h"

#include "runtime/vulkan/rt_vulkan_device.h"

namespace pumice_rt::vulkan {

/// Writes a time stamp: the first or the second one of a timing.
void VulkanDevice::write_time(VkCommandBuffer commands, uint32_t query) {
    context.vk.CmdResetQueryPool(commands, times.pool, query, 1);
    context.vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, times.pool, query);
}

/// Begins a timing if there is a free one: writes the first time stamp. The mutex is held.
bool VulkanDevice::begin_timing(VkCommandBuffer commands, Pace& pace) {
    if (!times.pool) {
        auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = 64;
        if (context.vk.CreateQueryPool(context.device, &info, nullptr, &times.pool) != VK_SUCCESS) return false;
    }
    // Timings of pipelines that were not launched again.
    for (uint32_t i = 0; i < 32 && times.unused == 0; ++i) read_pace(*times.paces[i]);
    if (times.unused == 0) return false;
    pace.timing = uint32_t(__builtin_ctz(times.unused));
    times.unused &= times.unused - 1;
    times.paces[pace.timing] = &pace;
    write_time(commands, 2 * pace.timing);
    return true;
}

/// Updates the pace from the timing of a finished launch, and frees it. The mutex is held.
void VulkanDevice::read_pace(Pace& pace) {
    if (!pace.is_timed || pace.value > queue.poll()) return;
    uint64_t ticks[2];
    const VkResult result = context.vk.GetQueryPoolResults(context.device, times.pool, 2 * pace.timing, 2, sizeof ticks, ticks,
                                                           sizeof *ticks, VK_QUERY_RESULT_64_BIT);
    const uint32_t bits = context.plan.time_stamp_bits;
    const uint64_t mask = bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0), past = (ticks[1] - ticks[0]) & mask;
    // The commands may be lost, and the stamps unwritten; differences in the upper half of the clock's range are negative.
    if (result == VK_SUCCESS && past <= mask / 2)
        pace.seconds_a_group = double(past) * double(context.facts.basic.limits.timestampPeriod) * 1e-9 / double(pace.groups);
    pace.is_timed = false;
    times.unused |= 1u << pace.timing;
}

/// Records the groups of a range in slices of at most `most` groups, each a submission. `first`: the launch has no part yet.
pumice_status VulkanDevice::record_slices(RecordedLaunch& r, const GroupRange& range, double most, bool& first) {
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
                RT_TRY(record_part(r, part, first && !r.pipeline.pace.is_timed));
                first = false;
            }
    return PUMICE_OK;
}

/// Records a launch in as many submissions as needed. The mutex is held, and released while a probe runs.
pumice_status VulkanDevice::record_launch(RecordedLaunch& r) {
    GroupRange all{};
    for (int axis = 0; axis < 3; ++axis)
        all.end[axis] = (r.launch.extent[axis] + r.launch.group[axis] - 1) / r.launch.group[axis];
    for (int axis = 0; axis < 3; ++axis) r.groups[axis] = all.end[axis];
    if (__builtin_expect(context.plan.most_seconds <= 0 || all.groups() < fewest_timed_groups, true) || r.launch.counted)
        return record_part(r, all, false);
    Pace& pace = r.pipeline.pace;
    if (pace.is_brief(all.groups(), context.plan.most_seconds)) return record_part(r, all, false);
    read_pace(pace);
    GroupRange others[3];
    const GroupRange* parts = &all;
    int count = 1;
    // An application's device may depend on work that is not submitted yet.
    if (!context.wrapped && pace.seconds_a_group == 0 && !pace.is_timed) {
        RT_TRY(record_part(r, take_probe(all, others), true));
        parts = others, count = 3;
        RT_TRY(queue.submit());
        RT_TRY(queue.await(r.value, true));
        read_pace(pace);
    }
    const double most = pace.seconds_a_group > 0 ? context.plan.most_seconds / pace.seconds_a_group : double(all.groups());
    bool first = true;
    for (const GroupRange* one = parts; one < parts + count; ++one)
        if (one->groups() > 0) RT_TRY(record_slices(r, *one, most, first));
    return PUMICE_OK;
}

}  // namespace pumice_rt::vulkan
