// Derivatives of kernels against closed forms and central differences.
// At points where a kernel is not smooth the closed form is the only check; differences are taken at other points.
#include <cmath>

#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::device;
using suite::expect_derivatives;
using suite::iota;

namespace {

/// The derivative of y[i] = f(x[i]) at each x, with seed 1, in both modes, which must agree.
template <class F> std::vector<float> derivative_of(const std::string& name, const std::vector<float>& x, F f) {
    const auto k = kernel(name, [f](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = f(x[i]);
    });
    const Device d = device();
    const int64_t n = int64_t(x.size());
    Array<float> y = d.zeros<float>(n), dy = d.full<float>(n, 1.0f), ax = d.upload(x), dx = d.zeros<float>(n);
    autodiff(Reverse, k, ndrange(n), Duplicated(y, dy), Duplicated(ax, dx));
    Array<float> ty = d.zeros<float>(n), tx = d.full<float>(n, 1.0f);
    autodiff(Forward, k, ndrange(n), Duplicated(y, ty), Duplicated(ax, tx));
    const std::vector<float> reverse = dx.download(), forward = ty.download();
    for (size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(reverse[i]))
            EXPECT_TRUE(std::isnan(reverse[i]) ? std::isnan(forward[i]) : reverse[i] == forward[i]) << name << " at " << x[i];
        else
            EXPECT_NEAR(reverse[i], forward[i], 1e-5 * std::max(1.0f, std::abs(reverse[i]))) << name << " at " << x[i];
    }
    return reverse;
}
#define EXPECT_DERIVATIVE(f, x, want)                                                    \
    EXPECT_NEAR(derivative_of("f", {float(x)}, [](Val<float> v) { return f; })[0], want, \
                2e-5 * std::max(1.0, std::abs(double(want))))                            \
        << #f

TEST(AutodiffKernels, ScalarFunctionsHaveTheirTextbookDerivatives) {
    EXPECT_DERIVATIVE(exp(v), 1, std::exp(1.0));
    EXPECT_DERIVATIVE(cos(v), 1, -std::sin(1.0));
    EXPECT_DERIVATIVE(pow(v, 3.0f), 2, 12);
    EXPECT_DERIVATIVE(atan2(v, 2.0f), 1, 0.4);
    EXPECT_DERIVATIVE(hypot(v, 4.0f), 3, 0.6);
    EXPECT_DERIVATIVE(erf(v), 0.5, 2 / std::sqrt(M_PI) * std::exp(-0.25));
    EXPECT_DERIVATIVE(tgamma(v), 3, 2 * 0.922784335);
    EXPECT_DERIVATIVE(lgamma(v), 3, 0.922784335);
    EXPECT_DERIVATIVE(fma(v, 3.0f, v), 2, 4);
    EXPECT_DERIVATIVE(min(v, 2.0f), 1, 1);
    EXPECT_DERIVATIVE(min(v, 2.0f), 3, 0);
    EXPECT_DERIVATIVE(max(v, 2.0f), 3, 1);
    EXPECT_DERIVATIVE(abs(v), -2, -1);
    EXPECT_DERIVATIVE(clamp(v, 0.0f, 1.0f), 0.5, 1);
    EXPECT_DERIVATIVE(clamp(v, 0.0f, 1.0f), 1.5, 0);
    EXPECT_DERIVATIVE(fmod(v, 3.0f), 7, 1);
    EXPECT_FALSE(std::isfinite(derivative_of(
        "sqrt", {0.0f}, [](Val<float> v) { return sqrt(v); })[0]));  // infinite, or NaN where a device divides by zero so
    // The values at 0 are those of docs/ops.md; of two equal operands the second gets the derivative.
    EXPECT_DERIVATIVE(exp(v), 0, 1);
    EXPECT_DERIVATIVE(cos(v), 0, 0);
    EXPECT_DERIVATIVE(pow(v, 2.0f), 0, 0);
    EXPECT_DERIVATIVE(pow(2.0f, v), 0, std::log(2.0));
    EXPECT_DERIVATIVE(atan2(v, 2.0f), 0, 0.5);
    EXPECT_DERIVATIVE(hypot(v, 0.0f), 0, 0);
    EXPECT_DERIVATIVE(erf(v), 0, 2 / std::sqrt(M_PI));
    EXPECT_DERIVATIVE(fma(v, v, v), 0, 1);
    EXPECT_DERIVATIVE(min(v, 0.0f), 0, 0);
    EXPECT_DERIVATIVE(min(0.0f, v), 0, 1);
    EXPECT_DERIVATIVE(max(v, 0.0f), 0, 0);
    EXPECT_DERIVATIVE(max(0.0f, v), 0, 1);
    EXPECT_DERIVATIVE(abs(v), 0, 0);
    EXPECT_DERIVATIVE(fmod(v, 3.0f), 0, 1);
    EXPECT_FALSE(std::isfinite(derivative_of("tgamma", {0.0f}, [](Val<float> v) { return tgamma(v); })[0]));
}

