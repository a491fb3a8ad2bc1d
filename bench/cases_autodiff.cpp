// The derivatives' cases. An adjoint written by hand is a kernel of the same contract: it adds to the shadow of what is read and
// zeroes the shadow of what was written; nobody asks for the primal's results.
#include "bench/cases_autodiff.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <vector>

#include <pumice/pumice.h>

#include "bench/harness.h"

namespace bench::gradients {
namespace {

using namespace pumice;

struct Case {
    std::string name;
    double target;
    std::function<void()> seed;             ///< fills the shadows anew
    std::function<void()> primal, gradient, by_hand;  ///< each returns when it is done; by_hand may be empty
    std::function<std::vector<float>()> result;       ///< what was added to the shadows
};

// ---- elementwise ----
const auto wave = kernel("wave", [](Out<float> y, In<float> x) {
    auto i = global_index();
    auto v = x[i];
    y[i] = sin(v) * exp(v) + v * v * v;
});
const auto wave_by_hand = kernel("wave_by_hand", [](InOut<float> dy, In<float> x, InOut<float> dx) {
    auto i = global_index();
    auto v = x[i];
    dx[i] += dy[i] * (exp(v) * (sin(v) + cos(v)) + 3.0f * v * v);
    dy[i] = 0.0f;
});
Case elementwise(const Device& d) {
    const int n = 1 << 21;
    Array<float> x = d.upload(noise(n, 1)), y = d.zeros<float>(n), dx = d.zeros<float>(n), dy = d.zeros<float>(n);
    return {"gradient: sin*exp+x^3, 2M", 1.6, [=] { dx.fill(0), dy.fill(1); }, [=] { wave(ndrange(n), y, x).wait(); },
            [=] { autodiff(Reverse, wave, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(x, dx)), d.synchronize(); },
            [=] { wave_by_hand(ndrange(n), dy, x, dx).wait(); }, [=] { return dx.download(); }};
}

// ---- 2-D diffusion ----
const auto diffuse = kernel("diffuse", [](Out<float, 2> y, In<float, 2> x) {
    auto [i, j] = global_index<2>();
    y(i, j) = x(i, j) + 0.2f * (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1) - 4.0f * x(i, j));
});
/// The rim of dy is zero; that of dx, which a thin kernel of its own would add to, is left out.
const auto diffuse_by_hand = kernel("diffuse_by_hand", [](In<float, 2> dy, InOut<float, 2> dx) {
    auto [i, j] = global_index<2>();
    dx(i, j) += 0.2f * dy(i, j) + 0.2f * (dy(i - 1, j) + dy(i + 1, j) + dy(i, j - 1) + dy(i, j + 1));
});
Case diffusion(const Device& d) {
    const int n = 1500;
    Array<float, 2> x = d.upload(noise(n * n, 2)).reshape({n, n}), y = d.zeros<float>({n, n}), dx = d.zeros<float>({n, n}), dy = d.zeros<float>({n, n});
    const Range r = ndrange({1, 1}, {n - 1, n - 1});
    std::vector<float> start(size_t(n) * n, 0.0f);
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < n - 1; ++j) start[size_t(i * n + j)] = 1;
    const Array<float, 2> seeds = d.upload(start).reshape({n, n});
    return {"gradient: diffusion, 1500^2", 1.6, [=] { dx.fill(0), dy.copy_from(seeds); }, [=] { diffuse(r, y, x).wait(); },
            [=] { autodiff(Reverse, diffuse, r, DuplicatedNoNeed(y, dy), Duplicated(x, dx)), d.synchronize(); },
            [=] { diffuse_by_hand(r, dy, dx), dy.fill(0), d.synchronize(); },
            [=] {
                std::vector<float> inside = dx.download();
                for (int i = 0; i < n * n; ++i)
                    if (i / n == 0 || i / n == n - 1 || i % n == 0 || i % n == n - 1) inside[size_t(i)] = 0;
                return inside;
            }};
}

