#include "core/host/launch_times.h"

#include <cstdio>

#include "core/support/error.h"

namespace pumice::detail {
namespace {
constexpr size_t most_waiting = 1024;  // launches; at this number the older half is waited for
}

void LaunchTimes::add(const std::string& kernel, std::shared_ptr<TimeStamp> begin, std::shared_ptr<TimeStamp> end) {
    if (!begin || !end) return;  // a launch in a command buffer of an application
    std::vector<TimedLaunch> due;
    {
        const std::lock_guard lock(mutex);
        waiting.push_back({kernel, std::move(begin), std::move(end)});
        if (waiting.size() < most_waiting || inside_call()) return;
        const auto half = waiting.begin() + most_waiting / 2;
        due.assign(waiting.begin(), half);
        waiting.erase(waiting.begin(), half);
    }
    for (const TimedLaunch& one : due) count(one);
}

void LaunchTimes::count(const TimedLaunch& one) {
    const double seconds = one.end->since(*one.begin);
    const std::lock_guard lock(mutex);
    Total& sum = sums[one.kernel];
    ++sum.launches;
    sum.seconds += seconds;
}

LaunchTimes::~LaunchTimes() {
    try {
        for (const TimedLaunch& one : waiting) count(one);
    } catch (...) {
        // The device is lost or a launch failed: the remaining launches are not counted.
    }
    for (const auto& [kernel, sum] : sums)
        std::fputs(text("pumice: ", kernel, ": ", sum.launches, sum.launches == 1 ? " launch, " : " launches, ",
                        fixed_text(sum.seconds * 1e3, 3), " ms on the device, ",
                        fixed_text(sum.seconds * 1e3 / double(sum.launches), 3), " ms each\n")
                       .c_str(),
                   stderr);
}

}  // namespace pumice::detail
