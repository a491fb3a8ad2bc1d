// Control flow, variables, local and private memory, barriers. Numbers in the names are those of shared/cases/kernels.md.
#include <utility>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

/// Both kinds of memory, in whole groups and not: what items past the range do makes no difference where there are none.
template <class... Attribute>
auto reverse_static(const char* name, Attribute... attribute) {
    return kernel(name, attribute..., [](InOut<int> a) {
        Local<int, 16> tile;
        auto l = local_index();
        tile[l] = a[global_index()];
        synchronize();
        a[global_index()] = tile[15 - l];
    });
}
template <class... Attribute>
auto reverse_dynamic(const char* name, Attribute... attribute) {
    return kernel(name, attribute..., [](InOut<int> a) {
        Local<int> tile(group_size() + 1);
        auto l = local_index();
        tile[l] = a[global_index()];
        synchronize();
        a[global_index()] = tile[group_size() - 1 - l];
    });
}

std::vector<int> reversed_groups(int n, int g) {
    std::vector<int> want(n);
    for (int i = 0; i < n; ++i) want[i] = i / g * g + (g - 1 - i % g);
    return want;
}

TEST(Language, Case09_LocalReversal) {
    const auto dynamic = reverse_dynamic("reverse_dynamic"), whole_dynamic = reverse_dynamic("whole_dynamic", whole_groups);
    for (const auto& k : {reverse_static("reverse_static"), reverse_static("whole_static", whole_groups), dynamic, whole_dynamic}) {
        Array<int> a = device().upload(suite::iota<int>(64));
        k(ndrange(64).group(16), a);
        EXPECT_EQ(a.download(), reversed_groups(64, 16)) << k.name();
    }
    for (const auto& k : {dynamic, whole_dynamic}) {  // the size is that of the launch's group
        Array<int> a = device().upload(suite::iota<int>(64));
        k(ndrange(64).group(32), a);
        EXPECT_EQ(a.download(), reversed_groups(64, 32)) << k.name();
    }
}

const auto barrier_in_for = kernel("barrier_in_for", [](InOut<int> a, Val<int> times) {
    Local<int, 16> tile;
    auto l = local_index();
    auto i = global_index();
    tile[l] = a[i] + 3;
    $for (j, range(0, times)) {
        tile[l] -= j;
        synchronize();
    }
    a[i] = tile[group_size() - 1 - l];
});

TEST(Language, Case10_BarrierInFor) {
    for (const int times : {1, 2, 5}) {
        Array<int> a = device().upload(suite::iota<int>(64));
        barrier_in_for(ndrange(64).group(16), a, times);
        std::vector<int> want(64);
        for (int i = 0; i < 64; ++i) want[i] = (i / 16 * 16 + 15 - i % 16) + 3 - times * (times - 1) / 2;
        EXPECT_EQ(a.download(), want) << times;
    }
}

const auto two_tiles = kernel("two_tiles", [](Out<float, 2> out, In<float, 2> a) {
    Local<float, 8, 9> tile;  // a column of padding
    Local<int, 8> row;
    auto [i, j] = global_index<2>();
    auto [y, x] = local_index<2>();
    tile(y, x) = a(i, j);
    $if (x == 0) { row[y] = cast<int>(a(i, j)); }
    synchronize();
    out(i, j) = tile(x, y) + cast<float>(row[x]);
});

TEST(Language, Case11_TwoLocalArraysOneTwoDimensional) {
    Array<float, 2> a = device().upload(suite::iota<float>(64), {8, 8}), out = device().zeros<float>({8, 8});
    two_tiles(ndrange(8, 8).group(8, 8), out, a);
    std::vector<float> want(64);
    for (int i = 0; i < 8; ++i) for (int j = 0; j < 8; ++j) want[i * 8 + j] = float(j * 8 + i) + float(j * 8);
    EXPECT_EQ(out.download(), want);
}

const auto across_barriers = kernel("across_barriers", [](InOut<int> a) {
    Local<int, 32> tile;
    Private<int, 4> mine;
    auto l = local_index();
    auto i = global_index();
    Var v = a[i];
    $for (k, range(0, 4)) { mine[k] = v * k; }
    tile[l] = v;
    synchronize();
    v += tile[(l + 1) % group_size()];
    synchronize();
    tile[l] = v;
    synchronize();
    Var sum = 0;
    $for (k, range(0, 4)) { sum += mine[k]; }
    a[i] = sum + tile[(l + 1) % group_size()];
});

