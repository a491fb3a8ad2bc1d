#include "autodiff/program/binomial_schedule.h"

#include <gtest/gtest.h>

using namespace pumice::derive;

namespace {

/// The forward steps of the schedule, without the first sweep.
int64_t steps_taken(int64_t steps, int64_t states) {
    if (steps <= 1) return 0;
    if (states == 1) return steps * (steps - 1) / 2;
    const int64_t ahead = binomial_advance(steps, states);
    return ahead + steps_taken(steps - ahead, states - 1) + steps_taken(ahead, states);
}

/// r * steps - (states + r choose states + 1), for the smallest r that suffices.
int64_t optimum(int64_t steps, int64_t states) {
    int64_t r = 0;
    while (binomial_reach(states, r, INT64_MAX / 4096) < steps) ++r;
    return r * steps - (r > 0 ? binomial_reach(states + 1, r - 1, INT64_MAX / 4096) : 0);
}

TEST(Binomial, ReachIsABinomialCoefficient) {
    EXPECT_EQ(binomial_reach(10, 4, 1 << 30), 1001);
    EXPECT_EQ(binomial_reach(3, 2, 1 << 30), 10);
    EXPECT_EQ(binomial_reach(5, 0, 1 << 30), 1);
    EXPECT_EQ(binomial_reach(10, 4, 500), 500);
}

TEST(Binomial, TheScheduleIsOptimal) {
    EXPECT_EQ(optimum(1000, 10), 3636);
    for (int64_t states = 1; states <= 12; ++states)
        for (int64_t steps = 1; steps <= 200; ++steps)
            EXPECT_EQ(steps_taken(steps, states), optimum(steps, states)) << steps << " steps, " << states << " states";
    EXPECT_EQ(steps_taken(1000, 10), 3636);
}

}  // namespace
