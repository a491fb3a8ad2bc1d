// Gradients of sums over rows and tiles: products of matrices, logsumexp, a mixture of Gaussians.
#include <cmath>

#include "bench/gradient_cases.h"
#include "bench/harness.h"

namespace bench::gradients {

using namespace pumice;

// ---- tiled matmul ----
namespace {
/// c (+)= a b, where `get_a(row, k)` and `get_b(k, col)` read global memory.
template <class A, class B> Val<float> product(Val<int> n, A get_a, B get_b) {
    Local<float, 16, 16> a, b;
    auto [ly, lx] = local_index<2>();
    Var sum = 0.0f;
    $for(t, range(n / 16)) {
        a(ly, lx) = get_a(t * 16 + lx), b(ly, lx) = get_b(t * 16 + ly);
        synchronize();
        $for(k, range(16)) { sum += a(ly, k) * b(k, lx); }
        synchronize();
    }
    return sum;
}
}  // namespace

const auto matmul = kernel("matmul", [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    const auto at = global_index<2>();  // clang 14 captures no structured bindings
    const auto row = at[0], col = at[1];
    c(row, col) = product(a.size(1), [&](auto k) { return a(row, k); }, [&](auto k) { return b(k, col); });
});
const auto matmul_da = kernel("matmul_da", [](InOut<float, 2> da, In<float, 2> dc, In<float, 2> b) {
    const auto at = global_index<2>();
    const auto row = at[0], col = at[1];
    da(row, col) += product(dc.size(1), [&](auto k) { return dc(row, k); }, [&](auto k) { return b(col, k); });
});
const auto matmul_db = kernel("matmul_db", [](InOut<float, 2> db, In<float, 2> dc, In<float, 2> a) {
    const auto at = global_index<2>();
    const auto row = at[0], col = at[1];
    db(row, col) += product(dc.size(0), [&](auto k) { return a(k, row); }, [&](auto k) { return dc(k, col); });
});
Case matrices(const Device& d) {
    const int n = 384;
    Array<float, 2> a = d.upload(noise(n * n, 10)).reshape({n, n}), b = d.upload(noise(n * n, 11)).reshape({n, n}),
                    c = d.zeros<float>({n, n});
    Array<float, 2> da = d.zeros<float>({n, n}), db = d.zeros<float>({n, n}), dc = d.zeros<float>({n, n});
    const Array<float, 2> seeds = d.upload(noise(n * n, 12)).reshape({n, n});
    const Range r = ndrange(n, n).group(16, 16);
    return {"gradient: tiled matmul, 384",
            2.4,
            [=] { da.fill(0), db.fill(0), dc.copy_from(seeds); },
            [=] { matmul(r, c, a, b).wait(); },
            [=] { autodiff(Reverse, matmul, r, DuplicatedNoNeed(c, dc), Duplicated(a, da), Duplicated(b, db)), d.synchronize(); },
            [=] { matmul_da(r, da, dc, b), matmul_db(r, db, dc, a), dc.fill(0), d.synchronize(); },
            [=] {
                std::vector<float> all = da.download(), more = db.download();
                all.insert(all.end(), more.begin(), more.end());
                return all;
            }};
}

// ---- logsumexp of rows ----
const auto logsumexp = kernel("logsumexp", [](Out<float> y, In<float, 2> x) {
    auto i = global_index();
    Var most = x(i, 0), sum = 0.0f;
    $for(k, range(x.size(1))) { most = max(most, x(i, k)); }
    $for(k, range(x.size(1))) { sum += exp(x(i, k) - most); }
    y[i] = most + log(sum);
});
const auto logsumexp_by_hand = kernel("logsumexp_by_hand", [](InOut<float> dy, In<float, 2> x, InOut<float, 2> dx) {
    auto i = global_index();
    Var most = x(i, 0), sum = 0.0f;
    $for(k, range(x.size(1))) { most = max(most, x(i, k)); }
    $for(k, range(x.size(1))) { sum += exp(x(i, k) - most); }
    auto scale = dy[i] / sum;
    $for(k, range(x.size(1))) { dx(i, k) += scale * exp(x(i, k) - most); }
    dy[i] = 0.0f;
});
Case rows(const Device& d) {
    const int n = 4096, m = 256;
    Array<float, 2> x = d.upload(noise(n * m, 13)).reshape({n, m}), dx = d.zeros<float>({n, m});
    Array<float> y = d.zeros<float>(n), dy = d.zeros<float>(n);
    return {"gradient: logsumexp, 4096 x 256",
            1.6,
            [=] { dx.fill(0), dy.fill(1); },
            [=] { logsumexp(ndrange(n), y, x).wait(); },
            [=] { autodiff(Reverse, logsumexp, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(x, dx)), d.synchronize(); },
            [=] { logsumexp_by_hand(ndrange(n), dy, x, dx).wait(); },
            [=] { return dx.download(); }};
}

// ---- Gaussian mixture: ADBench's objective without its constants, which are no kernel's work ----
constexpr int dims = 4, lower = dims * (dims - 1) / 2;
namespace {
/// alpha[k] + sum(q) - |Q (x - mu)|^2 / 2, where Q is lower triangular with exp(q), the scales, on its diagonal.
template <class Scale> Val<float> term_by(Scale scale, Val<int> k, Val<int> i, In<float> alpha, In<float, 2> mu, In<float, 2> q,
                                          In<float, 2> l, In<float, 2> x) {
    std::vector<Val<float>> c;
    for (int d = 0; d < dims; ++d) c.push_back(x(i, d) - mu(k, d));
    Var sum = alpha[k], squares = 0.0f;
    for (int d = 0, at = 0; d < dims; ++d) {
        Var y = scale(k, d) * c[size_t(d)];
        for (int e = 0; e < d; ++e, ++at) y += l(k, at) * c[size_t(e)];
        sum += q(k, d), squares += y * y;
    }
    return sum - 0.5f * squares;
}
Val<float> term(Val<int> k, Val<int> i, In<float> alpha, In<float, 2> mu, In<float, 2> q, In<float, 2> l, In<float, 2> x) {
    return term_by([&](Val<int> row, int d) { return exp(q(row, d)); }, k, i, alpha, mu, q, l, x);
}
}  // namespace

const auto mixture =
    kernel("mixture", [](Out<float> y, In<float> alpha, In<float, 2> mu, In<float, 2> q, In<float, 2> l, In<float, 2> x) {
        auto i = global_index();
        Var most = term(0, i, alpha, mu, q, l, x), sum = 0.0f;
        $for(k, range(alpha.size())) { most = max(most, term(k, i, alpha, mu, q, l, x)); }
        $for(k, range(alpha.size())) { sum += exp(term(k, i, alpha, mu, q, l, x) - most); }
        y[i] = most + log(sum);
    });
const auto mixture_scales =
    kernel("mixture_scales", [](Out<float> scale, In<float> q) { scale[global_index()] = exp(q[global_index()]); });
/// The contribution of each point to each component's term: dy exp(term - y), by one sweep for all.
const auto mixture_weights = kernel("mixture_weights", [](InOut<float, 2> w, InOut<float> dy, In<float, 2> scale, In<float> alpha,
                                                          In<float, 2> mu, In<float, 2> q, In<float, 2> l, In<float, 2> x) {
    auto i = global_index();
    const auto value = [&](Val<int> k) {
        return term_by([&](Val<int> row, int d) { return scale(row, d); }, k, i, alpha, mu, q, l, x);
    };
    Var most = value(0), sum = 0.0f;
    $for(k, range(alpha.size())) {
        auto t = value(k);
        w(k, i) = t, most = max(most, t);
    }
    $for(k, range(alpha.size())) {
        auto e = exp(w(k, i) - most);
        w(k, i) = e, sum += e;
    }
    auto factor = dy[i] / sum;
    $for(k, range(alpha.size())) { w(k, i) = factor * w(k, i); }
    dy[i] = 0.0f;
});
/// All that a component's derivatives take of the points are the sums of w, w x and w x x: each item adds up those of a chunk,
/// for one component. With c = x - mu, Q the component's triangle and y = Q c, the term's derivative is Q^T y in mu, and -y c^T
/// in Q.
constexpr int chunk = 256;
const auto mixture_by_hand = kernel("mixture_by_hand", [](In<float, 2> w, In<float, 2> mu, In<float, 2> q, In<float, 2> l,
                                                          In<float, 2> x, InOut<float> dalpha, InOut<float, 2> dmu,
                                                          InOut<float, 2> dq, InOut<float, 2> dl) {
    const auto at = global_index<2>();
    const auto from = at[0] * chunk, k = at[1];
    Var weight = 0.0f;
    std::vector<Var<float>> first(dims, 0.0f), second(dims * dims, 0.0f);
    $for(i, range(from, from + chunk)) {
        const Val<float> own = w(k, i);
        weight += own;
        for (int d = 0; d < dims; ++d) {
            const Val<float> xd = x(i, d);
            first[size_t(d)] += own * xd;
            for (int e = 0; e <= d; ++e) second[size_t(d * dims + e)] += own * (xd * x(i, e));
        }
    }
    std::vector<Val<float>> m, c;                                                // mu; the sums of w c
    std::vector<Var<float>> cc(dims * dims, 0.0f), triangle(dims * dims, 0.0f);  // the sums of w c c; Q
    for (int d = 0; d < dims; ++d) m.push_back(mu(k, d)), c.push_back(first[size_t(d)] - m[size_t(d)] * weight);
    for (int d = 0, at_l = 0; d < dims; ++d) {
        triangle[size_t(d * dims + d)] = exp(q(k, d));
        for (int e = 0; e < d; ++e, ++at_l) triangle[size_t(d * dims + e)] = l(k, at_l);
        for (int e = 0; e <= d; ++e) {
            const Val<float> one = second[size_t(d * dims + e)] - m[size_t(d)] * first[size_t(e)] - m[size_t(e)] * c[size_t(d)];
            cc[size_t(d * dims + e)] = one, cc[size_t(e * dims + d)] = one;
        }
    }
    atomic_add(dalpha[k], Val<float>(weight));
    std::vector<Var<float>> gmu(dims, 0.0f);
    for (int d = 0, at_l = 0; d < dims; ++d) {
        Var y = 0.0f;
        std::vector<Var<float>> yc(dims, 0.0f);
        for (int e = 0; e <= d; ++e) {
            const Val<float> factor(triangle[size_t(d * dims + e)]);
            y += factor * c[size_t(e)];
            for (int o = 0; o <= d; ++o) yc[size_t(o)] += factor * cc[size_t(e * dims + o)];
        }
        for (int o = 0; o <= d; ++o) gmu[size_t(o)] += triangle[size_t(d * dims + o)] * y;
        for (int o = 0; o < d; ++o, ++at_l) atomic_add(dl(k, at_l), -yc[size_t(o)]);
        atomic_add(dq(k, d), weight - triangle[size_t(d * dims + d)] * yc[size_t(d)]);
    }
    for (int d = 0; d < dims; ++d) atomic_add(dmu(k, d), Val<float>(gmu[size_t(d)]));
});
Case gmm(const Device& d) {
    const int n = 16384, k = 16;
    Array<float> alpha = d.upload(noise(k, 14)), y = d.zeros<float>(n), dy = d.zeros<float>(n), dalpha = d.zeros<float>(k);
    Array<float, 2> mu = d.upload(noise(k * dims, 15)).reshape({k, dims}), q = d.upload(noise(k * dims, 16)).reshape({k, dims});
    Array<float, 2> l = d.upload(noise(k * lower, 17)).reshape({k, lower}), x = d.upload(noise(n * dims, 18)).reshape({n, dims}),
                    w = d.zeros<float>({k, n}), scale = d.zeros<float>({k, dims});
    Array<float, 2> dmu = d.zeros<float>({k, dims}), dq = d.zeros<float>({k, dims}), dl = d.zeros<float>({k, lower});
    return {"gradient: Gaussian mixture, 16K",
            2.5,
            [=] { dalpha.fill(0), dmu.fill(0), dq.fill(0), dl.fill(0), dy.fill(1); },
            [=] { mixture(ndrange(n), y, alpha, mu, q, l, x).wait(); },
            [=] {
                autodiff(Reverse, mixture, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(alpha, dalpha), Duplicated(mu, dmu),
                         Duplicated(q, dq), Duplicated(l, dl), Const(x));
                d.synchronize();
            },
            [=] {
                mixture_scales(ndrange(k * dims), scale.reshape({k * dims}), q.reshape({k * dims}));
                mixture_weights(ndrange(n), w, dy, scale, alpha, mu, q, l, x);
                mixture_by_hand(ndrange(n / chunk, k), w, mu, q, l, x, dalpha, dmu, dq, dl), d.synchronize();
            },
            [=] {
                std::vector<float> all = dalpha.download();
                for (const Array<float, 2>& a : {dmu, dq, dl}) {
                    const std::vector<float> more = a.download();
                    all.insert(all.end(), more.begin(), more.end());
                }
                return all;
            }};
}

}  // namespace bench::gradients
