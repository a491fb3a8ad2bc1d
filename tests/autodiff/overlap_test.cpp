// Programs and calls whose arrays, shadows and tapes overlap in memory, have no elements, or belong to another call.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "tests/device/suite.h"
#include "tests/sanitized.h"
#include "vulkan/loader_devices.h"

using namespace pumice;
using suite::device;
using suite::message_of;

namespace {

const auto square = kernel("square", [](InOut<float> a) {
    auto i = global_index();
    a[i] *= a[i];
});
const auto axpy = kernel("axpy", [](InOut<float> y, Val<float> a, In<float> x) {
    auto i = global_index();
    y[i] += a * x[i];
});
const auto product = kernel("product", [](Out<float> y, In<float> a, In<float> b) {
    auto i = global_index();
    y[i] = a[i] * b[i];
});

const auto hungry = kernel("hungry", [](InOut<float> a, Val<int> n) {
    auto i = global_index();
    Var<float> s = a[i];
    $for(k, range(n)) { s = sin(s); }
    a[i] = s;
});

bool hangs_without_memory(const Device& device) { return device.name().find("NVIDIA") != std::string::npos; }

/// Mesa 25.0's lavapipe allocates memory by mmap and does not check the result.
bool crashes_without_memory(const Device& device) {
    if (device.name().find("llvmpipe") == std::string::npos) return false;
    const std::vector<vulkan::PhysicalDevice> all = vulkan::list();
    return std::any_of(all.begin(), all.end(),
                       [](const vulkan::PhysicalDevice& one) { return one.driver.find("Mesa 25") != std::string::npos; });
}

/// While it exists, the process can allocate only so many more bytes of memory.
class MemoryLimit {
public:
    explicit MemoryLimit(int64_t bytes) {
        getrlimit(RLIMIT_AS, &before_);
        int64_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        rlimit limit = before_;
        limit.rlim_cur = rlim_t(pages * sysconf(_SC_PAGE_SIZE) + bytes);
        setrlimit(RLIMIT_AS, &limit);
    }
    ~MemoryLimit() { setrlimit(RLIMIT_AS, &before_); }
    MemoryLimit(const MemoryLimit&) = delete;
    MemoryLimit& operator=(const MemoryLimit&) = delete;

private:
    rlimit before_{};
};

struct AutodiffOverlap : ::testing::Test {
    const Device d = device();
    Array<float> x = d.full<float>(4, 3.0f), dx = d.full<float>(4, 1.0f), y = d.full<float>(4, 2.0f), dy = d.full<float>(4, 1.0f);
    const std::string program = "the derivative of a program: ";
};

TEST_F(AutodiffOverlap, CopiesOntoThemselves) {
    const std::vector<float> seeds{1, 2, 3, 4, 5, 6};
    for (const int states : {0, 2}) {
        const ReverseMode mode = states ? Reverse.checkpoints(states) : Reverse;
        x.fill(3.0f), dx.fill(2.0f);
        autodiff(mode, [](Array<float>& a) { a.copy_from(a), square(ndrange(4), a); }, Duplicated(x, dx));
        EXPECT_EQ(dx.download(), std::vector<float>(4, 12.0f));
        Array<float> z = d.upload(seeds), dz = d.upload(seeds);
        autodiff(mode, [](Array<float>& a) { a.slice(0, 5).copy_from(a.slice(1, 6)); }, Duplicated(z, dz));
        EXPECT_EQ(z.download(), (std::vector<float>{2, 3, 4, 5, 6, 6}));
        EXPECT_EQ(dz.download(), (std::vector<float>{0, 1, 2, 3, 4, 11}));
        autodiff(mode, [](Array<float>& a) { a.view(1, 6).copy_from(a.view(0, 5)); }, Duplicated(z, dz));
        EXPECT_EQ(z.download(), (std::vector<float>{2, 2, 3, 4, 5, 6}));
        EXPECT_EQ(dz.download(), (std::vector<float>{1, 2, 3, 4, 11, 0}));
    }
    Array<float> z = d.upload(seeds), dz = d.upload(seeds);
    autodiff(Forward, [](Array<float>& a) { a.slice(0, 5).copy_from(a.slice(1, 6)); }, Duplicated(z, dz));
    EXPECT_EQ(dz.download(), (std::vector<float>{2, 3, 4, 5, 6, 6}));
}

TEST_F(AutodiffOverlap, ProgramsThatUseShadowsAreRefused) {
    const auto refused = [&](auto mode, const auto& f, const auto&... annotations) {
        return message_of([&] { autodiff(mode, f, annotations...); });
    };
    const auto one = [&](Array<float>& a) { square(ndrange(4), a); };
    const auto two = [&](Array<float>& a, Array<float>& b) { product(ndrange(4), a, b, b); };
    EXPECT_EQ(refused(
                  Reverse, [&](Array<float>& a) { axpy(ndrange(4), dx, 1.0f, a); }, Duplicated(x, dx)),
              program + "the program uses the shadow of argument 1");
    EXPECT_EQ(refused(
                  Forward, [&](Array<float>& a) { a.copy_from(dx); }, Duplicated(x, dx)),
              program + "the program uses the shadow of argument 1");
    EXPECT_EQ(refused(Reverse, two, Duplicated(x, y), Duplicated(y, dx)),
              program + "the shadow of argument 1 overlaps argument 2 in memory");
    EXPECT_EQ(refused(Reverse, two, Duplicated(x, dx), Duplicated(y, dx)),
              program + "the shadows of argument 1 and argument 2 overlap in memory, and argument 1 is written");
    EXPECT_EQ(refused(Reverse, one, BatchDuplicated(x, {dx, dx})), program + "two shadows of argument 1 overlap in memory");
    EXPECT_EQ(refused(Reverse, two, Duplicated(x, dx), Duplicated(x, dy)),
              program + "argument 2 overlaps another Duplicated argument in memory");
    EXPECT_EQ(refused(Reverse, two, Duplicated(x, dx), Const(x)),
              program + "argument 2 overlaps a Duplicated argument in memory");
    EXPECT_EQ(refused(Reverse, two, Const(x), Duplicated(x, dx)), program + "argument 2 overlaps a Const argument in memory");
    EXPECT_EQ(dx.download(), std::vector<float>(4, 1.0f));
    // One shadow for two arrays that are only read receives the sum.
    Array<float> z = d.zeros<float>(4), sum = d.zeros<float>(4);
    autodiff(
        Reverse, [](Array<float>& to, Array<float>& a, Array<float>& b) { product(ndrange(4), to, a, b); }, Duplicated(z, dy),
        Duplicated(x, sum), Duplicated(y, sum));
    EXPECT_EQ(sum.download(), std::vector<float>(4, 5.0f));
}

TEST_F(AutodiffOverlap, OneArrayAsTwoArguments) {
    Array<float> other = d.zeros<float>(4);
    autodiff(Reverse, product, ndrange(4), Duplicated(y, dy), Duplicated(x, dx), Duplicated(x, other));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 4.0f));
    EXPECT_EQ(other.download(), std::vector<float>(4, 3.0f));
    dy.fill(1.0f), dx.fill(0.0f);
    autodiff(Reverse, product, ndrange(4), Duplicated(y, dy), Duplicated(x, dx), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 6.0f));
    dy.fill(1.0f), dx.fill(0.0f);
    autodiff(
        Reverse, [](Array<float>& to, Array<float>& a) { product(ndrange(4), to, a, a); }, Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 6.0f));
}

