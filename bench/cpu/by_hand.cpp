// Vector code written by hand, as wide as the processor's registers: the reference of a programmer who knows the machine.
#include <chrono>
#include <cmath>
#include <cstring>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "bench/cpu/openmp.h"

namespace by_hand {
namespace {

// The target that the file is compiled for says how wide its registers are. Every length below is a multiple of 64 floats.
#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif
typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));

Vector load(const float* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
void store(float* to, Vector v) { std::memcpy(to, &v, sizeof v); }
Vector all(float x) { return x - Vector{}; }

Vector inverse_root(Vector x) {
    Vector r;
    for (int i = 0; i < lanes; ++i) r[i] = 1.0f / std::sqrt(x[i]);
    return r;
}

/// A non-temporal store, where the compiler has the processor's instruction. `to` is aligned to the vector's size.
void store_past_caches(float* to, Vector v) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, reinterpret_cast<__m512&>(v));
#elif defined(__AVX__)
    _mm256_stream_ps(to, reinterpret_cast<__m256&>(v));
#else
    store(to, v);
#endif
}

}  // namespace

void triad(float* a, const float* b, const float* c, float s, int n) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i += lanes) store_past_caches(a + i, load(b + i) + s * load(c + i));
}

float read(const float* x, int n) {
    constexpr int ahead = 256;  // floats: the best of several
    float sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        constexpr int step = 4 * lanes;
        Vector own[4] = {};
#pragma omp for schedule(static)
        for (int i = 0; i < n; i += step)
            for (int k = 0; k < 4; ++k) {
                __builtin_prefetch(x + i + lanes * k + ahead);
                own[k] += load(x + i + lanes * k);
            }
        const Vector all = (own[0] + own[1]) + (own[2] + own[3]);
        for (int k = 0; k < lanes; ++k) sum += all[k];
    }
    return sum;
}

/// The kernel's algorithm: tiles of 16 x 16. As many rows are summed at once as half of the registers hold.
void matmul(float* c, const float* a, const float* b, int n) {
    constexpr int tile_size = 16, columns = tile_size / lanes, rows = lanes == 16 ? 16 : 4;
#pragma omp parallel for collapse(2) schedule(static)
    for (int row = 0; row < n; row += rows)
        for (int column = 0; column < n; column += tile_size) {
            Vector sum[rows][columns] = {};
            for (int tile = 0; tile < n; tile += tile_size)
                for (int k = 0; k < tile_size; ++k) {
                    Vector of_b[columns];
                    for (int v = 0; v < columns; ++v) of_b[v] = load(b + long(tile + k) * n + column + v * lanes);
                    for (int i = 0; i < rows; ++i)
                        for (int v = 0; v < columns; ++v) sum[i][v] += a[long(row + i) * n + tile + k] * of_b[v];
                }
            for (int i = 0; i < rows; ++i)
                for (int v = 0; v < columns; ++v) store(c + long(row + i) * n + column + v * lanes, sum[i][v]);
        }
}

void nbody(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* m, int n) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i += lanes) {
        const Vector xi = load(x + i), yi = load(y + i), zi = load(z + i);
        Vector sx = {}, sy = {}, sz = {};
        for (int j = 0; j < n; ++j) {
            const Vector dx = all(x[j]) - xi, dy = all(y[j]) - yi, dz = all(z[j]) - zi;
            const Vector r = inverse_root(dx * dx + dy * dy + dz * dz + 1e-2f);
            const Vector f = all(m[j]) * r * r * r;
            sx += f * dx, sy += f * dy, sz += f * dz;
        }
        store(ax + i, sx), store(ay + i, sy), store(az + i, sz);
    }
}

double peak_flops() {
    constexpr long rounds = 4'000'000;
    double flops = 0;
    float keep = 0;
    const auto start = std::chrono::steady_clock::now();
#pragma omp parallel reduction(+ : flops, keep)
    {
        Vector sum[12];
        for (int k = 0; k < 12; ++k) sum[k] = all(float(k));
        Vector factor = all(0.999f), term = all(0.001f);
        __asm__ volatile("" : "+m"(factor), "+m"(term));  // unknown to the compiler, which keeps them in registers after this
        for (long r = 0; r < rounds; ++r)
            for (int k = 0; k < 12; ++k) sum[k] = sum[k] * factor + term;
        for (int k = 0; k < 12; ++k) keep += sum[k][k % lanes];
        flops += double(rounds) * 12 * lanes * 2;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    __asm__ volatile("" : : "m"(keep));
    return flops / took.count();
}

}  // namespace by_hand
