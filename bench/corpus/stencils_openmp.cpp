#include "bench/corpus/stencils_openmp.h"

#include <algorithm>

namespace bench::corpus::openmp {

void jacobi_2d(double* a, double* b, const double* input, int n, int steps) {
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < long(n) * n; ++i) a[i] = b[i] = input[i];
    for (int t = 0; t < steps; ++t) {
        const double* __restrict now = t % 2 ? b : a;
        double* __restrict next = t % 2 ? a : b;
#pragma omp parallel for schedule(static)
        for (int i = 1; i < n - 1; ++i) {
#pragma omp simd
            for (int j = 1; j < n - 1; ++j) {
                const long k = long(i) * n + j;
                next[k] = 0.2 * (now[k] + now[k - 1] + now[k + 1] + now[k - n] + now[k + n]);
            }
        }
    }
}

void heat_3d(double* a, double* b, const double* input, int n, int steps, double rate) {
    const long row = n, plane = row * n;
#pragma omp parallel for simd schedule(static)
    for (long i = 0; i < plane * n; ++i) a[i] = b[i] = input[i];
    for (int t = 0; t < steps; ++t) {
        const double* __restrict now = t % 2 ? b : a;
        double* __restrict next = t % 2 ? a : b;
#pragma omp parallel for schedule(static)
        for (int i = 1; i < n - 1; ++i)
            for (int j = 1; j < n - 1; ++j) {
                const double* const p = now + i * plane + j * row;
                double* const out = next + i * plane + j * row;
#pragma omp simd
                for (int k = 1; k < n - 1; ++k)
                    out[k] =
                        p[k] + rate * (p[k - plane] + p[k + plane] + p[k - row] + p[k + row] + p[k - 1] + p[k + 1] - 6 * p[k]);
            }
    }
}

void gauss_seidel(double* u, const double* input, const double* source, int n, int sweeps) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(n) * n; ++i) u[i] = input[i];
        for (int t = 0; t < 2 * sweeps; ++t) {
#pragma omp for schedule(static)
            for (int i = 1; i < n - 1; ++i) {
                double* const p = u + long(i) * n;
                const double* const f = source + long(i) * n;
#pragma omp simd
                for (int j = 1 + (i + 1 + t) % 2; j < n - 1; j += 2)
                    p[j] = 0.25 * (p[j - n] + p[j + n] + p[j - 1] + p[j + 1]) - f[j];
            }
        }
    }
}

void adi(double* u, double* half, const double* input, const double* factors, int n, int steps, double rate) {
    constexpr int strip = 64, lines = 8;
    const long row = n;
    const double middle = 1 / rate - 2;
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < row * n; ++i) u[i] = input[i], half[i] = 0;
        for (int t = 0; t < steps; ++t) {
#pragma omp for schedule(static)
            for (int first = 1; first < n - 1; first += strip) {
                const int last = std::min(first + strip, n - 1);
                for (int i = 1; i < n - 1; ++i) {
                    double* const h = half + i * row;
                    const double *const p = u + i * row, factor = factors[i];
#pragma omp simd
                    for (int j = first; j < last; ++j) h[j] = (p[j - 1] + middle * p[j] + p[j + 1] + h[j - row]) * factor;
                }
                for (int i = n - 3; i > 0; --i) {
                    double* const h = half + i * row;
                    const double factor = factors[i];
#pragma omp simd
                    for (int j = first; j < last; ++j) h[j] += factor * h[j + row];
                }
            }
#pragma omp for schedule(static)
            for (int first = 1; first < n - 1; first += lines) {
                const auto sweep = [&](auto count) {
                    for (int j = 1; j < n - 1; ++j)
                        for (int r = 0; r < count(); ++r) {
                            const long at = (first + r) * row + j;
                            u[at] = (half[at - row] + middle * half[at] + half[at + row] + u[at - 1]) * factors[j];
                        }
                    for (int j = n - 3; j > 0; --j)
                        for (int r = 0; r < count(); ++r) {
                            const long at = (first + r) * row + j;
                            u[at] += factors[j] * u[at + 1];
                        }
                };
                if (first + lines <= n - 1)
                    sweep([] { return lines; });
                else
                    sweep([=] { return n - 1 - first; });
            }
        }
    }
}

void life(unsigned char* a, unsigned char* b, const unsigned char* input, int rows, int columns, int generations) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long i = 0; i < long(rows) * columns; ++i) a[i] = input[i];
        for (int t = 0; t < generations; ++t) {
            const unsigned char* const now = t % 2 ? b : a;
            unsigned char* const next = t % 2 ? a : b;
#pragma omp for schedule(static)
            for (int i = 0; i < rows; ++i) {
                const unsigned char* __restrict above = now + long(i ? i - 1 : rows - 1) * columns;
                const unsigned char* __restrict here = now + long(i) * columns;
                const unsigned char* __restrict below = now + long(i + 1 < rows ? i + 1 : 0) * columns;
                unsigned char* __restrict out = next + long(i) * columns;
                const auto cell = [&](int left, int j, int right) -> unsigned char {
                    const unsigned char around = static_cast<unsigned char>(above[left] + above[j] + above[right] + here[left] +
                                                                            here[right] + below[left] + below[j] + below[right]);
                    return (around | here[j]) == 3;  // three neighbours, or a live cell with two
                };
                out[0] = cell(columns - 1, 0, 1);
#pragma omp simd
                for (int j = 1; j < columns - 1; ++j) out[j] = cell(j - 1, j, j + 1);
                out[columns - 1] = cell(columns - 2, columns - 1, 0);
            }
        }
    }
}

}  // namespace bench::corpus::openmp
