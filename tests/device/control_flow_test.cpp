// Loops, ifs and jumps.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

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

TEST(Language, HostLoopsUnroll) {
    Array<int> out = device().zeros<int>(16);
    unrolled(ndrange(16).group(8), out);
    EXPECT_EQ(out.download(), std::vector<int>(16, 15 * 40 + 3));
}

const auto flow = kernel("flow", [](Out<int> out, Val<int> n) {
    auto i = global_index();
    Var sum = 0;
    $for(a, range(0, n)) {
        $if(a == i) { $continue; }
        $for(b, range(n, 0, -1)) {
            $if(b < i) { $break; }
            $if(b % 2 == 0) { sum += 1; }
            $elif(b % 3 == 0) { sum += 10; }
            $elif(b == 7) { $continue; }
            $else { sum += 100; }
            sum += 1000;
        }
        Var w = a;
        $while(w > 0) {
            w -= 2;
            $if(w == 3) { $break; }
            sum += 100000;
        }
        $if(sum > 3000000) {
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
                if (b % 2 == 0)
                    sum += 1;
                else if (b % 3 == 0)
                    sum += 10;
                else if (b == 7)
                    continue;
                else
                    sum += 100;
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
    $if(i >= low && i < high && shift + i > 0 && 2 * low - 2 * i <= 0) { a[i] += b[i]; }
    $else { a[i] = -1; };
});

/// Conditions that hold for some, all or none of the items of a packet; a sum that wraps within it.
TEST(Language, BranchesTakenBySomeAllOrNoItemsOfAPacket) {
    constexpr int n = 75;
    const std::vector<int> from = suite::iota<int>(n);
    const Array<int> b = device().upload(from), a = device().zeros<int>(n);
    for (const int shift : {1, 0, -20, INT32_MAX - 40, INT32_MIN})
        for (int low = 0; low < 40; low += 3)
            for (const int high : {low, low + 1, low + 16, low + 33, n}) {
                a.fill(1);
                band(ndrange(n), a, b, low, high, shift);
                std::vector<int> want(n);
                for (int i = 0; i < n; ++i)
                    want[size_t(i)] = i >= low && i < high && int(uint32_t(shift) + uint32_t(i)) > 0 ? 1 + from[size_t(i)] : -1;
                ASSERT_EQ(a.download(), want) << low << " " << high << " " << shift;
            }
}

TEST(Language, FunctionsInPlaceOfMacros) {
    Array<int> out = device().zeros<int>(3);
    without_macros(ndrange(3), out);
    EXPECT_EQ(out.download(), std::vector<int>(3, 1648));
}

const auto loop_limits = kernel("loop_limits", [](Out<int> out, Val<int> step) {
    Var up = 0;
    $for(k, range(2147483645, 2147483647)) {
        up += 1;
        (void)k;
    }
    out[0] = up;
    Var none = 0;
    $for(k, range(0, 5, step - step)) {
        none += 1;
        (void)k;
    }
    out[1] = none;
    Var down = 0;
    $for(k, range(9, 0, step)) { down += k; }
    out[2] = down;
    Var past = 0;
    $for(k, range(2147483000, 2147483647, 500)) {
        past += 1;
        (void)k;
    }
    out[3] = past;
});

TEST(Language, LoopsEndAtTheLimitsOfTheirType) {
    Array<int> out = device().zeros<int>(4);
    loop_limits(ndrange(1), out, -2);
    EXPECT_EQ(out.download(), (std::vector<int>{2, 0, 25, 2}));
}

const auto many_ops = kernel("many_ops", [](InOut<float> a) {
    Var v = a[global_index()];
    for (int k = 0; k < 1000; ++k) { v = v * 0.5f + float(k % 7); }
    a[global_index()] = v;
});
const auto deep = kernel("deep", [](Out<int> out) {
    Var n = 0;
    $for(a, range(2)) {
        $for(b, range(2)) {
            $for(c, range(2)) {
                $for(d, range(2)) {
                    $for(e, range(2)) {
                        $for(f, range(2)) { n += a + b + c + d + e + f; }
                    }
                }
            }
        }
    }
    out[global_index()] = n;
});

TEST(Language, AThousandOperationsAndDeepLoops) {
    Array<float> a = device().full<float>(4, 1.0f);
    many_ops(ndrange(4), a);
    float want = 1.0f;
    for (int k = 0; k < 1000; ++k) want = want * 0.5f + float(k % 7);
    for (const float got : a.download()) EXPECT_NEAR(got, want, 1e-5f);
    Array<int> out = device().zeros<int>(2);
    deep(ndrange(2), out);
    EXPECT_EQ(out.download(), std::vector<int>(2, 192));
}

const auto hinted = kernel("hinted", [](Out<int> out, In<int> a) {
    auto i = global_index();
    Var sum = 0;
    $for(k, range(0, 16).unroll()) {
        $if(k == 5) { $continue; }
        $for(l, range(3, 0, -1).unroll()) { sum += a[(i + k) % 16] * l; }
        $if(sum > 500) { $break; }
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

TEST(ControlFlow, LongStraightCode) {
    constexpr int n = 100, operations = 3000;
    const auto k = kernel("long", [](Out<uint32_t> y, Out<uint32_t> z, In<uint32_t> x) {
        auto i = global_index();
        Var a = x[i], b = x[i] + 1u;
        for (uint32_t j = 0; j < operations / 3; ++j) {
            a = a * 1664525u + b;
            b = b ^ (a >> (j % 31));
            if (j % 400 == 0) z[i] = a;  // only the last of these stores has an effect
        }
        y[i] = a + b;
    });
    const Device d = device();
    const std::vector<uint32_t> x = suite::iota<uint32_t>(n, 7u);
    Array<uint32_t> y = d.zeros<uint32_t>(n), z = d.zeros<uint32_t>(n);
    k(ndrange(n), y, z, d.upload(x));
    const std::vector<uint32_t> got_y = y.download(), got_z = z.download();
    for (size_t i = 0; i < n; ++i) {
        uint32_t a = x[i], b = x[i] + 1, seen = 0;
        for (uint32_t j = 0; j < operations / 3; ++j) {
            a = a * 1664525u + b;
            b = b ^ (a >> (j % 31));
            if (j % 400 == 0) seen = a;
        }
        ASSERT_EQ(got_y[i], a + b) << i;
        ASSERT_EQ(got_z[i], seen) << i;
    }
}

/// In groups smaller than a subgroup: a loop that searches memory does not disturb the loops after it.
const auto searches = kernel("searches", [](InOut<int> y, Out<int> turns, InOut<int16_t> least) {
    auto i = global_index();
    $while(y[i] < 1) { y[i] = y[i] * 2 + 1; }
    Var n = 0;
    $while(n < y[i] * 10) { n += 1; }
    turns[i] = n;
    if (device().supports(Feature::int16)) atomic_min(least[i], 0);
});

TEST(Language, LoopsAfterASearchInSmallGroups) {
    for (const int group : {1, 2, 3, 5, 8}) {
        const Array<int> y = device().upload(std::vector<int>{2, 5, 0, 2}), turns = device().zeros<int>(4);
        const Array<int16_t> least = device().upload(std::vector<int16_t>{77, 88, 40, 50});
        searches(ndrange(4).group(group), y, turns, least);
        EXPECT_EQ(turns.download(), (std::vector<int>{20, 50, 10, 20})) << group;
        if (device().supports(Feature::int16)) { EXPECT_EQ(least.download(), std::vector<int16_t>(4)) << group; }
    }
}

TEST(Language, LoopsAfterASearchInNarrowGroups) {
    const auto rows = kernel("searches_in_rows", [](InOut<int, 2> y, Out<int, 2> turns) {
        const auto [i, j] = global_index<2>();
        $while(y(i, j) < 1) { y(i, j) = y(i, j) * 2 + 1; }
        Var n = 0;
        $while(n < y(i, j) * 10) { n += 1; }
        turns(i, j) = n;
    });
    for (const int along : {1, 3})
        for (const int across : {1, 2, 8}) {
            const Array<int, 2> y = device().upload(std::vector<int>(64, 2), {8, 8}), turns = device().zeros<int>({8, 8});
            rows(ndrange(8, 8).group(across, along), y, turns);
            EXPECT_EQ(turns.download(), std::vector<int>(64, 20)) << across << " x " << along;
        }
}

}  // namespace
