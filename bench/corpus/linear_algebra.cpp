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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 45 : 400), m(n + n / 16), l(n - n / 20) {}
        int n, m, l;
        double alpha = 1.5, beta = 1.2;
        std::vector<double> a() const { return uniform<double>(size_t(n) * size_t(l), 1); }
        std::vector<double> b() const { return uniform<double>(size_t(l) * size_t(m), 2); }
        std::vector<double> c() const { return uniform<double>(size_t(n) * size_t(m), 3); }
    };
    return compared<Shape>(
        "gemm", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> a = d.upload(s.a(), {s.n, s.l}), b = d.upload(s.b(), {s.l, s.m}),
                                   c = d.upload(s.c(), {s.n, s.m}), out = d.zeros<double>({s.n, s.m});
            return side(d, results_in(out), [=] { multiply(ndrange(s.n, s.m), out, a, b, c, s.alpha, s.beta); });
        },
        [](const Shape& s) {
            const Buffer<double> a(s.a()), b(s.b()), c(s.c()), out(c.size());
            return side(results_in(out), [=] { openmp::gemm(out, a, b, c, s.n, s.m, s.l, s.alpha, s.beta); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 53 : 420), l(size == Size::test ? 41 : 390) {}
        int n, l;
        double alpha = 1.5, beta = 1.2;
        std::vector<double> a() const { return uniform<double>(size_t(n) * size_t(l), 1); }
        std::vector<double> c() const { return uniform<double>(size_t(n) * size_t(n), 2); }
    };
    return compared<Shape>(
        "syrk", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> a = d.upload(s.a(), {s.n, s.l}), start = d.upload(s.c(), {s.n, s.n}),
                                   c = d.zeros<double>({s.n, s.n});
            return side(d, results_in(c), [=] {
                c.copy_from(start);
                add_square(ndrange(s.n, s.n), c, a, s.alpha, s.beta);
            });
        },
        [](const Shape& s) {
            const Buffer<double> a(s.a()), transposed(a.size()), start(s.c()), c(start.size());
            return side(results_in(c), [=] { openmp::syrk(c, transposed, a, start, s.n, s.l, s.alpha, s.beta); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 47 : 420), m(size == Size::test ? 51 : 450) {}
        int n, m;
        double alpha = 1.5;
        std::vector<double> a() const { return uniform<double>(size_t(n) * size_t(n), 1); }
        std::vector<double> b() const { return uniform<double>(size_t(n) * size_t(m), 2); }
    };
    return compared<Shape>(
        "trmm", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> a = d.upload(s.a(), {s.n, s.n}), b = d.upload(s.b(), {s.n, s.m}),
                                   c = d.zeros<double>({s.n, s.m});
            return side(d, results_in(c), [=] { multiply_triangular(ndrange(s.n, s.m), c, a, b, s.alpha); });
        },
        [](const Shape& s) {
            const Buffer<double> a(s.a()), b(s.b()), c(b.size());
            return side(results_in(c), [=] { openmp::trmm(c, a, b, s.n, s.m, s.alpha); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 203 : 1500) {}
        int n;
        double alpha = 0.01, beta = 0.02;
        std::vector<double> matrix() const { return uniform<double>(size_t(n) * size_t(n), 1); }
        std::vector<double> vector(uint32_t seed) const { return uniform<double>(size_t(n), seed); }
    };
    return compared<Shape>(
        "gemver", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> a = d.upload(s.matrix(), {s.n, s.n}), updated = d.zeros<double>({s.n, s.n});
            const Array<double> u1 = d.upload(s.vector(2)), v1 = d.upload(s.vector(3)), u2 = d.upload(s.vector(4)),
                                v2 = d.upload(s.vector(5)), y = d.upload(s.vector(6)), z = d.upload(s.vector(7)),
                                x = d.zeros<double>(s.n), w = d.zeros<double>(s.n);
            return side(d, results_in(updated, x, w), [=] {
                update_and_project(ndrange(s.n), updated, x, a, u1, v1, u2, v2, y, z, s.beta);
                rows_times(ndrange(s.n, 64), w, updated, x, s.alpha);
            });
        },
        [](const Shape& s) {
            const Buffer<double> a(s.matrix()), u1(s.vector(2)), v1(s.vector(3)), u2(s.vector(4)), v2(s.vector(5)),
                y(s.vector(6)), z(s.vector(7)), updated(a.size()), x(y.size()), w(y.size());
            return side(results_in(updated, x, w),
                        [=] { openmp::gemver({updated, x, w, a, u1, v1, u2, v2, y, z, s.n, s.alpha, s.beta}); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 171 : 800), m(size == Size::test ? 293 : 700) {}
        int n, m, steps = 8;
        std::vector<double> a() const { return uniform<double>(size_t(n) * size_t(m), 1, 0, 0.01); }
    };
    return compared<Shape>(
        "power_iteration", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> a = d.upload(s.a(), {s.n, s.m});
            const Array<double> u = d.zeros<double>(s.n), w = d.zeros<double>(s.m), v = d.zeros<double>(s.m),
                                length = d.zeros<double>(1);
            return side(d, results_in(v, length), [=] {
                v.fill(1);
                for (int t = 0; t < s.steps; ++t) {
                    by_rows(ndrange(s.n), u, a, v);
                    by_columns(ndrange(s.m), w, a, u);
                    normalized(ndrange(256), v, length, w);
                }
            });
        },
        [](const Shape& s) {
            const Buffer<double> a(s.a()), w(size_t(s.m)), v(size_t(s.m)), length(1);
            return side(results_in(v, length), [=] { openmp::power_iteration(v, length, w, a, s.n, s.m, s.steps); });
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
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 83 : 500), m(size == Size::test ? 45 : 380) {}
        int n, m;
        std::vector<double> samples() const { return uniform<double>(size_t(n) * size_t(m), 1, -1, 3); }
    };
    return compared<Shape>(
        "covariance", 1e-12,
        [](const Device& d, const Shape& s) {
            const Array<double, 2> samples = d.upload(s.samples(), {s.n, s.m}), centered = d.zeros<double>({s.n, s.m}),
                                   covariances = d.zeros<double>({s.m, s.m});
            const Array<double> mean = d.zeros<double>(s.m);
            return side(d, results_in(covariances, centered, mean), [=] {
                mean_of_columns(ndrange(s.m), mean, samples);
                center(ndrange(s.n, s.m), centered, samples, mean);
                products_of_columns(ndrange(s.m, s.m), covariances, centered);
            });
        },
        [](const Shape& s) {
            const Buffer<double> samples(s.samples()), centered(samples.size()), mean(size_t(s.m)),
                covariances(size_t(s.m) * size_t(s.m));
            return side(results_in(covariances, centered, mean),
                        [=] { openmp::covariance(covariances, centered, mean, samples, s.n, s.m); });
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
    return compared<Shape>(
        "floyd_warshall", 0,
        [](const Device& d, const Shape& s) {
            const Array<int, 2> edges = d.upload(s.edges(), {s.n, s.n}), paths = d.zeros<int>({s.n, s.n});
            return side(d, results_in(paths), [=] {
                paths.copy_from(edges);
                for (int k = 0; k < s.n; ++k) go_through(ndrange(s.n, s.n), paths, k);
            });
        },
        [](const Shape& s) {
            const Buffer<int> edges(s.edges()), paths(edges.size());
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
