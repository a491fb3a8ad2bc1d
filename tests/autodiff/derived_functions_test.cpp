// Derivatives of device functions, on the host and in kernels.
#include <cmath>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

const auto wave = function("wave", [](Val<float> x) { return exp(x) * sin(x); });
const auto parabola = function("parabola", [](Val<float> x) { return x * x + 2.0f * x + 1.0f; });
const auto pair = function("pair", [](Val<float> a, Val<float> b) { return std::tuple(a * a + b, a * b); });
const auto product =
    function("product", [](Val<float> a, Val<int> n, Val<double> b) { return a * cast<float>(b) * cast<float>(n); });
/// sin by its series, to x^21.
const auto series = function("series", [](Val<double> x) {
    Var term = x;
    Var sum = x;
    $for(k, range(1, 11)) {
        term *= -x * x / cast<double>(2 * k * (2 * k + 1));
        sum += term;
    }
    return sum;
});

TEST(AutodiffFunctions, AugmentedPrimals) {
    // The rule is wrong by a factor of ten, so that the result shows that it was used; it reads a value kept by the primal.
    const auto kept =
        function("kept", [](Val<float> x, Val<float> c) { return std::tuple(sin(x) * c, x + c); })
            .reverse([](Val<float> x, Val<float> c) { return std::tuple(sin(x) * c, x + c, 10.0f * cos(x), cast<int>(c)); },
                     [](Val<float>, Val<float>, Val<float>, Val<float>, Val<float> slope, Val<int> whole, Val<float> dy,
                        Val<float> dz) { return std::tuple(slope * cast<float>(whole) * dy + dz, 7.0f * dz); });
    const auto use = kernel("use", [&](Out<float> y, In<float> x) {
        auto i = global_index();
        Var sum = 0.0f;
        $for(k, range(0, i + 1)) {
            const auto [a, b] = kept(x[i], 2.0f);
            sum += a + b;
        }
        y[i] = sum;
    });
    const int n = 8;
    Array<float> x = device().upload(suite::iota<float>(n)), dx = device().zeros<float>(n), y = device().zeros<float>(n),
                 dy = device().full<float>(n, 1.0f);
    autodiff(Reverse, use, ndrange(n), Duplicated(y, dy), Duplicated(x, dx));
    const std::vector<float> got = dx.download(), value = y.download();
    for (int i = 0; i < n; ++i) {
        EXPECT_NEAR(value[size_t(i)], float(i + 1) * (std::sin(float(i)) * 2.0f + float(i) + 2.0f), 1e-4f) << i;
        EXPECT_NEAR(got[size_t(i)], float(i + 1) * (20.0f * std::cos(float(i)) + 1.0f), 1e-3f) << i;
    }
    const auto [by_x, by_c] = autodiff(Reverse, kept, Active(0.5f), Active(3.0f));
    EXPECT_NEAR(by_x, 30.0f * std::cos(0.5f) + 1.0f, 1e-4f);
    EXPECT_EQ(by_c, 7.0f);
    EXPECT_NEAR(std::get<0>(kept(0.5f, 3.0f)), 3.0f * std::sin(0.5f), 1e-6f);
    // Without a rule for forward mode the body is differentiated.
    EXPECT_NEAR(std::get<0>(autodiff(Forward, kept, Duplicated(0.5f, 1.0f), Const(3.0f))), 3.0f * std::cos(0.5f), 1e-5f);
}

TEST(AutodiffFunctions, DerivativesAtAPointInEveryMode) {
    EXPECT_EQ(std::get<0>(autodiff(Reverse, parabola, Active(3.0f))), 8.0f);
    EXPECT_EQ(gradient(parabola, 3.0f), 8.0f);
    const auto [slope, value] = autodiff(ReverseWithPrimal, wave, Active(1.0f));
    EXPECT_NEAR(slope, std::exp(1.0) * (std::sin(1.0) + std::cos(1.0)), 1e-5);
    EXPECT_NEAR(value, std::exp(1.0) * std::sin(1.0), 1e-5);
    const auto [df, f] = autodiff(ForwardWithPrimal, wave, Duplicated(1.0f, 2.0f));
    EXPECT_NEAR(df, 2 * slope, 1e-5);
    EXPECT_EQ(f, value);
    EXPECT_EQ(jacobian(pair, 2.0f, 3.0f), (std::array<std::array<float, 2>, 2>{{{4, 1}, {3, 2}}}));
    const auto [along_first, along_second] = autodiff(Forward, pair, Duplicated(2.0f, 1.0f), Duplicated(3.0f, 0.0f));
    EXPECT_EQ(along_first, 4.0f);
    EXPECT_EQ(along_second, 3.0f);
    const auto [batch] = autodiff(Forward, parabola, BatchDuplicated(3.0f, {1.0f, 10.0f}));
    EXPECT_EQ(batch, (std::array<float, 2>{8, 80}));
}

