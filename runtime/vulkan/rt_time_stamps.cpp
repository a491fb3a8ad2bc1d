// Time stamps: how long a group of a pipeline takes.
#include "runtime/vulkan/rt_time_stamps.h"

namespace pumice_rt::vulkan {

void TimeStamps::write(VkCommandBuffer commands, uint32_t query) {
    context.vk.CmdResetQueryPool(commands, pool, query, 1);
    context.vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, query);
}

bool TimeStamps::begin(VkCommandBuffer commands, Pace& pace) {
    if (!pool) {
        auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = 64;
        if (context.vk.CreateQueryPool(context.device, &info, nullptr, &pool) != VK_SUCCESS) return false;
    }
    // Timings of pipelines that were not launched again.
    for (uint32_t i = 0; i < 32 && unused == 0; ++i) read(*paces[i]);
    if (unused == 0) return false;
    pace.timing = uint32_t(__builtin_ctz(unused));
    unused &= unused - 1;
    paces[pace.timing] = &pace;
    write(commands, 2 * pace.timing);
    return true;
}

void TimeStamps::read(Pace& pace) {
    if (!pace.is_timed || pace.value > queue.poll()) return;
    uint64_t ticks[2];
    const VkResult result = context.vk.GetQueryPoolResults(context.device, pool, 2 * pace.timing, 2, sizeof ticks, ticks,
                                                           sizeof *ticks, VK_QUERY_RESULT_64_BIT);
    const uint32_t bits = context.plan.time_stamp_bits;
    const uint64_t mask = bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0), past = (ticks[1] - ticks[0]) & mask;
    // The commands may be lost, and the stamps unwritten; differences in the upper half of the clock's range are negative.
    if (result == VK_SUCCESS && past <= mask / 2)
        pace.seconds_a_group = double(past) * double(context.facts.basic.limits.timestampPeriod) * 1e-9 / double(pace.groups);
    pace.is_timed = false;
    unused |= 1u << pace.timing;
}

void TimeStamps::stop() {
    if (pool) context.vk.DestroyQueryPool(context.device, pool, nullptr);
}

}  // namespace pumice_rt::vulkan
