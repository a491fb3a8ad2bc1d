// Helpers of the device suite: the device under test, and inputs.
#pragma once
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <numeric>

#include "tests/kept_device.h"

namespace suite {

/// The device that PUMICE_DEVICE names; every test runs on it.
inline pumice::Device device() { return kept_device->get(); }

inline bool is_checking_device() { return device().name() == "interp"; }

template <class T> std::vector<T> iota(int64_t n, T first = T(0)) {
    std::vector<T> v(static_cast<size_t>(n));
    std::iota(v.begin(), v.end(), first);
    return v;
}

template <class F> std::string message_of(F&& act) {
    try {
        act();
    } catch (const pumice::Error& e) { return e.what(); }
    return "(no error)";
}

#define SKIP_WITHOUT_GROUPS_OF(items)                      \
    if (suite::device().limits().max_group_size < (items)) \
    GTEST_SKIP() << "SKIPPED: " << suite::device().name() << " has no groups of " << (items) << " items"

/// The largest of the wanted group sizes that the device takes along one axis.
inline int at_most_group(int wanted) { return int(std::min<int64_t>(wanted, device().limits().max_group_size)); }

}  // namespace suite
