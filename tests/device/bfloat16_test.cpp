// bfloat16 on every device, also on those without 16-bit types: arrays, structs, scalar arguments, local and private memory,
// atomics, subgroups, rounding and derivatives.
#include <bit>
#include <cmath>
#include <random>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace bfloat16_test {

struct Weight {
    bfloat16 w;
    uint32_t count{};
    bfloat16 bias;
    bool used{};
};

}  // namespace bfloat16_test

PUMICE_STRUCT(bfloat16_test::Weight, w, count, bias, used);

namespace {

using bfloat16_test::Weight;

std::vector<bfloat16> every_pattern() {
    std::vector<bfloat16> all(0x10000);
    for (size_t p = 0; p < all.size(); ++p) all[p].bits = uint16_t(p);
    return all;
}

/// Equal bits; any NaN for a NaN, any zero for a subnormal number.
bool agrees(bfloat16 got, bfloat16 want) {
    if (std::isnan(float(want))) return std::isnan(float(got));
    return got.bits == want.bits || (std::fabs(float(want)) < 0x1p-126f && float(got) == 0);
}

TEST(BFloat16, CopiesKeepEveryPattern) {
    const auto k = kernel("copies", [](Out<bfloat16> to, In<bfloat16> from) {
        auto i = global_index();
        to[i] = from[i];
    });
    const std::vector<bfloat16> all = every_pattern();
    Array<bfloat16> to = device().zeros<bfloat16>(int64_t(all.size()));
    k(ndrange(int64_t(all.size())), to, device().upload(all));
    const auto got = to.download();
    for (size_t p = 0; p < all.size(); ++p) ASSERT_TRUE(agrees(got[p], all[p])) << std::hex << p << " became " << got[p].bits;
}

TEST(BFloat16, FloatsRoundToNearestEven) {
    // The midpoint above each number, and its neighbours; and each number itself.
    std::vector<float> x;
    for (const bfloat16 b : every_pattern()) {
        const float middle = std::bit_cast<float>(uint32_t(b.bits) << 16 | 0x8000);
        if (std::isnan(middle)) continue;
        for (const float v : {float(b), middle, std::nextafter(middle, 0.0f), std::nextafter(middle, INFINITY)}) x.push_back(v);
    }
    const auto k = kernel("rounds", [](Out<bfloat16> to, In<float> from) {
        auto i = global_index();
        to[i] = cast<bfloat16>(from[i]);
    });
    Array<bfloat16> to = device().zeros<bfloat16>(int64_t(x.size()));
    k(ndrange(int64_t(x.size())), to, device().upload(x));
    const auto got = to.download();
    for (size_t n = 0; n < x.size(); ++n)
        ASSERT_TRUE(agrees(got[n], bfloat16(x[n]))) << x[n] << " became " << float(got[n]) << ", not " << float(bfloat16(x[n]));
}

TEST(BFloat16, OperationsAreComputedInFloatAndRounded) {
    const auto k = kernel("operations", Math::strict,
                          [](Out<bfloat16> sum, Out<bfloat16> ratio, Out<bfloat16> scaled, Out<int> less, In<bfloat16> a,
                             In<bfloat16> b, Val<bfloat16> scale) {
                              auto i = global_index();
                              sum[i] = a[i] + b[i];
                              ratio[i] = a[i] / b[i];
                              scaled[i] = -a[i] * scale + b[i];
                              less[i] = select(a[i] < b[i], 1, 0);
                          });
    std::mt19937 random(3);
    std::uniform_real_distribution<float> any(-40, 40);
    std::vector<bfloat16> a, b;
    for (int n = 0; n < 1000; ++n) a.emplace_back(any(random)), b.emplace_back(any(random));
    const int64_t count = int64_t(a.size());
    Array<bfloat16> sum = device().zeros<bfloat16>(count), ratio = device().zeros<bfloat16>(count),
                    scaled = device().zeros<bfloat16>(count);
    Array<int> less = device().zeros<int>(count);
    const bfloat16 scale(1.25f);
    k(ndrange(count), sum, ratio, scaled, less, device().upload(a), device().upload(b), scale);
    const auto s = sum.download(), r = ratio.download(), c = scaled.download();
    const auto l = less.download();
    for (size_t n = 0; n < a.size(); ++n) {
        const float x = float(a[n]), y = float(b[n]);
        ASSERT_EQ(float(s[n]), float(bfloat16(x + y))) << x << " + " << y;
        ASSERT_EQ(float(r[n]), float(bfloat16(x / y))) << x << " / " << y;
        ASSERT_EQ(float(c[n]), float(bfloat16(float(bfloat16(-x * 1.25f)) + y))) << x << ", " << y;
        ASSERT_EQ(l[n], x < y);
    }
}

TEST(BFloat16, MembersOfStructsKeepTheirNeighbours) {
    const auto k = kernel("members", [](InOut<Weight> weights) {
        auto i = global_index();
        Var<bfloat16> w = weights[i].w;
        weights[i].bias = w + weights[i].bias;
        weights[i].count += 1u;
    });
    std::vector<Weight> weights(37);
    for (size_t n = 0; n < weights.size(); ++n) weights[n] = {bfloat16(float(n)), uint32_t(7 * n), bfloat16(0.5f), n % 3 == 0};
    Array<Weight> on_device = device().upload(weights);
    k(ndrange(int64_t(weights.size())), on_device);
    const auto got = on_device.download();
    for (size_t n = 0; n < weights.size(); ++n) {
        EXPECT_EQ(float(got[n].w), float(n));
        EXPECT_EQ(float(got[n].bias), float(bfloat16(float(n) + 0.5f)));
        EXPECT_EQ(got[n].count, 7 * n + 1);
        EXPECT_EQ(got[n].used, n % 3 == 0);
    }
}

TEST(BFloat16, LocalAndPrivateMemory) {
    const auto k = kernel("reverses", [](Out<bfloat16> to, In<bfloat16> from) {
        Local<bfloat16, 64> row;
        Private<bfloat16, 2> pair;
        auto i = global_index();
        auto l = local_index();
        pair[0] = from[i];
        pair[1] = pair[0] * 2.0f;
        row[l] = pair[l & 1];
        synchronize();
        to[i] = row[63 - l];
    });
    std::vector<bfloat16> x;
    for (int n = 0; n < 128; ++n) x.emplace_back(n);
    Array<bfloat16> to = device().zeros<bfloat16>(128);
    k(ndrange(128).group(64), to, device().upload(x));
    const auto got = to.download();
    for (int n = 0; n < 128; ++n) {
        const int from = n / 64 * 64 + 63 - n % 64;
        EXPECT_EQ(float(got[size_t(n)]), float(bfloat16(from % 2 ? 2 * from : from))) << n;
    }
}

TEST(BFloat16, AtomicsOfNeighboursDoNotDisturbEachOther) {
    const auto k = kernel("histogram", [](InOut<bfloat16> sums, InOut<bfloat16> largest, Out<bfloat16> swapped, In<int> bin) {
        auto i = global_index();
        atomic_add(sums[bin[i]], cast<bfloat16>(1));
        atomic_max(largest[bin[i]], cast<bfloat16>(i & 127));
        atomic_exchange(swapped[bin[i]], cast<bfloat16>(3));
    });
    std::vector<int> bins(700);
    for (size_t n = 0; n < bins.size(); ++n) bins[n] = int(n % 7);
    Array<bfloat16> sums = device().zeros<bfloat16>(7), largest = device().zeros<bfloat16>(7),
                    swapped = device().zeros<bfloat16>(7);
    k(ndrange(700), sums, largest, swapped, device().upload(bins));
    const auto s = sums.download(), m = largest.download(), w = swapped.download();
    for (size_t n = 0; n < 7; ++n) {
        EXPECT_EQ(float(s[n]), 100.0f);
        EXPECT_GE(float(m[n]), 121.0f);
        EXPECT_EQ(float(w[n]), 3.0f);
    }
}

TEST(BFloat16, ConstantsBeyondTheRangeAreErrors) {
    const std::string message = suite::message_of(
        [] { kernel("large", [](Out<bfloat16> to) { to[global_index()] = 3.4e38; })(ndrange(1), device().zeros<bfloat16>(1)); });
    EXPECT_NE(message.find("bf16"), std::string::npos) << message;
    EXPECT_NE(message.find("3.4e+38"), std::string::npos) << message;
}

/// The derivative of sum(w^2 x) by w, which is 2 w x.
TEST(BFloat16, ReverseMode) {
    const auto k = kernel("weighted", [](Out<float> y, In<bfloat16> w, In<float> x) {
        auto i = global_index();
        const Val<float> v = cast<float>(w[i]);
        y[i] = v * v * x[i];
    });
    const int n = 40;
    std::vector<bfloat16> w;
    std::vector<float> x;
    for (int i = 0; i < n; ++i) w.emplace_back(0.25f * float(i)), x.push_back(1 + float(i % 4));
    Array<float> y = device().zeros<float>(n), dy = device().full<float>(n, 1.0f), dx = device().zeros<float>(n);
    Array<bfloat16> weights = device().upload(w), dw = device().zeros<bfloat16>(n);
    Array<float> xs = device().upload(x);
    autodiff(Reverse, k, ndrange(n), Duplicated(y, dy), Duplicated(weights, dw), Duplicated(xs, dx));
    const auto got = dw.download();
    for (int i = 0; i < n; ++i) EXPECT_EQ(float(got[size_t(i)]), float(bfloat16(2 * float(w[size_t(i)]) * x[size_t(i)]))) << i;
}

}  // namespace
