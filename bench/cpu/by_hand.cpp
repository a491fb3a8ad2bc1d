// Vectors written out by hand, sixteen floats each: what a programmer who knows the machine gets.
#include <chrono>
#include <cmath>
#include <cstring>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "bench/cpu/openmp.h"

namespace by_hand {
namespace {

typedef float v16 __attribute__((vector_size(64)));

v16 load(const float* from) {
    v16 v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
void store(float* to, v16 v) { std::memcpy(to, &v, sizeof v); }
v16 all(float x) { return x - v16{}; }

v16 inverse_root(v16 x) {
    v16 r;
    for (int i = 0; i < 16; ++i) r[i] = 1.0f / std::sqrt(x[i]);
    return r;
}

/// Past the caches, where the compiler has the machine's instruction.
void store_past_caches(float* to, v16 v) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, reinterpret_cast<__m512&>(v));
#elif defined(__AVX__)
    float parts[16];
    store(parts, v);
    _mm256_stream_ps(to, _mm256_loadu_ps(parts));
    _mm256_stream_ps(to + 8, _mm256_loadu_ps(parts + 8));
#else
    store(to, v);
#endif
}

}  // namespace

void triad(float* a, const float* b, const float* c, float s, int n) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i += 16) store_past_caches(a + i, load(b + i) + s * load(c + i));
}

float read(const float* x, int n) {
    constexpr int ahead = 256;  // floats: the best of several
    float sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        v16 own[4] = {};
#pragma omp for schedule(static)
        for (int i = 0; i < n; i += 64)
            for (int k = 0; k < 4; ++k) {
                __builtin_prefetch(x + i + 16 * k + ahead);
                own[k] += load(x + i + 16 * k);
            }
        const v16 all = (own[0] + own[1]) + (own[2] + own[3]);
        for (int k = 0; k < 16; ++k) sum += all[k];
    }
    return sum;
}

/// The kernel's algorithm: tiles of 16 x 16 in local memory, one vector a row.
void matmul(float* c, const float* a, const float* b, int n) {
#pragma omp parallel for collapse(2) schedule(static)
    for (int row = 0; row < n; row += 16)
        for (int column = 0; column < n; column += 16) {
            v16 sum[16] = {};
            for (int tile = 0; tile < n; tile += 16) {
                v16 tile_b[16];
                for (int k = 0; k < 16; ++k) tile_b[k] = load(b + long(tile + k) * n + column);
                for (int i = 0; i < 16; ++i) {
                    const float* const from = a + long(row + i) * n + tile;
                    for (int k = 0; k < 16; ++k) sum[i] += from[k] * tile_b[k];
                }
            }
            for (int i = 0; i < 16; ++i) store(c + long(row + i) * n + column, sum[i]);
        }
}

void nbody(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* m, int n) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i += 16) {
        const v16 xi = load(x + i), yi = load(y + i), zi = load(z + i);
        v16 sx = {}, sy = {}, sz = {};
        for (int j = 0; j < n; ++j) {
            const v16 dx = all(x[j]) - xi, dy = all(y[j]) - yi, dz = all(z[j]) - zi;
            const v16 r = inverse_root(dx * dx + dy * dy + dz * dz + 1e-2f);
            const v16 f = all(m[j]) * r * r * r;
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
        v16 sum[12];
        for (int k = 0; k < 12; ++k) sum[k] = all(float(k));
        v16 factor = all(0.999f), term = all(0.001f);
        __asm__ volatile("" : "+v"(factor), "+v"(term));
        for (long r = 0; r < rounds; ++r)
            for (int k = 0; k < 12; ++k) sum[k] = sum[k] * factor + term;
        for (int k = 0; k < 12; ++k) keep += sum[k][k];
        flops += double(rounds) * 12 * 16 * 2;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    __asm__ volatile("" : : "m"(keep));
    return flops / took.count();
}

}  // namespace by_hand
