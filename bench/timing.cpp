#include "bench/timing.h"

#include <ctime>
#include <string>
#include <thread>

namespace bench {

double now_ms() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double processor_ms() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + long(values.size() / 2), values.end());
    return values[values.size() / 2];
}

std::vector<double> measure_in_turns(const std::vector<std::function<void()>>& sides, double budget_ms,
                                     const std::function<void()>& before, double (*clock)()) {
    std::vector<std::vector<double>> times(sides.size());
    const auto prepared = [&](const std::function<void()>& side) {
        if (before) before();
        const double start = clock();
        side();
        return clock() - start;
    };
    for (const auto& side : sides) prepared(side);
    double spent = 0;
    for (int round = 0; round < 5 || (spent < budget_ms && round < 200); ++round)
        for (size_t s = 0; s < sides.size(); ++s) {
            // The others' threads spin for a while after their work.
            std::this_thread::sleep_for(std::chrono::milliseconds(4));
            prepared(sides[s]);  // whose caches the others have filled
            times[s].push_back(prepared(sides[s]));
            spent += times[s].back();
        }
    std::vector<double> medians;
    for (const auto& t : times) medians.push_back(median(t));
    return medians;
}

std::vector<double> measure_in_blocks(const std::vector<std::function<void()>>& sides, double budget_ms) {
    constexpr int most_unmeasured = 12, measured = 6;
    constexpr double enough_ms = 60;  // of runs that are not measured
    std::vector<std::vector<double>> times(sides.size());
    double spent = 0;
    for (int round = 0; round < 3 || spent < budget_ms; ++round)
        for (size_t s = 0; s < sides.size(); ++s) {
            // The others' threads spin for a while after their work.
            std::this_thread::sleep_for(std::chrono::milliseconds(4));
            double before = 0;
            for (int run = 0; run < most_unmeasured && before < enough_ms; ++run) before += milliseconds_of(sides[s]);
            for (int run = 0; run < measured; ++run) times[s].push_back(milliseconds_of(sides[s])), spent += times[s].back();
        }
    std::vector<double> medians;
    for (const auto& t : times) medians.push_back(median(t));
    return medians;
}

std::optional<pumice::Device> lavapipe() {
    for (const pumice::DeviceInfo& info : pumice::Device::all())
        if (info.usable && info.name.find("llvmpipe") != std::string::npos) return pumice::Device::open(info.spec);
    return std::nullopt;
}

}  // namespace bench
