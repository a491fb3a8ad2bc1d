// Where to put checkpoints: the binomial schedule.
#pragma once
#include <algorithm>
#include <cstdint>

namespace pumice::derive {

/// The longest chain that is reversed with `states` states kept (the first one included) when no step is taken more than `times`
/// times: (states + times choose states), at most `limit`. Griewank, "Achieving logarithmic growth of temporal and spatial complexity
/// in reverse automatic differentiation", 1992.
inline int64_t binomial_reach(int64_t states, int64_t times, int64_t limit) {
    if (times < 0) return 0;
    int64_t reach = 1;
    for (int64_t i = 1; i <= std::min(states, times); ++i) {
        reach = reach * (std::max(states, times) + i) / i;
        if (reach >= limit) return limit;
    }
    return reach;
}

/// How many steps to go before the next state is kept, for a chain of `steps` > 1 whose first state is one of `states` > 1.
inline int64_t binomial_advance(int64_t steps, int64_t states) {
    int64_t times = 1;
    while (binomial_reach(states, times, steps) < steps) ++times;
    // Both parts then need no more repetitions than the whole: at most reach(states, times - 1) steps before, and at least
    // reach(states - 1, times - 1) behind.
    const int64_t before = binomial_reach(states, times - 1, steps), behind = binomial_reach(states - 1, times - 1, steps);
    return std::clamp<int64_t>(std::min(before, steps - behind), 1, steps - 1);
}

}  // namespace pumice::derive