TEST(AutodiffFunctions, ConstAndIntegerArguments) {
    const auto [da] = autodiff(Reverse, product, Active(2.0f), Const(3), Const(5.0));
    EXPECT_EQ(da, 15.0f);
    const auto [dx, db] = autodiff(Reverse, product, Active(2.0f), Const(3), Active(5.0));
    EXPECT_EQ(dx, 15.0f);
    EXPECT_EQ(db, 6.0);
    static_assert(std::is_same_v<decltype(db), const double>);
    const auto [a, n, b] = gradient(product, 2.0f, 3, 5.0);
    EXPECT_EQ(std::tuple(a, n, b), std::tuple(15.0f, 0, 6.0));
}

// The host uses reverse mode and kernels use forward mode, but both use the same rules.
TEST(AutodiffFunctions, GradientsUseReverseRules) {
    const auto clipped =
        function("clipped", [](Val<float> x, Val<double> c) { return std::tuple(min(x, 1.0f), cast<double>(x) * c); })
            .reverse([](Val<float>, Val<double>, Val<float>, Val<double>, Val<float> dy, Val<double> dz) {
                return std::tuple(dy + 5.0f * cast<float>(dz), 7.0 * dz);
            })
            .forward([](Val<float>, Val<double>, Val<float> dx, Val<double>) { return std::tuple(100.0f * dx, 0.0); });
    const auto outer = function("outer", [&](Val<float> x, Val<double> c) {
        const auto [y, z] = clipped(2.0f * x, c);
        return y * y + cast<float>(z);
    });
    const auto [by_x, by_c] = gradient(outer, 3.0f, 0.5);
    EXPECT_EQ(by_x, 2.0f * 2.0f + 10.0f);  // from y = 1, and through z
    EXPECT_EQ(by_c, 7.0);
    EXPECT_EQ(gradient(outer)(3.0f, 0.5), gradient(outer, 3.0f, 0.5));
    EXPECT_EQ(std::get<0>(autodiff(Forward, outer, Duplicated(3.0f, 1.0f), Const(0.5))), 400.0f);  // by the forward rules
}

TEST(AutodiffFunctions, FunctionsWithoutResults) {
    const auto silent = function("silent", [](Val<float> x, Val<int> n) { print("{} {}", x, n); });
    const auto [dx] = autodiff(Reverse, silent, Active(3.0f), Const(2));
    EXPECT_EQ(dx, 0.0f);
    tangent(silent)(3.0f, 2, 1.0f, 0);
    static_assert(std::tuple_size_v<decltype(autodiff(Forward, silent, Duplicated(3.0f, 1.0f), Const(2)))> == 0);
    static_assert(std::tuple_size_v<decltype(autodiff(ReverseWithPrimal, silent, Active(3.0f), Const(2)))> == 1);
    autodiff(ForwardWithPrimal, silent, BatchDuplicated(3.0f, {1.0f, 2.0f}), Const(2));
}

TEST(AutodiffFunctions, FunctionsOfIntegersAlone) {
    const auto twice = function("twice", [](Val<int> n) { return 2.0f * cast<float>(n); });
    EXPECT_EQ(gradient(twice, 3), 0);
    EXPECT_EQ(gradient(twice)(3), 0);
    EXPECT_TRUE(check_gradient(twice, 3));
}

TEST(AutodiffFunctions, FunctionsThatPrintAndRequire) {
    const auto root = function("root", [](Val<float> x) {
        require(x >= 0.0f, "{} has a root", x);
        return sqrt(x);
    });
    EXPECT_EQ(std::get<0>(autodiff(Forward, root, Duplicated(4.0f, 1.0f))), 0.25f);
    EXPECT_EQ(jacobian(root, 4.0f)[0][0], 0.25f);
    EXPECT_THROW(hessian_vector(root, -1.0f, 1.0f), Error);
    const auto slopes = kernel("slopes", [&](InOut<float> x) {
        auto i = global_index();
        x[i] = gradient(root, x[i]);
    });
    const Array<float> x = device().upload<float>({1, 4, 16});
    slopes(ndrange(3), x);
    EXPECT_EQ(x.download(), (std::vector<float>{0.5f, 0.25f, 0.125f}));
    x.fill(-1.0f);
    slopes(ndrange(1), x);
    EXPECT_THROW(device().synchronize(), Error);
    const auto positive = function("positive", [](Val<float> v) { require(v > 0.0f, "{} is positive", v); });
    EXPECT_THROW(positive(-1.0f), Error);
    EXPECT_THROW(autodiff(Reverse, positive, Active(-1.0f)), Error);
}