TEST(Language, Case12_PrivateArraysAndVarsAcrossBarriers) {
    Array<int> a = device().upload(suite::iota<int>(64));
    across_barriers(ndrange(64).group(32), a);
    std::vector<int> want(64);
    for (int i = 0; i < 64; ++i) {
        const auto next = [](int n) { return n / 32 * 32 + (n % 32 + 1) % 32; };
        want[i] = 6 * i + next(i) + next(next(i));
    }
    EXPECT_EQ(a.download(), want);
}

const auto accumulate = kernel("accumulate", [](InOut<int, 2> in_place, InOut<int, 2> by_var, InOut<int, 2> input) {
    auto [i, j] = global_index<2>();
    in_place(i, j) = 0;
    Var sum = 0;
    $for (k, range(j, input.size(1))) {
        in_place(i, j) += i + k;
        sum += i + k;
    }
    by_var(i, j) = sum;
    input(i, j) = i + j;
});

TEST(Language, Case13_AccumulateInPlace) {
    Array<int, 2> a = device().zeros<int>({5, 8}), b = device().zeros<int>({5, 8}), input = device().zeros<int>({5, 8});
    accumulate(ndrange(5, 8), a, b, input);
    std::vector<int> want(40);
    for (int i = 0; i < 5; ++i) for (int j = 0; j < 8; ++j) for (int k = j; k < 8; ++k) want[i * 8 + j] += i + k;
    EXPECT_EQ(a.download(), want);
    EXPECT_EQ(b.download(), want);
}

const auto unrolled = kernel("unrolled", [](Out<int> out) {
    auto i = global_index();
    Local<int, 8> tile;
    Var sum = 0;
    for (int k = 1; k <= 5; ++k)
        for (int m = 6; m <= 10; ++m) sum += k * m;
    for (int k = 0; k < 3; ++k) {
        tile[local_index()] = sum + k;
        synchronize();
        sum = tile[(local_index() + 1) % 8];
        synchronize();
    }
    out[i] = sum;
});

TEST(Language, Case14_HostLoopsUnroll) {
    Array<int> out = device().zeros<int>(16);
    unrolled(ndrange(16).group(8), out);
    EXPECT_EQ(out.download(), std::vector<int>(16, 15 * 40 + 3));
}

template <class F>
auto mapped(const char* name, F f) {
    return kernel(name, [f](InOut<float> a) { a[global_index()] = f(a[global_index()]); });
}

TEST(Language, Case15_KernelsTakeACallable) {
    Array<float> a = device().upload(suite::iota<float>(10));
    mapped("plus_one", [](Val<float> x) { return x + 1; })(ndrange(10), a);
    mapped("squared", [](Val<float> x) { return x * x; })(ndrange(10), a);
    std::vector<float> want(10);
    for (int i = 0; i < 10; ++i) want[i] = float((i + 1) * (i + 1));
    EXPECT_EQ(a.download(), want);
}

const auto flow = kernel("flow", [](Out<int> out, Val<int> n) {
    auto i = global_index();
    Var sum = 0;
    $for (a, range(0, n)) {
        $if (a == i) { $continue; }
        $for (b, range(n, 0, -1)) {
            $if (b < i) { $break; }
            $if (b % 2 == 0) { sum += 1; } $elif (b % 3 == 0) { sum += 10; } $elif (b == 7) { $continue; } $else { sum += 100; }
            sum += 1000;
        }
        Var w = a;
        $while (w > 0) {
            w -= 2;
            $if (w == 3) { $break; }
            sum += 100000;
        }
        $if (sum > 3000000) {
            out[i] = -sum;
            $return;
        }
    }
    out[i] = sum;
});

