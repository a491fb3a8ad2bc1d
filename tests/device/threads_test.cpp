// One device used by several threads at once: compilation, caches, prints, events. Launches and copies of several threads are in
// stress_test.cpp.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

constexpr int threads = 6;

/// Runs f(t) on thread t of several, which begin together.
template <class F> void on_threads(F f) {
    std::atomic<int> there = 0;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            ++there;
            while (there < threads) std::this_thread::yield();
            f(t);
        });
    for (std::thread& thread : all) thread.join();
}

TEST(Threads, FirstLaunchesOfOneKernelAndOfMany) {
    const Device d = device();
    const auto shared = kernel("shared", [](InOut<int> a) { atomic_add(a[global_index()], 1); });
    const Array<int> sum = d.zeros<int>(8);
    std::atomic<int> wrong = 0;
    on_threads([&](int t) {
        shared(ndrange(8), sum);
        for (int n = 0; n < 4; ++n) {
            const auto own = kernel("own", [&](InOut<int> a, In<int> b) {
                auto i = global_index();
                a[i] = a[i] * (n % 2 ? 3 : 5 + t) + b[i];
            });
            const Array<int> a = d.upload(suite::iota<int>(8)), b = d.full<int>(8, t);
            own(ndrange(8), a, b);
            shared(ndrange(8).group(1 + n), sum);
            for (int i = 0; i < 8; ++i) wrong += a.get(i) != i * (n % 2 ? 3 : 5 + t) + t;
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(sum.download(), std::vector<int>(8, 5 * threads));
}

const auto doubled = function("doubled", [](Val<float> x) { return x + x; });
const auto squares =
    kernel("squares", [](Out<float> y, In<float> x) { y[global_index()] = doubled(x[global_index()]) * x[global_index()]; });

TEST(Threads, DerivativesAndFunctionsOfOneKernel) {
    const Device d = device();
    std::atomic<int> wrong = 0;
    on_threads([&](int t) {
        const Array<float> x = d.full<float>(4, float(t)), y = d.zeros<float>(4), dx = d.zeros<float>(4),
                           dy = d.full<float>(4, 1.0f);
        autodiff(Reverse, squares, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
        for (const float g : dx.download()) wrong += g != 4 * float(t);
        wrong += doubled(float(t)) != 2 * float(t);
    });
    EXPECT_EQ(wrong, 0);
}

TEST(Threads, ArraysAreAllocatedAndReleased) {
    const Device d = device();
    d.synchronize();
    const int64_t before = d.memory_in_use();
    const auto set = kernel("set", [](Out<int> a, Val<int> v) { a[global_index()] = v; });
    std::atomic<int> wrong = 0;
    on_threads([&](int t) {
        const Stream stream = d.stream();
        std::deque<std::pair<Array<int>, int>> kept;
        for (int n = 0; n < 60; ++n) {
            const int64_t size = 1 + (n * 37 + t * 101) % 3000;
            kept.emplace_back(d.empty<int>(size), n);
            set(ndrange(size).on(stream), kept.back().first, n);
            if (kept.size() < 5) continue;
            const auto& [array, value] = kept.front();
            if (n % 2) stream.synchronize(), wrong += array.get(array.count() - 1) != value;
            kept.pop_front();  // with work pending in every second case
        }
    });
    EXPECT_EQ(wrong, 0);
    d.synchronize();
    EXPECT_EQ(d.memory_in_use(), before);
}

/// Events of one thread order the stream of another.
TEST(Threads, EventsOfAnotherThread) {
    const Device d = device();
    const auto step =
        kernel("step", [](InOut<unsigned> a, Val<unsigned> k) { a[global_index()] = a[global_index()] * 1664525u + k; });
    const Array<unsigned> a = d.zeros<unsigned>(16);
    constexpr int rounds = 40;
    std::mutex mutex;
    std::condition_variable changed;
    Event last;
    int turn = 0;
    std::atomic<int> called = 0;
    on_threads([&](int t) {
        const Stream stream = d.stream(Priority(t % 3));
        for (int n = 0; n < rounds; ++n) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return turn % threads == t; });
            stream.wait_for(last);
            (void)last.done();
            last = step(ndrange(16).on(stream), a, unsigned(turn));
            if (n % 8 == t) stream.call([&] { ++called; });
            if (n % 10 == 9) last.wait();
            ++turn;
            changed.notify_all();
        }
        stream.synchronize();
    });
    unsigned want = 0;
    for (int n = 0; n < rounds * threads; ++n) want = want * 1664525u + unsigned(n);
    EXPECT_EQ(a.download(), std::vector<unsigned>(16, want));
    EXPECT_EQ(called, threads * rounds / 8);
}

TEST(Threads, PrintAndRequire) {
    const Device d = device();
    std::atomic<int> lines = 0;
    d.on_print([&](const std::string&) { ++lines; });
    const auto says = kernel("says", [](In<int> a) { print("a is {}", a[global_index()]); });
    const auto demands = kernel("demands", [](In<int> a) { require(a[global_index()] < 3, "a is small"); });
    std::atomic<int> faults = 0;
    on_threads([&](int t) {
        const Array<int> a = d.full<int>(2, t);
        for (int n = 0; n < 5; ++n) says(ndrange(2), a);
        try {
            demands(ndrange(2), a);
            d.synchronize();
        } catch (const Error&) {
            ++faults;  // perhaps that of another thread
        }
    });
    try {
        d.synchronize();
    } catch (const Error&) { ++faults; }
    d.on_print(nullptr);
    EXPECT_EQ(lines, 2 * 5 * threads);
    EXPECT_GE(faults, 1);
}

TEST(Threads, DevicesAreOpenedAndListed) {
    std::atomic<int> wrong = 0;
    on_threads([&](int t) {
        for (int n = 0; n < 5; ++n) {
            const Device d = device();
            wrong += d.upload<int>({t, n}).download() != std::vector<int>{t, n};
            if (t == 0 && n == 0) (void)Device::all();
        }
    });
    EXPECT_EQ(wrong, 0);
}

}  // namespace
