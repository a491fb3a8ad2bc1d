// Helpers for tests of sums. The numbers are small and whole, so that every order gives the same sums.
#pragma once
#include "tests/device/suite.h"

namespace suite {

template <class T> void expect_sums(const std::vector<T>& got, const std::vector<double>& want, const std::string& what) {
    ASSERT_EQ(got.size(), want.size()) << what;
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(double(got[i]), want[i]) << what << " at " << i;
}

}  // namespace suite
