// Variables and values.
#include <limits>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

const auto accumulate = kernel("accumulate", [](InOut<int, 2> in_place, InOut<int, 2> by_var, InOut<int, 2> input) {
    auto [i, j] = global_index<2>();
    in_place(i, j) = 0;
    Var sum = 0;
    $for(k, range(j, input.size(1))) {
        in_place(i, j) += i + k;
        sum += i + k;
    }
    by_var(i, j) = sum;
    input(i, j) = i + j;
});

TEST(Language, AccumulateInPlace) {
    Array<int, 2> a = device().zeros<int>({5, 8}), b = device().zeros<int>({5, 8}), input = device().zeros<int>({5, 8});
    accumulate(ndrange(5, 8), a, b, input);
    std::vector<int> want(40);
    for (int i = 0; i < 5; ++i)
        for (int j = 0; j < 8; ++j)
            for (int k = j; k < 8; ++k) want[i * 8 + j] += i + k;
    EXPECT_EQ(a.download(), want);
    EXPECT_EQ(b.download(), want);
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

TEST(Language, IncrementsOfVariablesAndElements) {
    const auto k = kernel("increments", [](InOut<int> a, Out<float> b) {
        Var n = 5;
        a[0] = ++n;
        a[1] = n++;
        a[2] = n;
        a[3] = --n;
        a[4] = n--;
        a[5] = n;
        Var f = 0.5f;
        ++f, f++, f--;
        b[0] = f;
        ++a[6];
        a[7]--;
        a[8] = a[7]++;
        a[9] = ++a[6];
        b[1] = -1.0f;
        b[1]++;
    });
    Array<int> a = device().zeros<int>(10);
    Array<float> b = device().zeros<float>(2);
    k(ndrange(1), a, b);
    EXPECT_EQ(a.download(), (std::vector<int>{6, 6, 7, 6, 6, 5, 2, 0, -1, 2}));
    EXPECT_EQ(b.download(), (std::vector<float>{1.5f, 0.0f}));
}

TEST(Language, ShiftCountsOfAnyIntegerType) {
    const auto k = kernel("shifts", [](Out<unsigned> u, Out<int> s, In<int> n, In<unsigned> bits, Out<uint3> v) {
        auto i = global_index();
        u[i] = bits[i] << n[i];
        s[i] = n[i] >> (bits[i] & 3u);
        Var w = bits[i];
        w <<= n[i];
        w >>= n[i];
        u[i + 4] = w;
        u[i + 8] = bits[i];
        u[i + 8] >>= n[i];
        v[i] = (Val<uint3>(uint3{1, 2, 3}) << n[i]) + (Val<uint3>(uint3{16, 32, 64}) >> Val<int3>(int3{1, 2, 3}));
    });
    const std::vector<int> n{0, 3, 33, -1};
    const std::vector<unsigned> bits{5, 0xf0000001u, 3, 1};
    Array<unsigned> u = device().zeros<unsigned>(12);
    Array<int> s = device().zeros<int>(4);
    Array<uint3> v = device().zeros<uint3>(4);
    k(ndrange(4), u, s, device().upload(n), device().upload(bits), v);
    const auto got = u.download();
    const auto right = s.download();
    const auto vectors = v.download();
    for (size_t i = 0; i < 4; ++i) {
        const unsigned by = unsigned(n[i]) & 31u;  // modulo the width
        EXPECT_EQ(got[i], bits[i] << by) << i;
        EXPECT_EQ(got[i + 4], bits[i] << by >> by) << i;
        EXPECT_EQ(got[i + 8], bits[i] >> by) << i;
        EXPECT_EQ(right[i], n[i] >> (bits[i] & 3)) << i;
        EXPECT_EQ(vectors[i], (uint3{(1u << by) + 8, (2u << by) + 8, (3u << by) + 8})) << i;
    }
}

TEST(Language, HostVectorsBesideDeviceScalarsAndCastsOfHostNumbers) {
    const auto k = kernel("host_vectors", [](Out<float3> y, Val<float> dt, Out<int> n, Out<int3> m) {
        y[0] = float3{1, 2, 3} * dt;
        y[1] = dt * float3{1, 2, 3} + float3{1, 1, 1};
        y[2] = (float3{4, 4, 4} - dt) / dt;
        n[0] = cast<int>(2.75) + cast<int>(true);
        n[1] = cast<int>(cast<uint8_t>(300));
        n[2] = cast<int>(cast<float>(7) * dt);
        m[0] = int3{7, 8, 9} % Val<int>(cast<int>(4));
    });
    Array<float3> y = device().zeros<float3>(3);
    Array<int> n = device().zeros<int>(3);
    Array<int3> m = device().zeros<int3>(1);
    k(ndrange(1), y, 0.5f, n, m);
    EXPECT_EQ(y.download(), (std::vector<float3>{{0.5f, 1, 1.5f}, {1.5f, 2, 2.5f}, {7, 7, 7}}));
    EXPECT_EQ(n.download(), (std::vector<int>{3, 44, 3}));
    EXPECT_EQ(m.download(), (std::vector<int3>{{3, 0, 1}}));
}

TEST(Language, TheTypeOfAValIsDeduced) {
    const auto k = kernel("deduced", [](InOut<float> y, In<float3> x, Out<int> n) {
        Var v = y[0];
        const Val before = v;  // the value at this point
        v += 2.0f;
        const Val after(v), element = x[0].z, one = 1.0f;
        const Val vector = x[0];
        Var changed = vector;
        changed.x = 9.0f;
        const Val unchanged = vector.x, copy = before;
        y[0] = before;
        y[1] = after + copy;
        y[2] = element * one + unchanged + Val(changed).x;
        n[0] = Val(3);
    });
    Array<float> y = device().full<float>(3, 5.0f);
    Array<int> n = device().zeros<int>(1);
    k(ndrange(1), y, device().upload(std::vector<float3>{{1, 2, 3}}), n);
    EXPECT_EQ(y.download(), (std::vector<float>{5, 12, 13}));
    EXPECT_EQ(n.get(0), 3);
}

/// lavapipe knows that x > x is false, takes the zero for a constant, and then divides wrongly.
TEST(Language, AQuotientByAZeroThatNoItemSelects) {
    const auto k = kernel("by_zero", Math::strict, [](Out<float> y, In<float> x) {
        const auto i = global_index();
        const auto one = x[i], other = x[i + 1];
        y[2 * i] = one / select(one > one, other, 0.0f);
        y[2 * i + 1] = one / select(one < one, other, 0.0f);
    });
    constexpr float infinity = std::numeric_limits<float>::infinity();
    Array<float> y = device().zeros<float>(4);
    k(ndrange(2), y, device().upload(std::vector<float>{3.0f, -4.0f, 5.0f}));
    EXPECT_EQ(y.download(), (std::vector<float>{infinity, infinity, -infinity, -infinity}));
}

}  // namespace
