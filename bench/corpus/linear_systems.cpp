// Factorizations and solutions of systems of linear equations in double.
#include "bench/corpus/corpus.h"
#include "bench/corpus/linear_algebra.h"
#include "bench/corpus/linear_systems_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

/// A matrix with a diagonal that dominates, so that elimination needs no pivots.
std::vector<double> dominant(int n, uint32_t seed) {
    std::vector<double> a = uniform<double>(size_t(n) * size_t(n), seed, -1, 1);
    for (size_t i = 0; i < size_t(n); ++i) a[i * size_t(n) + i] += n;
    return a;
}

// ---- cholesky: U^T U, right-looking; each row takes one launch for the factor's row and one for the triangle that remains ----
const auto row_of_factor = kernel("cholesky_row", [](InOut<double, 2> u, In<double, 2> a, Val<int> k) {
    auto j = global_index();
    u(k, j) = a(k, j) / sqrt(a(k, k));
});
const auto subtract_row = kernel("cholesky_rest", [](InOut<double, 2> a, In<double, 2> u, Val<int> k) {
    auto [i, j] = global_index<2>();
    $if(i <= j) { a(i, j) -= u(k, i) * u(k, j); }
});

Kernel cholesky() {
    return compared("cholesky", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 45 : 400;
        const auto matrix = [&] {
            std::vector<double> a = dominant(n, 1);
            for (size_t i = 0; i < size_t(n); ++i)
                for (size_t j = 0; j < i; ++j) a[j * size_t(n) + i] = a[i * size_t(n) + j];
            return a;
        };
        const auto input = on.of(matrix(), {n, n}), a = zeros<double>(on, {n, n}), u = zeros<double>(on, {n, n});
        if constexpr (on.ours)
            return side(on.device, results_in(u), [=] {
                a.copy_from(input);
                for (int k = 0; k < n; ++k) {
                    row_of_factor(ndrange({k}, {n}), u, a, k);
                    if (k + 1 < n) subtract_row(ndrange({k + 1, k + 1}, {n, n}), a, u, k);
                }
            });
        else
            return side(results_in(u), [=] { openmp::cholesky(u, a, input, n); });
    });
}

// ---- lu: right-looking without pivots, one launch a column; a last one divides the columns below the diagonal ----
const auto eliminate = kernel("lu_eliminate", [](InOut<double, 2> a, Val<int> k) {
    auto [i, j] = global_index<2>();
    a(i, j) -= a(i, k) / a(k, k) * a(k, j);
});
const auto divide_by_pivots = kernel("lu_divide", [](InOut<double, 2> a) {
    auto [i, j] = global_index<2>();
    $if(j < i) { a(i, j) /= a(j, j); }
});

Kernel lu() {
    return compared("lu", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 39 : 360;
        const auto input = on.of(dominant(n, 2), {n, n}), a = zeros<double>(on, {n, n});
        if constexpr (on.ours)
            return side(on.device, results_in(a), [=] {
                a.copy_from(input);
                for (int k = 0; k + 1 < n; ++k) eliminate(ndrange({k + 1, k + 1}, {n, n}), a, k);
                divide_by_pivots(ndrange(n, n), a);
            });
        else
            return side(results_in(a), [=] { openmp::lu(a, input, n); });
    });
}

// ---- triangular_solve: L X = B for many columns of B, one item a column ----
const auto substitute = kernel("triangular_solve", [](InOut<double, 2> x, In<double, 2> l, In<double, 2> b) {
    auto c = global_index();
    $for(i, range(l.size(0))) {
        Var sum = b(i, c);
        $for(k, range(i)) { sum -= l(i, k) * x(k, c); }
        x(i, c) = sum / l(i, i);
    }
});

Kernel triangular_solve() {
    return compared("triangular_solve", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 45 : 220, m = size == Size::test ? 333 : 1100;
        const auto l = on.of(dominant(n, 3), {n, n}), b = on.of(uniform<double>(size_t(n) * size_t(m), 4, -10, 10), {n, m}),
                   x = zeros<double>(on, {n, m});
        if constexpr (on.ours)
            return side(on.device, results_in(x), [=] { substitute(ndrange(m), x, l, b); });
        else
            return side(results_in(x), [=] { openmp::triangular_solve(x, l, b, n, m); });
    });
}

// ---- small_solve: many systems of 6 equations by elimination with partial pivoting, one item a system ----
const auto solve_one = kernel("small_solve", [](Out<double, 2> x, In<double, 3> a, In<double, 2> b) {
    constexpr int n = 6;
    auto s = global_index();
    Private<double, n, n + 1> m;
    $for(i, range(n)) {
        $for(j, range(n)) { m(i, j) = a(i, j, s); }
        m(i, n) = b(i, s);
    }
    $for(k, range(n)) {
        Var pivot = k;
        $for(i, range(k + 1, n)) {
            $if(abs(m(i, k)) > abs(m(pivot, k))) { pivot = i; }
        }
        $if(pivot != k) {
            $for(j, range(k, n + 1)) {
                auto kept = m(k, j);
                m(k, j) = m(pivot, j);
                m(pivot, j) = kept;
            }
        }
        $for(i, range(k + 1, n)) {
            auto factor = m(i, k) / m(k, k);
            $for(j, range(k + 1, n + 1)) { m(i, j) -= factor * m(k, j); }
        }
    }
    $for(back, range(n)) {
        auto i = n - 1 - back;
        Var sum = m(i, n);
        $for(j, range(i + 1, n)) { sum -= m(i, j) * m(j, n); }
        m(i, n) = sum / m(i, i);
        x(i, s) = m(i, n);
    }
});

Kernel small_solve() {
    return compared("small_solve", 1e-12, [](auto on, Size size) {
        const int count = size == Size::test ? 325 : 60'011;
        // A factor of the identity is added in the order 3 4 5 0 1 2 of the rows, so that pivots are far from the diagonal and no
        // system is nearly singular.
        const auto host_a = [&] {
            std::vector<double> out = uniform<double>(size_t(36 * count), 5, -1, 1);
            for (size_t i = 0; i < 6; ++i)
                for (size_t s = 0; s < size_t(count); ++s) out[(i * 6 + (i + 3) % 6) * size_t(count) + s] += 4;
            return out;
        };
        const auto a = on.of(host_a(), {6, 6, count});
        const auto b = on.of(uniform<double>(size_t(6 * count), 6, -1, 1), {6, count}), x = zeros<double>(on, {6, count});
        if constexpr (on.ours)
            return side(on.device, results_in(x), [=] { solve_one(ndrange(count), x, a, b); });
        else
            return side(results_in(x), [=] { openmp::small_solve(x, a, b, count); });
    });
}

}  // namespace

std::vector<Kernel> linear_systems() { return {cholesky(), lu(), triangular_solve(), small_solve()}; }

}  // namespace bench::corpus
