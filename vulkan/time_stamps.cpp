#include "vulkan/time_stamps.h"

#include <algorithm>

#include "core/support/error.h"
#include "vulkan/vulkan_device.h"

namespace pumice::vulkan {
namespace {
constexpr uint32_t queries_of_a_pool = 128;
}

Queries::~Queries() {
    for (VkQueryPool pool : pools) context.vk.DestroyQueryPool(context.device, pool, nullptr);
}

Query Queries::write(VkCommandBuffer commands) {
    if (unused.empty()) {
        auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = queries_of_a_pool;
        VkQueryPool pool = VK_NULL_HANDLE;
        context.check(context.vk.CreateQueryPool(context.device, &info, nullptr, &pool), "vkCreateQueryPool");
        pools.push_back(pool);
        for (uint32_t i = queries_of_a_pool; i-- > 0;) unused.push_back({pool, i});
    }
    const Query query = unused.back();
    unused.pop_back();
    context.vk.CmdResetQueryPool(commands, query.pool, query.index, 1);
    context.vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, query.pool, query.index);
    return query;
}

Stamp::~Stamp() {
    const auto open = device.lock();
    if (!open) return;
    const std::lock_guard lock(open->queue.mutex);
    open->queue.retire(value, [queries = &open->queries, query = query] { queries->give_back(query); });
}

/// Seconds from one query to another, negative if the second one was written first. The queue has reached the timeline values of
/// both. None if a query was never written because its commands were lost: hence GetQueryPoolResults without WAIT, which would
/// never return.
std::optional<double> VulkanDevice::seconds_between(const Query& begin, const Query& end) {
    bool written = true;
    const auto ticks = [&](const Query& query) {
        uint64_t read = 0;
        const VkResult result = context.vk.GetQueryPoolResults(context.device, query.pool, query.index, 1, sizeof read, &read,
                                                               sizeof read, VK_QUERY_RESULT_64_BIT);
        if (result == VK_NOT_READY)
            written = false;
        else
            context.check(result, "vkGetQueryPoolResults");
        return read;
    };
    const uint32_t bits = context.plan.time_stamp_bits;
    const uint64_t mask = bits < 64 ? (uint64_t(1) << bits) - 1 : ~uint64_t(0);
    const uint64_t past = (ticks(end) - ticks(begin)) & mask;
    if (!written) return std::nullopt;
    // Differences in the upper half of the clock's range are negative.
    const double signed_past = past > mask / 2 ? -double((~past & mask) + 1) : double(past);
    return signed_past * double(context.snapshot.limits.timestampPeriod) * 1e-9;
}

double Stamp::since(TimeStamp& earlier) {
    const auto open = device.lock();
    auto* const other = dynamic_cast<Stamp*>(&earlier);
    if (!other || other->device.lock() != open)
        throw Error("the time between two events of different devices is asked for: their clocks differ");
    if (!open) throw Error("the time of an event is asked for, and its device is gone");
    open->queue.wait(std::max(value, other->value));
    const auto seconds = open->seconds_between(other->query, query);
    if (!seconds) throw Error("the time of an event is asked for whose commands were lost in an error before");
    return *seconds;
}

std::shared_ptr<TimeStamp> VulkanDevice::stamp(int stream) {
    if (queue.recorder()) return nullptr;  // the application executes the commands any number of times
    if (context.plan.time_stamp_bits == 0) return Backend::stamp(stream);
    queue.make_room();
    std::shared_ptr<Stamp> stamp;  // outlives the lock, which its destructor takes, if end() throws
    const std::lock_guard lock(queue.mutex);
    const bool ahead = queue.in_call() && queue.ahead(streams.at(size_t(stream)).last);
    const Query query = queries.write(queue.begin({}, ahead));
    stamp = std::make_shared<Stamp>(self(), query, queue.value());
    touched(stream);
    queue.end();
    return stamp;
}

}  // namespace pumice::vulkan