TEST(Language, NestedControlFlow) {
    const int n = 12;
    Array<int> out = device().zeros<int>(20);
    flow(ndrange(20).group(4), out, n);
    std::vector<int> want(20);
    for (int i = 0; i < 20; ++i) {
        int sum = 0;
        bool returned = false;
        for (int a = 0; a < n && !returned; ++a) {
            if (a == i) continue;
            for (int b = n; b > 0; --b) {
                if (b < i) break;
                if (b % 2 == 0) sum += 1;
                else if (b % 3 == 0) sum += 10;
                else if (b == 7) continue;
                else sum += 100;
                sum += 1000;
            }
            int w = a;
            while (w > 0) {
                w -= 2;
                if (w == 3) break;
                sum += 100000;
            }
            if (sum > 3000000) want[i] = -sum, returned = true;
        }
        if (!returned) want[i] = sum;
    }
    EXPECT_EQ(out.download(), want);
}

const auto without_macros = kernel("without_macros", [](Out<int> out) {
    auto i = global_index();
    Var sum = 0;
    for_(range(0, 10), [&](Val<int> k) {
        if_(k == 8, [&] { break_(); });
        if_(k % 2 == 0, [&] { sum += k; }, [&] { continue_(); });
        sum += 100;
    });
    while_([&] { return sum < 1000; }, [&] { sum *= 2; });
    out[i] = sum;
});

const auto band = kernel("band", [](InOut<int> a, In<int> b, Val<int> low, Val<int> high, Val<int> shift) {
    auto i = global_index();
    $if (i >= low && i < high && shift + i > 0 && 2 * low - 2 * i <= 0) {
        a[i] += b[i];
    } $else {
        a[i] = -1;
    };
});

/// Conditions that hold for some, all or none of the items that run together; a sum that wraps around among them.
TEST(Language, IfsThatGroupsOfItemsEnterTogether) {
    constexpr int n = 75;
    const std::vector<int> from = suite::iota<int>(n);
    const Array<int> b = device().upload(from), a = device().zeros<int>(n);
    for (const int shift : {1, 0, -20, INT32_MAX - 40, INT32_MIN})
        for (int low = 0; low < 40; low += 3)
            for (const int high : {low, low + 1, low + 16, low + 33, n}) {
                a.fill(1);
                band(ndrange(n), a, b, low, high, shift);
                std::vector<int> want(n);
                for (int i = 0; i < n; ++i) want[size_t(i)] = i >= low && i < high && int(uint32_t(shift) + uint32_t(i)) > 0 ? 1 + from[size_t(i)] : -1;
                ASSERT_EQ(a.download(), want) << low << " " << high << " " << shift;
            }
}

TEST(Language, TwinsWithoutMacros) {
    Array<int> out = device().zeros<int>(3);
    without_macros(ndrange(3), out);
    EXPECT_EQ(out.download(), std::vector<int>(3, 1648));
}

const auto loop_limits = kernel("loop_limits", [](Out<int> out, Val<int> step) {
    Var up = 0;
    $for (k, range(2147483645, 2147483647)) { up += 1; (void)k; }
    out[0] = up;
    Var none = 0;
    $for (k, range(0, 5, step - step)) { none += 1; (void)k; }
    out[1] = none;
    Var down = 0;
    $for (k, range(9, 0, step)) { down += k; }
    out[2] = down;
    Var past = 0;
    $for (k, range(2147483000, 2147483647, 500)) { past += 1; (void)k; }
    out[3] = past;
});

TEST(Language, LoopsEndAtTheLimitsOfTheirType) {
    Array<int> out = device().zeros<int>(4);
    loop_limits(ndrange(1), out, -2);
    EXPECT_EQ(out.download(), (std::vector<int>{2, 0, 25, 2}));
}

const auto barrier_shapes = kernel("barrier_shapes", [](InOut<int> a, Val<int> outer, Val<int> inner) {
    Local<int, 32> tile;
    Local<int, 1> trips;
    auto l = local_index();
    auto i = global_index();
    tile[l] = a[i];
    $if (l == 0) { trips[0] = inner; }
    synchronize();
    $for (p, range(0, outer)) {
        Var q = 0;
        $while (q < trips[0]) {  // the trip count comes from local memory
            auto next = tile[(l + 1) % group_size()];
            synchronize();
            tile[l] = next + p;
            synchronize();
            q += 1;
        }
    }
    $for (p, range(0, 2)) {  // two loops back to back
        auto next = tile[(l + 2) % group_size()];
        synchronize();
        tile[l] = next;
        synchronize();
    }
    a[i] = tile[l];
});