TEST_F(AutodiffOverlap, EmptyArraysAndRanges) {
    const auto [none] = autodiff(Reverse, axpy, ndrange(0), Duplicated(y, dy), Active(2.0f), Duplicated(x, dx));
    EXPECT_EQ(none, 0.0f);
    const auto [forward, reverse] = autodiff_split(square, ndrange(0), Duplicated(x, dx));
    reverse(Duplicated(x, dx), forward(Duplicated(x, dx)));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 1.0f));
    Array<float> a = d.zeros<float>(0), da = d.zeros<float>(0), b = d.zeros<float>(0), db = d.zeros<float>(0);
    const auto nothing = [](Array<float>& to, Array<float>& from) {
        Array<float> copy = from.clone();
        axpy(ndrange(0), to, 1.0f, copy);
        to.fill(1.0f);
        to.copy_from(copy);
        return to;
    };
    for (const int states : {0, 1, 3})
        autodiff(states ? Reverse.checkpoints(states) : Reverse, nothing, Duplicated(a, da), Duplicated(b, db));
    autodiff(Forward, nothing, Duplicated(a, da), Duplicated(b, db));
    autodiff(Reverse, [](Array<float>&) {}, Duplicated(x, dx));
    autodiff(Reverse.checkpoints(2), [](Array<float>&) {}, Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 1.0f));
}

