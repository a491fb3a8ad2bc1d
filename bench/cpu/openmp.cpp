#include "bench/cpu/openmp.h"

#include <cmath>
#include <cstring>

namespace openmp {

void triad(float* __restrict a, const float* __restrict b, const float* __restrict c, float s, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

void diffuse(float* __restrict next, const float* __restrict now, float c, int n) {
    const long row = n, plane = long(n) * n;
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < n - 1; ++j) {
            const float* __restrict p = now + i * plane + j * row;
            float* __restrict q = next + i * plane + j * row;
#pragma omp simd
            for (int k = 1; k < n - 1; ++k)
                q[k] = p[k] + c * (p[k - plane] + p[k + plane] + p[k - row] + p[k + row] + p[k - 1] + p[k + 1] - 6.0f * p[k]);
        }
}

void maths(float* __restrict y, const float* __restrict x, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) y[i] = std::sin(x[i]) * std::exp(x[i]) + x[i] * x[i] * x[i];
}

void transpose(float* __restrict to, const float* __restrict from, int n) {
    constexpr int tile = 32;
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < n; i += tile)
        for (int j = 0; j < n; j += tile)
            for (int r = i; r < i + tile; ++r)
                for (int s = j; s < j + tile; ++s) to[long(r) * n + s] = from[long(s) * n + r];
}

void matmul(float* __restrict c, const float* __restrict a, const float* __restrict b, int n) {
    // Rows of four by the middle index: b's row is read once for four rows of c.
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i += 4) {
        std::memset(c + long(i) * n, 0, size_t(n) * 4 * sizeof(float));
        for (int k = 0; k < n; ++k) {
            const float* __restrict row = b + long(k) * n;
            const float a0 = a[long(i) * n + k], a1 = a[long(i + 1) * n + k], a2 = a[long(i + 2) * n + k],
                        a3 = a[long(i + 3) * n + k];
            float* __restrict c0 = c + long(i) * n, * __restrict c1 = c0 + n, * __restrict c2 = c1 + n, * __restrict c3 = c2 + n;
#pragma omp simd
            for (int j = 0; j < n; ++j) {
                c0[j] += a0 * row[j];
                c1[j] += a1 * row[j];
                c2[j] += a2 * row[j];
                c3[j] += a3 * row[j];
            }
        }
    }
}

void sums(float* __restrict to, const float* __restrict x, int n) {
#pragma omp parallel for schedule(static)
    for (int g = 0; g < n / 256; ++g) {
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < 256; ++i) sum += x[g * 256 + i];
        to[g] = sum;
    }
}

void histogram(uint32_t* __restrict bins, const uint32_t* __restrict x, int n) {
    std::memset(bins, 0, 256 * sizeof(uint32_t));
#pragma omp parallel
    {
        // Four tables, so that equal neighbours do not wait for each other.
        uint32_t own[4][256] = {};
#pragma omp for schedule(static)
        for (int i = 0; i < n / 4; ++i)
            for (int t = 0; t < 4; ++t) ++own[t][x[i * 4 + t] & 255];
#pragma omp critical
        for (int b = 0; b < 256; ++b) bins[b] += own[0][b] + own[1][b] + own[2][b] + own[3][b];
    }
}

void nbody(float* __restrict ax, float* __restrict ay, float* __restrict az, const float* __restrict x, const float* __restrict y,
           const float* __restrict z, const float* __restrict m, int n) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; ++i) {
        float sx = 0, sy = 0, sz = 0;
        const float xi = x[i], yi = y[i], zi = z[i];
#pragma omp simd reduction(+ : sx, sy, sz)
        for (int j = 0; j < n; ++j) {
            const float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
            const float r = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-2f);
            const float f = m[j] * r * r * r;
            sx += f * dx, sy += f * dy, sz += f * dz;
        }
        ax[i] = sx, ay[i] = sy, az[i] = sz;
    }
}

