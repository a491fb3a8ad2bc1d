// Derivatives of kernels from the host.
#include <cmath>
#include <limits>

#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::device;
using suite::iota;

namespace {

const auto square = kernel("square", [](InOut<float> a) {
    auto i = global_index();
    a[i] *= a[i];
});
const auto scale = kernel("scale", [](InOut<float> a, Val<float> b) {
    auto i = global_index();
    a[i] *= b;
});
const auto copy = kernel("copy", [](Out<float> dst, In<float> src) {
    auto i = global_index();
    dst[i] = src[i];
});

std::vector<float> times(const std::vector<float>& v, float c) {
    std::vector<float> out = v;
    for (float& x : out) x *= c;
    return out;
}

TEST(Autodiff, SquareInPlace) {
    const std::vector<float> host = iota<float>(64, 1.0f);
    Array<float> a = device().upload(host), da = device().full<float>(64, 1.0f);
    autodiff(Reverse, square, ndrange(64), Duplicated(a, da));
    EXPECT_EQ(da.download(), times(host, 2));
    EXPECT_EQ(a.download()[7], 64.0f);
    a.copy_from(host);
    da.fill(1.0f);
    autodiff(Forward, square, ndrange(64), Duplicated(a, da));
    EXPECT_EQ(da.download(), times(host, 2));
    EXPECT_EQ(a.download()[7], 64.0f);
    suite::expect_derivatives(square, ndrange(64), device().upload(host));
}

TEST(Autodiff, ActiveScalar) {
    Array<float> a = device().upload(iota<float>(64, 1.0f)), da = device().full<float>(64, 1.0f);
    const auto [db] = autodiff(Reverse, scale, ndrange(64), Duplicated(a, da), Active(1.2f));
    EXPECT_EQ(da.download(), std::vector<float>(64, 1.2f));
    EXPECT_NEAR(db, 2080.0f, 1e-3f);
    a.copy_from(iota<float>(64, 1.0f));
    const GradientCheck found = check_gradient(scale, ndrange(64), a, 1.2f);
    EXPECT_TRUE(found) << found.text();
    da.fill(0.0f);
    autodiff(Forward, scale, ndrange(64), Duplicated(a, da), Duplicated(1.2f, 1.0f));
    EXPECT_EQ(da.download(), iota<float>(64, 1.0f));
}

/// adjoint<...>() gives one kernel that does everything in one launch, where autodiff() may launch several. When it is done, the
/// derivatives of the scalar `a` and of weight[2], which all items read, are the sums over all 10 groups. The stencil x[i] + x[i
/// + 1] is scattered: a gather would need items outside of the range.
TEST(Autodiff, AdjointIsOneKernelThatWorksAlone) {
    const auto weighted = kernel("weighted", [](Out<float> y, In<float> x, In<float> weight, Val<float> a) {
        auto i = global_index();
        y[i] = a * (x[i] + x[i + 1]) * weight[2];
    });
    Array<float> y = device().zeros<float>(640), dy = device().full<float>(640, 1.0f), x = device().full<float>(641, 3.0f),
                 dx = device().zeros<float>(641);
    Array<float> weight = device().full<float>(3, 0.5f), dweight = device().zeros<float>(3), da = device().full<float>(1, 1.0f);
    adjoint<Duplicated, Duplicated, Duplicated, Active>(weighted)(ndrange(640).group(64), y, dy, x, dx, weight, dweight, 2.0f,
                                                                  da);
    EXPECT_EQ(y.download(), std::vector<float>(640, 6.0f));
    EXPECT_EQ(dy.download(), std::vector<float>(640, 0.0f));
    std::vector<float> wanted(641, 2.0f);
    wanted.front() = wanted.back() = 1.0f;
    EXPECT_EQ(dx.download(), wanted);
    EXPECT_EQ(dweight.download(), (std::vector<float>{0, 0, 7680}));
    EXPECT_EQ(da.download()[0], 1921.0f);
}

TEST(Autodiff, AnAdjointWithATapeInABufferIsNotLaunched) {
    const auto power = kernel("power", [](Out<float> y, In<float> x, Val<int> n) {
        auto i = global_index();
        Var c = x[i];
        $for(j, range(n)) { c = c * x[i]; };
        y[i] = c;
    });
    const Device d = device();
    const Array<float> y = d.zeros<float>(4), dy = d.full<float>(4, 1.0f), x = d.full<float>(4, 2.0f), dx = d.zeros<float>(4);
    const auto launched = suite::message_of([&] { adjoint<Duplicated, Duplicated, Const>(power)(ndrange(4), y, dy, x, dx, 3); });
    EXPECT_NE(launched.find("it is a derivative with a tape in a buffer"), launched.npos) << launched;
    autodiff(Reverse, power, ndrange(4), Duplicated(y, dy), Duplicated(x, dx), Const(3));
    EXPECT_EQ(dx.get(0), 32.0f);
}

/// Gathered over a halo-extended range on devices that do not split ranges: a neighbour outside of the range, or in the other
/// branch, contributes nothing.
TEST(Autodiff, StencilsUnderBranchesAtTheBoundary) {
    const auto upwind = kernel("upwind", [](Out<float, 2> y, In<float, 2> x, In<int, 2> wet) {
        auto [i, j] = global_index<2>();
        Var v = 0.5f * x(i, j);
        $if(wet(i, j) > 0) { v += x(i - 1, j) * x(i, j + 2); }
        $elif(j > 4) { v = sin(x(i + 1, j)) - x(i, j - 1); }
        y(i, j) = v;
    });
    for (const auto& [high, wide] : {std::pair<int64_t, int64_t>{3, 4}, {3, 5}, {9, 37}}) {
        std::vector<float> x(size_t(high * wide));
        std::vector<int> wet(x.size());
        for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1f * float(i * 7 % 13) - 0.4f, wet[i] = i * 5 % 3 == 0;
        const Array<float, 2> to = device().full<float>({high, wide}, 1.0f), from = device().upload(x, {high, wide});
        const GradientCheck found =
            check_gradient(upwind, ndrange({1, 1}, {high - 1, wide - 2}), to, from, device().upload(wet, {high, wide}));
        EXPECT_TRUE(found) << high << " by " << wide << ": " << found.text();
    }
}

/// Steps and tolerances are those of the coarser type; a NaN is a disagreement.
TEST(Autodiff, InfiniteDerivativesOfDiscardedOperandsAreMasked) {
    // Operands that select, min and max discard have infinite or NaN derivatives: at 0, below 0, and where exp overflows.
    const auto pieces = kernel("pieces", [](Out<float> y, In<float> x) {
        auto i = global_index();
        auto v = x[i];
        auto root = select(v > 0.0f, sqrt(v), 0.0f);
        auto mixed = select(v > 0.0f, sqrt(v) * v * log(v) + 1.0f / v, v);
        y[i] = root + mixed + select(v > 20.0f, v, log(1.0f + exp(v))) + v / max(sqrt(v * v), 0.125f) + min(1.0f / (v * v), 4.0f);
    });
    const auto neighbours = kernel("neighbours", [](Out<float> y, In<float> x) {  // gathered
        auto i = global_index();
        auto d = x[min(i + 1, x.size(0) - 1)] - x[max(i - 1, 0)];
        y[i] = select(d > 0.0f, sqrt(d) * x[i], 0.0f);
    });
    const int n = 7;
    const Array<float> x = device().upload<float>({0.0f, -0.75f, 0.5f, 0.5f, 25.0f, 120.0f, -90.0f});
    const Array<float> y = device().zeros<float>(n), dy = device().zeros<float>(n), dx = device().zeros<float>(n);
    for (const auto& k : {pieces, neighbours}) {
        std::vector<float> slopes;
        for (int j = 0; j < n; ++j) {
            dx.fill(0.0f);
            dx.view({j}, {j + 1}).fill(1.0f);
            dy.fill(0.0f);
            autodiff(Forward, k, ndrange(n), Duplicated(y, dy), Duplicated(x, dx));
            float sum = 0;
            for (const float d : dy.download()) sum += d;
            slopes.push_back(sum);
        }
        dx.fill(0.0f);
        dy.fill(1.0f);
        autodiff(Reverse, k, ndrange(n), Duplicated(y, dy), Duplicated(x, dx));
        for (int j = 0; j < n; ++j) {
            EXPECT_TRUE(std::isfinite(dx.get(j))) << k.name() << " " << j;
            EXPECT_NEAR(dx.get(j), slopes[size_t(j)], 1e-4f * (1 + std::abs(slopes[size_t(j)]))) << k.name() << " " << j;
        }
    }
}

/// Pairwise loops: items take the contributions of the others over the range of the loop; over other ranges they scatter.
TEST(Autodiff, PairwiseLoops) {
    const auto pairs = kernel("pairs", [](Out<float> y, In<float, 2> x, In<float> m) {
        auto i = global_index();
        Var sum = 0.0f;
        $for(j, range(m.size())) {
            $if(j != i) {
                auto dx = x(j, 0) - x(i, 0), dy = x(j, 1) - x(i, 1);
                auto r = rsqrt(dx * dx + dy * dy + 0.1f);
                sum += m[j] * r * r * r * (dx + 2.0f * dy);
            }
        }
        y[i] = 0.1f * sum;
    });
    for (const int n : {1, 7, 100, 300}) {
        const Array<float, 2> x = device().upload(suite::numbers<float>(2 * n, 3)).reshape({n, 2});
        const Array<float> y = device().zeros<float>(n), m = device().upload(suite::numbers<float>(n, 4, 0.5, 1));
        suite::expect_derivatives(pairs, ndrange(n), y, x, m);
        suite::expect_derivatives(pairs, ndrange({n / 3}, {n}), y, x, m);
    }
}

TEST(Autodiff, CheckGradientOfFloatsBesideDoubles) {
    if (!device().supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no doubles";
    const auto cubes = kernel("cubes", [](InOut<double> a, InOut<float> b) {
        auto i = global_index();
        a[i] = a[i] * a[i] * a[i];
        b[i] = b[i] * b[i] * b[i];
    });
    const Array<double> a = device().full<double>(8, 0.7);
    const GradientCheck found = check_gradient(cubes, ndrange(8), a, device().full<float>(8, 0.7f));
    EXPECT_TRUE(found) << found.text();
    const GradientCheck nothing =
        check_gradient(cubes, ndrange(8), a, device().full<float>(8, std::numeric_limits<float>::quiet_NaN()));
    EXPECT_FALSE(nothing);
    EXPECT_TRUE(std::isnan(nothing.error));
}

/// Tapes, shadows of local memory and cells have unique names, also if the primal is an adjoint that has such.
TEST(Autodiff, AdjointsOfAdjoints) {
    const auto mixed = kernel("mixed", [](Out<float> y, In<float> x, In<float> weight) {
        Local<float, 8> tile;
        auto i = global_index();
        auto l = local_index();
        tile[l] = x[i] * weight[0];
        synchronize();
        Var v = tile[(l + 1) % 8];
        $for(k, range(0, 5)) { v = v * sin(v) + x[i]; }
        y[i] = v;
    });
    const AnyKernel once = adjoint<Duplicated, Duplicated, Duplicated>(mixed);
    std::vector<float> host(16);
    for (size_t i = 0; i < 16; ++i) host[i] = 0.2f + 0.05f * float(i);
    const auto some = [&] { return device().upload(host); };
    const auto one = [&] { return device().full<float>(1, 0.7f); };
    const GradientCheck found = check_gradient(once, ndrange(16).group(8), some(), some(), some(), some(), one(), one());
    EXPECT_TRUE(found) << found.text();
}

/// The tangent kernel launched, and each mode over each other one, for y = x^3 by a loop; the second derivative is 6 x.
TEST(Autodiff, ModesOverModes) {
    const auto cube = kernel("cube", [](Out<float> y, In<float> x) {
        auto i = global_index();
        Var v = 1.0f;
        $for(k, range(3)) { v *= x[i]; }
        y[i] = v;
    });
    const AnyKernel along = tangent<Duplicated, Duplicated>(cube), back = adjoint<Duplicated, Duplicated>(cube);
    const Device d = device();
    const int n = 5;
    const std::vector<float> host{-2, -0.5f, 0, 1, 3};
    std::vector<float> cubes, slopes, curves;
    for (const float v : host) cubes.push_back(v * v * v), slopes.push_back(3 * v * v), curves.push_back(6 * v);
    const auto zero = [&] { return d.zeros<float>(n); };
    const auto one = [&] { return d.full<float>(n, 1.0f); };
    const Array<float> x = d.upload(host);

    Array<float> y = zero(), ty = zero();
    along(ndrange(n), y, ty, x, one());
    EXPECT_EQ(y.download(), cubes);
    EXPECT_EQ(ty.download(), slopes);

    Array<float> of_slope = zero();
    autodiff(Forward, along, ndrange(n), Duplicated(zero(), zero()), Duplicated(zero(), of_slope), Duplicated(x, one()),
             Duplicated(one(), zero()));
    EXPECT_EQ(of_slope.download(), curves);
    Array<float> by_x = zero(), by_tangent = zero();
    autodiff(Reverse, along, ndrange(n), Duplicated(zero(), zero()), Duplicated(zero(), one()), Duplicated(x, by_x),
             Duplicated(one(), by_tangent));
    EXPECT_EQ(by_x.download(), curves);
    EXPECT_EQ(by_tangent.download(), slopes);
    Array<float> of_adjoint = zero();
    autodiff(Forward, back, ndrange(n), Duplicated(zero(), zero()), Duplicated(one(), zero()), Duplicated(x, one()),
             Duplicated(zero(), of_adjoint));
    EXPECT_EQ(of_adjoint.download(), curves);
    by_x.fill(0.0f);
    autodiff(Reverse, back, ndrange(n), Duplicated(zero(), zero()), Duplicated(one(), zero()), Duplicated(x, by_x),
             Duplicated(zero(), one()));
    EXPECT_EQ(by_x.download(), curves);
}

TEST(Autodiff, BatchOfTwoDirections) {
    const std::vector<float> host = iota<float>(64, 1.0f);
    Array<float> a = device().upload(host), da = device().full<float>(64, 1.0f), db = device().full<float>(64, 3.0f);
    autodiff(Reverse, square, ndrange(64), BatchDuplicated(a, {da, db}));
    EXPECT_EQ(da.download(), times(host, 2));
    EXPECT_EQ(db.download(), times(host, 6));
    const auto [both] = autodiff(
        Reverse, scale, ndrange(64),
        BatchDuplicated(device().upload(host), {device().full<float>(64, 1.0f), device().full<float>(64, 2.0f)}), Active(2.0f));
    EXPECT_EQ(both, (std::array<float, 2>{2080.0f, 4160.0f}));
    // In halves, one tape serves all directions.
    a.copy_from(host), da.fill(1.0f), db.fill(3.0f);
    const auto [forward, reverse] = autodiff_split(square, ndrange(64), BatchDuplicated(a, {da, db}));
    const Tape tape = forward(BatchDuplicated(a, {da, db}));
    EXPECT_EQ(tape.bytes(), 64 * 4);
    a.fill(0.0f);
    reverse(BatchDuplicated(a, {da, db}), tape);
    EXPECT_EQ(da.download(), times(host, 2));
    EXPECT_EQ(db.download(), times(host, 6));
}

TEST(Autodiff, CopyMovesTheAdjointToTheSource) {
    Array<float> src = device().upload(iota<float>(8)), dsrc = device().full<float>(8, 10.0f);
    Array<float> dst = device().zeros<float>(8), ddst = device().full<float>(8, 1.0f);
    autodiff(Reverse, copy, ndrange(8), Duplicated(dst, ddst), Duplicated(src, dsrc));
    EXPECT_EQ(dsrc.download(), std::vector<float>(8, 11.0f));  // the old contents plus the seed
    EXPECT_EQ(ddst.download(), std::vector<float>(8, 0.0f));
    ddst.fill(1.0f);
    autodiff(Reverse, copy, ndrange(8), Duplicated(dst, ddst), Const(src));
    EXPECT_EQ(ddst.download(), std::vector<float>(8, 0.0f));
    Array<float> d1 = device().full<float>(8, 1.0f), d2 = device().full<float>(8, 2.0f), s1 = device().zeros<float>(8),
                 s2 = device().zeros<float>(8);
    autodiff(Reverse, copy, ndrange(8), BatchDuplicated(dst, {d1, d2}), BatchDuplicated(src, {s1, s2}));
    EXPECT_EQ(s1.download(), std::vector<float>(8, 1.0f));
    EXPECT_EQ(s2.download(), std::vector<float>(8, 2.0f));
    suite::expect_derivatives(copy, ndrange(8), dst, src);
}

}  // namespace