TEST_F(AutodiffOverlap, TapeOfAnotherCallIsRefused) {
    Array<float> z = d.full<float>(8, 3.0f), dz = d.full<float>(8, 1.0f);
    const auto cube = kernel("cube", [](InOut<float> a) {
        auto i = global_index();
        a[i] *= a[i] * a[i];
    });
    const auto narrow = autodiff_split(square, ndrange(4), Duplicated(z, dz));
    const auto tape = narrow.first(Duplicated(z, dz));
    EXPECT_EQ(message_of([&] { autodiff_split(square, ndrange(8), Duplicated(z, dz)).second(Duplicated(z, dz), tape); }),
              "the reverse half of kernel \"square\" is given a tape whose array 1 has 4 elements, and needs 8: both halves take "
              "the same range and annotations");
    EXPECT_EQ(message_of([&] { autodiff_split(cube, ndrange(4), Duplicated(z, dz)).second(Duplicated(z, dz), tape); }),
              "the reverse half of kernel \"cube\" is given a tape of kernel \"square\"");
    EXPECT_EQ(dz.download(), std::vector<float>(8, 1.0f));
}

/// In halves the tape holds the trip count of each item, where an array gives it. If the loop's values are needed, it also holds
/// a float an iteration, an offset and a height.
TEST_F(AutodiffOverlap, TapesHaveTheSizeThatIsNeeded) {
    const auto iterate = kernel("iterate", [](InOut<float> a, In<int> times) {
        auto i = global_index();
        Var v = a[i];
        $for(k, range(times[i])) { v = v * sin(v) + 0.5f; }
        a[i] = v;
    });
    const auto sums = kernel("sums", [](InOut<float> a, In<int> times) {
        auto i = global_index();
        Var v = a[i];
        $for(k, range(times[i])) { v += 0.5f * v + cast<float>(k); }
        a[i] = v;
    });
    for (const std::vector<int>& counts : {std::vector<int>{3, 0, 5, 2}, {0, 0, 0, 0}, {1000, 1, 1, 1}}) {
        const Array<int> times = d.upload(counts);
        const auto bytes_of = [&](const auto& k) {
            const auto halves = autodiff_split(k, ndrange(4), Duplicated(x, dx), Const(times));
            return halves.first(Duplicated(x, dx), Const(times)).bytes();
        };
        EXPECT_EQ(bytes_of(iterate), 4 * std::accumulate(counts.begin(), counts.end(), 0) + 3 * 4 * 4);
        EXPECT_EQ(bytes_of(sums), 4 * 4);
    }
}

TEST_F(AutodiffOverlap, TapesBeyondAnyArray) {
    const int n = 2'000'000'000;
    EXPECT_EQ(message_of([&] { autodiff(Reverse, hungry, ndrange(4), Duplicated(x, dx), Const(n)); }),
              "the reverse sweep of kernel \"hungry\" needs a tape of 8000000000 elements, 32000000000 bytes, and a tape has "
              "2147483647 elements at most\n"
              "  while making the tape of the reverse sweep of kernel \"hungry\" over 4 work-items: launches over smaller "
              "ranges, or programs with "
              "Reverse.checkpoints(n), need less at once");
    autodiff(Reverse, square, ndrange(4), Duplicated(x, dx));  // the device still works
    EXPECT_EQ(dx.download(), std::vector<float>(4, 6.0f));
}