const auto sum_squares =
    kernel("sum_squares", [](InOut<float> sum, In<float> a) { atomic_add(sum[0], a[global_index()] * a[global_index()]); });
const auto dot_kernel =
    kernel("dot", [](InOut<float> sum, In<float> a, In<float> b) { atomic_add(sum[0], a[global_index()] * b[global_index()]); });
const auto matmul = kernel("matmul", [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    auto [i, j] = global_index<2>();
    Var s = 0.0f;
    $for(k, range(a.size(1))) { s += a(i, k) * b(k, j); }
    c(i, j) = s;
});

TEST(AutodiffKernels, SumOfSquaresDotAndProductOfAnArray) {
    const Device d = device();
    Array<float> s = d.zeros<float>(1), ds = d.full<float>(1, 1.0f), a = d.upload(std::vector<float>{1, 2, 3}),
                 da = d.zeros<float>(3);
    autodiff(Reverse, sum_squares, ndrange(3), Duplicated(s, ds), Duplicated(a, da));
    EXPECT_EQ(s.download()[0], 14.0f);
    EXPECT_EQ(da.download(), (std::vector<float>{2, 4, 6}));
    Array<float> b = d.upload(std::vector<float>{5, 6, 7}), db = d.zeros<float>(3);
    da.fill(0.0f);
    autodiff(Reverse, dot_kernel, ndrange(3), Duplicated(s, ds), Duplicated(a, da), Duplicated(b, db));
    EXPECT_EQ(da.download(), b.download());
    EXPECT_EQ(db.download(), a.download());

    Array<float, 2> A = d.upload(iota<float>(6, 1), {2, 3}), B = d.upload(iota<float>(12, 1), {3, 4}), C = d.zeros<float>({2, 4});
    Array<float, 2> dA = d.zeros<float>({2, 3}), dB = d.zeros<float>({3, 4}), dC = d.full<float>({2, 4}, 1.0f);
    autodiff(Reverse, matmul, ndrange(2, 4), Duplicated(C, dC), Duplicated(A, dA), Duplicated(B, dB));
    EXPECT_EQ(dA.download(), (std::vector<float>{10, 26, 42, 10, 26, 42}));              // ones * B'
    EXPECT_EQ(dB.download(), (std::vector<float>{5, 5, 5, 5, 7, 7, 7, 7, 9, 9, 9, 9}));  // A' * ones
    expect_derivatives(sum_squares, ndrange(3), s, a);
    expect_derivatives(dot_kernel, ndrange(3), s, a, b);
    expect_derivatives(matmul, ndrange(2, 4), C, A, B);
}

TEST(AutodiffKernels, AddingToAnElementKeepsItsShadow) {
    const auto k = kernel("accumulation", [](InOut<float> a, In<float> b) {
        auto i = global_index();
        a[i] += 6.5f * b[i] * 100.65f;
    });
    Array<float> a = device().full<float>(4, 1.0f), da = device().full<float>(4, 1.0f), b = device().full<float>(4, 2.0f),
                 db = device().full<float>(4, 1.0f);
    autodiff(Reverse, k, ndrange(4), Duplicated(a, da), Duplicated(b, db));
    EXPECT_EQ(da.download()[3], 1.0f);
    EXPECT_NEAR(db.download()[3], 655.225f, 1e-3f);
    expect_derivatives(k, ndrange(4), a, b);
}