// ---- n-body ----
const auto bodies = kernel("bodies", [](Out<float> ax, Out<float> ay, Out<float> az, In<float> x, In<float> y, In<float> z) {
    auto i = global_index();
    auto xi = x[i], yi = y[i], zi = z[i];
    Var sx = 0.0f, sy = 0.0f, sz = 0.0f;
    $for(j, range(x.size())) {
        auto dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
        auto r = rsqrt(dx * dx + dy * dy + dz * dz + 1e-2f), f = r * r * r;
        sx += f * dx, sy += f * dy, sz += f * dz;
    }
    ax[i] = sx, ay[i] = sy, az[i] = sz;
});
/// Of a pair each body gets what the other gives, negated: one sum over the differences of the adjoints.
const auto bodies_by_hand = kernel("bodies_by_hand", [](In<float> gx, In<float> gy, In<float> gz, In<float> x, In<float> y, In<float> z,
                                                        InOut<float> dx, InOut<float> dy, InOut<float> dz) {
    auto i = global_index();
    auto xi = x[i], yi = y[i], zi = z[i], ui = gx[i], vi = gy[i], wi = gz[i];
    Var sx = 0.0f, sy = 0.0f, sz = 0.0f;
    $for(j, range(x.size())) {
        auto ex = x[j] - xi, ey = y[j] - yi, ez = z[j] - zi, u = gx[j] - ui, v = gy[j] - vi, w = gz[j] - wi;
        auto r = rsqrt(ex * ex + ey * ey + ez * ez + 1e-2f), s = r * r, f = s * r;
        auto dot = 3.0f * s * (u * ex + v * ey + w * ez);
        sx += f * (u - dot * ex), sy += f * (v - dot * ey), sz += f * (w - dot * ez);
    }
    dx[i] += sx, dy[i] += sy, dz[i] += sz;
});
Case nbody(const Device& d) {
    const int n = 4096;
    std::vector<Array<float>> p, dp, a, da;
    for (int k = 0; k < 3; ++k)
        p.push_back(d.upload(noise(n, uint32_t(3 + k)))), dp.push_back(d.zeros<float>(n)), a.push_back(d.zeros<float>(n)), da.push_back(d.zeros<float>(n));
    const std::vector<Array<float>> g{d.upload(noise(n, 6)), d.upload(noise(n, 7)), d.upload(noise(n, 8))};
    return {"gradient: n-body, 4096", 2.0,
            [=] {
                for (size_t k = 0; k < 3; ++k) dp[k].fill(0), da[k].copy_from(g[k]);
            },
            [=] { bodies(ndrange(n), a[0], a[1], a[2], p[0], p[1], p[2]).wait(); },
            [=] {
                autodiff(Reverse, bodies, ndrange(n), DuplicatedNoNeed(a[0], da[0]), DuplicatedNoNeed(a[1], da[1]), DuplicatedNoNeed(a[2], da[2]),
                         Duplicated(p[0], dp[0]), Duplicated(p[1], dp[1]), Duplicated(p[2], dp[2]));
                d.synchronize();
            },
            [=] {
                bodies_by_hand(ndrange(n), da[0], da[1], da[2], p[0], p[1], p[2], dp[0], dp[1], dp[2]);
                for (size_t k = 0; k < 3; ++k) da[k].fill(0);
                d.synchronize();
            },
            [=] { return dp[0].download(); }};
}