/// An error of the kernel that counts the tape's elements has nothing to do with the tape's size.
TEST_F(AutodiffOverlap, ErrorsWhileATapeIsCounted) {
    const auto iterate = kernel("iterate", [](InOut<float> a, In<int> times) {
        auto i = global_index();
        require(times[i] < 6, "{} is less than 6", times[i]);
        Var v = a[i];
        $for(k, range(times[i])) { v = v * sin(v) + 0.5f; }
        a[i] = v;
    });
    const std::string message = message_of([&] {
        autodiff(Reverse, iterate, ndrange(4), Duplicated(x, dx), Const(d.upload(std::vector<int>{1, 7, 2, 3})));
        d.synchronize();
    });
    EXPECT_NE(message.find("7 is less than 6"), std::string::npos) << message;
    EXPECT_EQ(message.find("smaller ranges"), std::string::npos) << message;
}

TEST_F(AutodiffOverlap, TapesBeyondTheMemory) {
#ifdef PUMICE_SANITIZED
    GTEST_SKIP() << "SKIPPED: AddressSanitizer ends a process whose memory is limited";
#endif
    if (hangs_without_memory(d)) GTEST_SKIP() << "SKIPPED: this driver hangs where it gets no memory for itself";
    autodiff(Reverse, hungry, ndrange(4), Duplicated(x, dx), Const(1));  // compiled code takes memory, too
    const std::vector<float> before = dx.download();
    std::string message;
    {
        const MemoryLimit limit(int64_t(2) << 30);
        message = message_of([&] { autodiff(Reverse, hungry, ndrange(4), Duplicated(x, dx), Const(500'000'000)); });
    }
    EXPECT_NE(message.find("allocate"), std::string::npos) << message;
    EXPECT_NE(message.find(
                  "while making the tape of the reverse sweep of kernel \"hungry\", 8000000000 bytes over 4 work-items: launches "
                  "over smaller ranges, or programs with Reverse.checkpoints(n), need less at once"),
              std::string::npos)
        << message;
    EXPECT_EQ(dx.download(), before);
    x.fill(3.0f), dx.fill(1.0f);
    autodiff(Reverse, square, ndrange(4), Duplicated(x, dx));  // the device still works
    EXPECT_EQ(dx.download(), std::vector<float>(4, 6.0f));
}

TEST_F(AutodiffOverlap, StatesBeyondTheMemory) {
#ifdef PUMICE_SANITIZED
    GTEST_SKIP() << "SKIPPED: AddressSanitizer ends a process whose memory is limited";
#endif
    if (crashes_without_memory(d)) GTEST_SKIP() << "SKIPPED: this driver crashes where it gets no memory for itself";
    if (hangs_without_memory(d)) GTEST_SKIP() << "SKIPPED: this driver hangs where it gets no memory for itself";
    const Array<float> large = d.full<float>(1 << 21, 1.0f), shadow = d.full<float>(1 << 21, 1.0f);
    const auto steps = [&](Array<float>& a) {
        for (int step = 0; step < 200; ++step) square(ndrange(4), a);
    };
    autodiff(Reverse.checkpoints(8), steps, Duplicated(large, shadow));  // compiled code takes memory, too
    const auto message_with = [&](const ReverseMode& mode) {
        const MemoryLimit limit(int64_t(256) << 20);
        return message_of([&] { autodiff(mode, steps, Duplicated(large, shadow)); });
    };
    const std::string without = message_with(Reverse), with = message_with(Reverse.checkpoints(180));
    EXPECT_NE(without.find("cannot allocate"), std::string::npos) << without;
    EXPECT_NE(without.find("while keeping what a program overwrites, "), std::string::npos) << without;
    EXPECT_NE(without.find(" commands: Reverse.checkpoints(n) needs less"), std::string::npos) << without;
    EXPECT_NE(with.find("while keeping the states of a program, 180 at most: a smaller n in Reverse.checkpoints(n) needs less"),
              std::string::npos)
        << with;
    shadow.fill(1.0f);
    autodiff(Reverse.checkpoints(8), steps, Duplicated(large, shadow));  // a smaller program fits
    EXPECT_EQ(shadow.get(4), 1.0f);
}