void mandelbrot(float* __restrict steps, int width, int height, int most) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int j = 0; j < height; ++j)
        for (int i = 0; i < width; ++i) {
            const float cx = -2.0f + 3.0f * float(i) / float(width), cy = -1.5f + 3.0f * float(j) / float(height);
            float x = 0, y = 0;
            int k = 0;
            for (; k < most && x * x + y * y < 4.0f; ++k) {
                const float t = x * x - y * y + cx;
                y = 2.0f * x * y + cy;
                x = t;
            }
            steps[long(j) * width + i] = float(k);
        }
}

void black_scholes(float* __restrict call, float* __restrict put, const float* __restrict spot, const float* __restrict strike,
                   const float* __restrict years, int n) {
    constexpr float rate = 0.03f, sigma = 0.25f;
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) {
        const float root = std::sqrt(years[i]);
        const float d1 = (std::log(spot[i] / strike[i]) + (rate + 0.5f * sigma * sigma) * years[i]) / (sigma * root);
        const float d2 = d1 - sigma * root;
        // The normal distribution by Abramowitz and Stegun 26.2.17.
        const auto normal = [](float d) {
            const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
            const float p = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
            const float tail = 0.39894228f * std::exp(-0.5f * d * d) * p;
            return d > 0 ? 1.0f - tail : tail;
        };
        const float n1 = normal(d1), n2 = normal(d2), later = strike[i] * std::exp(-rate * years[i]);
        call[i] = spot[i] * n1 - later * n2;
        put[i] = later * (1.0f - n2) - spot[i] * (1.0f - n1);
    }
}

void lbm(float* __restrict next, const float* __restrict now, float omega, int n) {
    constexpr int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    constexpr float w[9] = {4.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 9, 1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};
    const long plane = long(n) * n;
#pragma omp parallel for schedule(static)
    for (int j = 0; j < n; ++j) {
        const auto cell = [&](int i, int left, int right) {
            float f[9], rho = 0, ux = 0, uy = 0;
            for (int q = 0; q < 9; ++q) {
                const int column = ex[q] == 0 ? i : ex[q] > 0 ? left : right;
                const int row = (j - ey[q] + n) % n;
                f[q] = now[q * plane + long(row) * n + column];
                rho += f[q], ux += f[q] * float(ex[q]), uy += f[q] * float(ey[q]);
            }
            ux /= rho, uy /= rho;
            const float still = 1.0f - 1.5f * (ux * ux + uy * uy);
            for (int q = 0; q < 9; ++q) {
                const float eu = float(ex[q]) * ux + float(ey[q]) * uy;
                next[q * plane + long(j) * n + i] = f[q] + omega * (w[q] * rho * (still + 3.0f * eu + 4.5f * eu * eu) - f[q]);
            }
        };
        cell(0, n - 1, 1);
#pragma omp simd
        for (int i = 1; i < n - 1; ++i) cell(i, i - 1, i + 1);
        cell(n - 1, n - 2, 0);
    }
}

void push(float* __restrict x, float* __restrict y, float* __restrict u, float* __restrict v, float dt, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) {
        float px = x[i], py = y[i], pu = u[i], pv = v[i];
        const float r2 = px * px + py * py;
        if (r2 < 0.25f) {  // inside the magnet: turned
            const float s = std::sin(dt * 3.0f), c = std::cos(dt * 3.0f), t = c * pu - s * pv;
            pv = s * pu + c * pv;
            pu = t;
        } else if (px > 0) {  // in the field: drawn to the middle
            const float f = dt / (r2 * std::sqrt(r2));
            pu -= f * px;
            pv -= f * py;
        }
        px += dt * pu;
        py += dt * pv;
        if (px < -1.0f || px > 1.0f) {
            pu = -pu;
            px = std::fmin(std::fmax(px, -1.0f), 1.0f);
        }
        if (py < -1.0f || py > 1.0f) {
            pv = -pv;
            py = std::fmin(std::fmax(py, -1.0f), 1.0f);
        }
        x[i] = px, y[i] = py, u[i] = pu, v[i] = pv;
    }
}

}  // namespace openmp