TEST(Language, BarrierShapes) {
    const int outer = 3, inner = 2;
    Array<int> a = device().upload(suite::iota<int>(64));
    barrier_shapes(ndrange(64).group(32), a, outer, inner);
    std::vector<int> want(64);
    for (int i = 0; i < 64; ++i) want[i] = i / 32 * 32 + (i % 32 + outer * inner + 4) % 32 + inner * (0 + 1 + 2);
    EXPECT_EQ(a.download(), want);
}

const auto partial_barriers = kernel("partial_barriers", [](InOut<int> a, Val<int> times) {
    Local<int, 32> tile;
    auto l = local_index();
    auto i = global_index();
    Var v = a[i];
    $for (k, range(0, times)) {
        tile[l] = v;
        synchronize();
        v += tile[l / 2];  // never past this item
        synchronize();
    }
    a[i] = v;
});

TEST(Language, BarriersInPartialGroups) {
    const int n = 45, times = 3;
    Array<int> a = device().upload(suite::iota<int>(n));
    partial_barriers(ndrange(n).group(32), a, times);
    std::vector<int> v = suite::iota<int>(n);
    for (int k = 0; k < times; ++k) {
        std::vector<int> next = v;
        for (int i = 0; i < n; ++i) next[i] += v[i / 32 * 32 + i % 32 / 2];
        v = next;
    }
    EXPECT_EQ(a.download(), v);
}

const auto global_order = kernel("global_order", [](InOut<int> a) {
    auto i = global_index();
    a[i] = i;
    synchronize();
    auto other = a[group_index() * group_size() + (local_index() + 5) % group_size()];
    synchronize();
    a[i] = other + 1;
});

TEST(Language, BarriersOrderGlobalMemory) {
    const int g = suite::at_most_group(256);
    Array<int> a = device().zeros<int>(g * 4);
    global_order(ndrange(g * 4).group(g), a);
    std::vector<int> want(g * 4);
    for (int i = 0; i < g * 4; ++i) want[i] = i / g * g + (i % g + 5) % g + 1;
    EXPECT_EQ(a.download(), want);
}

const auto value_then = kernel("value_then", [](InOut<int> a) {
    auto before = a[0];
    a[0] = before + 5;
    auto after = a[0];
    a[1] = before;
    a[2] = after;
    Var x = before;
    Var y = x;  // a copy, not another name
    y += 1;
    a[3] = x * 10 + y;
});

TEST(Language, SubscriptsGiveTheValueAtThatPoint) {
    Array<int> a = device().upload(std::vector<int>{7, 0, 0, 0});
    value_then(ndrange(1), a);
    EXPECT_EQ(a.download(), (std::vector<int>{12, 7, 12, 78}));
}

const auto many_ops = kernel("many_ops", [](InOut<float> a) {
    Var v = a[global_index()];
    for (int k = 0; k < 1000; ++k) { v = v * 0.5f + float(k % 7); }
    a[global_index()] = v;
});
const auto deep = kernel("deep", [](Out<int> out) {
    Var n = 0;
    $for (a, range(2)) { $for (b, range(2)) { $for (c, range(2)) { $for (d, range(2)) { $for (e, range(2)) { $for (f, range(2)) {
        n += a + b + c + d + e + f;
    } } } } } }
    out[global_index()] = n;
});

TEST(Language, Case23_ManyOperationsAndDeepLoops) {
    Array<float> a = device().full<float>(4, 1.0f);
    many_ops(ndrange(4), a);
    float want = 1.0f;
    for (int k = 0; k < 1000; ++k) want = want * 0.5f + float(k % 7);
    for (const float got : a.download()) EXPECT_NEAR(got, want, 1e-5f);
    Array<int> out = device().zeros<int>(2);
    deep(ndrange(2), out);
    EXPECT_EQ(out.download(), std::vector<int>(2, 192));
}

