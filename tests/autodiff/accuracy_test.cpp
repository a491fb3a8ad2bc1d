// Accuracy of derivatives by numbers that all items share: within 1e-5 of sums in double, over a million items of float.
#include "tests/autodiff/derivatives.h"

#include <cmath>

using namespace pumice;
using suite::device;

namespace {

constexpr int items = 1'000'000;

void expect_close(float got, double want, const std::string& what) {
    EXPECT_NEAR(got, want, 1e-5 * std::abs(want)) << what << " of " << device().name();
}

TEST(AutodiffAccuracy, LongSumsIntoAScalarAndAnArray) {
    const auto line = kernel("line", [](Out<float> y, In<float> x, Val<float> a, In<float> p) {
        auto i = global_index();
        y[i] = a * x[i] + p[0] * x[i] * x[i] + p[1];
    });
    const int n = items;
    const std::vector<float> host = suite::numbers<float>(n, 7, 0.5, 1.5);
    double first = 0, second = 0;
    for (const float v : host) first += double(v), second += double(v) * double(v);
    const Device d = device();
    for (const int group : {1, 32, 100, 256}) {
        if (group > d.limits().max_group_size) continue;
        Array<float> y = d.zeros<float>(n), dy = d.full<float>(n, 1.0f), p = d.full<float>(2, 1.0f), dp = d.zeros<float>(2);
        const auto [da] = autodiff(Reverse, line, ndrange(n).group(group), DuplicatedNoNeed(y, dy), Const(d.upload(host)),
                                   Active(2.0f), Duplicated(p, dp));
        const std::string what = " in groups of " + std::to_string(group);
        expect_close(da, first, "the scalar" + what);
        expect_close(dp.get(0), second, "the factor" + what);
        expect_close(dp.get(1), double(n), "the constant" + what);
    }
}

/// Chunked summation on devices with small subgroups; ranges of one and two dimensions, and groups that do not divide them.
TEST(AutodiffAccuracy, LongSumsIntoElementsOfALoop) {
    const auto polynomial = [](Val<float> x, const In<float>& p) {
        Var sum = 0.0f, power = 1.0f;
        $for(k, range(p.size())) { sum += p[k] * power, power *= x; }
        return Val<float>(sum);
    };
    const auto series = kernel("series", [=](Out<float> y, In<float> x, In<float> p) {
        auto i = global_index();
        y[i] = polynomial(x[i], p);
    });
    const auto series_of_tables = kernel("series_of_tables", [=](Out<float, 2> y, In<float, 2> x, In<float> p) {
        const auto at = global_index<2>();
        y(at[0], at[1]) = polynomial(x(at[0], at[1]), p);
    });
    const int n = items, terms = 4;
    const std::vector<float> host = suite::numbers<float>(n, 9, 0.5, 1.0);
    std::vector<double> want(size_t(terms), 0.0);
    for (const float v : host)
        for (int k = 0; k < terms; ++k) want[size_t(k)] += std::pow(double(v), k);
    const Device d = device();
    const Array<float> x = d.upload(host), p = d.full<float>(terms, 1.0f);
    const Array<float, 2> table = x.reshape({n / 1000, 1000});
    for (int way = 0; way < 3; ++way) {
        Array<float> y = d.zeros<float>(n), dy = d.full<float>(n, 1.0f), dp = d.full<float>(terms, 2.0f);
        Array<float, 2> z = y.reshape({n / 1000, 1000}), dz = dy.reshape({n / 1000, 1000});
        if (way == 2)
            autodiff(Reverse, series_of_tables, ndrange(n / 1000, 1000), DuplicatedNoNeed(z, dz), Const(table),
                     Duplicated(p, dp));
        else
            autodiff(Reverse, series, way ? ndrange(n).group(96) : ndrange(n), DuplicatedNoNeed(y, dy), Const(x),
                     Duplicated(p, dp));
        for (int k = 0; k < terms; ++k)
            expect_close(dp.get(k), want[size_t(k)] + 2, "coefficient " + std::to_string(k) + ", way " + std::to_string(way));
    }
}

}  // namespace
