// Products of dense matrices and vectors in double, and shortest paths, which are a product as well.
#include "bench/corpus/linear_algebra.h"

#include "bench/corpus/corpus.h"
#include "bench/corpus/linear_algebra_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- gemm: alpha A B + beta C, one item an element ----
const auto multiply =
    kernel("gemm", [](Out<double, 2> d, In<double, 2> a, In<double, 2> b, In<double, 2> c, Val<double> alpha, Val<double> beta) {
        auto [i, j] = global_index<2>();
        Var<double> sum = 0.0;
        $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
        d(i, j) = alpha * sum + beta * c(i, j);
    });

Kernel gemm() {
    return compared("gemm", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 45 : 400, m = n + n / 16, l = n - n / 20;
        const double alpha = 1.5, beta = 1.2;
        const auto a = on.of(uniform<double>(size_t(n) * size_t(l), 1), {n, l}),
                   b = on.of(uniform<double>(size_t(l) * size_t(m), 2), {l, m}),
                   c = on.of(uniform<double>(size_t(n) * size_t(m), 3), {n, m}), out = zeros<double>(on, {n, m});
        if constexpr (on.ours)
            return side(on.device, results_in(out), [=] { multiply(ndrange(n, m), out, a, b, c, alpha, beta); });
        else
            return side(results_in(out), [=] { openmp::gemm(out, a, b, c, n, m, l, alpha, beta); });
    });
}

// ---- syrk: the lower triangle of alpha A A^T + beta C, in place, by tiles in local memory ----
const auto add_square = kernel("syrk", static_group<16, 16>, whole_groups,
                               [](InOut<double, 2> c, In<double, 2> a, Val<double> alpha, Val<double> beta) {
                                   Local<double, 16, 17> upper, left;
                                   auto [i, j] = global_index<2>();
                                   auto [y, x] = local_index<2>();
                                   auto [tile_row, tile_column] = group_index<2>();
                                   $if(tile_column > tile_row) { $return; }
                                   auto n = a.size(0), l = a.size(1);
                                   auto element = [&](auto row, auto k) {
                                       Var<double> v = 0.0;
                                       $if(row < n && k < l) { v = a(row, k); }
                                       return v;
                                   };
                                   Var<double> sum = 0.0;
                                   $for(from, range(0, l, 16)) {
                                       left(y, x) = element(i, from + x);
                                       upper(x, y) = element(tile_column * 16 + y, from + x);
                                       synchronize();
                                       $for(k, range(16)) { sum += left(y, k) * upper(k, x); }
                                       synchronize();
                                   }
                                   $if(in_range() && j <= i) { c(i, j) = alpha * sum + beta * c(i, j); }
                               });

Kernel syrk() {
    return compared("syrk", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 53 : 420, l = size == Size::test ? 41 : 390;
        const double alpha = 1.5, beta = 1.2;
        const auto a = on.of(uniform<double>(size_t(n) * size_t(l), 1), {n, l}),
                   start = on.of(uniform<double>(size_t(n) * size_t(n), 2), {n, n}), c = zeros<double>(on, {n, n});
        if constexpr (on.ours) {
            return side(on.device, results_in(c), [=] {
                c.copy_from(start);
                add_square(ndrange(n, n), c, a, alpha, beta);
            });
        } else {
            const Buffer<double> transposed(a.size());
            return side(results_in(c), [=] { openmp::syrk(c, transposed, a, start, n, l, alpha, beta); });
        }
    });
}

// ---- trmm: alpha A^T B, where A is lower triangular with a diagonal of ones ----
const auto multiply_triangular = kernel("trmm", [](Out<double, 2> c, In<double, 2> a, In<double, 2> b, Val<double> alpha) {
    auto [i, j] = global_index<2>();
    Var sum = b(i, j);
    $for(k, range(i + 1, a.size(0))) { sum += a(k, i) * b(k, j); }
    c(i, j) = alpha * sum;
});

