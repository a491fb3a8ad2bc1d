// Slicing of launches: each slice is a submission of its own, so that none takes longer than a system's watchdog allows.
#pragma once
#include "runtime/vulkan/rt_vulkan_launch.h"

namespace pumice_rt::vulkan {

/// Records launches in as many submissions as needed. The queue's mutex is held, and released while a probe runs.
class LaunchSlices {
public:
    LaunchSlices(Context& context, Queue& queue, TimeStamps& times, LaunchRecorder& recorder)
        : context(context), queue(queue), times(times), recorder(recorder) {}

    pumice_status record(RecordedLaunch& recorded);

private:
    pumice_status record_range(RecordedLaunch& recorded, const GroupRange& range, double most, bool& first);

    Context& context;
    Queue& queue;
    TimeStamps& times;
    LaunchRecorder& recorder;
};

}  // namespace pumice_rt::vulkan
