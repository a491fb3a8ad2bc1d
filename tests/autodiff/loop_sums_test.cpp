// Loop partial sums: derivatives of loops in which all items add to the same elements agree with those in halves, where each
// item adds its own contributions.
#include "tests/autodiff/derivatives.h"

#include <cmath>

using namespace pumice;
using suite::device;

namespace {

Array<float> random(int64_t n, uint64_t seed, double low = -1, double high = 1) {
    return device().upload(suite::numbers<float>(n, seed, low, high));
}
Array<float, 2> table(int64_t rows, int64_t columns, uint64_t seed) {
    return random(rows * columns, seed).reshape({rows, columns});
}

void expect_close(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
    double most = 1e-3;
    for (const float v : want) most = std::max(most, std::abs(double(v)));
    for (size_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 2e-5 * most) << what << ", element " << i << " on " << device().name();
}

/// `parameters` are differentiated; `x` is the part that belongs to each item.
template <class K, class... P>
void expect_same_in_halves(const K& kernel, const Range& range, int n, const Array<float, 2>& x, const P&... parameters) {
    const Array<float> y = random(n, 7), again = y.clone();
    const auto shadow = [](const auto& of) {
        auto made = of.clone();
        made.copy_from(suite::numbers<float>(int64_t(of.download().size()), 5));
        return made;
    };
    const auto shadows = [&] { return std::tuple(shadow(parameters)...); };
    auto whole = shadows(), halves = shadows();
    Array<float> dy = device().upload<float>(suite::numbers<float>(n, 3)), seeds = dy.clone();
    [&]<size_t... I>(std::index_sequence<I...>) {
        autodiff(Reverse, kernel, range, DuplicatedNoNeed(y, dy), Const(x), Duplicated(parameters, std::get<I>(whole))...);
        auto [forward, reverse] =
            autodiff_split(kernel, range, Duplicated(again, seeds), Const(x), Duplicated(parameters, std::get<I>(halves))...);
        auto tape = forward(Duplicated(again, seeds), Const(x), Duplicated(parameters, std::get<I>(halves))...);
        reverse(Duplicated(again, seeds), Const(x), Duplicated(parameters, std::get<I>(halves))..., tape);
        (expect_close(std::get<I>(whole).download(), std::get<I>(halves).download(), "parameter " + std::to_string(I)), ...);
        expect_close(dy.download(), seeds.download(), "the seeds");
    }(std::index_sequence_for<P...>());
}

/// A radial basis network of points in the plane.
const auto basis = kernel("basis", [](Out<float> y, In<float, 2> x, In<float> a, In<float> b, In<float, 2> c) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(k, range(a.size())) {
        auto dx = x(i, 0) - c(k, 0), dy = x(i, 1) - c(k, 1);
        sum += a[k] * exp(-b[k] * (dx * dx + dy * dy));
    }
    y[i] = sum;
});

TEST(AutodiffLoopPartialSums, RadialBasisNetwork) {
    for (const int n : {255, 256, 1000})
        for (const int k : {1, 7, 40})
            expect_same_in_halves(basis, ndrange(n), n, table(n, 2, 1), random(k, 2), random(k, 3, 0.2, 2), table(k, 2, 4));
    // Ranges with an offset, and groups that do not divide them.
    expect_same_in_halves(basis, ndrange({100}, {900}), 1000, table(1000, 2, 1), random(7, 2), random(7, 3, 0.2, 2),
                          table(7, 2, 4));
    expect_same_in_halves(basis, ndrange(500).group(48), 500, table(500, 2, 1), random(7, 2), random(7, 3, 0.2, 2),
                          table(7, 2, 4));
}

/// A layer of a network with three inputs, and a weighted sum of its outputs.
const auto layer = kernel("layer", [](Out<float> y, In<float, 2> x, In<float, 2> w, In<float> u, In<float> v) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(j, range(v.size())) {
        Var z = u[j];
        for (int d = 0; d < 3; ++d) z += w(j, d) * x(i, d);
        sum += v[j] * tanh(z);
    }
    y[i] = sum * sum;
});

TEST(AutodiffLoopPartialSums, Layer) {
    for (const int m : {1, 5, 33})
        expect_same_in_halves(layer, ndrange(700), 700, table(700, 3, 1), table(m, 3, 2), random(m, 3), random(m, 4));
}

/// The reverse of one loop needs a result of another one.
const auto mixture = kernel("mixture", [](Out<float> y, In<float, 2> x, In<float> alpha, In<float, 2> mu, In<float, 2> q) {
    auto i = global_index();
    const auto term = [&](Val<int> k) {
        Var sum = alpha[k], squares = 0.0f;
        for (int d = 0; d < 2; ++d) {
            auto z = exp(q(k, d)) * (x(i, d) - mu(k, d));
            sum += q(k, d), squares += z * z;
        }
        return sum - 0.5f * squares;
    };
    Var most = term(0), sum = 0.0f;
    $for(k, range(alpha.size())) { most = max(most, term(k)); }
    $for(k, range(alpha.size())) { sum += exp(term(k) - most); }
    y[i] = most + log(sum);
});

