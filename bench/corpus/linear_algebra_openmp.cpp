#include "bench/corpus/linear_algebra_openmp.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace bench::corpus::openmp {
namespace {

constexpr int height = 4, width = 8;

/// A matrix whose element (i, k) lies at data[i * row + k * column].
struct Strided {
    const double* data;
    long row, column;
};

/// sums(r, c) = sum of a(i + r, k) b(k, j + c) for k in [from, to), with b's rows in one piece.
template <class Rows, class Columns> inline void tile_of(double (*sums)[width], Strided a, const double* b, long b_row, int i,
                                                         int j, int from, int to, Rows rows, Columns columns) {
    double in_registers[height][width] = {};
    for (int k = from; k < to; ++k)
        for (int r = 0; r < rows; ++r) {
            const double left = a.data[(i + r) * a.row + k * a.column];
#pragma omp simd
            for (int c = 0; c < columns; ++c) in_registers[r][c] += left * b[k * b_row + j + c];
        }
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) sums[r][c] = in_registers[r][c];
}

/// The same for a tile that an edge may cut.
inline void tile_at_edge(double (*sums)[width], Strided a, const double* b, long b_row, int i, int j, int from, int to, int rows,
                         int columns) {
    if (rows == height && columns == width)
        tile_of(sums, a, b, b_row, i, j, from, to, std::integral_constant<int, height>(), std::integral_constant<int, width>());
    else
        tile_of(sums, a, b, b_row, i, j, from, to, rows, columns);
}

}  // namespace

void gemm(double* d, const double* a, const double* b, const double* c, int n, int m, int l, double alpha, double beta) {
#pragma omp parallel for collapse(2) schedule(static)
    for (int j = 0; j < m; j += width)
        for (int i = 0; i < n; i += height) {
            const int rows = std::min(height, n - i), columns = std::min(width, m - j);
            double sums[height][width];
            tile_at_edge(sums, {a, l, 1}, b, m, i, j, 0, l, rows, columns);
            for (int r = 0; r < rows; ++r)
                for (int s = 0; s < columns; ++s) {
                    const long at = long(i + r) * m + j + s;
                    d[at] = alpha * sums[r][s] + beta * c[at];
                }
        }
}

void syrk(double* c, double* transposed, const double* a, const double* start, int n, int l, double alpha, double beta) {
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int k = 0; k < l; ++k)
            for (int i = 0; i < n; ++i) transposed[long(k) * n + i] = a[long(i) * l + k];
#pragma omp for schedule(dynamic)
        for (int i = (n - 1) / height * height; i >= 0; i -= height) {
            const int rows = std::min(height, n - i);
            for (int j = 0; j < i + rows; j += width) {
                const int columns = std::min(width, n - j);
                double sums[height][width];
                tile_at_edge(sums, {a, l, 1}, transposed, n, i, j, 0, l, rows, columns);
                for (int r = 0; r < rows; ++r)
                    for (int s = 0; s < columns && j + s <= i + r; ++s) {
                        const long at = long(i + r) * n + j + s;
                        c[at] = alpha * sums[r][s] + beta * start[at];
                    }
            }
            for (int r = i; r < i + rows; ++r)
                for (int j = r + 1; j < n; ++j) c[long(r) * n + j] = start[long(r) * n + j];
        }
    }
}

void trmm(double* c, const double* a, const double* b, int n, int m, double alpha) {
#pragma omp parallel for collapse(2) schedule(dynamic, 8)
    for (int i = 0; i < n; i += height)
        for (int j = 0; j < m; j += width) {
            const int rows = std::min(height, n - i), columns = std::min(width, m - j);
            double sums[height][width];
            tile_at_edge(sums, {a, 1, n}, b, m, i, j, i + rows, n, rows, columns);
            for (int r = 0; r < rows; ++r)
                for (int s = 0; s < columns; ++s) {
                    double sum = sums[r][s] + b[long(i + r) * m + j + s];
                    for (int k = i + r + 1; k < i + rows; ++k) sum += a[long(k) * n + i + r] * b[long(k) * m + j + s];
                    c[long(i + r) * m + j + s] = alpha * sum;
                }
        }
}

