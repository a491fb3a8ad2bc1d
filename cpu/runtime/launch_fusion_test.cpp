#include "cpu/plan/dependence_distance.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "core/host/array.h"
#include "core/host/next_launch_hint.h"
#include "core/kernel/kernel.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/debug.h"
#include "cpu/runtime/cpu.h"

namespace pumice::cpu {
namespace {

// ---- distances between launches ----

TEST(LaunchFusion, FindsTheRowsThatAnItemTouches) {
    const auto k = kernel("k", [](InOut<int, 2> a, In<int, 2> b, Val<int> c, Out<int> d, InOut<int, 2> e, Out<int, 2> unused) {
        auto [i, j] = global_index<2>();
        a(i, j) = b(i - 2, j + 1) + b(i + 3, j) + c;
        d[i - 1] = b(i, c);
        e(j, i) = 1;
        (void)unused;
    });
    const std::vector<RowAccess> all = row_accesses(*k.recorded());
    ASSERT_EQ(all.size(), 6u);
    EXPECT_TRUE(all[0].touches && all[0].writes && all[0].known);
    EXPECT_EQ(all[0].first, 0);
    EXPECT_EQ(all[0].last, 0);
    EXPECT_TRUE(all[1].touches && !all[1].writes && all[1].known);
    EXPECT_EQ(all[1].first, -2);
    EXPECT_EQ(all[1].last, 3);
    EXPECT_FALSE(all[2].touches);
    EXPECT_TRUE(all[3].writes && all[3].known);
    EXPECT_EQ(all[3].first, -1);
    EXPECT_TRUE(all[4].writes);
    EXPECT_FALSE(all[4].known);  // the rows of the array run along columns of the range
    EXPECT_FALSE(all[5].touches);
}

RowsTouched touched(uint64_t begin, bool writes, int64_t first, int64_t last, bool known = true) {
    return {{true, writes, known, first, last, 2, 4}, begin, 1000, 10};
}
std::optional<DependenceDistance> distance(std::vector<RowsTouched> before, std::vector<RowsTouched> after) {
    return distance_between(before, after);
}

TEST(LaunchFusion, LagsByTheRowsThatBothTouch) {
    // The first launch loads x with neighbouring rows and stores y; the second loads y with one row before and two after.
    const auto one =
        distance({touched(0, false, -1, 1), touched(5000, true, 0, 0)}, {touched(5000, false, -1, 2), touched(9000, true, 0, 0)});
    ASSERT_TRUE(one);
    EXPECT_EQ(one->first, -1);
    EXPECT_EQ(one->last, 2);
    EXPECT_EQ(one->bytes, 3000);
    // The second launch overwrites an array that the first one loads.
    const auto two = distance({touched(0, false, -3, 1)}, {touched(0, true, 0, 0)});
    ASSERT_TRUE(two);
    EXPECT_EQ(two->first, -1);
    EXPECT_EQ(two->last, 3);
    // Both launches only load.
    const auto three = distance({touched(0, false, -3, 1)}, {touched(0, false, 7, 7)});
    ASSERT_TRUE(three);
    EXPECT_EQ(three->first, 0);
    EXPECT_EQ(three->last, 0);
}

TEST(LaunchFusion, NotWithoutAKnownDistance) {
    EXPECT_FALSE(distance({touched(0, true, 0, 0)}, {touched(5000, true, 0, 0)}));       // nothing in common
    EXPECT_FALSE(distance({touched(0, true, 0, 0, false)}, {touched(0, false, 0, 0)}));  // any row
    EXPECT_FALSE(distance({touched(0, true, 0, 0)}, {touched(500, false, 0, 0)}));       // views that overlap
    RowsTouched other = touched(0, false, 0, 0);
    other.rows = 20;
    EXPECT_FALSE(distance({touched(0, true, 0, 0)}, {other}));                             // of another shape
    EXPECT_TRUE(distance({touched(0, false, 0, 0, false)}, {touched(500, false, 0, 0)}));  // nobody writes
}

// ---- fused launches give the results of separate ones ----

template <size_t N> std::vector<int> counted(const int64_t (&extents)[N]) {
    int64_t n = 1;
    for (const int64_t e : extents) n *= e;
    std::vector<int> all(static_cast<size_t>(n));
    for (size_t i = 0; i < all.size(); ++i) all[i] = int(i * 17 % 1009);
    return all;
}

/// Runs `first` and `second` on the arrays of a device with so many threads. Gives the contents of the arrays afterwards.
std::vector<int> after_both(const char* threads, bool followed,
                            const std::function<std::vector<int>(const Device&, const std::function<void(bool)>&)>& act) {
    std::optional<debug::Override> own(std::in_place, "PUMICE_CPU_THREADS", threads);
    const Device device{cpu::open()};
    own.reset();
    std::unique_ptr<detail::NextLaunchHint> hint;
    return act(device, [&](bool more) { hint = nullptr, hint = std::make_unique<detail::NextLaunchHint>(followed && more); });
}

void expect_same(const std::function<std::vector<int>(const Device&, const std::function<void(bool)>&)>& act) {
    const std::vector<int> expected = after_both("1", false, act);
    for (const char* threads : {"1", "2", "3", "5"})
        for (int round = 0; round < 5; ++round) ASSERT_EQ(after_both(threads, true, act), expected) << threads << " threads";
}

const auto blur = kernel("blur", [](Out<int, 2> to, In<int, 2> from) {
    auto [i, j] = global_index<2>();
    to(i, j) = from(i - 1, j) + 3 * from(i + 2, j - 1) + from(i, j + 1);
});
const auto clear = kernel("clear", [](Out<int, 2> a) {
    auto [i, j] = global_index<2>();
    a(i, j) = 0;
});

TEST(LaunchFusion, SecondLaunchOverwritesInputsOfTheFirst) {
    constexpr int64_t n[] = {1203, 150};
    for (const bool grouped : {false, true})
        expect_same([&](const Device& device, const std::function<void(bool)>& more) {
            const Array<int, 2> from = device.upload(counted(n)).reshape(n), to = device.zeros<int>(n);
            more(true);
            const Range range = ndrange({1, 1}, {1200, 149});
            blur(grouped ? range.group(7, 32) : range, to, from);
            more(false);
            clear(ndrange({0, 3}, {1203, 150}), from);  // reaches further than the loads
            std::vector<int> all = from.download();     // waits for both launches
            const std::vector<int> rest = to.download();
            all.insert(all.end(), rest.begin(), rest.end());
            return all;
        });
}

TEST(LaunchFusion, SecondLaunchLoadsResultsOfTheFirst) {
    constexpr int64_t n[] = {1203, 150};
    expect_same([&](const Device& device, const std::function<void(bool)>& more) {
        const Array<int, 2> a = device.upload(counted(n)).reshape(n), b = device.zeros<int>(n), c = device.zeros<int>(n);
        more(true);
        blur(ndrange({1, 1}, {1200, 149}), b, a);
        blur(ndrange({300, 1}, {1200, 149}), c, b);  // the third launch stores to an array that this one loads
        more(false);
        blur(ndrange({1, 1}, {700, 149}), a, c);
        std::vector<int> all = a.download();
        const std::vector<int> rest = c.download();
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    });
}

TEST(LaunchFusion, OneAndThreeDimensions) {
    const auto line = kernel("line", [](Out<int> to, In<int> from) {
        auto i = global_index();
        to[i] = from[i - 1] - 2 * from[i + 5];
    });
    const auto box = kernel("box", [](Out<int, 3> to, In<int, 3> from) {
        auto [i, j, k] = global_index<3>();
        to(i, j, k) = from(i - 1, j, k) + 2 * from(i + 1, j, k) + 3 * from(i, j - 1, k) + 4 * from(i, j, k + 1);
    });
    constexpr int64_t n[] = {400'000}, m[] = {200, 40, 50};
    expect_same([&](const Device& device, const std::function<void(bool)>& more) {
        const Array<int> a = device.upload(counted(n)), b = device.zeros<int>(n);
        more(true);
        line(ndrange({3}, {399'990}), b, a);
        more(false);
        line(ndrange({1}, {399'000}), a, b);
        return a.download();
    });
    expect_same([&](const Device& device, const std::function<void(bool)>& more) {
        const Array<int, 3> a = device.upload(counted(m)).reshape(m), b = device.zeros<int>(m);
        more(true);
        box(ndrange({1, 1, 1}, {199, 39, 49}), b, a);
        more(false);
        box(ndrange({2, 2, 2}, {198, 38, 48}), a, b);
        return a.download();
    });
}

}  // namespace
}  // namespace pumice::cpu
