// The kernels of the CPU device's cases, which are also shipped as a library and timed as such (bench/ship).
#pragma once
#include <pumice/pumice.h>

#include "bench/kernels.h"

namespace bench::cpu {

using namespace pumice;

inline const auto triad = kernel("triad", [](Out<float> a, In<float> b, In<float> c, Val<float> s) {
    auto i = global_index();
    a[i] = b[i] + s * c[i];
});

inline const auto diffuse = kernel("diffuse", [](Out<float, 3> next, In<float, 3> now, Val<float> c) {
    auto [i, j, k] = global_index<3>();
    next(i, j, k) = now(i, j, k) + c * (now(i - 1, j, k) + now(i + 1, j, k) + now(i, j - 1, k) + now(i, j + 1, k) +
                                        now(i, j, k - 1) + now(i, j, k + 1) - 6.0f * now(i, j, k));
});

inline const auto maths = kernel("maths", [](Out<float> y, In<float> x) {
    auto i = global_index();
    auto v = x[i];
    y[i] = sin(v) * exp(v) + v * v * v;
});

// A tile's rows are read along the rows of one array and written along those of the other; a column more keeps columns apart.
inline const auto transpose = kernel("transpose", [](Out<float, 2> to, In<float, 2> from) {
    Local<float, 16, 17> tile;
    auto [i, j] = local_index<2>();
    auto [row, column] = group_index<2>();
    tile(i, j) = from(column * 16 + i, row * 16 + j);
    synchronize();
    to(row * 16 + i, column * 16 + j) = tile(j, i);
});

inline constexpr int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};

inline constexpr float weights[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                                     1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};

inline const auto lbm = kernel("lbm", [](Out<float, 3> next, In<float, 3> now, Val<float> omega) {
    auto [j, i] = global_index<2>();
    auto n = now.size(1);
    auto left = select(i == 0, n - 1, i - 1), right = select(i == n - 1, 0, i + 1);
    auto below = select(j == 0, n - 1, j - 1), above = select(j == n - 1, 0, j + 1);
    std::vector<Val<float>> f;
    for (int q = 0; q < 9; ++q)
        f.push_back(now(q, ey[q] == 0 ? j : ey[q] > 0 ? below : above, ex[q] == 0 ? i : ex[q] > 0 ? left : right));
    auto rho = f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7] + f[8];
    auto ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho, uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho;
    auto still = 1.0f - 1.5f * (ux * ux + uy * uy);
    for (int q = 0; q < 9; ++q) {
        auto eu = float(ex[q]) * ux + float(ey[q]) * uy;
        next(q, j, i) = f[size_t(q)] + omega * (weights[q] * rho * (still + 3.0f * eu + 4.5f * eu * eu) - f[size_t(q)]);
    }
});

inline const auto push = kernel("push", [](InOut<float> x, InOut<float> y, InOut<float> u, InOut<float> v, Val<float> dt) {
    auto i = global_index();
    Var px = x[i], py = y[i], pu = u[i], pv = v[i];
    auto r2 = px * px + py * py;
    $if(r2 < 0.25f) {
        auto s = sin(dt * 3.0f), c = cos(dt * 3.0f), t = c * pu - s * pv;
        pv = s * pu + c * pv;
        pu = t;
    }
    $elif(px > 0.0f) {
        auto f = dt / (r2 * sqrt(r2));
        pu -= f * px;
        pv -= f * py;
    }
    px += dt * pu;
    py += dt * pv;
    $if(px < -1.0f || px > 1.0f) {
        pu = -pu;
        px = min(max(px, -1.0f), 1.0f);
    }
    $if(py < -1.0f || py > 1.0f) {
        pv = -pv;
        py = min(max(py, -1.0f), 1.0f);
    }
    x[i] = px;
    y[i] = py;
    u[i] = pu;
    v[i] = pv;
});

inline constexpr float rate = 0.03f, sigma = 0.25f;

/// The normal distribution by Abramowitz and Stegun 26.2.17.
inline Val<float> normal(Val<float> d) {
    auto k = 1.0f / (1.0f + 0.2316419f * abs(d));
    auto p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    auto tail = 0.39894228f * exp(-0.5f * d * d) * p;
    return select(d > 0.0f, 1.0f - tail, tail);
}

inline const auto nbody =
    kernel("nbody", [](Out<float> ax, Out<float> ay, Out<float> az, In<float> x, In<float> y, In<float> z, In<float> m) {
        auto i = global_index();
        auto xi = x[i], yi = y[i], zi = z[i];
        Var sx = 0.0f, sy = 0.0f, sz = 0.0f;
        $for(j, range(x.size())) {
            auto dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
            auto r = rsqrt(dx * dx + dy * dy + dz * dz + 1e-2f);
            auto f = m[j] * r * r * r;
            sx += f * dx;
            sy += f * dy;
            sz += f * dz;
        }
        ax[i] = sx;
        ay[i] = sy;
        az[i] = sz;
    });

inline const auto mandelbrot = kernel("mandelbrot", [](Out<float, 2> steps, Val<int> most) {
    auto [j, i] = global_index<2>();
    auto cx = -2.0f + 3.0f * cast<float>(i) / cast<float>(steps.size(1)),
         cy = -1.5f + 3.0f * cast<float>(j) / cast<float>(steps.size(0));
    Var x = 0.0f, y = 0.0f;
    Var k = 0;
    $while(k < most && x * x + y * y < 4.0f) {
        auto t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        k += 1;
    }
    steps(j, i) = cast<float>(k);
});

inline const auto black_scholes =
    kernel("black_scholes", [](Out<float> call, Out<float> put, In<float> spot, In<float> strike, In<float> years) {
        auto i = global_index();
        auto s = spot[i], k = strike[i], t = years[i];
        auto root = sqrt(t);
        auto d1 = (log(s / k) + (rate + 0.5f * sigma * sigma) * t) / (sigma * root);
        auto d2 = d1 - sigma * root;
        auto n1 = normal(d1), n2 = normal(d2), later = k * exp(-rate * t);
        call[i] = s * n1 - later * n2;
        put[i] = later * (1.0f - n2) - s * (1.0f - n1);
    });

// Few groups, each of which counts many elements in its own memory first.
inline const auto histogram = kernel("histogram", [](InOut<uint32_t> bins, In<uint32_t> x) {
    Local<uint32_t, 256> counts;
    auto l = local_index();
    counts[l] = 0;
    synchronize();
    $for(i, range(global_index(), x.size(), global_size())) { atomic_add(counts[x[i] & 255], 1); }
    synchronize();
    atomic_add(bins[l], counts[l]);
});

inline const auto clear = kernel("clear", [](Out<uint32_t> bins) { bins[global_index()] = 0; });

inline const auto matmul = tiled_matmul();
inline const auto block_sum = block_sum_tree();

}  // namespace bench::cpu