Kernel trmm() {
    return compared("trmm", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 47 : 420, m = size == Size::test ? 51 : 450;
        const double alpha = 1.5;
        const auto a = on.of(uniform<double>(size_t(n) * size_t(n), 1), {n, n}),
                   b = on.of(uniform<double>(size_t(n) * size_t(m), 2), {n, m}), c = zeros<double>(on, {n, m});
        if constexpr (on.ours)
            return side(on.device, results_in(c), [=] { multiply_triangular(ndrange(n, m), c, a, b, alpha); });
        else
            return side(results_in(c), [=] { openmp::trmm(c, a, b, n, m, alpha); });
    });
}

// ---- gemver: a rank-2 update of A and x = beta A^T y + z, one item a column; then w = alpha A x, one group a row ----
const auto update_and_project =
    kernel("gemver_update", [](Out<double, 2> updated, Out<double> x, In<double, 2> a, In<double> u1, In<double> v1,
                               In<double> u2, In<double> v2, In<double> y, In<double> z, Val<double> beta) {
        auto j = global_index();
        Var<double> sum = 0.0;
        $for(i, range(a.size(0))) {
            auto v = a(i, j) + u1[i] * v1[j] + u2[i] * v2[j];
            updated(i, j) = v;
            sum += v * y[i];
        }
        x[j] = beta * sum + z[j];
    });
const auto rows_times =
    kernel("gemver_rows", static_group<1, 64>, [](Out<double> w, In<double, 2> a, In<double> x, Val<double> alpha) {
        auto [i, lane] = global_index<2>();
        Var<double> part = 0.0;
        $for(j, range(lane, a.size(1), 64)) { part += a(i, j) * x[j]; }
        auto sum = group::reduce_add(part);
        $if(lane == 0) { w[i] = alpha * sum; }
    });

Kernel gemver() {
    return compared("gemver", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 203 : 1500;
        const double alpha = 0.01, beta = 0.02;
        const auto vector = [&](uint32_t seed) { return uniform<double>(size_t(n), seed); };
        const auto a = on.of(uniform<double>(size_t(n) * size_t(n), 1), {n, n}), updated = zeros<double>(on, {n, n});
        const auto u1 = on.of(vector(2)), v1 = on.of(vector(3)), u2 = on.of(vector(4)), v2 = on.of(vector(5)),
                   y = on.of(vector(6)), z = on.of(vector(7)), x = zeros<double>(on, n), w = zeros<double>(on, n);
        if constexpr (on.ours)
            return side(on.device, results_in(updated, x, w), [=] {
                update_and_project(ndrange(n), updated, x, a, u1, v1, u2, v2, y, z, beta);
                rows_times(ndrange(n, 64), w, updated, x, alpha);
            });
        else
            return side(results_in(updated, x, w),
                        [=] { openmp::gemver({updated, x, w, a, u1, v1, u2, v2, y, z, n, alpha, beta}); });
    });
}

// ---- power_iteration: steps of v = A^T (A v) and its length, for the largest singular value ----
const auto by_rows = kernel("power_rows", [](Out<double> u, In<double, 2> a, In<double> v) {
    auto i = global_index();
    Var<double> sum = 0.0;
    $for(j, range(a.size(1))) { sum += a(i, j) * v[j]; }
    u[i] = sum;
});
const auto by_columns = kernel("power_columns", [](Out<double> w, In<double, 2> a, In<double> u) {
    auto j = global_index();
    Var<double> sum = 0.0;
    $for(i, range(a.size(0))) { sum += a(i, j) * u[i]; }
    w[j] = sum;
});
const auto normalized = kernel("power_length", static_group<256>, [](Out<double> v, Out<double> length, In<double> w) {
    auto lane = local_index();
    auto m = w.size(0);
    Var<double> part = 0.0;
    $for(j, range(lane, m, 256)) { part += w[j] * w[j]; }
    auto all = sqrt(group::reduce_add(part));
    $for(j, range(lane, m, 256)) { v[j] = w[j] / all; }
    $if(lane == 0) { length[0] = all; }
});

Kernel power_iteration() {
    return compared("power_iteration", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 171 : 800, m = size == Size::test ? 293 : 700, steps = 8;
        const auto a = on.of(uniform<double>(size_t(n) * size_t(m), 1, 0, 0.01), {n, m});
        const auto u = zeros<double>(on, n), w = zeros<double>(on, m), v = zeros<double>(on, m), length = zeros<double>(on, 1);
        if constexpr (on.ours)
            return side(on.device, results_in(v, length), [=] {
                v.fill(1);
                for (int t = 0; t < steps; ++t) {
                    by_rows(ndrange(n), u, a, v);
                    by_columns(ndrange(m), w, a, u);
                    normalized(ndrange(256), v, length, w);
                }
            });
        else
            return side(results_in(v, length), [=] { openmp::power_iteration(v, length, w, a, n, m, steps); });
    });
}

