// docs/in-practice.md and docs/language.md: the examples are compiled and run as they stand on the page.
#include "in_practice.cpp"  // the page's own kernel, which CMake takes out of it

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "language/compact.inc"
#include "language/smooth.inc"
#include "language/wave.inc"
#include "tests/docs/page.h"

namespace {

TEST(InPracticePage, Errors) {
    testing::internal::CaptureStdout();
#include "in_practice/errors.inc"
    std::fflush(stdout);
    docs::Page("docs/in-practice.md").expect_block("text errors", testing::internal::GetCapturedStdout());
    EXPECT_EQ(y.download(), std::vector<float>(4, 2.0f));
}

TEST(InPracticePage, Timing) {
    testing::internal::CaptureStdout();
#include "in_practice/timing.inc"
    std::fflush(stdout);
    EXPECT_NE(testing::internal::GetCapturedStdout().find(" GB/s\n"), std::string::npos);
    testing::internal::CaptureStdout();
#include "in_practice/device_time.inc"
    std::fflush(stdout);
    EXPECT_NE(testing::internal::GetCapturedStdout().find(" ms on the device\n"), std::string::npos);
    EXPECT_GT(launched.elapsed().count(), 0);
    EXPECT_EQ(y.get(5), 2.0f);
}

TEST(LanguagePage, Smooth) {
    const Device device = Device::open();
    Array<float> x = device.upload<float>({4.0f, -1.0f, 0.5f}), y = device.zeros<float>(3);
    smooth(ndrange(3), y, x, 3);
    EXPECT_EQ(y.download(), (std::vector<float>{3.0f, -1.0f, 0.75f}));
}

TEST(LanguagePage, Compact) {
    const Device device = Device::open();
    Array<float> speed = device.upload<float>({0.25f, 1.0f, 0.5f, 0.75f});
    Array<int> count = device.zeros<int>(1), awake = device.zeros<int>(4);
    step(speed, count, awake);
    EXPECT_EQ(speed.download(), (std::vector<float>{0.25f, 0.5f, 0.5f, 0.375f}));
    EXPECT_EQ(count.get(0), 2);
}

TEST(LanguagePage, Wave) { EXPECT_NEAR(wave(1.0f), std::exp(1.0f) * std::sin(1.0f), 1e-5); }

}  // namespace
