// Gradients of items that have their own or few neighbours: elementwise, a stencil, n-body, an integrator.
#include "bench/gradient_cases.h"
#include "bench/harness.h"

namespace bench::gradients {

using namespace pumice;

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
    return {"gradient: sin*exp+x^3, 2M",
            1.6,
            [=] { dx.fill(0), dy.fill(1); },
            [=] { wave(ndrange(n), y, x).wait(); },
            [=] { autodiff(Reverse, wave, ndrange(n), DuplicatedNoNeed(y, dy), Duplicated(x, dx)), d.synchronize(); },
            [=] { wave_by_hand(ndrange(n), dy, x, dx).wait(); },
            [=] { return dx.download(); }};
}

// ---- 2-D diffusion ----
const auto diffuse = kernel("diffuse", [](Out<float, 2> y, In<float, 2> x) {
    auto [i, j] = global_index<2>();
    y(i, j) = x(i, j) + 0.2f * (x(i - 1, j) + x(i + 1, j) + x(i, j - 1) + x(i, j + 1) - 4.0f * x(i, j));
});
/// dy is zero at the boundary. The adjoint at the boundary of dx, which would take a small kernel of its own, is left out.
const auto diffuse_by_hand = kernel("diffuse_by_hand", [](In<float, 2> dy, InOut<float, 2> dx) {
    auto [i, j] = global_index<2>();
    dx(i, j) += 0.2f * dy(i, j) + 0.2f * (dy(i - 1, j) + dy(i + 1, j) + dy(i, j - 1) + dy(i, j + 1));
});
Case diffusion(const Device& d) {
    const int n = 1500;
    Array<float, 2> x = d.upload(noise(n * n, 2)).reshape({n, n}), y = d.zeros<float>({n, n}), dx = d.zeros<float>({n, n}),
                    dy = d.zeros<float>({n, n});
    const Range r = ndrange({1, 1}, {n - 1, n - 1});
    std::vector<float> start(size_t(n) * n, 0.0f);
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < n - 1; ++j) start[size_t(i * n + j)] = 1;
    const Array<float, 2> seeds = d.upload(start).reshape({n, n});
    return {"gradient: diffusion, 1500^2",
            1.6,
            [=] { dx.fill(0), dy.copy_from(seeds); },
            [=] { diffuse(r, y, x).wait(); },
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
const auto bodies_by_hand = kernel("bodies_by_hand", [](In<float> gx, In<float> gy, In<float> gz, In<float> x, In<float> y,
                                                        In<float> z, InOut<float> dx, InOut<float> dy, InOut<float> dz) {
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
        p.push_back(d.upload(noise(n, uint32_t(3 + k)))), dp.push_back(d.zeros<float>(n)), a.push_back(d.zeros<float>(n)),
            da.push_back(d.zeros<float>(n));
    const std::vector<Array<float>> g{d.upload(noise(n, 6)), d.upload(noise(n, 7)), d.upload(noise(n, 8))};
    return {"gradient: n-body, 4096",
            2.0,
            [=] {
                for (size_t k = 0; k < 3; ++k) dp[k].fill(0), da[k].copy_from(g[k]);
            },
            [=] { bodies(ndrange(n), a[0], a[1], a[2], p[0], p[1], p[2]).wait(); },
            [=] {
                autodiff(Reverse, bodies, ndrange(n), DuplicatedNoNeed(a[0], da[0]), DuplicatedNoNeed(a[1], da[1]),
                         DuplicatedNoNeed(a[2], da[2]), Duplicated(p[0], dp[0]), Duplicated(p[1], dp[1]),
                         Duplicated(p[2], dp[2]));
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
namespace {
struct Two {
    Val<float> x, y;
};
Two flow(Val<float> x, Val<float> y) { return {1.1f * x - 0.4f * x * y, 0.1f * x * y - 0.4f * y}; }
/// The adjoint of flow at (x, y).
Two back(Two at, Two g) {
    return {(1.1f - 0.4f * at.y) * g.x + 0.1f * at.y * g.y, (0.1f * at.x - 0.4f) * g.y - 0.4f * at.x * g.x};
}
Two ahead(Two p, float by, Two k) { return {p.x + by * k.x, p.y + by * k.y}; }
struct Stages {
    Two p1, p2, p3, p4, k1, k2, k3, k4;
};
Stages stages(Two p) {
    const auto at = [](Two q) { return flow(q.x, q.y); };
    const Two k1 = at(p), p2 = ahead(p, 0.5f * h, k1), k2 = at(p2), p3 = ahead(p, 0.5f * h, k2), k3 = at(p3),
              p4 = ahead(p, h, k3);
    return {p, p2, p3, p4, k1, k2, k3, at(p4)};
}
Two step(Two p) {
    const Stages s = stages(p);
    return {p.x + h / 6.0f * (s.k1.x + 2.0f * s.k2.x + 2.0f * s.k3.x + s.k4.x),
            p.y + h / 6.0f * (s.k1.y + 2.0f * s.k2.y + 2.0f * s.k3.y + s.k4.y)};
}
}  // namespace

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
const auto rk4_by_hand =
    kernel("rk4_by_hand", [](InOut<float> dp, InOut<float> dq, In<float> u, In<float> v, InOut<float> du, InOut<float> dv) {
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
    return {"gradient: RK4 of 100 steps, 32K",
            2.0,
            [=] { du.fill(0), dv.fill(0), dp.fill(1), dq.fill(2); },
            [=] { rk4(ndrange(n), p, q, u, v).wait(); },
            [=] {
                autodiff(Reverse, rk4, ndrange(n), DuplicatedNoNeed(p, dp), DuplicatedNoNeed(q, dq), Duplicated(u, du),
                         Duplicated(v, dv));
                d.synchronize();
            },
            [=] { rk4_by_hand(ndrange(n), dp, dq, u, v, du, dv).wait(); },
            [=] { return du.download(); }};
}

}  // namespace bench::gradients
