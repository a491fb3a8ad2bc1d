// Gradients of products of matrices and of sums over rows.
#include "bench/corpus/gradients.h"
#include "bench/corpus/irregular.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- gemm: a product of matrices by plain loops ----
const auto multiply = kernel("multiply", [](Out<double, 2> c, In<double, 2> a, In<double, 2> b) {
    auto [i, j] = global_index<2>();
    Var sum = 0.0;
    $for(k, range(a.size(1))) { sum += a(i, k) * b(k, j); }
    c(i, j) = sum;
});
/// The transpose lets neighbouring items of `left_by_hand` read neighbouring elements.
const auto transposed = kernel("transposed", [](Out<double, 2> to, In<double, 2> from) {
    auto [i, j] = global_index<2>();
    to(i, j) = from(j, i);
});
const auto left_by_hand = kernel("left_by_hand", [](InOut<double, 2> da, In<double, 2> dc, In<double, 2> b_transposed) {
    auto [i, k] = global_index<2>();
    Var sum = 0.0;
    $for(j, range(dc.size(1))) { sum += dc(i, j) * b_transposed(j, k); }
    da(i, k) += sum;
});
const auto right_by_hand = kernel("right_by_hand", [](InOut<double, 2> db, In<double, 2> dc, In<double, 2> a) {
    auto [k, j] = global_index<2>();
    Var sum = 0.0;
    $for(i, range(a.size(0))) { sum += a(i, k) * dc(i, j); }
    db(k, j) += sum;
});

Gradient gemm() {
    return {"gemm", 1e-10, [](const Device& d, Size size) {
                const bool test = size == Size::test;
                const int n = test ? 33 : 361, m = test ? 29 : 333, inner = test ? 37 : 347;
                const auto random = [&](int rows, int columns, uint32_t seed) {
                    return d.upload(uniform<double>(size_t(rows) * size_t(columns), seed, -1, 1), {rows, columns});
                };
                const Array<double, 2> a = random(n, inner, 1), b = random(inner, m, 2), seeds = random(n, m, 3),
                                       c = d.zeros<double>({n, m}), dc = d.zeros<double>({n, m}),
                                       da = d.zeros<double>({n, inner}), db = d.zeros<double>({inner, m}),
                                       b_transposed = d.zeros<double>({m, inner});
                return sides(
                    d, results_in(da, db, dc), [=] { da.fill(0), db.fill(0), dc.copy_from(seeds); },
                    [=] { multiply(ndrange(n, m), c, a, b); },
                    [=] {
                        autodiff(Reverse, multiply, ndrange(n, m), DuplicatedNoNeed(c, dc), Duplicated(a, da), Duplicated(b, db));
                    },
                    [=] {
                        transposed(ndrange(m, inner), b_transposed, b);
                        left_by_hand(ndrange(n, inner), da, dc, b_transposed), right_by_hand(ndrange(inner, m), db, dc, a);
                        dc.fill(0);
                    });
            }};
}

// ---- spmv_csr: a sparse matrix times a vector; derivatives in the matrix's values and the vector ----
const auto sparse_product =
    kernel("sparse_product", [](Out<double> y, In<double> values, In<double> x, In<int> starts, In<int> columns) {
        auto row = global_index();
        Var sum = 0.0;
        $for(e, range(starts[row], starts[row + 1])) { sum += values[e] * x[columns[e]]; }
        y[row] = sum;
    });
const auto sparse_by_hand = kernel("sparse_by_hand", [](InOut<double> dy, InOut<double> dvalues, InOut<double> dx,
                                                        In<double> values, In<double> x, In<int> starts, In<int> columns) {
    auto row = global_index();
    const Val<double> g = dy[row];
    $for(e, range(starts[row], starts[row + 1])) {
        auto column = columns[e];
        dvalues[e] += g * x[column];
        atomic_add(dx[column], g * values[e]);
    }
    dy[row] = 0.0;
});