// ---- 100 steps of RK4, Lotka-Volterra ----
constexpr float h = 0.01f;
struct Two { Val<float> x, y; };
Two flow(Val<float> x, Val<float> y) { return {1.1f * x - 0.4f * x * y, 0.1f * x * y - 0.4f * y}; }
/// The adjoint of flow at (x, y).
Two back(Two at, Two g) {
    return {(1.1f - 0.4f * at.y) * g.x + 0.1f * at.y * g.y, (0.1f * at.x - 0.4f) * g.y - 0.4f * at.x * g.x};
}
Two ahead(Two p, float by, Two k) { return {p.x + by * k.x, p.y + by * k.y}; }
struct Stages { Two p1, p2, p3, p4, k1, k2, k3, k4; };
Stages stages(Two p) {
    const auto at = [](Two q) { return flow(q.x, q.y); };
    const Two k1 = at(p), p2 = ahead(p, 0.5f * h, k1), k2 = at(p2), p3 = ahead(p, 0.5f * h, k2), k3 = at(p3), p4 = ahead(p, h, k3);
    return {p, p2, p3, p4, k1, k2, k3, at(p4)};
}
Two step(Two p) {
    const Stages s = stages(p);
    return {p.x + h / 6.0f * (s.k1.x + 2.0f * s.k2.x + 2.0f * s.k3.x + s.k4.x), p.y + h / 6.0f * (s.k1.y + 2.0f * s.k2.y + 2.0f * s.k3.y + s.k4.y)};
}
const auto rk4 = kernel("rk4", [](Out<float> p, Out<float> q, In<float> u, In<float> v) {
    auto i = global_index();
    Var x = u[i], y = v[i];
    $for(s, range(100)) {
        (void)s;
        const Two next = step({x, y});
        x = next.x, y = next.y;
    }
    p[i] = x, q[i] = y;
});
const auto rk4_by_hand = kernel("rk4_by_hand", [](InOut<float> dp, InOut<float> dq, In<float> u, In<float> v, InOut<float> du, InOut<float> dv) {
    auto i = global_index();
    Private<float, 100> xs, ys;
    Var x = u[i], y = v[i], gx = dp[i], gy = dq[i];
    $for(s, range(100)) {
        xs[s] = x, ys[s] = y;
        const Two next = step({x, y});
        x = next.x, y = next.y;
    }
    $for(t, range(100)) {
        const Stages s = stages({xs[99 - t], ys[99 - t]});
        const Two g{gx, gy}, none{g.x * 0.0f, g.y * 0.0f};
        const Two b4 = back(s.p4, ahead(none, h / 6.0f, g));
        const Two b3 = back(s.p3, ahead(ahead(none, h / 3.0f, g), h, b4));
        const Two b2 = back(s.p2, ahead(ahead(none, h / 3.0f, g), 0.5f * h, b3));
        const Two b1 = back(s.p1, ahead(ahead(none, h / 6.0f, g), 0.5f * h, b2));
        gx = g.x + b1.x + b2.x + b3.x + b4.x, gy = g.y + b1.y + b2.y + b3.y + b4.y;
    }
    du[i] += gx, dv[i] += gy;
    dp[i] = 0.0f, dq[i] = 0.0f;
});
Case lotka_volterra(const Device& d) {
    const int n = 1 << 15;
    std::vector<float> start = noise(n, 9);
    for (float& s : start) s = 2 + s;
    Array<float> u = d.upload(start), v = d.upload(start), p = d.zeros<float>(n), q = d.zeros<float>(n);
    Array<float> du = d.zeros<float>(n), dv = d.zeros<float>(n), dp = d.zeros<float>(n), dq = d.zeros<float>(n);
    return {"gradient: RK4 of 100 steps, 32K", 2.0, [=] { du.fill(0), dv.fill(0), dp.fill(1), dq.fill(2); }, [=] { rk4(ndrange(n), p, q, u, v).wait(); },
            [=] {
                autodiff(Reverse, rk4, ndrange(n), DuplicatedNoNeed(p, dp), DuplicatedNoNeed(q, dq), Duplicated(u, du), Duplicated(v, dv));
                d.synchronize();
            },
            [=] { rk4_by_hand(ndrange(n), dp, dq, u, v, du, dv).wait(); }, [=] { return du.download(); }};
}

