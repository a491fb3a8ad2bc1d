// Wall times of sides that take turns.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include <pumice/pumice.h>

namespace bench {

double now_ms();
template <class F> double milliseconds_of(F&& act) {
    const double start = now_ms();
    act();
    return now_ms() - start;
}
double median(std::vector<double> values);

/// Milliseconds that all threads of this process have computed.
double processor_ms();

/// Runs the sides in turns until the budget is spent, at least five times each. Returns the median milliseconds of each, by a clock.
/// `before`, where given, prepares a time of any side and is not measured.
std::vector<double> measure_in_turns(const std::vector<std::function<void()>>& sides, double budget_ms,
                                     const std::function<void()>& before = {}, double (*clock)() = now_ms);

/// The same for blocks of runs, at least three blocks a side. The first runs of a block are not measured: arrays somewhat larger than
/// the last cache partly stay in it, but the processor gives that room to whom it gave it before, so that a side has its share about
/// ten runs after another side had it.
std::vector<double> measure_in_blocks(const std::vector<std::function<void()>>& sides, double budget_ms,
                                      const std::function<void()>& before = {}, double (*clock)() = now_ms);

/// Mesa's software driver, where it is installed.
std::optional<pumice::Device> lavapipe();

}  // namespace bench