TEST(AutodiffKernels, BranchedAndOverwrittenElements) {
    const auto k = kernel("branch", [](InOut<float> a) {
        auto i = global_index();
        $if(i >= 10) { a[i] *= a[i]; }
        $if(i == 0) { a[i] = 0.0f; }
    });
    const std::vector<float> host = iota<float>(20, 1);
    Array<float> a = device().upload(host), da = device().full<float>(20, 1.0f);
    autodiff(Reverse, k, ndrange(20), Duplicated(a, da));
    std::vector<float> want(20, 1.0f);
    want[0] = 0;
    for (size_t i = 10; i < 20; ++i) want[i] = 2 * host[i];
    EXPECT_EQ(da.download(), want);
    expect_derivatives(k, ndrange(20), a);
}

TEST(AutodiffKernels, PartialSumsInPrivateMemory) {
    const auto k = kernel("partial_sums", [](InOut<float> sum, In<float> a) {
        Private<float, 1> s;
        s[0] = 0.0f;
        $for(j, range(4)) { s[0] += a[4 * global_index() + j] * a[4 * global_index() + j]; }
        atomic_add(sum[0], s[0]);
    });
    const std::vector<float> host = iota<float>(32, 1);
    Array<float> a = device().upload(host), da = device().zeros<float>(32), s = device().zeros<float>(1),
                 ds = device().full<float>(1, 1.0f);
    autodiff(Reverse, k, ndrange(8), Duplicated(s, ds), Duplicated(a, da));
    for (size_t i = 0; i < 32; ++i) EXPECT_EQ(da.download()[i], 2 * host[i]);
    expect_derivatives(k, ndrange(8), s, a);
}

TEST(AutodiffKernels, MutableLocalsAndLoops) {
    const auto local = kernel("through_private", [](InOut<float> a) {
        Private<float, 1> m;
        m[0] = a[global_index()];
        a[global_index()] = m[0] * m[0];
    });
    Array<float> a = device().upload(iota<float>(4, 1)), da = device().full<float>(4, 1.0f);
    autodiff(Reverse, local, ndrange(4), Duplicated(a, da));
    EXPECT_EQ(da.download(), (std::vector<float>{2, 4, 6, 8}));
    expect_derivatives(local, ndrange(4), a);

    const auto hundred = kernel("hundred", [](Out<float> y, In<float> a, In<float> b) {
        auto i = global_index();
        Var s = 0.0f;
        $for(k, range(100)) { s += a[i] + b[i]; }
        y[i] = s;
    });
    Array<float> y = device().zeros<float>(4), dy = device().full<float>(4, 1.0f), b = device().zeros<float>(4),
                 db = device().zeros<float>(4);
    da.fill(0.0f);
    autodiff(Reverse, hundred, ndrange(4), Duplicated(y, dy), Duplicated(a, da), Duplicated(b, db));
    EXPECT_EQ(da.download(), std::vector<float>(4, 100.0f));
    EXPECT_EQ(db.download(), std::vector<float>(4, 100.0f));
    expect_derivatives(hundred, ndrange(4), y, a, b);

    const auto consumed = kernel("consumed", [](Out<float> sum, InOut<float> a, InOut<int> bound) {
        Var s = 0.0f;
        $for(k, range(bound[0])) {
            s += a[k] * a[k];
            a[k] = 0.0f;
        }
        bound[0] = 1;
        sum[0] = s;
    });
    Array<float> sum = device().zeros<float>(1), dsum = device().full<float>(1, 1.0f), v = device().upload(iota<float>(5, 1)),
                 dv = device().zeros<float>(5);
    Array<int> bound = device().full<int>(1, 5);
    autodiff(Reverse, consumed, ndrange(1), Duplicated(sum, dsum), Duplicated(v, dv), Const(bound));
    EXPECT_EQ(sum.download()[0], 55.0f);
    EXPECT_EQ(dv.download(), (std::vector<float>{2, 4, 6, 8, 10}));
    EXPECT_EQ(bound.download()[0], 1);
    v.copy_from(iota<float>(5, 1));
    const GradientCheck found = check_gradient(consumed, ndrange(1), sum, v, Const(device().full<int>(1, 5)));
    EXPECT_TRUE(found) << found.text();
}

