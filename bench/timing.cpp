#include "bench/timing.h"

#include <chrono>
#include <string>
#include <thread>

namespace bench {

double clock_ms(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
    return values[values.size() / 2];
}

namespace {

double time_of(const std::function<void()>& side, const std::function<void()>& before, double (*clock)()) {
    if (before) before();
    return milliseconds_of(side, clock);
}

std::vector<double> medians_of(const std::vector<std::vector<double>>& times) {
    std::vector<double> medians;
    for (const auto& t : times) medians.push_back(median(t));
    return medians;
}

/// The others' threads spin for a while after their work.
void wait_for_threads() { std::this_thread::sleep_for(std::chrono::milliseconds(4)); }

}  // namespace

std::vector<double> measure_in_turns(const std::vector<std::function<void()>>& sides, double budget_ms,
                                     const std::function<void()>& before, double (*clock)()) {
    std::vector<std::vector<double>> times(sides.size());
    for (const auto& side : sides) time_of(side, before, clock);
    double spent = 0;
    for (int round = 0; round < 5 || (spent < budget_ms && round < 200); ++round)
        for (size_t s = 0; s < sides.size(); ++s) {
            wait_for_threads();
            time_of(sides[s], before, clock);  // whose caches the others have filled
            times[s].push_back(time_of(sides[s], before, clock));
            spent += times[s].back();
        }
    return medians_of(times);
}

std::vector<double> measure_in_blocks(const std::vector<std::function<void()>>& sides, double budget_ms,
                                      const std::function<void()>& before, double (*clock)()) {
    constexpr int most_unmeasured = 12, most_measured = 6;
    constexpr double enough_ms = 60;  // of either kind of runs
    std::vector<std::vector<double>> times(sides.size());
    double spent = 0;
    for (int round = 0; round < 3 || (spent < budget_ms && round < 100); ++round)
        for (size_t s = 0; s < sides.size(); ++s) {
            wait_for_threads();
            double passed = 0;
            for (int run = 0; run < most_unmeasured && passed < enough_ms; ++run) passed += time_of(sides[s], before, clock);
            passed = 0;
            for (int run = 0; run < most_measured && passed < enough_ms; ++run) {
                times[s].push_back(time_of(sides[s], before, clock));
                passed += times[s].back();
            }
            spent += passed;
        }
    return medians_of(times);
}

std::optional<pumice::Device> lavapipe() {
    for (const pumice::DeviceInfo& info : pumice::Device::all())
        if (info.usable && info.name.find("llvmpipe") != std::string::npos) return pumice::Device::open(info.spec);
    return std::nullopt;
}

}  // namespace bench
