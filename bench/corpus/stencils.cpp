// Stencils in time, one field each.
#include "bench/corpus/stencils.h"

#include "bench/corpus/corpus.h"
#include "bench/corpus/stencils_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- jacobi_2d: steps of a five-point average in double, the boundary fixed ----
const auto jacobi_step = kernel("jacobi_2d", [](Out<double, 2> next, In<double, 2> now) {
    auto [i, j] = global_index<2>();
    next(i, j) = 0.2 * (now(i, j) + now(i, j - 1) + now(i, j + 1) + now(i - 1, j) + now(i + 1, j));
});

Kernel jacobi_2d() {
    return compared("jacobi_2d", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 61 : 1300, steps = size == Size::test ? 4 : 10;
        const auto input = on.of(uniform<double>(size_t(n) * size_t(n), 1), {n, n}), a = zeros<double>(on, {n, n}),
                   b = zeros<double>(on, {n, n});
        if constexpr (on.ours)
            return side(on.device, results_in(a), [=] {
                a.copy_from(input), b.copy_from(input);
                const Range inside = ndrange({1, 1}, {n - 1, n - 1});
                for (int t = 0; t < steps; t += 2) jacobi_step(inside, b, a), jacobi_step(inside, a, b);
            });
        else
            return side(results_in(a), [=] { openmp::jacobi_2d(a, b, input, n, steps); });
    });
}

// ---- heat_3d: explicit steps of diffusion with seven points in double, the boundary fixed ----
const auto heat_step = kernel("heat_3d", [](Out<double, 3> next, In<double, 3> now, Val<double> rate) {
    auto [i, j, k] = global_index<3>();
    auto around = now(i - 1, j, k) + now(i + 1, j, k) + now(i, j - 1, k) + now(i, j + 1, k) + now(i, j, k - 1) + now(i, j, k + 1);
    next(i, j, k) = now(i, j, k) + rate * (around - 6.0 * now(i, j, k));
});

Kernel heat_3d() {
    return compared("heat_3d", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 19 : 120, steps = size == Size::test ? 4 : 8;
        const double rate = 0.125;
        const auto input = on.of(uniform<double>(size_t(n) * size_t(n) * size_t(n), 1), {n, n, n}),
                   a = zeros<double>(on, {n, n, n}), b = zeros<double>(on, {n, n, n});
        if constexpr (on.ours)
            return side(on.device, results_in(a), [=] {
                a.copy_from(input), b.copy_from(input);
                const Range inside = ndrange({1, 1, 1}, {n - 1, n - 1, n - 1});
                for (int t = 0; t < steps; t += 2) heat_step(inside, b, a, rate), heat_step(inside, a, b, rate);
            });
        else
            return side(results_in(a), [=] { openmp::heat_3d(a, b, input, n, steps, rate); });
    });
}

// ---- gauss_seidel: red-black sweeps for Poisson's equation in place, two launches a sweep, one item a point of the colour ----
const auto relax = kernel("gauss_seidel", [](InOut<double, 2> u, In<double, 2> source, Val<int> colour) {
    auto [i, pair] = global_index<2>();
    auto j = 1 + 2 * pair + ((i + 1 + colour) & 1);
    $if(j < u.size(1) - 1) { u(i, j) = 0.25 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1)) - source(i, j); }
});

Kernel gauss_seidel() {
    return compared("gauss_seidel", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 62 : 1001, sweeps = size == Size::test ? 3 : 8;
        const auto input = on.of(uniform<double>(size_t(n) * size_t(n), 1), {n, n}),
                   source = on.of(uniform<double>(size_t(n) * size_t(n), 2, -0.1, 0.1), {n, n}), u = zeros<double>(on, {n, n});
        if constexpr (on.ours)
            return side(on.device, results_in(u), [=] {
                u.copy_from(input);
                const Range points = ndrange({1, 0}, {n - 1, (n - 1) / 2});
                for (int t = 0; t < sweeps; ++t) relax(points, u, source, 0), relax(points, u, source, 1);
            });
        else
            return side(results_in(u), [=] { openmp::gauss_seidel(u, input, source, n, sweeps); });
    });
}