TEST(AutodiffKernels, TheLastOfEqualMaximaGetsTheDerivative) {
    const auto k = kernel("vecmax", [](Out<float> y, In<float> x) {
        Var best = x[0];
        $for(i, range(1, x.size())) { best = max(best, x[i]); }
        y[0] = best;
    });
    Array<float> x = device().upload(std::vector<float>{1, 5, 2, 5, 3}), dx = device().zeros<float>(5),
                 y = device().zeros<float>(1), dy = device().full<float>(1, 1.0f);
    autodiff(Reverse, k, ndrange(1), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), (std::vector<float>{0, 0, 0, 1, 0}));  // the last one gets the derivative: docs/ops.md, max
    expect_derivatives(k, ndrange(1), y, device().upload(std::vector<float>{1, 5, 2, 4, 3}));
}

TEST(AutodiffKernels, ReverseModeKeepsLoopCarriedValues) {
    const auto got = derivative_of("taylor", {0.5f}, [](Val<float> x) {
        Var sum = 0.0f;
        Var power = 1.0f;
        $for(i, range(1, 40)) {
            power *= x;
            sum += power / cast<float>(i);
        }
        return Val<float>(sum);
    });
    EXPECT_NEAR(got[0], 2.0f, 1e-5f);
}

TEST(AutodiffKernels, ForwardModeOfACompositionOfFunctions) {
    const auto k = kernel("composition", [](Out<float> y, In<float> x) {
        auto i = global_index();
        auto x1 = x[i];
        auto x2 = x1 * x1;
        y[i] = x1 * x2 + 1.0f / x1;
    });
    Array<float> x = device().upload(iota<float>(4, 1)), dx = device().full<float>(4, 1.0f), y = device().zeros<float>(4),
                 dy = device().zeros<float>(4);
    autodiff(Forward, k, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
    for (int i = 0; i < 4; ++i) {
        const float v = float(i + 1);
        EXPECT_NEAR(dy.download()[size_t(i)], 3 * v * v - 1 / (v * v), 1e-5);
    }
    expect_derivatives(k, ndrange(4), y, x);
}

TEST(AutodiffKernels, AdjointsOfTwoOutputsAddUp) {
    const auto k = kernel("twice", [](Out<float> a, Out<float> b, In<float> x) {
        auto i = global_index();
        a[i] = x[i];
        b[i] = x[i];
    });
    Array<float> x = device().zeros<float>(4), dx = device().zeros<float>(4), a = x.clone(), b = x.clone(),
                 da = device().full<float>(4, 1.0f), db = da.clone();
    autodiff(Reverse, k, ndrange(4), Duplicated(a, da), Duplicated(b, db), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 2.0f));
    expect_derivatives(k, ndrange(4), a, b, x);
}

TEST(AutodiffKernels, SaxpyWithALossKernel) {
    const auto saxpy = kernel("saxpy", [](Out<float> m, In<float> x, In<float> y, Val<float> a) {
        auto i = global_index();
        m[i] = a * x[i] + y[i];
    });
    const auto loss = kernel("loss", [](InOut<float> l, In<float> x, In<float> y, In<float> data, Val<float> a) {
        auto i = global_index();
        auto r = a * x[i] + y[i] - data[i];
        atomic_add(l[0], r * r);
    });
    const Device d = device();
    Array<float> x = d.upload(iota<float>(16)), y = d.full<float>(16, 1.0f), data = d.full<float>(16, 2.0f),
                 l = d.zeros<float>(1), dl = d.full<float>(1, 1.0f);
    const auto [da] = autodiff(Reverse, loss, ndrange(16), Duplicated(l, dl), Const(x), Const(y), Const(data), Active(0.5f));
    double want = 0;
    for (int i = 0; i < 16; ++i) want += 2 * (0.5 * i + 1 - 2) * i;
    EXPECT_NEAR(da, want, 1e-3);
    Array<float> m = d.zeros<float>(16), dm = d.full<float>(16, 1.0f);
    const auto [ds] = autodiff(Reverse, saxpy, ndrange(16), Duplicated(m, dm), Const(x), Const(y), Active(0.5f));
    EXPECT_EQ(ds, 120.0f);
    const GradientCheck of_loss = check_gradient(loss, ndrange(16), l, x, y, data, 0.5f),
                        of_saxpy = check_gradient(saxpy, ndrange(16), m, x, y, 0.5f);
    EXPECT_TRUE(of_loss) << of_loss.text();
    EXPECT_TRUE(of_saxpy) << of_saxpy.text();
}

