// A launch like an earlier one skips checks and preparations: whatever may differ has to be noticed.
#include <thread>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;
using suite::message_of;

namespace {

const auto add_scaled = kernel("add_scaled", [](InOut<float> y, In<float> x, Val<float> a) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto write_extent = kernel("write_extent", [](InOut<int, 2> to, Val<int> more) {
    auto [i, j] = global_index<2>();
    to(i, j) = to.size(1) * 100 + more;
});

std::vector<float> all(float value, size_t n = 100) { return std::vector<float>(n, value); }

TEST(RepeatedLaunches, TakeTheScalarsOfEach) {
    const Array<float> y = device().zeros<float>(100), x = device().full<float>(100, 1.0f);
    for (int n = 1; n <= 20; ++n) add_scaled(ndrange(100), y, x, float(n));
    EXPECT_EQ(y.download(), all(210));
}

const auto busy = kernel("busy", [](InOut<float> y, Val<int> steps) {
    auto i = global_index();
    Var value = y[i];
    $for(k, range(steps)) { value = value * 1.0f + 0.0f * cast<float>(k); }
    y[i] = value;
});

TEST(RepeatedLaunches, TakeTheScalarsOfEachBehindALongLaunch) {
    const Array<float> y = device().zeros<float>(100), x = device().full<float>(100, 1.0f);
    for (int round = 0; round < 3; ++round) {
        add_scaled(ndrange(100), y, x, 0.0f);  // from now on the launch is known
        busy(ndrange(100), y, 60'000);
        busy(ndrange(100), y, 60'000);
        for (int n = 1; n <= 20; ++n) add_scaled(ndrange(100), y, x, float(n));
    }
    EXPECT_EQ(y.download(), all(630));
}

TEST(RepeatedLaunches, KeepTheirMemoryUntilTheyRun) {
    const Array<float> sum = device().zeros<float>(100), one = device().full<float>(100, 1.0f);
    for (int round = 0; round < 3; ++round) {
        const Array<float> x = device().zeros<float>(100);
        for (int n = 0; n < 3; ++n) add_scaled(ndrange(100), x, one, 1.0f);
        busy(ndrange(100), x, 60'000);
        for (int n = 0; n < 3; ++n) add_scaled(ndrange(100), sum, x, 1.0f);
        x.release();
    }
    EXPECT_EQ(sum.download(), all(27));
}

TEST(RepeatedLaunches, OfShrinkingRangesInEveryOrder) {
    const Array<int> counts = device().zeros<int>(40);
    const auto count = kernel("count", [](InOut<int> to, Val<int> by) { to[global_index()] += by; });
    for (int round = 0; round < 3; ++round)
        for (int k = 0; k < 40; ++k) count(ndrange({k}, {40}), counts, k), count(ndrange(40 - k), counts, 1);
    std::vector<int> want(40);
    for (int i = 0; i < 40; ++i) want[size_t(i)] = 3 * (i * (i + 1) / 2 + 40 - i);
    EXPECT_EQ(counts.download(), want);
}

TEST(RepeatedLaunches, TellArraysSlicesAndRangesApart) {
    const Array<float> a = device().zeros<float>(100), b = device().zeros<float>(100), x = device().full<float>(100, 1.0f);
    for (int n = 0; n < 6; ++n) {
        add_scaled(ndrange(100), a, x, 1.0f);
        add_scaled(ndrange(100), b, x, 2.0f);
        add_scaled(ndrange(10), a, x, 100.0f);
        add_scaled(ndrange(50), a.slice(50, 100), x.slice(0, 50), 1000.0f);
        add_scaled(ndrange({20}, {30}), a, x, 10.0f);
    }
    std::vector<float> want = all(6);
    for (size_t i = 0; i < 10; ++i) want[i] += 600;
    for (size_t i = 50; i < 100; ++i) want[i] += 6000;
    for (size_t i = 20; i < 30; ++i) want[i] += 60;
    EXPECT_EQ(a.download(), want);
    EXPECT_EQ(b.download(), all(12));
}

TEST(RepeatedLaunches, TellShapesOfTheSameMemoryApart) {
    const Array<int, 2> a = device().zeros<int>({6, 4});
    const Array<int, 2> b = a.reshape({4, 6});
    for (int n = 0; n < 3; ++n) {
        write_extent(ndrange(4, 4), a, n);
        EXPECT_EQ(a.download()[5], 400 + n);
        write_extent(ndrange(4, 4), b, n);
        EXPECT_EQ(b.download()[6], 600 + n);
    }
}

TEST(RepeatedLaunches, OfMoreArraysThanAreKept) {
    const Array<float> x = device().full<float>(100, 1.0f);
    std::vector<Array<float>> arrays;
    for (int k = 0; k < 40; ++k) arrays.push_back(device().zeros<float>(100));
    for (int n = 1; n <= 3; ++n)
        for (int k = 0; k < 40; ++k)
            for (int again = 0; again < 2; ++again) add_scaled(ndrange(100), arrays[size_t(k)], x, float(k));
    for (int k = 0; k < 40; ++k) ASSERT_EQ(arrays[size_t(k)].download(), all(6.0f * float(k))) << k;
}

TEST(RepeatedLaunches, OnMemoryThatWasFreedAndIsUsedAgain) {
    const Array<float> x = device().full<float>(100, 1.0f);
    for (int n = 0; n < 50; ++n) {
        const Array<float> y = device().zeros<float>(100), between = device().zeros<float>(n % 3 == 0 ? 1000 : 100);
        add_scaled(ndrange(100), y, x, 1.0f);
        add_scaled(ndrange(100), between, y, 2.0f);
        add_scaled(ndrange(100), y, x, 1.0f);
        ASSERT_EQ(y.download(), all(2)) << n;
        ASSERT_EQ(between.get(99), 2.0f) << n;
    }
}

TEST(RepeatedLaunches, AreRefusedLikeTheFirst) {
    const Array<float> y = device().zeros<float>(100), x = device().full<float>(100, 1.0f), gone = device().zeros<float>(100);
    for (int n = 0; n < 3; ++n) {
        add_scaled(ndrange(100), y, x, 1.0f);
        add_scaled(ndrange(100), gone, x, 1.0f);
        EXPECT_NE(message_of([&] { add_scaled(ndrange(100), y, y, 1.0f); }).find("overlap in memory"), std::string::npos);
        EXPECT_NE(message_of([&] { add_scaled(ndrange(100).group(0), y, x, 1.0f); }).find("its group has extent 0"),
                  std::string::npos);
        EXPECT_NE(message_of([&] { add_scaled(ndrange(10, 10), y, x, 1.0f); }).find("2-dimensional range"), std::string::npos);
    }
    gone.release();
    for (int n = 0; n < 2; ++n)
        EXPECT_NE(message_of([&] { add_scaled(ndrange(100), gone, x, 1.0f); }).find("is an array that was released"),
                  std::string::npos);
    add_scaled(ndrange(100), y, x, 1.0f);
    EXPECT_EQ(y.download(), all(4));
}

TEST(RepeatedLaunches, OfOneKernelOnSeveralThreads) {
    const Device here = device();
    std::vector<Array<float>> results(4);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            const Array<float> x = here.full<float>(100, 1.0f), y = here.zeros<float>(100);
            for (int n = 0; n < 50; ++n) add_scaled(ndrange(100), y, x, float(t));
            results[t] = y;
        });
    for (std::thread& thread : threads) thread.join();
    for (size_t t = 0; t < 4; ++t) EXPECT_EQ(results[t].download(), all(50.0f * float(t)));
}

TEST(RepeatedLaunches, OnADeviceThatIsOpenedAgain) {
    for (int n = 0; n < 3; ++n) {
        const Device interp = Device::open("interp");
        const Array<float> y = interp.zeros<float>(100), x = interp.full<float>(100, 1.0f);
        const Array<float> z = device().zeros<float>(100), w = device().full<float>(100, 1.0f);
        for (int again = 0; again < 3; ++again) {
            add_scaled(ndrange(100), y, x, 2.0f);
            add_scaled(ndrange(100), z, w, 3.0f);
        }
        EXPECT_EQ(y.download(), all(6));
        EXPECT_EQ(z.download(), all(9));
    }
}

}  // namespace