// ---- covariance: of the columns of samples, in three launches: means, centred samples, products for half of the pairs ----
const auto mean_of_columns = kernel("covariance_mean", [](Out<double> mean, In<double, 2> samples) {
    auto j = global_index();
    auto n = samples.size(0);
    Var<double> sum = 0.0;
    $for(k, range(n)) { sum += samples(k, j); }
    mean[j] = sum / cast<double>(n);
});
const auto center = kernel("covariance_center", [](Out<double, 2> centered, In<double, 2> samples, In<double> mean) {
    auto [k, j] = global_index<2>();
    centered(k, j) = samples(k, j) - mean[j];
});
const auto products_of_columns = kernel("covariance_products", [](Out<double, 2> covariances, In<double, 2> centered) {
    auto [i, j] = global_index<2>();
    auto n = centered.size(0);
    $if(i <= j) {
        Var<double> sum = 0.0;
        $for(k, range(n)) { sum += centered(k, i) * centered(k, j); }
        auto covariance = sum / cast<double>(n - 1);
        covariances(i, j) = covariance;
        covariances(j, i) = covariance;
    }
});

Kernel covariance() {
    return compared("covariance", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 83 : 500, m = size == Size::test ? 45 : 380;
        const auto samples = on.of(uniform<double>(size_t(n) * size_t(m), 1, -1, 3), {n, m}),
                   centered = zeros<double>(on, {n, m}), covariances = zeros<double>(on, {m, m});
        const auto mean = zeros<double>(on, m);
        if constexpr (on.ours)
            return side(on.device, results_in(covariances, centered, mean), [=] {
                mean_of_columns(ndrange(m), mean, samples);
                center(ndrange(n, m), centered, samples, mean);
                products_of_columns(ndrange(m, m), covariances, centered);
            });
        else
            return side(results_in(covariances, centered, mean),
                        [=] { openmp::covariance(covariances, centered, mean, samples, n, m); });
    });
}

// ---- floyd_warshall: lengths of all shortest paths, one launch for each node that paths may go through ----
const auto go_through = kernel("floyd_warshall", [](InOut<int, 2> paths, Val<int> k) {
    auto [i, j] = global_index<2>();
    auto length = paths(i, k) + paths(k, j);
    $if(length < paths(i, j)) { paths(i, j) = length; }  // never in row or column k, which the others read
});

Kernel floyd_warshall() {
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 37 : 400) {}
        int n;
        /// About one edge in eight is there; the others are longer than any path.
        std::vector<int> edges() const {
            const size_t count = size_t(n) * size_t(n);
            std::vector<int> out = uniform<int>(count, 1, 1, 1000);
            const std::vector<int> there = uniform<int>(count, 2, 0, 8);
            for (size_t at = 0; at < count; ++at)
                if (there[at] > 0) out[at] = 1'000'000;
            for (size_t i = 0; i < size_t(n); ++i) out[i * size_t(n) + i] = 0;
            return out;
        }
    };
    return compared<Shape>("floyd_warshall", 0, [](auto on, const Shape& s) {
        const auto edges = on.of(s.edges(), {s.n, s.n}), paths = zeros<int>(on, {s.n, s.n});
        if constexpr (on.ours)
            return side(on.device, results_in(paths), [=] {
                paths.copy_from(edges);
                for (int k = 0; k < s.n; ++k) go_through(ndrange(s.n, s.n), paths, k);
            });
        else
            return side(results_in(paths), [=] { openmp::floyd_warshall(paths, edges, s.n); });
    });
}

}  // namespace

std::vector<Kernel> linear_algebra() {
    std::vector<Kernel> all = {gemm(), syrk(), trmm(), gemver(), power_iteration(), covariance(), floyd_warshall()};
    for (Kernel& k : linear_systems()) all.push_back(std::move(k));
    return all;
}

}  // namespace bench::corpus
