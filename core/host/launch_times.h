// For PUMICE_TIME: the device's time for the launches of each kernel.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/host/backend.h"

namespace pumice::detail {

/// Prints a line for each kernel when the device is closed. Thread-safe.
class LaunchTimes {
public:
    ~LaunchTimes();
    void add(const std::string& kernel, std::shared_ptr<TimeStamp> begin, std::shared_ptr<TimeStamp> end);

private:
    struct TimedLaunch {
        std::string kernel;
        std::shared_ptr<TimeStamp> begin, end;
    };
    struct Total {
        int64_t launches = 0;
        double seconds = 0;
    };
    void count(const TimedLaunch& one);

    std::mutex mutex;
    std::vector<TimedLaunch> waiting;
    std::map<std::string, Total> sums;
};

}  // namespace pumice::detail