// ---- tiled matmul ----
/// c (+)= a b, where `get_a(row, k)` and `get_b(k, col)` read global memory.
template <class A, class B>
Val<float> product(Val<int> n, A get_a, B get_b) {
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
    Array<float, 2> a = d.upload(noise(n * n, 10)).reshape({n, n}), b = d.upload(noise(n * n, 11)).reshape({n, n}), c = d.zeros<float>({n, n});
    Array<float, 2> da = d.zeros<float>({n, n}), db = d.zeros<float>({n, n}), dc = d.zeros<float>({n, n});
    const Array<float, 2> seeds = d.upload(noise(n * n, 12)).reshape({n, n});
    const Range r = ndrange(n, n).group(16, 16);
    return {"gradient: tiled matmul, 384", 2.4, [=] { da.fill(0), db.fill(0), dc.copy_from(seeds); }, [=] { matmul(r, c, a, b).wait(); },
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
    return {"gradient: logsumexp, 4096 x 256", 1.6, [=] { dx.fill(0), dy.fill(1); }, [=] { logsumexp(ndrange(n), y, x).wait(); },
            [=] { autodiff(Reverse, logsumexp, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(x, dx)), d.synchronize(); },
            [=] { logsumexp_by_hand(ndrange(n), dy, x, dx).wait(); }, [=] { return dx.download(); }};
}

// ---- Gaussian mixture: ADBench's objective without its constants, which are no kernel's work ----
constexpr int dims = 4, lower = dims * (dims - 1) / 2;
/// alpha[k] + sum(q) - |Q (x - mu)|^2 / 2, where Q is lower triangular with exp(q), the scales, on its diagonal.
template <class Scale>
Val<float> term_by(Scale scale, Val<int> k, Val<int> i, In<float> alpha, In<float, 2> mu, In<float, 2> q, In<float, 2> l, In<float, 2> x) {
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
const auto mixture = kernel("mixture", [](Out<float> y, In<float> alpha, In<float, 2> mu, In<float, 2> q, In<float, 2> l, In<float, 2> x) {
    auto i = global_index();
    Var most = term(0, i, alpha, mu, q, l, x), sum = 0.0f;
    $for(k, range(alpha.size())) { most = max(most, term(k, i, alpha, mu, q, l, x)); }
    $for(k, range(alpha.size())) { sum += exp(term(k, i, alpha, mu, q, l, x) - most); }
    y[i] = most + log(sum);
});
const auto mixture_scales = kernel("mixture_scales", [](Out<float> scale, In<float> q) { scale[global_index()] = exp(q[global_index()]); });
/// What each point gives to each component's term: dy exp(term - y), by one sweep for all.
const auto mixture_weights = kernel("mixture_weights", [](InOut<float, 2> w, InOut<float> dy, In<float, 2> scale, In<float> alpha, In<float, 2> mu,
                                                          In<float, 2> q, In<float, 2> l, In<float, 2> x) {
    auto i = global_index();
    const auto value = [&](Val<int> k) { return term_by([&](Val<int> row, int d) { return scale(row, d); }, k, i, alpha, mu, q, l, x); };
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
/// All that a component's derivatives take of the points are the sums of w, w x and w x x: each item adds up those of a chunk, for one
/// component. With c = x - mu, Q the component's triangle and y = Q c, the term's derivative is Q^T y in mu, and -y c^T in Q.
constexpr int chunk = 256;
const auto mixture_by_hand = kernel("mixture_by_hand", [](In<float, 2> w, In<float, 2> mu, In<float, 2> q, In<float, 2> l, In<float, 2> x,
                                                          InOut<float> dalpha, InOut<float, 2> dmu, InOut<float, 2> dq, InOut<float, 2> dl) {
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
    std::vector<Val<float>> m, c;                                                   // mu; the sums of w c
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
    Array<float, 2> l = d.upload(noise(k * lower, 17)).reshape({k, lower}), x = d.upload(noise(n * dims, 18)).reshape({n, dims}), w = d.zeros<float>({k, n}), scale = d.zeros<float>({k, dims});
    Array<float, 2> dmu = d.zeros<float>({k, dims}), dq = d.zeros<float>({k, dims}), dl = d.zeros<float>({k, lower});
    return {"gradient: Gaussian mixture, 16K", 2.5, [=] { dalpha.fill(0), dmu.fill(0), dq.fill(0), dl.fill(0), dy.fill(1); },
            [=] { mixture(ndrange(n), y, alpha, mu, q, l, x).wait(); },
            [=] {
                autodiff(Reverse, mixture, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(alpha, dalpha), Duplicated(mu, dmu), Duplicated(q, dq),
                         Duplicated(l, dl), Const(x));
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

using Make = Case (*)(const Device&);
constexpr std::pair<const char*, Make> makes[] = {{"gradient: sin*exp+x^3", elementwise}, {"gradient: diffusion", diffusion}, {"gradient: n-body", nbody},
                                                  {"gradient: RK4", lotka_volterra}, {"gradient: tiled matmul", matrices},
                                                  {"gradient: logsumexp", rows}, {"gradient: Gaussian mixture", gmm}};

/// Wall time, or the processor time of all threads.
double milliseconds_of(const std::function<void()>& act, bool cpu) {
    const auto now = [&] {
        timespec t{};
        clock_gettime(cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
        return double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
    };
    const double start = now();
    act();
    return now() - start;
}

/// The sides by turns, each of the others behind the first one, so that they find the caches alike; the median of each.
std::vector<double> measure(const std::vector<std::function<void()>>& sides, double budget_ms, bool cpu) {
    std::vector<std::vector<double>> times(sides.size());
    double spent = 0;
    for (int round = 0; round < 5 || (spent < budget_ms && round < 100); ++round)
        for (size_t s = 1; s < sides.size(); ++s)
            for (const size_t one : {size_t(0), s}) times[one].push_back(milliseconds_of(sides[one], cpu)), spent += times[one].back();
    std::vector<double> medians;
    for (auto& t : times) std::nth_element(t.begin(), t.begin() + long(t.size() / 2), t.end()), medians.push_back(t[t.size() / 2]);
    return medians;
}

/// The largest difference, relative to the largest value.
double apart(const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0, size = 1e-30;
    for (size_t i = 0; i < a.size(); ++i) most = std::max(most, double(std::abs(a[i] - b[i]))), size = std::max(size, double(std::abs(b[i])));
    return most / size;
}

}  // namespace

int run(const std::string& name, const std::string& filter, bool quick, bool cpu, nlohmann::json& results) {
    const Device device = Device::open(name);
    const bool software = name != "cpu";  // whose targets are 1.5 times as large
    int failures = 0;
    for (const auto& [label, make] : makes) {
        if (std::string(label).find(filter) == std::string::npos) continue;
        const Case c = make(device);
        c.primal();
        c.seed();
        c.gradient();
        const std::vector<float> ours = c.result();
        double error = 0;
        if (c.by_hand) c.seed(), c.by_hand(), error = apart(ours, c.result());
        const bool wrong = !(error < 1e-3);
        std::vector<std::function<void()>> sides{c.primal, c.gradient};
        if (c.by_hand) sides.push_back(c.by_hand);
        c.seed();
        const std::vector<double> ms = measure(sides, quick ? 300 : 2500, cpu);
        const double ratio = ms[1] / ms[0], target = c.target * (software ? 1.5 : 1), over = c.by_hand ? ms[1] / ms[2] : 0;
        const bool miss = ratio > target || over > 1.15;
        failures += wrong || miss;
        std::printf("%-34s primal %8.3f ms  gradient %8.3f ms  ratio %6.2f (target %.2f)", c.name.c_str(), ms[0], ms[1], ratio, target);
        if (c.by_hand) std::printf("  by hand %8.3f ms, ratio %5.2f; ours over it %5.2f", ms[2], ms[2] / ms[0], over);
        std::printf("%s\n", miss ? "  MISS" : "");
        if (wrong) std::printf("%-34s WRONG: ours and the adjoint by hand are %g apart\n", c.name.c_str(), error);
        std::fflush(stdout);
        nlohmann::json peers{{"primal", ms[0]}};
        if (c.by_hand) peers["by hand"] = ms[2];
        results.push_back({{"case", c.name}, {"device", device.name()}, {"ours_ms", ms[1]}, {"peers", peers}, {"limit_share", nullptr},
                           {"ratio", ratio}, {"target_ratio", target}, {"reached", !miss}});
    }
    return failures;
}

void list(const std::string& filter) {
    for (const auto& [label, make] : makes)
        if (std::string(label).find(filter) != std::string::npos) std::puts(label);
}

}  // namespace bench::gradients