TEST(AutodiffFunctions, FunctionsWithLocalMemory) {
    // The parameters of all items have tangents, also that of the opposite item of the group.
    const auto mirrored = function("mirrored", [](Val<float> x) {
        Local<float, 8> all;
        Local<float> same(group_size());
        all[local_index()] = x * x;
        same[local_index()] = x;
        synchronize();
        return all[group_size() - 1 - local_index()] * same[local_index()];
    });
    const auto moved = kernel("moved", [&](Out<float> y, Out<float> dy, In<float> x) {
        auto i = global_index();
        dy[i] = tangent(mirrored)(x[i], 1.0f);
        y[i] = gradient(mirrored, x[i]);
    });
    const Array<float> x = device().upload(suite::iota<float>(16)), y = device().zeros<float>(16), dy = device().zeros<float>(16);
    moved(ndrange(16).group(8), y, dy, x);
    for (int i = 0; i < 16; ++i) {
        const float here = float(i), there = float(i / 8 * 8 + 7 - i % 8);
        EXPECT_EQ(dy.get(i), there * there + 2 * there * here) << i;
        EXPECT_EQ(y.get(i), dy.get(i)) << i;
    }
}

TEST(AutodiffFunctions, CheckGradientTakesFunctions) {
    EXPECT_TRUE(check_gradient(pair, 1.5f, -2.0f)) << check_gradient(pair, 1.5f, -2.0f).text();
    EXPECT_TRUE(check_gradient(product, 1.5f, 3, 0.25));
    EXPECT_TRUE(check_gradient(series, 1.23));
    const auto wrong = function("wrong", [](Val<float> x, Val<float> y) {
                           return x + y * y;
                       }).reverse([](Val<float>, Val<float> y, Val<float>, Val<float> d) { return std::tuple(d, 3.0f * y * d); });
    const GradientCheck found = check_gradient(wrong, 1.0f, 2.0f);
    EXPECT_FALSE(found);
    EXPECT_EQ(found.argument, 2);
    GradientCheckOptions loose;
    loose.tolerance = 0.9;
    EXPECT_TRUE(check_gradient(loose, wrong, 1.0f, 2.0f));
    const auto squares = kernel("squares", [](InOut<double> y) {
        auto i = global_index();
        y[i] *= y[i];
    });
    const Array<double> y = Device::open("interp").full<double>(3, 2.0);
    EXPECT_TRUE(check_gradient(loose, squares, ndrange(3), y));
    EXPECT_TRUE(check_gradient(loose, [&](Array<double>& a) { squares(ndrange(3), a); }, y));
}

TEST(AutodiffFunctions, ModesNest) {
    const double x = 1.23;
    EXPECT_NEAR(series(x), std::sin(x), 1e-12);
    EXPECT_NEAR(gradient(series, x), std::cos(x), 1e-12);
    const auto second = gradient(gradient(series));
    EXPECT_NEAR(second(x), -std::sin(x), 1e-12);
    const auto fourth = gradient(gradient(second));
    EXPECT_NEAR(fourth(x), std::sin(x), 1e-10);
    EXPECT_NEAR(hessian_vector(series, x, 2.0), -2 * std::sin(x), 1e-12);
    EXPECT_NEAR(gradient(second, x), -std::cos(x), 1e-11);  // reverse over forward over forward
    // On the device, in float.
    const auto sine = function("sine", [](Val<float> x) {
        Var term = x;
        Var sum = x;
        $for(k, range(1, 9)) {
            term *= -x * x / cast<float>(2 * k * (2 * k + 1));
            sum += term;
        }
        return sum;
    });
    const auto orders = kernel("orders", [&](Out<float, 2> y, In<float> x) {
        auto i = global_index();
        y(0, i) = gradient(gradient(sine))(x[i]);
        y(1, i) = gradient(gradient(gradient(gradient(sine))))(x[i]);
    });
    const std::vector<float> at{1.23f, -0.4f, 0.0f};
    Array<float, 2> y = device().zeros<float>({2, 3});
    orders(ndrange(3), y, device().upload(at));
    for (int i = 0; i < 3; ++i) {
        EXPECT_NEAR(y.get(0, i), -std::sin(at[size_t(i)]), 1e-5) << i;
        EXPECT_NEAR(y.get(1, i), std::sin(at[size_t(i)]), 1e-5) << i;
    }
}

TEST(AutodiffFunctions, GradientsInsideKernels) {
    const auto slopes = kernel("slopes", [](Out<float> g, Out<float> h, In<float> x) {
        auto i = global_index();
        g[i] = gradient(wave, x[i]);
        h[i] = hessian_vector(wave, x[i], 1.0f);
    });
    const std::vector<float> host{0.5f, 1.0f, 1.5f, -2.0f};
    Array<float> x = device().upload(host), g = device().zeros<float>(4), h = device().zeros<float>(4);
    slopes(ndrange(4), g, h, x);
    for (size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(g.download()[i], std::exp(host[i]) * (std::sin(host[i]) + std::cos(host[i])), 2e-5);
        EXPECT_NEAR(h.download()[i], 2 * std::exp(host[i]) * std::cos(host[i]), 2e-5);
    }
    // and the derivative of a gradient in a kernel
    Array<float> dx = device().zeros<float>(4), dg = device().full<float>(4, 1.0f);
    autodiff(Reverse, slopes, ndrange(4), Duplicated(g, dg), Const(h), Duplicated(x, dx));
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(dx.download()[i], 2 * std::exp(host[i]) * std::cos(host[i]), 2e-5);
}

}  // namespace