void gemver(const Gemver& g) {
    const int n = g.n, strip = 256;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int first = 0; first < n; first += strip) {
            const int count = std::min(strip, n - first);
            double sums[strip] = {};
            for (int i = 0; i < n; ++i) {
                const double *const row = g.a + long(i) * n + first, *const v1 = g.v1 + first, *const v2 = g.v2 + first;
                double* const out = g.updated + long(i) * n + first;
                const double u1 = g.u1[i], u2 = g.u2[i], y = g.y[i];
#pragma omp simd
                for (int j = 0; j < count; ++j) {
                    const double v = row[j] + u1 * v1[j] + u2 * v2[j];
                    out[j] = v;
                    sums[j] += v * y;
                }
            }
            for (int j = 0; j < count; ++j) g.x[first + j] = g.beta * sums[j] + g.z[first + j];
        }
#pragma omp for schedule(static)
        for (int i = 0; i < n; ++i) {
            const double* const row = g.updated + long(i) * n;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int j = 0; j < n; ++j) sum += row[j] * g.x[j];
            g.w[i] = g.alpha * sum;
        }
    }
}

void power_iteration(double* v, double* length, double* w, const double* a, int n, int m, int steps) {
    for (int j = 0; j < m; ++j) v[j] = 1;
    for (int t = 0; t < steps; ++t) {
        for (int j = 0; j < m; ++j) w[j] = 0;
#pragma omp parallel for schedule(static) reduction(+ : w[ : m])
        for (int i = 0; i < n; ++i) {
            const double* const row = a + long(i) * m;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (int j = 0; j < m; ++j) sum += row[j] * v[j];
#pragma omp simd
            for (int j = 0; j < m; ++j) w[j] += sum * row[j];
        }
        double squares = 0;
        for (int j = 0; j < m; ++j) squares += w[j] * w[j];
        *length = std::sqrt(squares);
        const double scale = 1 / *length;
        for (int j = 0; j < m; ++j) v[j] = scale * w[j];
    }
}

void covariance(double* covariances, double* centered, double* mean, const double* samples, int n, int m) {
    const int strip = 128;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int first = 0; first < m; first += strip) {
            const int count = std::min(strip, m - first);
            double sums[strip] = {};
            for (int k = 0; k < n; ++k)
#pragma omp simd
                for (int j = 0; j < count; ++j) sums[j] += samples[long(k) * m + first + j];
            for (int j = 0; j < count; ++j) mean[first + j] = sums[j] / n;
        }
#pragma omp for schedule(static)
        for (int k = 0; k < n; ++k)
#pragma omp simd
            for (int j = 0; j < m; ++j) centered[long(k) * m + j] = samples[long(k) * m + j] - mean[j];
#pragma omp for schedule(dynamic)
        for (int i = 0; i < m; i += height) {
            const int rows = std::min(height, m - i);
            for (int j = i / width * width; j < m; j += width) {
                const int columns = std::min(width, m - j);
                double sums[height][width];
                tile_at_edge(sums, {centered, 1, m}, centered, m, i, j, 0, n, rows, columns);
                for (int r = 0; r < rows; ++r)
                    for (int s = std::max(0, i + r - j); s < columns; ++s)
                        covariances[long(i + r) * m + j + s] = covariances[long(j + s) * m + i + r] = sums[r][s] / (n - 1);
            }
        }
    }
}

void floyd_warshall(int* paths, const int* edges, int n) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(n) * n; ++i) paths[i] = edges[i];
        for (int k = 0; k < n; ++k) {
            const int* const through = paths + long(k) * n;
#pragma omp for schedule(static)
            for (int i = 0; i < n; ++i) {
                int* const row = paths + long(i) * n;
                const int to = row[k];
                if (i == k) continue;  // such paths are no shorter, and other threads read this row
#pragma omp simd
                for (int j = 0; j < n; ++j) {
                    const int length = to + through[j], shortest = row[j];
                    row[j] = length < shortest ? length : shortest;
                }
            }
        }
    }
}

}  // namespace bench::corpus::openmp