TEST(AutodiffKernels, MonteCarloEstimateByRandomNumbers) {
    const auto estimate = kernel("estimate", [](Out<float> out, InOut<rng::State> states, In<float> params) {
        auto i = global_index();
        rng::Stream random(states[i]);
        Var sum = 0.0f;
        $for(k, range(20)) {
            sum += params[0] * random.uniform<float>();
            sum += params[1] * params[1] * random.normal<float>();
        }
        out[i] = sum;
    });
    const auto draws = kernel("draws", [](Out<float, 2> sums, In<rng::State> states) {
        auto i = global_index();
        rng::Stream random(states[i]);
        Var uniform = 0.0f;
        Var normal = 0.0f;
        $for(k, range(20)) {
            uniform += random.uniform<float>();
            normal += random.normal<float>();
        }
        sums(0, i) = uniform;
        sums(1, i) = normal;
    });
    const Device d = device();
    const int n = 256;
    const std::vector<rng::State> start = rng::Splittable(99).split(n);
    Array<rng::State> states = d.upload(start);
    Array<float> out = d.zeros<float>(n), dout = d.full<float>(n, 1.0f), params = d.upload<float>({2, 3}),
                 dparams = d.zeros<float>(2);
    Array<float, 2> sums = d.zeros<float>({2, n});
    draws(ndrange(n), sums, states);
    double uniform = 0, normal = 0;
    for (int i = 0; i < n; ++i) uniform += sums.get(0, i), normal += sums.get(1, i);
    autodiff(Reverse, estimate, ndrange(n), Duplicated(out, dout), Const(states), Duplicated(params, dparams));
    EXPECT_NEAR(dparams.get(0), uniform, 1e-5 * uniform);
    EXPECT_NEAR(dparams.get(1), 2 * 3 * normal, 1e-2);  // the draws cancel each other
    EXPECT_EQ(states.download(), start);                // the random state has no derivative
    Array<float> along = d.upload<float>({1, 0}), tangent = d.zeros<float>(n);
    autodiff(Forward, estimate, ndrange(n), Duplicated(out, tangent), Const(states), Duplicated(params, along));
    for (int i = 0; i < n; ++i) ASSERT_NEAR(tangent.get(i), sums.get(0, i), 1e-4) << i;
    const GradientCheck found = check_gradient(estimate, ndrange(n), out, Const(states), params);
    EXPECT_TRUE(found) << found.text();
}

