#include "vulkan/traced_commands.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pumice::vulkan {
namespace {
constexpr int64_t between_calibrations = 1'000'000'000;  // ns
}

void TracedCommands::begin(VkCommandBuffer commands, uint64_t batch, uint64_t number) {
    if (!trace::on()) return;
    current = {};
    if (context.plan.time_stamp_bits > 0) current.work = pumice::detail::TracedScope::take();
    if (!current.work) return;
    current.shares_begin = !waiting.empty() && last_batch == batch && last_number + 1 == number;
    current.begin = current.shares_begin ? waiting.back().end : queries.write(commands);
    if (!context.calibrates) current.recorded = trace::now();
    last_batch = batch, last_number = number;
}

void TracedCommands::end(VkCommandBuffer commands, uint64_t value) {
    if (!current.work) return;
    current.end = queries.write(commands);
    current.value = value;
    waiting.push_back(std::exchange(current, {}));
}

/// False if the query was never written, since its commands were lost.
bool TracedCommands::read(const Query& query, uint64_t& ticks) const {
    return context.vk.GetQueryPoolResults(context.device, query.pool, query.index, 1, sizeof ticks, &ticks, sizeof ticks,
                                          VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
}

void TracedCommands::calibrate() {
    if (!context.calibrates || (host_then && trace::now() - host_then < between_calibrations)) return;
    VkCalibratedTimestampInfoEXT clocks[2]{};
    for (auto& clock : clocks) clock.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
    clocks[0].timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    clocks[1].timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;  // std::chrono::steady_clock
    uint64_t times[2] = {};
    uint64_t deviation = 0;
    if (context.vk.GetCalibratedTimestampsEXT(context.device, 2, clocks, times, &deviation) != VK_SUCCESS) return;
    ticks_then = times[0];
    host_then = int64_t(times[1]);
}

int64_t TracedCommands::host_time(uint64_t ticks, int64_t recorded) {
    const double period = double(context.snapshot.limits.timestampPeriod);
    const uint32_t bits = context.plan.time_stamp_bits;
    if (host_then) {  // the difference of two ticks, as a number with a sign
        const uint64_t past = (ticks - ticks_then) << (64 - bits);
        return host_then + int64_t(std::llround(double(int64_t(past) >> (64 - bits)) * period));
    }
    const int64_t device = int64_t(std::llround(double(ticks) * period));
    if (recorded && (!fitted || recorded - device > fitted_offset)) fitted_offset = recorded - device;
    fitted = true;
    return device + fitted_offset;
}

void TracedCommands::collect(uint64_t reached) {
    next_look = waiting.size() + 64;
    if (waiting.empty() || waiting.front().value > reached) return;
    calibrate();
    while (!waiting.empty() && waiting.front().value <= reached) {
        Waiting one = std::move(waiting.front());
        waiting.pop_front();
        uint64_t begin = 0, end = 0;
        const bool written = read(one.begin, begin) && read(one.end, end);
        queries.give_back(one.begin);
        if (waiting.empty() || !waiting.front().shares_begin) queries.give_back(one.end);
        if (!written) continue;
        const int64_t from = host_time(begin, one.recorded);
        trace::event_at(std::move(one.work), from, std::max(from, host_time(end, 0)));
    }
    next_look = waiting.size() + 64;
}

}  // namespace pumice::vulkan
