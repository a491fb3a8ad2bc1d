// Binomial checkpointing: which states of a long chain of steps to keep, so that the fewest steps are computed again.
//
// To reverse a chain, the sweep needs the states in the opposite order. With room for s states and at most t runs of any step,
// a chain of (s + t choose s) steps can be reversed. binomial_advance gives the length of the first part; both parts are again
// chains.
//
//     10 steps, 3 states: (3 + 2 choose 3) = 10, so no step runs more than twice
//     keep 0, advance 4, keep 4:  reverse the steps 4 .. 9 with 2 states, then 0 .. 3 with 3 states from state 0
//
// Cost: 1,000 steps with 10 states take 4,636 steps forward in all. Limits: every step counts the same.
// See Griewank, "Achieving Logarithmic Growth of Temporal and Spatial Complexity in Reverse Automatic Differentiation", 1992;
// Griewank and Walther, "Algorithm 799: revolve", ACM TOMS 2000.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pumice::derive {

/// The length of the longest chain that can be reversed with `states` states (including the first one) if no step runs more
/// than `times` times: (states + times choose states), capped at `limit`.
inline int64_t binomial_reach(int64_t states, int64_t times, int64_t limit) {
    if (times < 0) return 0;
    int64_t reach = 1;
    for (int64_t i = 1; i <= std::min(states, times); ++i) {
        reach = reach * (std::max(states, times) + i) / i;
        if (reach >= limit) return limit;
    }
    return reach;
}

/// The number of steps to the next state that is kept, for a chain of `steps` > 1 whose first state is one of `states` > 1.
inline int64_t binomial_advance(int64_t steps, int64_t states) {
    int64_t times = 1;
    while (binomial_reach(states, times, steps) < steps) ++times;
    // Neither part then needs more repetitions than the whole: the first has at most reach(states, times - 1) steps, the second
    // at least reach(states - 1, times - 1).
    const int64_t before = binomial_reach(states, times - 1, steps), after = binomial_reach(states - 1, times - 1, steps);
    return std::clamp<int64_t>(std::min(before, steps - after), 1, steps - 1);
}

}  // namespace pumice::derive