// 63 scalars and an array: more than push constants hold anywhere.
const auto many_arguments = kernel("many_arguments", [](InOut<int> out, Val<int> s0, Val<int> s1, Val<int> s2, Val<int> s3, Val<int> s4, Val<int> s5, Val<int> s6, Val<int> s7, Val<int> s8, Val<int> s9, Val<int> s10,
    Val<int> s11, Val<int> s12, Val<int> s13, Val<int> s14, Val<int> s15, Val<int> s16, Val<int> s17, Val<int> s18, Val<int> s19, Val<int> s20, Val<int>
    s21, Val<int> s22, Val<int> s23, Val<int> s24, Val<int> s25, Val<int> s26, Val<int> s27, Val<int> s28, Val<int> s29, Val<int> s30, Val<int> s31,
    Val<int> s32, Val<int> s33, Val<int> s34, Val<int> s35, Val<int> s36, Val<int> s37, Val<int> s38, Val<int> s39, Val<int> s40, Val<int> s41, Val<int>
    s42, Val<int> s43, Val<int> s44, Val<int> s45, Val<int> s46, Val<int> s47, Val<int> s48, Val<int> s49, Val<int> s50, Val<int> s51, Val<int> s52,
    Val<int> s53, Val<int> s54, Val<int> s55, Val<int> s56, Val<int> s57, Val<int> s58, Val<int> s59, Val<int> s60, Val<int> s61, Val<int> s62) {
    auto i = global_index();
    out[i] += i + s0 * 1 + s1 * 2 + s2 * 3 + s3 * 4 + s4 * 5 + s5 * 6 + s6 * 7 + s7 * 8 + s8 * 9 + s9 * 10 + s10 * 11 + s11 * 12 + s12 * 13 + s13 * 14 + s14 * 15 + s15
        * 16 + s16 * 17 + s17 * 18 + s18 * 19 + s19 * 20 + s20 * 21 + s21 * 22 + s22 * 23 + s23 * 24 + s24 * 25 + s25 * 26 + s26 * 27 + s27 * 28 + s28 * 29 +
        s29 * 30 + s30 * 31 + s31 * 32 + s32 * 33 + s33 * 34 + s34 * 35 + s35 * 36 + s36 * 37 + s37 * 38 + s38 * 39 + s39 * 40 + s40 * 41 + s41 * 42 + s42 *
        43 + s43 * 44 + s44 * 45 + s45 * 46 + s46 * 47 + s47 * 48 + s48 * 49 + s49 * 50 + s50 * 51 + s51 * 52 + s52 * 53 + s53 * 54 + s54 * 55 + s55 * 56 +
        s56 * 57 + s57 * 58 + s58 * 59 + s59 * 60 + s60 * 61 + s61 * 62 + s62 * 63;
});
// 40 arrays of two dimensions, whose extents count, too, and scalars of other types.
template <size_t... N>
auto many_arrays_kernel(std::index_sequence<N...>) {
    return kernel("many_arrays", [](Out<float, 2> out, Val<bool> on, Val<int> small, Val<float> scale, std::conditional_t<N < 100, In<float, 2>, void>... in) {
        auto [i, j] = global_index<2>();
        Var sum = cast<float>(small);
        ((sum += in(i, j) * float(N + 1)), ...);
        $if (on) { out(i, j) = sum * scale + cast<float>((in.size(1) + ...)); }
    });
}

TEST(Language, Case23_SixtyFourArguments) {
    for (int round = 0; round < 3; ++round) {  // the same launch again and again, and after others
        Array<int> out = device().zeros<int>(5);
        for (int launch = 0; launch < 4; ++launch)
            many_arguments(ndrange(5), out, -500, -499, -496, -491, -484, -475, -464, -451, -436, -419, -400, -379, -356, -331, -304, -275, -244, -211, -176, -139, -100, -59, -16, 29, 76, 125,
                176, 229, 284, 341, 400, 461, 524, 589, 656, 725, 796, 869, 944, 1021, 1100, 1181, 1264, 1349, 1436, 1525, 1616, 1709, 1804, 1901, 2000, 2101, 2204,
                2309, 2416, 2525, 2636, 2749, 2864, 2981, 3100, 3221, 3344);
        int sum = 0;
        for (int k = 0; k < 63; ++k) sum += (k * k - 500) * (k + 1);
        EXPECT_EQ(out.download(), (std::vector<int>{4 * sum, 4 * (sum + 1), 4 * (sum + 2), 4 * (sum + 3), 4 * (sum + 4)}));
    }
}