TEST(AutodiffLoopPartialSums, Mixture) {
    for (const int k : {1, 3, 20})
        expect_same_in_halves(mixture, ndrange(900), 900, table(900, 2, 1), random(k, 2), table(k, 2, 3), table(k, 2, 4));
}

/// Accurate to 1e-5 over a million items.
TEST(AutodiffLoopPartialSums, SumsOverAMillionItemsAreAccurate) {
    const int n = suite::is_checking_device() ? 20'000 : 1'000'000;
    const std::vector<float> host = suite::numbers<float>(int64_t(n) * 2, 9, 0.2, 1);
    const float centres[] = {0.1f, 0.5f, 0.9f};
    double want[3][2] = {};  // for a, and for b
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k) {
            const double dx = double(host[size_t(2 * i)]) - double(centres[k]),
                         dy = double(host[size_t(2 * i + 1)]) - double(centres[k]), r = dx * dx + dy * dy;
            want[k][0] += std::exp(-r), want[k][1] -= 2 * r * std::exp(-r);
        }
    const Device d = device();
    Array<float> y = d.zeros<float>(n), dy = d.full<float>(n, 1.0f), a = d.full<float>(3, 2.0f), b = d.full<float>(3, 1.0f);
    Array<float> da = d.zeros<float>(3), db = d.zeros<float>(3);
    Array<float, 2> c = d.upload(std::vector<float>{0.1f, 0.1f, 0.5f, 0.5f, 0.9f, 0.9f}).reshape({3, 2}),
                    dc = d.zeros<float>({3, 2});
    autodiff(Reverse, basis, ndrange(n), DuplicatedNoNeed(y, dy), Const(d.upload(host).reshape({n, 2})), Duplicated(a, da),
             Duplicated(b, db), Duplicated(c, dc));
    for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(da.get(k), want[k][0], 1e-5 * std::abs(want[k][0])) << "weight " << k;
        EXPECT_NEAR(db.get(k), want[k][1], 1e-5 * std::abs(want[k][1])) << "width " << k;
    }
}

/// Values that a condition selects contribute to the elements of the item, too.
const auto let_through = kernel("let_through", [](InOut<float> y, In<float, 2> x, In<float> a) {
    auto i = global_index();
    auto own = y[i] * 2.0f;
    Var sum = 0.0f;
    $for(k, range(a.size())) {
        Var term = a[k] * x(i, 0) + 0.5f;
        $if(term > 0.4f) { term += own * (term - 0.4f); }
        sum += term;
    }
    y[i] = sum;
});

/// A nested loop, with loads of parameters before and after it.
const auto projected = kernel("projected", [](Out<float> y, In<float, 2> x, In<float> a, In<float> b, In<float, 2> m) {
    auto i = global_index();
    Var sum = 0.0f;
    $for(k, range(a.size())) {
        auto height = a[k] * x(i, 1);
        Var along = 0.0f;
        $for(d, range(2)) { along += (m(k, d) - x(i, d)) * x(i, d); }
        sum += along + tanh(b[k] * x(i, 0)) + height;
    }
    y[i] = sum;
});

/// The largest term beside the sum: the reverse compares each term with the maximum.
const auto largest_too = kernel("largest_too", [](Out<float> y, In<float, 2> x, In<float> a, In<float> b) {
    auto i = global_index();
    Var sum = 0.0f, most = -100.0f;
    $for(k, range(a.size())) {
        auto term = sin(x(i, 0) * a[k]) * b[k] + sin(x(i, 1) * b[0]) * a[0];
        sum += 0.25f * term, most = max(most, term);
    }
    y[i] = sum - most;
});

TEST(AutodiffLoopPartialSums, ValuesThatLeaveConditions) {
    for (const int n : {100, 700}) expect_same_in_halves(let_through, ndrange(n), n, table(n, 2, 1), random(7, 2));
    suite::expect_derivatives(let_through, ndrange(300), random(300, 1), table(300, 2, 2), random(5, 3, 0.5, 2));
}

TEST(AutodiffLoopPartialSums, NestedLoops) {
    for (const int n : {100, 700})
        expect_same_in_halves(projected, ndrange(n), n, table(n, 2, 1), random(7, 2), random(7, 4), table(7, 2, 3));
    suite::expect_derivatives(projected, ndrange(300), random(300, 1), table(300, 2, 2), random(5, 3), random(5, 5),
                              table(5, 2, 4));
}

TEST(AutodiffLoopPartialSums, LargestTermBesideTheSum) {
    // The largest term of each item has the derivative -1, a part of which belongs to b[k]. Forward mode agrees, for many items.
    suite::expect_derivatives(largest_too, ndrange(640), random(640, 1), table(640, 2, 2), random(40, 3), random(40, 4));
}

}  // namespace