TEST(AutodiffKernels, LocalMemoryAndBarriers) {
    const auto tiled = kernel("tiled", [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
        Local<float, 4, 4> ta, tb;
        auto [i, j] = global_index<2>();
        auto [li, lj] = local_index<2>();
        Var s = 0.0f;
        $for(t, range(2)) {
            ta(li, lj) = a(i, 4 * t + lj);
            tb(li, lj) = b(4 * t + li, j);
            synchronize();
            $for(k, range(4)) { s += ta(li, k) * tb(k, lj); }
            synchronize();
        }
        c(i, j) = s;
    });
    const Device d = device();
    Array<float, 2> a = d.upload(iota<float>(64, 1), {8, 8}), b = d.upload(iota<float>(64, -20), {8, 8}),
                    c = d.zeros<float>({8, 8});
    expect_derivatives(tiled, ndrange(8, 8).group(4, 4), c, a, b);

    const auto reduce = kernel("reduce", [](Out<float> sums, In<float> x) {
        Local<float, 8> t;
        auto l = local_index();
        t[l] = x[global_index()] * x[global_index()];
        synchronize();
        for (int step = 4; step > 0; step /= 2) {
            $if(l < step) { t[l] += t[l + step]; }
            synchronize();
        }
        $if(l == 0) { sums[group_index()] = t[0]; }
    });
    Array<float> x = d.upload(iota<float>(32, 1)), dx = d.zeros<float>(32), s = d.zeros<float>(4),
                 ds = d.upload(std::vector<float>{1, 2, 3, 4});
    autodiff(Reverse, reduce, ndrange(32).group(8), Duplicated(s, ds), Duplicated(x, dx));
    for (int i = 0; i < 32; ++i) EXPECT_EQ(dx.download()[size_t(i)], 2.0f * float(i + 1) * float(i / 8 + 1));
    expect_derivatives(reduce, ndrange(32).group(8), s, x);

    const auto convolve = kernel("convolve", [](Out<float> y, In<float> x, In<float> w) {
        Local<float, 10> t;
        auto i = global_index();
        auto l = local_index();
        t[l + 1] = x[i + 1];
        $if(l == 0) { t[0] = x[i]; }
        $if(l == 7) { t[9] = x[i + 2]; }
        synchronize();
        y[i] = w[0] * t[l] + w[1] * t[l + 1] + w[2] * t[l + 2] * t[l + 2];
    });
    Array<float> y = d.zeros<float>(16), padded = d.upload(iota<float>(18, -4)), w = d.upload(std::vector<float>{0.5f, 2, 0.25f});
    expect_derivatives(convolve, ndrange(16).group(8), y, padded, w);
}

TEST(AutodiffKernels, ParameterSharedByAMillionItems) {
    const auto k = kernel("shared", [](Out<float> y, In<float> x, In<float> w) { y[global_index()] = w[0] * x[global_index()]; });
    const int n = 1000000;
    std::vector<float> host(static_cast<size_t>(n));
    double want = 0;
    for (int i = 0; i < n; ++i) want += host[size_t(i)] = 0.5f + float((i * 37) % 101) * 0.01f;
    Array<float> x = device().upload(host), y = device().zeros<float>(n), dy = device().full<float>(n, 1.0f),
                 w = device().full<float>(1, 2.0f), dw = device().zeros<float>(1);
    autodiff(Reverse, k, ndrange(n), Duplicated(y, dy), Const(x), Duplicated(w, dw));
    EXPECT_NEAR(dw.download()[0] / want, 1.0, 1e-5);
    expect_derivatives(k, ndrange(500), y.slice(0, 500), x.slice(0, 500), w);
}

TEST(AutodiffKernels, CastsToIntegersAndComparisonsCarryNoDerivative) {
    EXPECT_EQ(derivative_of("cut", {2.7f}, [](Val<float> x) { return cast<float>(cast<int>(x)); })[0], 0.0f);
    EXPECT_EQ(
        derivative_of("counted", {2.7f}, [](Val<float> x) { return cast<float>(x > 2.0f) + cast<float>(cast<bool>(x)) + x; })[0],
        1.0f);
    EXPECT_EQ(derivative_of("compared", {2.7f}, [](Val<float> x) { return select(x > 2.0f, 3.0f * x, x); })[0], 3.0f);
    if (!suite::is_checking_device()) return;
    const auto k = kernel("unset", [](Out<float> y, In<float> x) {
        Local<float, 4> t;
        $if(local_index() == 0) { t[0] = x[0]; }
        synchronize();
        y[global_index()] = t[local_index()] * t[local_index()];
    });
    Array<float> x = device().zeros<float>(4), dx = x.clone(), y = x.clone(), dy = x.clone();
    EXPECT_NE(suite::message_of([&] { autodiff(Reverse, k, ndrange(4).group(4), Duplicated(y, dy), Duplicated(x, dx)); }),
              "(no error)");
    // An unset shadow: of the written array, then of the read one.
    const auto square =
        kernel("square", [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()] * x[global_index()]; });
    for (const bool seed : {true, false}) {
        const Array<float> nothing = device().empty<float>(4), &of_x = seed ? dx : nothing, &of_y = seed ? nothing : dy;
        const std::string message =
            suite::message_of([&] { autodiff(Reverse, square, ndrange(4), Duplicated(y, of_y), Duplicated(x, of_x)); });
        EXPECT_NE(message.find("before it is written (work-item 0, closed_forms_test.cpp:"), std::string::npos) << message;
    }
}

