// Handles that outlive their origin, first uses from many threads, and devices that are opened and closed many times.
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/error/error_suite.h"
#include "tests/sanitized.h"

using namespace pumice;
using suite::device;

namespace {

const auto add_one = kernel("add_one", [](InOut<int> a) { a[global_index()] += 1; });

/// Resident memory of this process in bytes.
int64_t resident() {
    std::ifstream statm("/proc/self/statm");
    int64_t total = 0, pages = 0;
    statm >> total >> pages;
    return pages * 4096;
}

TEST(Lifetime, ArraysKeepTheirDevice) {
    Array<int> a;
    Stream stream;
    Event event;
    {
        const Device d = device();
        a = d.zeros<int>(8);
        stream = d.stream();
    }
    event = add_one(ndrange(8).on(stream), a);
    event.wait();
    EXPECT_EQ(a.download(), std::vector<int>(8, 1));
    EXPECT_EQ(a.device().name(), device().name());
    a = {};
    stream.synchronize();
    EXPECT_TRUE(event.done());
}

TEST(Lifetime, EventsAndStreamsOutliveTheirDevice) {
    Event event;
    Stream stream;
    {
        const Device d = device();
        Array<int> a = d.zeros<int>(1000);
        stream = d.stream();
        for (int k = 0; k < 20; ++k) event = add_one(ndrange(1000).on(stream), a);
    }
    event.wait();
    EXPECT_TRUE(event.done());
    stream.wait_for(event);
}

TEST(Lifetime, MovedFromHandlesStillWork) {
    auto first = kernel("first", [](InOut<int> a) { a[global_index()] += 2; });
    const auto second = std::move(first);
    Device d = device();
    const Device e = std::move(d);
    Array<int> a = d.zeros<int>(8);
    first(ndrange(8), a);
    second(ndrange(8), a);
    EXPECT_EQ(first.name(), "first");
    EXPECT_EQ(d.name(), e.name());
    const Array<int> b = std::move(a);
    EXPECT_EQ(b.download(), std::vector<int>(8, 4));
    EXPECT_ERROR("an array that was never allocated is used: make it with Device::zeros, full, empty or upload", a.download());
}

template <int N>
auto plus() {
    static const auto k = kernel("plus", [](InOut<int> a) { a[global_index()] += N; });  // a kernel for each N
    return k;
}

TEST(Lifetime, KernelsInFunctionsTemplatesAndVectors) {
    Array<int> a = device().zeros<int>(8);
    for (int k = 0; k < 3; ++k) plus<1>()(ndrange(8), a), plus<10>()(ndrange(8), a);
    std::vector<Kernel<InOut<int>>> many;
    for (int k = 1; k <= 5; ++k) many.push_back(kernel("many", [k](InOut<int> out) { out[global_index()] += 100 * k; }));
    many.insert(many.begin(), many.back());  // moves the kernels in memory
    for (const auto& k : many) k(ndrange(8), a);
    EXPECT_EQ(a.download(), std::vector<int>(8, 33 + 2000));
}

TEST(Lifetime, AKernelIsDestroyedWithItsLaunchPending) {
    Array<int> a = device().zeros<int>(1000);
    for (int k = 0; k < 30; ++k) {
        const auto brief = kernel("brief", [k](InOut<int> out) { out[global_index()] += k; });
        brief(ndrange(1000), a);
    }
    EXPECT_EQ(a.download(), std::vector<int>(1000, 435));
}

TEST(Lifetime, DevicesReleaseDestroyedKernels) {
    const Device d = device();
    Array<int> a = d.zeros<int>(8);
    const size_t before = d.state->executables.size();
    for (int k = 0; k < 5; ++k) kernel("brief", [k](InOut<int> out) { out[global_index()] += k; })(ndrange(8), a);
    EXPECT_EQ(a.download(), std::vector<int>(8, 10));
    EXPECT_EQ(d.state->executables.size(), before);
}

TEST(Lifetime, FirstUseFromEightThreads) {
    const Device d = device();
    for (int round = 0; round < 4; ++round) {
        const auto fresh = kernel("fresh", [](InOut<int> a, Val<int> by) { atomic_add(a[global_index()], by); });
        const auto broken = kernel("broken", [](InOut<int> a) { $else { a[0] = 1; } });
        Array<int> a = d.zeros<int>(64);
        std::atomic<int> ready = 0, failed = 0;
        std::vector<std::thread> threads;
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                ++ready;
                while (ready < 8) std::this_thread::yield();
                try {
                    broken(ndrange(64), a);
                } catch (const Error&) {
                    ++failed;
                }
                fresh(ndrange(64), a, t);
            });
        for (std::thread& t : threads) t.join();
        EXPECT_EQ(failed, 8);
        EXPECT_EQ(a.download(), std::vector<int>(64, 28));
    }
}

TEST(Lifetime, OpenedAndClosedAHundredTimes) {
    const auto once = [] {
        const Device d = device();
        Array<int> a = d.zeros<int>(1 << 18);
        add_one(ndrange(1 << 10), a);
        EXPECT_EQ(a.download()[5], 1);
    };
    for (int k = 0; k < 20; ++k) once();
    const int64_t before = resident();
    for (int k = 0; k < 80; ++k) once();
#ifdef PUMICE_SANITIZED
    const int64_t quarantine = int64_t(256) << 20;  // AddressSanitizer keeps freed memory, and finds leaks itself
#else
    const int64_t quarantine = 0;
#endif
    EXPECT_LT(resident() - before, (int64_t(24) << 20) + quarantine);
}

TEST(Lifetime, AStaticKernelOnTwoDevicesInTurn) {
    for (int k = 0; k < 3; ++k)
        for (const Device& d : {device(), Device::open("interp")}) {
            Array<int> a = d.zeros<int>(8);
            add_one(ndrange(8), a);
            EXPECT_EQ(a.download(), std::vector<int>(8, 1));
        }
}

/// Launches a compiled kernel in its destructor, when all that the library made after this object is gone, if that can go.
struct LaunchesAtTheEnd {
    LaunchesAtTheEnd() : device(Device::open()) {}
    ~LaunchesAtTheEnd() {
        const Array<float> y = device.full<float>(10, 3.0f);
        half(ndrange(10), y);
        std::_Exit(y.download() == std::vector<float>(10, 1.5f) ? 0 : 1);
    }
    const Device device;
    const Kernel<InOut<float>> half = kernel("half", [](InOut<float> y) { y[global_index()] *= 0.5f; });
};

TEST(Lifetime, StaticObjectsLaunchInTheirDestructors) {
    if (device().name() != "interp" && !device().name().starts_with("cpu"))
        GTEST_SKIP() << "SKIPPED: a Vulkan driver's static objects may be destroyed by then";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            static const LaunchesAtTheEnd last;
            const Array<float> y = last.device.full<float>(10, 3.0f);
            last.half(ndrange(10), y);
            std::exit(y.get(9) == 1.5f ? 2 : 3);
        },
        testing::ExitedWithCode(0), "");
}

}  // namespace