TEST_F(AutodiffOverlap, ErrorsInAProgramLeaveLaterProgramsRight) {
    const auto refuses = host_step("refuses", [](Array<float>& a) { a.fill(2.0f); }).reverse([](const Duplicated<Array<float>>&) {
        throw Error("the rule refuses");
    });
    for (const int states : {0, 2}) {
        EXPECT_EQ(message_of([&] {
                      autodiff(
                          states ? Reverse.checkpoints(states) : Reverse,
                          [&](Array<float>& a) { square(ndrange(4), a), refuses(a), square(ndrange(4), a); }, Duplicated(x, dx));
                  }),
                  "the rule refuses");
        EXPECT_EQ(message_of([&] {
                      autodiff(Reverse, [&](Array<float>& a) { square(ndrange(4), a), fail("no more"); }, Duplicated(x, dx));
                  }),
                  "no more");
        x.fill(3.0f), dx.fill(1.0f);
        autodiff(Reverse, [&](Array<float>& a) { square(ndrange(4), a); }, Duplicated(x, dx));
        EXPECT_EQ(dx.download(), std::vector<float>(4, 6.0f));
    }
}

TEST_F(AutodiffOverlap, ThreadsAtOnce) {
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            const auto own = kernel("own", [](InOut<float> a) { a[global_index()] *= a[global_index()]; });
            for (int k = 0; k < 4; ++k) {
                Array<float> a = d.full<float>(4, float(t)), da = d.full<float>(4, 1.0f);
                autodiff(
                    Reverse.checkpoints(2), [&](Array<float>& v) { own(ndrange(4), v), square(ndrange(4), v); },
                    Duplicated(a, da));
                wrong[size_t(t)] += da.download() != std::vector<float>(4, float(4 * t * t * t));
            }
        });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

/// The gradient of a program that takes a gradient, in each pair of modes.
TEST_F(AutodiffOverlap, ProgramsInPrograms) {
    const Array<float> one = d.full<float>(4, 1.0f);
    const auto outer = [&](auto inner_mode) {
        return [&, inner_mode](Array<float>& a, auto c) {  // a = d/da ((a + c)^2)^2 = 4 (a + c)^3
            Array<float> u = a.clone(), du = a.device().template full<float>(4, 1.0f);
            autodiff(
                inner_mode, [&](Array<float>& v) { axpy(ndrange(4), v, c, one), square(ndrange(4), v), square(ndrange(4), v); },
                Duplicated(u, du));
            a.copy_from(du);
        };
    };
    const auto check = [&](const auto& f) {
        for (const int states : {0, 1, 3}) {
            x.fill(2.0f), dx.fill(1.0f);
            const auto [dc] = autodiff(states ? Reverse.checkpoints(states) : Reverse, f, Duplicated(x, dx), Active(1.0f));
            EXPECT_EQ(x.download(), std::vector<float>(4, 108.0f)) << states;
            EXPECT_EQ(dx.download(), std::vector<float>(4, 108.0f)) << states;
            EXPECT_EQ(dc, 432.0f) << states;
        }
        x.fill(2.0f), dx.fill(1.0f);
        autodiff(Forward, f, Duplicated(x, dx), Duplicated(1.0f, 1.0f));
        EXPECT_EQ(dx.download(), std::vector<float>(4, 216.0f));
    };
    check(outer(Reverse));
    check(outer(Reverse.checkpoints(1)));
    check(outer(Forward));
}

}  // namespace