// ---- adi: alternating directions for diffusion; each half step solves tridiagonal systems, one item a column, then a row ----
const auto implicit_in_columns =
    kernel("adi_columns", [](InOut<double, 2> half, In<double, 2> u, In<double> factors, Val<double> rate) {
        auto j = global_index();
        auto n = u.size(0);
        auto middle = 1.0 / rate - 2.0;
        Var<double> before = 0.0;
        $for(i, range(1, n - 1)) {
            before = (u(i, j - 1) + middle * u(i, j) + u(i, j + 1) + before) * factors[i];
            half(i, j) = before;
        }
        Var<double> after = 0.0;
        $for(i, range(n - 2, 0, -1)) {
            after = half(i, j) + factors[i] * after;
            half(i, j) = after;
        }
    });
const auto implicit_in_rows =
    kernel("adi_rows", [](InOut<double, 2> u, In<double, 2> half, In<double> factors, Val<double> rate) {
        auto i = global_index();
        auto n = u.size(1);
        auto middle = 1.0 / rate - 2.0;
        Var<double> before = 0.0;
        $for(j, range(1, n - 1)) {
            before = (half(i - 1, j) + middle * half(i, j) + half(i + 1, j) + before) * factors[j];
            u(i, j) = before;
        }
        Var<double> after = 0.0;
        $for(j, range(n - 2, 0, -1)) {
            after = u(i, j) + factors[j] * after;
            u(i, j) = after;
        }
    });

Kernel adi() {
    return compared("adi", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 53 : 700, steps = size == Size::test ? 3 : 5;
        const double rate = 0.8;
        const auto start = [&] {
            std::vector<double> u = uniform<double>(size_t(n) * size_t(n), 1);
            for (size_t i = 0, last = size_t(n) - 1; i <= last; ++i)
                for (const size_t at : {i, last * size_t(n) + i, i * size_t(n), i * size_t(n) + last}) u[at] = 0;
            return u;
        };
        // Elimination in rate (2 u - left - right) + u = right-hand side: line i then adds factor i of its successor.
        const auto host_factors = [&] {
            std::vector<double> out(size_t(n), 0.0);
            for (size_t i = 1; i + 1 < size_t(n); ++i) out[i] = rate / (1 + 2 * rate - rate * out[i - 1]);
            return out;
        };
        const auto input = on.of(start(), {n, n}), u = zeros<double>(on, {n, n}), half = zeros<double>(on, {n, n});
        const auto factors = on.of(host_factors());
        if constexpr (on.ours)
            return side(on.device, results_in(u), [=] {
                u.copy_from(input);
                const Range lines = ndrange({1}, {n - 1});
                for (int t = 0; t < steps; ++t) {
                    implicit_in_columns(lines, half, u, factors, rate);
                    implicit_in_rows(lines, u, half, factors, rate);
                }
            });
        else
            return side(results_in(u), [=] { openmp::adi(u, half, input, factors, n, steps, rate); });
    });
}

// ---- life: generations of the game of life on a torus of bytes ----
const auto generation = kernel("life", [](Out<uint8_t, 2> next, In<uint8_t, 2> now) {
    auto [i, j] = global_index<2>();
    auto rows = now.size(0), columns = now.size(1);
    auto above = select(i > 0, i - 1, rows - 1), below = select(i < rows - 1, i + 1, 0);
    auto left = select(j > 0, j - 1, columns - 1), right = select(j < columns - 1, j + 1, 0);
    auto around = now(above, left) + now(above, j) + now(above, right) + now(i, left) + now(i, right) + now(below, left) +
                  now(below, j) + now(below, right);
    next(i, j) = cast<uint8_t>(around == 3 || (around == 2 && now(i, j) == 1));
});

Kernel life() {
    return compared("life", 0, [](auto on, Size size) {
        const int rows = size == Size::test ? 61 : 1500, columns = size == Size::test ? 75 : 2001,
                  generations = size == Size::test ? 4 : 20;
        const auto input = on.of(uniform<uint8_t>(size_t(rows) * size_t(columns), 1, 0, 2), {rows, columns}),
                   a = zeros<uint8_t>(on, {rows, columns}), b = zeros<uint8_t>(on, {rows, columns});
        if constexpr (on.ours)
            return side(on.device, results_in(a), [=] {
                a.copy_from(input);
                const Range cells = ndrange(rows, columns);
                for (int t = 0; t < generations; t += 2) generation(cells, b, a), generation(cells, a, b);
            });
        else
            return side(results_in(a), [=] { openmp::life(a, b, input, rows, columns, generations); });
    });
}

}  // namespace

std::vector<Kernel> stencils() {
    std::vector<Kernel> all = {jacobi_2d(), heat_3d(), gauss_seidel(), adi(), life()};
    for (Kernel& k : simulations()) all.push_back(std::move(k));
    return all;
}

}  // namespace bench::corpus
