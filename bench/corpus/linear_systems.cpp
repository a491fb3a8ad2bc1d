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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 45 : 400) {}
        int n;
        std::vector<double> matrix() const {
            std::vector<double> a = dominant(n, 1);
            for (size_t i = 0; i < size_t(n); ++i)
                for (size_t j = 0; j < i; ++j) a[j * size_t(n) + i] = a[i * size_t(n) + j];
            return a;
        }
    };
    return compared<Shape>(
        "cholesky", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> input = d.upload(s.matrix(), {s.n, s.n}), a = d.zeros<double>({s.n, s.n}),
                                   u = d.zeros<double>({s.n, s.n});
            return side(d, results_in(u), [=] {
                a.copy_from(input);
                for (int k = 0; k < s.n; ++k) {
                    row_of_factor(ndrange({k}, {s.n}), u, a, k);
                    if (k + 1 < s.n) subtract_row(ndrange({k + 1, k + 1}, {s.n, s.n}), a, u, k);
                }
            });
        },
        [](const Shape& s) {
            const Buffer<double> input(s.matrix()), a(input.size()), u(input.size());
            return side(results_in(u), [=] { openmp::cholesky(u, a, input, s.n); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 39 : 360) {}
        int n;
        std::vector<double> matrix() const { return dominant(n, 2); }
    };
    return compared<Shape>(
        "lu", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> input = d.upload(s.matrix(), {s.n, s.n}), a = d.zeros<double>({s.n, s.n});
            return side(d, results_in(a), [=] {
                a.copy_from(input);
                for (int k = 0; k + 1 < s.n; ++k) eliminate(ndrange({k + 1, k + 1}, {s.n, s.n}), a, k);
                divide_by_pivots(ndrange(s.n, s.n), a);
            });
        },
        [](const Shape& s) {
            const Buffer<double> input(s.matrix()), a(input.size());
            return side(results_in(a), [=] { openmp::lu(a, input, s.n); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 45 : 220), m(size == Size::test ? 333 : 1100) {}
        int n, m;
        std::vector<double> l() const { return dominant(n, 3); }
        std::vector<double> b() const { return uniform<double>(size_t(n) * size_t(m), 4, -10, 10); }
    };
    return compared<Shape>(
        "triangular_solve", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> l = d.upload(s.l(), {s.n, s.n}), b = d.upload(s.b(), {s.n, s.m}),
                                   x = d.zeros<double>({s.n, s.m});
            return side(d, results_in(x), [=] { substitute(ndrange(s.m), x, l, b); });
        },
        [](const Shape& s) {
            const Buffer<double> l(s.l()), b(s.b()), x(b.size());
            return side(results_in(x), [=] { openmp::triangular_solve(x, l, b, s.n, s.m); });
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
    struct Shape {
        explicit Shape(Size size) : count(size == Size::test ? 325 : 60'011) {}
        int count;
        /// A factor of the identity is added in the order 3 4 5 0 1 2 of the rows, so that pivots are far from the diagonal and no
        /// system is nearly singular.
        std::vector<double> a() const {
            std::vector<double> out = uniform<double>(size_t(36 * count), 5, -1, 1);
            for (size_t i = 0; i < 6; ++i)
                for (size_t s = 0; s < size_t(count); ++s) out[(i * 6 + (i + 3) % 6) * size_t(count) + s] += 4;
            return out;
        }
        std::vector<double> b() const { return uniform<double>(size_t(6 * count), 6, -1, 1); }
    };
    return compared<Shape>(
        "small_solve", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 3> a = d.upload(s.a(), {6, 6, s.count});
            const Array<double, 2> b = d.upload(s.b(), {6, s.count}), x = d.zeros<double>({6, s.count});
            return side(d, results_in(x), [=] { solve_one(ndrange(s.count), x, a, b); });
        },
        [](const Shape& s) {
            const Buffer<double> a(s.a()), b(s.b()), x(b.size());
            return side(results_in(x), [=] { openmp::small_solve(x, a, b, s.count); });
        });
}

}  // namespace

std::vector<Kernel> linear_systems() { return {cholesky(), lu(), triangular_solve(), small_solve()}; }

}  // namespace bench::corpus
