#include "bench/corpus/linear_systems_openmp.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace bench::corpus::openmp {

void cholesky(double* u, double* a, const double* input, int n) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(n) * n; ++i) a[i] = input[i];
        for (int k = 0; k < n; ++k) {
            double* const factors = u + long(k) * n;
#pragma omp single
            {
                const double* const row = a + long(k) * n;
                const double scale = 1 / std::sqrt(row[k]);
#pragma omp simd
                for (int j = k; j < n; ++j) factors[j] = row[j] * scale;
            }
            // Rows further down are shorter.
#pragma omp for schedule(static, 8)
            for (int i = k + 1; i < n; ++i) {
                double* const row = a + long(i) * n;
                const double factor = factors[i];
#pragma omp simd
                for (int j = i; j < n; ++j) row[j] -= factor * factors[j];
            }
        }
    }
}

void lu(double* a, const double* input, int n) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(n) * n; ++i) a[i] = input[i];
        for (int k = 0; k < n - 1; ++k) {
            const double* const pivots = a + long(k) * n;
            const double scale = 1 / pivots[k];
#pragma omp for schedule(static)
            for (int i = k + 1; i < n; ++i) {
                double* const row = a + long(i) * n;
                const double factor = row[k] *= scale;
#pragma omp simd
                for (int j = k + 1; j < n; ++j) row[j] -= factor * pivots[j];
            }
        }
    }
}

void triangular_solve(double* x, const double* l, const double* b, int n, int m) {
    constexpr int strip = 32;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < m; first += strip) {
        const int count = std::min(strip, m - first);
        const auto solve = [&](auto columns) {
            for (int i = 0; i < n; ++i) {
                double sums[strip];
#pragma omp simd
                for (int j = 0; j < columns(); ++j) sums[j] = b[long(i) * m + first + j];
                for (int k = 0; k < i; ++k) {
                    const double factor = l[long(i) * n + k];
#pragma omp simd
                    for (int j = 0; j < columns(); ++j) sums[j] -= factor * x[long(k) * m + first + j];
                }
                const double scale = 1 / l[long(i) * n + i];
#pragma omp simd
                for (int j = 0; j < columns(); ++j) x[long(i) * m + first + j] = sums[j] * scale;
            }
        };
        if (count == strip)
            solve([] { return strip; });
        else
            solve([=] { return count; });
    }
}

namespace {

constexpr int lanes = 8;

/// Solves `some` of the systems from `first` on, one a lane.
template <class Some> void solve_lanes(double* x, const double* a, const double* b, int count, long first, Some some) {
    constexpr int n = 6;
    double m[n][n + 1][lanes] = {};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j)
#pragma omp simd
            for (int s = 0; s < some; ++s) m[i][j][s] = a[long(i * n + j) * count + first + s];
#pragma omp simd
        for (int s = 0; s < some; ++s) m[i][n][s] = b[long(i) * count + first + s];
        for (int s = some; s < lanes; ++s) m[i][i][s] = 1;
    }
    // The largest element of each column comes up by exchanges of two rows, which all lanes do or skip by selection.
    for (int k = 0; k < n; ++k) {
        for (int i = k + 1; i < n; ++i) {
            double current[lanes], candidate[lanes];
#pragma omp simd
            for (int s = 0; s < lanes; ++s) current[s] = std::abs(m[k][k][s]), candidate[s] = std::abs(m[i][k][s]);
            for (int j = k; j <= n; ++j)
#pragma omp simd
                for (int s = 0; s < lanes; ++s) {
                    const double upper = m[k][j][s], lower = m[i][j][s];
                    m[k][j][s] = candidate[s] > current[s] ? lower : upper;
                    m[i][j][s] = candidate[s] > current[s] ? upper : lower;
                }
        }
        double inverse[lanes];
#pragma omp simd
        for (int s = 0; s < lanes; ++s) inverse[s] = 1 / m[k][k][s];
        for (int i = k + 1; i < n; ++i) {
            double factor[lanes];
#pragma omp simd
            for (int s = 0; s < lanes; ++s) factor[s] = m[i][k][s] * inverse[s];
            for (int j = k + 1; j <= n; ++j)
#pragma omp simd
                for (int s = 0; s < lanes; ++s) m[i][j][s] -= factor[s] * m[k][j][s];
        }
    }
    for (int i = n - 1; i >= 0; --i) {
        for (int j = i + 1; j < n; ++j)
#pragma omp simd
            for (int s = 0; s < lanes; ++s) m[i][n][s] -= m[i][j][s] * m[j][n][s];
#pragma omp simd
        for (int s = 0; s < lanes; ++s) m[i][n][s] /= m[i][i][s];
#pragma omp simd
        for (int s = 0; s < some; ++s) x[long(i) * count + first + s] = m[i][n][s];
    }
}

}  // namespace

void small_solve(double* x, const double* a, const double* b, int count) {
#pragma omp parallel for schedule(static)
    for (int first = 0; first < count; first += lanes) {
        if (first + lanes <= count)
            solve_lanes(x, a, b, count, first, std::integral_constant<int, lanes>());
        else
            solve_lanes(x, a, b, count, first, count - first);
    }
}

}  // namespace bench::corpus::openmp
