// User-defined rules. A wrong rule shows in the result that it was used.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

TEST(AutodiffRules, RulesReplaceTheDerivativesOfKernelsAndFunctions) {
    int calls = 0;
    const auto wrong = kernel("wrong", [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()]; });
    const auto seven = kernel("seven", [](InOut<float> dx, In<float> dy) { dx[global_index()] += 7.0f * dy[global_index()]; });
    wrong.reverse([&](const Range& range, const Duplicated<Array<float>>& y, const Duplicated<Array<float>>& x) {
        ++calls;
        seven(range, x.shadow, y.shadow);
        y.shadow.fill(0.0f);
    });
    Array<float> x = device().full<float>(4, 2.0f), dx = device().zeros<float>(4), y = device().zeros<float>(4),
                 dy = device().full<float>(4, 1.0f);
    autodiff(Reverse, wrong, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 7.0f));
    EXPECT_EQ(y.download(), std::vector<float>(4, 2.0f));
    EXPECT_EQ(calls, 1);

    // in place, with a value that the augmented primal keeps
    const auto cube =
        kernel("cube", [](InOut<float> a) { a[global_index()] = a[global_index()] * a[global_index()] * a[global_index()]; });
    const auto three_squares = kernel("three_squares", [](InOut<float> da, In<float> a) {
        da[global_index()] *= 3.0f * a[global_index()] * a[global_index()];
    });
    cube.reverse(
        [&](const Range& range, const Duplicated<Array<float>>& a) {
            Array<float> before = a.value.clone();
            cube(range, a.value);
            return before;
        },
        [&](const Array<float>& before, const Range& range, const Duplicated<Array<float>>& a) {
            three_squares(range, a.shadow, before);
        });
    Array<float> a = device().full<float>(4, 2.0f), da = device().full<float>(4, 1.0f);
    autodiff(Reverse, cube, ndrange(4), Duplicated(a, da));
    EXPECT_EQ(a.download(), std::vector<float>(4, 8.0f));
    EXPECT_EQ(da.download(), std::vector<float>(4, 12.0f));
    // as a step of a program
    a.fill(2.0f), da.fill(1.0f);
    autodiff(Reverse, [&](Array<float>& a) { cube(ndrange(4), a), cube(ndrange(4), a); }, Duplicated(a, da));
    EXPECT_EQ(a.download(), std::vector<float>(4, 512.0f));
    EXPECT_EQ(da.download(), std::vector<float>(4, 9.0f * 256));

    const auto still = kernel("still", [](Out<float> y, In<float> x) { y[global_index()] = x[global_index()]; }).inactive();
    dx.fill(0.0f), dy.fill(1.0f);
    autodiff(Reverse, still, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 0.0f));

    // functions: a wrong rule is used; an inactive function has no derivative
    const auto doubled = function("doubled", [](Val<float> x) {
                             return 2.0f * x;
                         }).reverse([](Val<float>, Val<float>, Val<float> dy) {
                               return 5.0f * dy;
                           }).forward([](Val<float>, Val<float> dx) { return 5.0f * dx; });
    const auto ignored = function("ignored", [](Val<float> x) { return x * x; }).inactive();
    const auto with_functions = kernel("with_functions", [&](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = doubled(x[i]) + ignored(x[i]);
    });
    dx.fill(0.0f), dy.fill(1.0f);
    autodiff(Reverse, with_functions, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(y.download(), std::vector<float>(4, 8.0f));
    EXPECT_EQ(dx.download(), std::vector<float>(4, 5.0f));
    dx.fill(1.0f);
    autodiff(Forward, with_functions, ndrange(4), Duplicated(y, dy), Duplicated(x, dx));
    EXPECT_EQ(dy.download(), std::vector<float>(4, 5.0f));

    // the adjoint of a scalar from a rule
    const auto scaled =
        kernel("scaled", [](Out<float> y, In<float> x, Val<float> c) { y[global_index()] = c * x[global_index()]; });
    scaled.reverse(
        [](const Range&, const Duplicated<Array<float>>&, const Duplicated<Array<float>>&, float c) { return 100.0f * c; });
    const auto [dc] = autodiff(Reverse, scaled, ndrange(4), Duplicated(y, dy), Const(x), Active(3.0f));
    EXPECT_EQ(dc, 300.0f);
}

}  // namespace