// A device that ends loops by itself (lavapipe) reports an error; it does not give a wrong derivative.
TEST(AutodiffKernels, LoopsOfManyIterations) {
    const auto power = kernel("power_by_loop", [](Out<float> y, In<float> x, Val<int> n) {
        auto i = global_index();
        Var v = Val<float>(1.0f);
        $for(k, range(n)) { v *= x[i]; }
        y[i] = v;
    });
    for (const int n : {20000, 40000}) {
        const std::vector<float> host{1.00001f, 0.99999f, 1.0f};
        const Array<float> x = device().upload(host), dx = device().zeros<float>(3), y = device().zeros<float>(3),
                           dy = device().full<float>(3, 1.0f);
        std::vector<float> got;
        try {
            autodiff(Reverse, power, ndrange(3), Duplicated(y, dy), Duplicated(x, dx), Const(n));
            got = dx.download();
        } catch (const Error& e) {
            const std::string said = e.what();
            EXPECT_NE(
                said.find("the loops of a work-item make fewer than 65,535 iterations in all, after which " + device().name()),
                std::string::npos)
                << said;
            EXPECT_NE(device().name().find("llvmpipe"), std::string::npos) << said;
            EXPECT_GT(n, 20000) << said;
            continue;
        }
        for (size_t i = 0; i < host.size(); ++i)
            EXPECT_NEAR(got[i] / (n * std::pow(double(host[i]), n - 1)), 1.0, 0.01) << n << ", " << i;
    }
}

/// A limit of iterations that none reaches: the tape has the elements of those that run.
TEST(AutodiffKernels, IterationsThatEndLongBeforeTheirLimit) {
    const auto by_break = kernel("by_break", [](InOut<float> y, In<float> x) {
        auto i = global_index();
        Var root = x[i];
        $for(k, range(1'000'000'000)) {
            const auto next = 0.5f * (root + x[i] / root), change = abs(next - root);
            root = next;
            $if(change < 1e-3f) { $break; }
        }
        y[i] += root;
    });
    const auto by_condition = kernel("by_condition", [](InOut<float> y, In<float> x) {
        auto i = global_index();
        Var root = x[i], change = 1.0f;
        Var steps = 0;
        $while(steps < 1'000'000'000 && change > 1e-3f) {
            const auto next = 0.5f * (root + x[i] / root);
            change = abs(next - root);
            root = next;
            ++steps;
        }
        y[i] += root;
    });
    const auto y = device().upload(suite::numbers<float>(12, 1)), x = device().upload(suite::numbers<float>(12, 2, 1.5, 4));
    expect_derivatives(by_break, ndrange(12), y, x);
    expect_derivatives(by_condition, ndrange(12), y, x);
}

/// At zero the root's derivative is infinite, and its adjoint is zero: no branch and no iteration that uses it runs.
TEST(AutodiffKernels, RootsThatOnlyBranchesUse) {
    const auto k = kernel("guarded_roots", [](InOut<float> y, In<float> x) {
        auto i = global_index();
        const auto v = x[i], root = sqrt(v), other = rsqrt(v), size = sqrt(v * v);
        Var sum = 3.0f * v;
        $if(v > 0.0f) { sum += 2.0f * root; }
        $else { sum += 6.0f * v; }
        $while(sum > 100.0f) { sum = sum * other; }
        $if(size > 0.0f) { sum += v / size; }
        y[i] = sum;
    });
    const auto y = device().zeros<float>(2), dy = device().full<float>(2, 1.0f), x = device().upload<float>({0.0f, 4.0f}),
               dx = device().zeros<float>(2);
    autodiff(Reverse, k, ndrange(2), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(y.download(), (std::vector<float>{0, 17}));
    EXPECT_EQ(dx.download(), (std::vector<float>{9, 3.5f}));
}

}  // namespace
