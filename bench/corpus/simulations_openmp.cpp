#include "bench/corpus/simulations_openmp.h"

#include <algorithm>

namespace bench::corpus::openmp {

void fdtd_2d(double* ex, double* ey, double* hz, const double* source, int n, int m, int steps) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(n) * m; ++i) ex[i] = ey[i] = hz[i] = 0;
        for (int t = 0; t < steps; ++t) {
            // ex and ey read hz only.
#pragma omp for schedule(static)
            for (int i = 0; i < n; ++i) {
                const long at = long(i) * m;
                double *const x = ex + at, *const y = ey + at;
                const double* const h = hz + at;
                if (i == 0)
                    for (int j = 0; j < m; ++j) y[j] = source[t];
                else
#pragma omp simd
                    for (int j = 0; j < m; ++j) y[j] -= 0.5 * (h[j] - h[j - m]);
#pragma omp simd
                for (int j = 1; j < m; ++j) x[j] -= 0.5 * (h[j] - h[j - 1]);
            }
#pragma omp for schedule(static)
            for (int i = 0; i < n - 1; ++i) {
                const long at = long(i) * m;
                const double *const x = ex + at, *const y = ey + at;
                double* const h = hz + at;
#pragma omp simd
                for (int j = 0; j < m - 1; ++j) h[j] -= 0.7 * (x[j + 1] - x[j] + y[j + m] - y[j]);
            }
        }
    }
}

void hotspot(float* a, float* b, const float* input, const float* power, int n, int steps, Chip chip) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(n) * n; ++i) a[i] = input[i];
        for (int t = 0; t < steps; ++t) {
            const float* const now = t % 2 ? b : a;
            float* const next = t % 2 ? a : b;
#pragma omp for schedule(static)
            for (int i = 0; i < n; ++i) {
                const float* __restrict above = now + long(std::max(i - 1, 0)) * n;
                const float* __restrict here = now + long(i) * n;
                const float* __restrict below = now + long(std::min(i + 1, n - 1)) * n;
                const float* __restrict heat = power + long(i) * n;
                float* __restrict out = next + long(i) * n;
                const auto point = [&](int left, int j, int right) {
                    return here[j] + chip.power * heat[j] + chip.row * (above[j] + below[j] - 2 * here[j]) +
                           chip.column * (here[left] + here[right] - 2 * here[j]) + chip.up * (chip.ambient - here[j]);
                };
                out[0] = point(0, 0, 1);
#pragma omp simd
                for (int j = 1; j < n - 1; ++j) out[j] = point(j - 1, j, j + 1);
                out[n - 1] = point(n - 2, n - 1, n - 1);
            }
        }
    }
}

void srad(float* image, float* coefficient, float* flux, const float* input, int n, int m, int steps, float rate) {
    const long count = long(n) * m;
    const auto rows_around = [=](const float* of, int i) {
        struct Rows {
            const float *above, *here, *below;
        };
        return Rows{of + long(std::max(i - 1, 0)) * m, of + long(i) * m, of + long(std::min(i + 1, n - 1)) * m};
    };
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < count; ++i) image[i] = input[i];
    for (int t = 0; t < steps; ++t) {
        double sum = 0, squares = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum, squares)
        for (int i = 0; i < n; ++i) {
            const float* const row = image + long(i) * m;
            float of_row = 0, squares_of_row = 0;
#pragma omp simd reduction(+ : of_row, squares_of_row)
            for (int j = 0; j < m; ++j) of_row += row[j], squares_of_row += row[j] * row[j];
            sum += double(of_row), squares += double(squares_of_row);
        }
        const float mean = float(sum / double(count)), speckle = float(squares / double(count)) / (mean * mean) - 1;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; ++i) {
            const auto [above, here, below] = rows_around(image, i);
            float* __restrict out = coefficient + long(i) * m;
            const auto point = [=, above = above, here = here, below = below](int left, int j, int right) {
                const float v = here[j], inverse = 1 / v;
                const float up = above[j] - v, down = below[j] - v, west = here[left] - v, east = here[right] - v;
                const float gradient = (up * up + down * down + west * west + east * east) * inverse * inverse;
                const float laplace = (up + down + west + east) * inverse, scale = 1 + 0.25f * laplace;
                const float q = (0.5f * gradient - 0.0625f * laplace * laplace) / (scale * scale);
                const float c = 1 / (1 + (q - speckle) / (speckle * (1 + speckle)));
                return std::min(std::max(c, 0.0f), 1.0f);
            };
            out[0] = point(0, 0, 1);
#pragma omp simd
            for (int j = 1; j < m - 1; ++j) out[j] = point(j - 1, j, j + 1);
            out[m - 1] = point(m - 2, m - 1, m - 1);
        }
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; ++i) {
            const auto [above, here, below] = rows_around(image, i);
            const float *const c = coefficient + long(i) * m, *const c_below = coefficient + long(std::min(i + 1, n - 1)) * m;
            float* __restrict out = flux + long(i) * m;
            const auto point = [=, above = above, here = here, below = below](int left, int j, int right) {
                const float v = here[j];
                return v + 0.25f * rate *
                               (c_below[j] * (below[j] - v) + c[j] * (above[j] - v) + c[right] * (here[right] - v) +
                                c[j] * (here[left] - v));
            };
            out[0] = point(0, 0, 1);
#pragma omp simd
            for (int j = 1; j < m - 1; ++j) out[j] = point(j - 1, j, j + 1);
            out[m - 1] = point(m - 2, m - 1, m - 1);
        }
        std::swap(image, flux);
    }
}

void acoustic_wave(float* a, float* b, const float* now, const float* before, const float* speed, int n, int steps) {
    constexpr float c0 = -205.0f / 72, c1 = 8.0f / 5, c2 = -1.0f / 5, c3 = 8.0f / 315, c4 = -1.0f / 560;
    const long row = n, plane = row * n;
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < plane * n; ++i) a[i] = now[i], b[i] = before[i];
    for (int t = 0; t < steps; ++t) {
        const float* __restrict from = t % 2 ? b : a;
        float* __restrict to = t % 2 ? a : b;
#pragma omp parallel for collapse(2) schedule(static)
        for (int i = 4; i < n - 4; ++i)
            for (int j = 4; j < n - 4; ++j) {
                const float *const u = from + i * plane + j * row, *const v = speed + i * plane + j * row;
                float* const out = to + i * plane + j * row;
#pragma omp simd
                for (int k = 4; k < n - 4; ++k) {
                    const auto at = [=](int d) {
                        return u[k - d] + u[k + d] + u[k - d * row] + u[k + d * row] + u[k - d * plane] + u[k + d * plane];
                    };
                    const float laplace = 3 * c0 * u[k] + c1 * at(1) + c2 * at(2) + c3 * at(3) + c4 * at(4);
                    out[k] = 2 * u[k] - out[k] + v[k] * laplace;
                }
            }
    }
}

}  // namespace bench::corpus::openmp