Gradient spmv_csr() {
    return {"spmv_csr", 1e-10, [](const Device& d, Size size) {
                const int n = size == Size::test ? 301 : 100001;
                const Rows pattern = Rows::random(n, 1, [](int i) { return 4 + i * 7 % 23; });
                const int count = int(pattern.columns.size());
                const Array<int> starts = d.upload(pattern.starts), columns = d.upload(pattern.columns);
                const Array<double> values = d.upload(uniform<double>(size_t(count), 2, -1, 1)),
                                    x = d.upload(uniform<double>(size_t(n), 3, -1, 1)),
                                    seeds = d.upload(uniform<double>(size_t(n), 4, -1, 1)), y = d.zeros<double>(n),
                                    dvalues = d.zeros<double>(count), dx = d.zeros<double>(n), dy = d.zeros<double>(n);
                return sides(
                    d, results_in(dvalues, dx, dy), [=] { dvalues.fill(0), dx.fill(0), dy.copy_from(seeds); },
                    [=] { sparse_product(ndrange(n), y, values, x, starts, columns); },
                    [=] {
                        autodiff(Reverse, sparse_product, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(values, dvalues),
                                 Duplicated(x, dx), Const(starts), Const(columns));
                    },
                    [=] { sparse_by_hand(ndrange(n), dy, dvalues, dx, values, x, starts, columns); });
            }};
}

// ---- cross_entropy: of the softmax of rows with a label each ----
const auto cross_entropy = kernel("cross_entropy", [](Out<float> loss, In<float, 2> scores, In<int> labels) {
    auto i = global_index();
    Var most = scores(i, 0), sum = 0.0f;
    $for(k, range(scores.size(1))) { most = max(most, scores(i, k)); }
    $for(k, range(scores.size(1))) { sum += exp(scores(i, k) - most); }
    loss[i] = most + log(sum) - scores(i, labels[i]);
});
const auto cross_entropy_by_hand =
    kernel("cross_entropy_by_hand", [](InOut<float> dloss, InOut<float, 2> dscores, In<float, 2> scores, In<int> labels) {
        auto i = global_index();
        Var most = scores(i, 0), sum = 0.0f;
        $for(k, range(scores.size(1))) { most = max(most, scores(i, k)); }
        $for(k, range(scores.size(1))) { sum += exp(scores(i, k) - most); }
        const Val<float> g = dloss[i], scale = g / sum;
        $for(k, range(scores.size(1))) { dscores(i, k) += scale * exp(scores(i, k) - most); }
        dscores(i, labels[i]) -= g;
        dloss[i] = 0.0f;
    });

Gradient softmax_cross_entropy() {
    return {"softmax_cross_entropy", 1e-5, [](const Device& d, Size size) {
                const int n = size == Size::test ? 61 : 16001, classes = size == Size::test ? 37 : 203;
                std::vector<int> wanted = uniform<int>(size_t(n), 2, 0, classes);
                const Array<int> labels = d.upload(wanted);
                const Array<float, 2> scores = d.upload(uniform<float>(size_t(n) * size_t(classes), 1, -3, 3), {n, classes}),
                                      dscores = d.zeros<float>({n, classes});
                const Array<float> loss = d.zeros<float>(n), dloss = d.zeros<float>(n),
                                   seeds = d.upload(uniform<float>(size_t(n), 3, 0.5f, 1.5f));
                return sides(
                    d, results_in(dscores, dloss), [=] { dscores.fill(0), dloss.copy_from(seeds); },
                    [=] { cross_entropy(ndrange(n), loss, scores, labels); },
                    [=] {
                        autodiff(Reverse, cross_entropy, ndrange(n), DuplicatedNoNeed(loss, dloss), Duplicated(scores, dscores),
                                 Const(labels));
                    },
                    [=] { cross_entropy_by_hand(ndrange(n), dloss, dscores, scores, labels); });
            }};
}

}  // namespace

std::vector<Gradient> gradients_of_products() { return {gemm(), spmv_csr(), softmax_cross_entropy()}; }

}  // namespace bench::corpus