TEST(Language, Case23_FortyArrays) {
    const auto many_arrays = many_arrays_kernel(std::make_index_sequence<40>());
    Array<float, 2> out = device().zeros<float>({2, 3}), in = device().upload(suite::iota<float>(6), {2, 3});
    const auto launch = [&]<size_t... N>(std::index_sequence<N...>) {
        many_arrays(ndrange(2, 3), out, true, -7, 0.5f, (void(N), in)...);
    };
    const std::string message = suite::message_of([&] { launch(std::make_index_sequence<40>()); });
    if (message.find("has no device addresses") != std::string::npos) GTEST_SKIP() << "SKIPPED: " << message;
    ASSERT_EQ(message, "(no error)");
    for (int i = 0; i < 6; ++i) EXPECT_EQ(out.download()[size_t(i)], (float(i) * 820 - 7) * 0.5f + 120);
}

const auto atomics = kernel("atomics", [](InOut<int> a, InOut<uint32_t> u, InOut<float> f) {
    auto i = global_index();
    Local<int, 1> most;
    $if (local_index() == 0) { most[0] = -1; }
    synchronize();
    atomic_max(most[0], i);
    synchronize();
    atomic_add(a[0], i);
    atomic_sub(a[1], 2);
    atomic_min(a[2], 5 - i);
    atomic_max(a[3], most[0]);
    atomic_and(u[0], ~(Val<uint32_t>(1u) << (cast<uint32_t>(i) % 16u)));
    atomic_or(u[1], Val<uint32_t>(1u) << cast<uint32_t>(i % 32));
    atomic_xor(u[2], cast<uint32_t>(i));
    atomic_add(f[0], 0.5f);
    atomic_max(f[1], cast<float>(i));
    $if (atomic_compare_exchange(a[4], 0, 77) == 0) { atomic_add(a[5], 1); }
});

TEST(Language, Atomics) {
    const int n = 200;
    Array<int> a = device().zeros<int>(6);
    Array<uint32_t> u = device().upload(std::vector<uint32_t>{0xffffffffu, 0, 0});
    Array<float> f = device().zeros<float>(2);
    atomics(ndrange(n).group(50), a, u, f);
    uint32_t x = 0;
    for (int i = 0; i < n; ++i) x ^= uint32_t(i);
    EXPECT_EQ(a.download(), (std::vector<int>{n * (n - 1) / 2, -2 * n, 5 - (n - 1), n - 1, 77, 1}));
    EXPECT_EQ(u.download(), (std::vector<uint32_t>{0xffff0000u, 0xffffffffu, x}));
    EXPECT_EQ(f.download(), (std::vector<float>{100.0f, 199.0f}));
}

const auto hinted = kernel("hinted", [](Out<int> out, In<int> a) {
    auto i = global_index();
    Var sum = 0;
    $for (k, range(0, 16).unroll()) {
        $if (k == 5) { $continue; }
        $for (l, range(3, 0, -1).unroll()) { sum += a[(i + k) % 16] * l; }
        $if (sum > 500) { $break; }
    }
    out[i] = sum;
});

TEST(Language, UnrolledLoops) {
    const std::vector<int> a = suite::iota<int>(16, 1);
    Array<int> out = device().zeros<int>(16);
    hinted(ndrange(16), out, device().upload(a));
    for (int i = 0; i < 16; ++i) {
        int sum = 0;
        for (int k = 0; k < 16 && sum <= 500; ++k) sum += k == 5 ? 0 : a[size_t((i + k) % 16)] * 6;
        EXPECT_EQ(out.download()[size_t(i)], sum);
    }
    EXPECT_NE(hinted.ir().find("unroll"), std::string::npos);
    EXPECT_NE(hinted.glsl().find("[[unroll]] for"), std::string::npos);
}

const auto trips = kernel("trips", [](InOut<int> out, In<int> counts) {
    Local<int, 1> total;
    auto l = local_index();
    auto n = uniform(counts[group_index()]);  // the same for the group: loops may have barriers inside
    $if (l == 0) { total[0] = 0; }
    synchronize();
    $for (k, range(n)) {
        $if (l == k) { total[0] += k + 1; }
        synchronize();
    }
    out[global_index()] = total[0];
});

TEST(Language, UniformValues) {
    Array<int> out = device().zeros<int>(24);
    trips(ndrange(24).group(8), out, device().upload<int>({2, 0, 5}));
    for (int i = 0; i < 24; ++i) EXPECT_EQ(out.download()[size_t(i)], (std::vector<int>{3, 0, 15})[size_t(i / 8)]);
}

}  // namespace
