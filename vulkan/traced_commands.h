// PUMICE_TRACE: device times of launches, copies and fills, on the host's clock.
//
// Two time stamps stand around the commands of each piece of work; neighbours in a batch share one, since drivers may empty the
// device's pipeline at each. They are read when the device is past them, never waited for.
// Device ticks become host times by an offset: with VK_EXT_calibrated_timestamps the driver reads both clocks at once, again
// every second; without it, the offset is fitted so that no work begins before it was recorded: the largest difference between
// the host's time at the recording and the ticks of the begin so far, which is close once an idle device has begun a launch at
// once.
#pragma once
#include <deque>
#include <memory>

#include "core/host/traced_work.h"
#include "vulkan/time_stamps.h"

namespace pumice::vulkan {

/// Guarded by the queue's mutex.
class TracedCommands {
public:
    TracedCommands(Context& context, Queries& queries) : context(context), queries(queries) {}

    /// Writes the first time stamp, if the calling thread describes its work and the queue has time stamps. `batch` and `number`
    /// of the command: right after traced work in one batch, the second time stamp of that work serves.
    void begin(VkCommandBuffer commands, uint64_t batch, uint64_t number);
    /// Writes the second one, if begin() wrote the first. `value`: when it is reached.
    void end(VkCommandBuffer commands, uint64_t value);
    bool any() const { return !waiting.empty(); }
    /// True if it is time to ask the driver for finished work.
    bool many() const { return waiting.size() >= next_look; }
    /// Writes the events whose value is reached.
    void collect(uint64_t reached);

private:
    struct Waiting {
        std::shared_ptr<const pumice::detail::TracedWork> work;
        Query begin, end;
        int64_t recorded = 0;  ///< host's time
        uint64_t value = 0;
        bool shares_begin = false;  ///< `begin` is the `end` of the work before it
    };
    bool read(const Query& query, uint64_t& ticks) const;
    void calibrate();
    int64_t host_time(uint64_t ticks, int64_t recorded);

    Context& context;
    Queries& queries;
    Waiting current;  ///< between begin() and end(), if there is work
    uint64_t last_batch = 0, last_number = 0;
    std::deque<Waiting> waiting;
    size_t next_look = 64;  ///< pieces of work, at which the driver is asked again
    bool fitted = false;
    int64_t fitted_offset = 0;  ///< ns
    uint64_t ticks_then = 0;    ///< of the last calibration
    int64_t host_then = 0;      ///< 0: never calibrated
};

}  // namespace pumice::vulkan
