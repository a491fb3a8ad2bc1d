// The seeds that a fuzz test checks: PUMICE_FUZZ_SEED=n that one, PUMICE_FUZZ_COUNT=n the first n.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace fuzz {

/// Calls check(seed) for each, up to the first that fails; `count` of them where nobody says otherwise.
template <class Check>
void each_seed(uint64_t count, Check check) {
    if (const char* seed = std::getenv("PUMICE_FUZZ_SEED")) return check(std::strtoull(seed, nullptr, 10));
    if (const char* given = std::getenv("PUMICE_FUZZ_COUNT")) count = std::strtoull(given, nullptr, 10);
    for (uint64_t seed = 1; seed <= count && !testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace fuzz
