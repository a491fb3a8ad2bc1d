// The seeds of a fuzz test: PUMICE_FUZZ_SEED=n is seed n alone, PUMICE_FUZZ_COUNT=n are n seeds, from PUMICE_FUZZ_FIRST on.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

namespace fuzz {

/// Calls check(seed) for each seed until one fails; `count` seeds, unless the environment says otherwise.
template <class Check> void each_seed(uint64_t count, Check check) {
    if (const char* seed = std::getenv("PUMICE_FUZZ_SEED")) return check(std::strtoull(seed, nullptr, 10));
    if (const char* given = std::getenv("PUMICE_FUZZ_COUNT")) count = std::strtoull(given, nullptr, 10);
    const char* from = std::getenv("PUMICE_FUZZ_FIRST");
    const uint64_t first = from ? std::strtoull(from, nullptr, 10) : 1;
    for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace fuzz
