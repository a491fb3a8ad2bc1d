// The seeds of a fuzz test: PUMICE_FUZZ_SEED=n is seed n alone, PUMICE_FUZZ_COUNT=n are n seeds, from PUMICE_FUZZ_FIRST on.
// PUMICE_FUZZ_PART=k/n are the k-th of n equal parts of the test's own seeds: cmake/testing.cmake gives devices different parts.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace fuzz {

/// Calls check(seed) for each seed until one fails; `count` seeds, unless the environment says otherwise.
template <class Check> void each_seed(uint64_t count, Check check) {
    if (const char* seed = std::getenv("PUMICE_FUZZ_SEED")) return check(std::strtoull(seed, nullptr, 10));
    const char* given = std::getenv("PUMICE_FUZZ_COUNT");
    if (given) count = std::strtoull(given, nullptr, 10);
    const char* from = std::getenv("PUMICE_FUZZ_FIRST");
    uint64_t first = from ? std::strtoull(from, nullptr, 10) : 1, end = first + count;
    if (const char* part = std::getenv("PUMICE_FUZZ_PART"); part && !given && !from) {
        char* slash = nullptr;
        const uint64_t k = std::strtoull(part, &slash, 10), parts = *slash == '/' ? std::strtoull(slash + 1, nullptr, 10) : 0;
        ASSERT_LT(k, parts) << "PUMICE_FUZZ_PART=" << part << " is not k/n with k < n";
        end = first + count * (k + 1) / parts, first += count * k / parts;
        end = std::max(end, first + 1);
    }
    for (uint64_t seed = first; seed < end && !testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace fuzz
