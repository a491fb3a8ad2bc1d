// Wall times of sides that take turns.
#pragma once
#include <ctime>

#include <functional>
#include <optional>
#include <vector>

#include <pumice/pumice.h>

namespace bench {

/// Milliseconds of a clock.
double clock_ms(clockid_t clock);
inline double now_ms() { return clock_ms(CLOCK_MONOTONIC); }
/// Milliseconds that all threads of this process have computed.
inline double processor_ms() { return clock_ms(CLOCK_PROCESS_CPUTIME_ID); }
/// Milliseconds that the calling thread has computed.
inline double thread_ms() { return clock_ms(CLOCK_THREAD_CPUTIME_ID); }
template <class F> double milliseconds_of(F&& act, double (*clock)() = now_ms) {
    const double start = clock();
    act();
    return clock() - start;
}
double median(std::vector<double> values);

/// Runs the sides in turns until the budget is spent, at least five times each. Returns the median milliseconds of each, by a
/// clock. `before`, where given, prepares a time of any side and is not measured.
std::vector<double> measure_in_turns(const std::vector<std::function<void()>>& sides, double budget_ms,
                                     const std::function<void()>& before = {}, double (*clock)() = now_ms);

/// The same for blocks of runs, at least three blocks a side. The first runs of a block are not measured: arrays somewhat larger
/// than the last cache partly stay in it, but the processor gives that room to whom it gave it before, so that a side has its
/// share about ten runs after another side had it.
std::vector<double> measure_in_blocks(const std::vector<std::function<void()>>& sides, double budget_ms,
                                      const std::function<void()>& before = {}, double (*clock)() = now_ms);

/// Mesa's software driver, where it is installed.
std::optional<pumice::Device> lavapipe();

}  // namespace bench
