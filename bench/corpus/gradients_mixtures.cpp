// The gradient of a mixture of Gaussians.
#include "bench/corpus/gradients.h"

namespace bench::corpus {
namespace {

using namespace pumice;

constexpr int dims = 20, components = 50, triangle = dims * (dims + 1) / 2;

// ---- gaussian_mixture: the log likelihood of each point; derivatives in weights, means and scales ----
// Scales: for each component k the lower triangle, row by row, of a matrix Q with Q^T Q = the inverse of its covariance. Weights:
// log(share of the component * norm of its Gaussian), so that y = log(sum over k of exp(weight - |Q (x - mean)|^2 / 2)).
const auto mixture =
    kernel("mixture", [](Out<double> y, In<double> weights, In<double, 2> means, In<double, 2> scales, In<double, 2> points) {
        auto i = global_index();
        Private<double, dims> centred;
        Private<double, components> terms;
        Var most = -1e300, sum = 0.0;
        $for(k, range(components)) {
            $for(d, range(dims)) { centred[d] = points(i, d) - means(k, d); }
            Var squares = 0.0;
            $for(d, range(dims)) {
                Var v = 0.0;
                $for(e, range(d + 1)) { v += scales(k, d * (d + 1) / 2 + e) * centred[e]; }
                squares += v * v;
            }
            auto term = weights[k] - 0.5 * squares;
            terms[k] = term;
            most = max(most, term);
        }
        $for(k, range(components)) { sum += exp(terms[k] - most); }
        y[i] = most + log(sum);
    });

/// By hand, first: dy times the share of each component in each point.
const auto mixture_shares = kernel("mixture_shares", [](Out<double, 2> shares, InOut<double> dy, In<double> weights,
                                                        In<double, 2> means, In<double, 2> scales, In<double, 2> points) {
    auto i = global_index();
    Private<double, dims> point, centred;
    Private<double, components> terms;
    Var most = -1e300, sum = 0.0;
    $for(d, range(dims)) { point[d] = points(i, d); }
    $for(k, range(components)) {
        $for(d, range(dims)) { centred[d] = point[d] - means(k, d); }
        Var squares = 0.0;
        $for(d, range(dims)) {
            Var v = 0.0;
            $for(e, range(d + 1)) { v += scales(k, d * (d + 1) / 2 + e) * centred[e]; }
            squares += v * v;
        }
        auto term = weights[k] - 0.5 * squares;
        terms[k] = term;
        most = max(most, term);
    }
    $for(k, range(components)) {
        auto e = exp(terms[k] - most);
        terms[k] = e;
        sum += e;
    }
    auto factor = dy[i] / sum;
    $for(k, range(components)) { shares(i, k) = factor * terms[k]; }
    dy[i] = 0.0;
});
/// Second: all that a component's derivatives take of the points are the sums of w, w x and w x x^T over them. An item adds up a
/// block of the sums of w x x^T for one component and a chunk of the points. The blocks are those on and below the diagonal.
constexpr int chunk = 128, block = 5, blocks = dims / block;
const auto mixture_squares = kernel("mixture_squares", [](Out<double, 4> squares, In<double, 2> shares, In<double, 2> points) {
    auto [c, pair, k] = global_index<3>();
    auto from = c * chunk, to = min(from + chunk, points.size(0));
    auto row = select(pair >= 6, 3, select(pair >= 3, 2, select(pair >= 1, 1, 0)));
    auto column = pair - row * (row + 1) / 2;
    std::vector<Var<double>> sums(block * block, 0.0);
    $for(i, range(from, to)) {
        std::vector<Val<double>> left, right;
        for (int b = 0; b < block; ++b) {
            left.push_back(shares(i, k) * points(i, row * block + b));
            right.push_back(points(i, column * block + b));
        }
        for (int s = 0; s < block * block; ++s) sums[size_t(s)] += left[size_t(s / block)] * right[size_t(s % block)];
    }
    for (int s = 0; s < block * block; ++s)
        squares(c, row * block + s / block, column * block + s % block, k) = Val<double>(sums[size_t(s)]);
});
const auto mixture_sums = kernel("mixture_sums", [](Out<double, 3> sums, In<double, 2> shares, In<double, 2> points) {
    auto [c, k] = global_index<2>();
    auto from = c * chunk, to = min(from + chunk, points.size(0));
    std::vector<Var<double>> own(dims + 1, 0.0);
    $for(i, range(from, to)) {
        const Val<double> w = shares(i, k);
        for (int d = 0; d < dims; ++d) own[size_t(d)] += w * points(i, d);
        own[dims] += w;
    }
    for (int d = 0; d <= dims; ++d) sums(c, d, k) = Val<double>(own[size_t(d)]);
});
/// Third: with c = x - mean, Q the scales, s and S the sums of w c and w c c^T, the derivatives are Q^T Q s in the mean and the
/// lower triangle of -Q S in Q. An item takes a component and a row.
const auto mixture_by_hand =
    kernel("mixture_by_hand", [](In<double, 4> squares, In<double, 3> sums, In<double, 2> means, In<double, 2> scales,
                                 InOut<double> dweights, InOut<double, 2> dmeans, InOut<double, 2> dscales) {
        auto [k, d] = global_index<2>();
        auto chunks = sums.size(0);
        auto row_start = [](Val<int> row) { return row * (row + 1) / 2; };
        Private<double, dims> first, mean, row;
        Var weight = 0.0, dmean = 0.0;
        $for(c, range(chunks)) { weight += sums(c, dims, k); }
        $for(e, range(dims)) {
            Var sum = 0.0;
            $for(c, range(chunks)) { sum += sums(c, e, k); }
            first[e] = sum;
            mean[e] = means(k, e);
            row[e] = 0.0;
        }
        // Row d of Q times S.
        $for(f, range(d + 1)) {
            $for(e, range(d + 1)) {
                auto high = max(e, f), low = min(e, f);
                Var square = 0.0;
                $for(c, range(chunks)) { square += squares(c, high, low, k); }
                auto centred = square - mean[f] * first[e] - mean[e] * (first[f] - mean[f] * weight);
                row[e] += scales(k, row_start(d) + f) * centred;
            }
        }
        $for(e, range(d + 1)) { dscales(k, row_start(d) + e) -= row[e]; }
        $for(r, range(d, dims)) {
            Var v = 0.0;
            $for(e, range(r + 1)) { v += scales(k, row_start(r) + e) * (first[e] - mean[e] * weight); }
            dmean += scales(k, row_start(r) + d) * v;
        }
        dmeans(k, d) += dmean;
        $if(d == 0) { dweights[k] += weight; }
    });

Gradient gaussian_mixture() {
    return {"gaussian_mixture", 1e-10, [](const Device& d, Size size) {
                const int n = size == Size::test ? 23 : 3001, chunks = (n + chunk - 1) / chunk;
                std::vector<double> start = uniform<double>(size_t(components) * triangle, 1, -0.2, 0.2);
                for (int k = 0; k < components; ++k)
                    for (int r = 0; r < dims; ++r) start[size_t(k * triangle + r * (r + 3) / 2)] += 1;
                const Array<double, 2> scales = d.upload(start, {components, triangle}),
                                       means = d.upload(uniform<double>(size_t(components) * dims, 2), {components, dims}),
                                       points = d.upload(uniform<double>(size_t(n) * dims, 3), {n, dims}),
                                       dscales = d.zeros<double>({components, triangle}),
                                       dmeans = d.zeros<double>({components, dims}), shares = d.zeros<double>({n, components});
                const Array<double, 3> sums = d.zeros<double>({chunks, dims + 1, components});
                const Array<double, 4> squares = d.zeros<double>({chunks, dims, dims, components});
                const Array<double> weights = d.upload(uniform<double>(components, 4)), dweights = d.zeros<double>(components),
                                    y = d.zeros<double>(n), dy = d.zeros<double>(n),
                                    seeds = d.upload(uniform<double>(size_t(n), 5, 0.5, 1.5));
                return sides(
                    d, results_in(dweights, dmeans, dscales, dy),
                    [=] { dweights.fill(0), dmeans.fill(0), dscales.fill(0), dy.copy_from(seeds); },
                    [=] { mixture(ndrange(n), y, weights, means, scales, points); },
                    [=] {
                        autodiff(Reverse, mixture, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(weights, dweights),
                                 Duplicated(means, dmeans), Duplicated(scales, dscales), Const(points));
                    },
                    [=] {
                        mixture_shares(ndrange(n), shares, dy, weights, means, scales, points);
                        mixture_squares(ndrange(chunks, blocks * (blocks + 1) / 2, components), squares, shares, points);
                        mixture_sums(ndrange(chunks, components), sums, shares, points);
                        mixture_by_hand(ndrange(components, dims), squares, sums, means, scales, dweights, dmeans, dscales);
                    });
            }};
}

}  // namespace

std::vector<Gradient> gradients_of_mixtures() { return {gaussian_mixture()}; }

}  // namespace bench::corpus
