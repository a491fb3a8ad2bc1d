#include "bench/corpus/groups_openmp.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bench::corpus::openmp {

void needleman_wunsch(int* score, const int* down, const int* across, const int* similarity, int letters, int gap, int n) {
    constexpr int tile = 128;
    const long stride = n + 1;
    for (int i = 0; i <= n; ++i) score[i] = score[i * stride] = -gap * i;
    const int blocks = (n + tile - 1) / tile;
#pragma omp parallel
    for (int diagonal = 0; diagonal < 2 * blocks - 1; ++diagonal) {
#pragma omp for schedule(dynamic)
        for (int block_row = std::max(0, diagonal - blocks + 1); block_row <= std::min(diagonal, blocks - 1); ++block_row) {
            const int top = block_row * tile, left = (diagonal - block_row) * tile;
            const int bottom = std::min(top + tile, n), width = std::min(tile, n - left);
            for (int i = top; i < bottom; ++i) {
                const int* __restrict above = score + i * stride + left;
                const int* __restrict by_letter = similarity + down[i] * letters;
                const int* __restrict letter = across + left;
                int* __restrict row = score + (i + 1) * stride + left;
                int best[tile];
#pragma omp simd
                for (int j = 0; j < width; ++j) best[j] = std::max(above[j] + by_letter[letter[j]], above[j + 1] - gap);
                int before = row[0];
                for (int j = 0; j < width; ++j) row[j + 1] = before = std::max(best[j], before - gap);
            }
        }
    }
}

void pathfinder(int* one, int* other, const int* cost, int n, int rows) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (int j = 0; j < n; ++j) one[j] = cost[j];
        for (int i = 1; i < rows; ++i) {
            const int* __restrict before = i % 2 ? one : other;
            const int* __restrict here = cost + long(i) * n;
            int* __restrict after = i % 2 ? other : one;
#pragma omp for simd schedule(static)
            for (int j = 1; j < n - 1; ++j) after[j] = here[j] + std::min(before[j], std::min(before[j - 1], before[j + 1]));
#pragma omp single
            {
                after[0] = here[0] + std::min(before[0], before[1]);
                after[n - 1] = here[n - 1] + std::min(before[n - 1], before[n - 2]);
            }
        }
    }
}

void heat(float* a, float* b, const float* input, const float* power, int rows, int columns, int steps) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long k = 0; k < long(rows) * columns; ++k) a[k] = input[k];
        for (int t = 0; t < steps; ++t) {
            const float* __restrict now = t % 2 ? b : a;
            float* __restrict next = t % 2 ? a : b;
#pragma omp for schedule(static)
            for (int i = 0; i < rows; ++i) {
                const float* __restrict row = now + long(i) * columns;
                const float* __restrict up = now + long(std::max(i - 1, 0)) * columns;
                const float* __restrict down = now + long(std::min(i + 1, rows - 1)) * columns;
                const float* __restrict source = power + long(i) * columns;
                float* __restrict to = next + long(i) * columns;
                const auto cell = [&](int j, int left, int right) {
                    const float mine = row[j];
                    to[j] = mine + 0.1f * (up[j] + down[j] - 2 * mine) + 0.2f * (row[left] + row[right] - 2 * mine) + source[j] +
                            0.01f * (20 - mine);
                };
                cell(0, 0, 1);
#pragma omp simd
                for (int j = 1; j < columns - 1; ++j) cell(j, j - 1, j + 1);
                cell(columns - 1, columns - 2, columns - 1);
            }
        }
    }
}

namespace {

/// Compares the pairs of a block whose first elements are `distance` apart; a block lies within one direction of the network.
template <long distance> void pairs_near(uint32_t* keys, long count, bool up) {
    for (long base = 0; base < count; base += 2 * distance) {
        uint32_t* const at = keys + base;
#pragma omp simd
        for (long k = 0; k < distance; ++k) {
            const uint32_t low = std::min(at[k], at[k + distance]), high = std::max(at[k], at[k + distance]);
            at[k] = up ? low : high, at[k + distance] = up ? high : low;
        }
    }
}
void pairs(uint32_t* first, uint32_t* second, long count, bool up) {
#pragma omp simd
    for (long k = 0; k < count; ++k) {
        const uint32_t low = std::min(first[k], second[k]), high = std::max(first[k], second[k]);
        first[k] = up ? low : high, second[k] = up ? high : low;
    }
}
/// The steps from `distance` down to 1 within `count` keys.
void merge(uint32_t* keys, long count, long distance, bool up) {
    for (; distance > 8; distance /= 2)
        for (long base = 0; base < count; base += 2 * distance) pairs(keys + base, keys + base + distance, distance, up);
    if (distance >= 8) pairs_near<8>(keys, count, up);
    if (distance >= 4) pairs_near<4>(keys, count, up);
    if (distance >= 2) pairs_near<2>(keys, count, up);
    pairs_near<1>(keys, count, up);
}

}  // namespace

void bitonic_sort(uint32_t* keys, const uint32_t* input, long n) {
    const long block = std::min(n, 4096L);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (long base = 0; base < n; base += block) {
            std::copy(input + base, input + base + block, keys + base);
            for (long size = 2; size <= block; size *= 2)
                for (long at = base; at < base + block; at += size) merge(keys + at, size, size / 2, (at & size) == 0);
        }
        for (long size = 2 * block; size <= n; size *= 2) {
            for (long distance = size / 2; distance >= block; distance /= 2) {
                const long part = std::min(distance, block);
#pragma omp for schedule(static)
                for (long k = 0; k < n / 2; k += part) {
                    const long at = k / distance * 2 * distance + k % distance;
                    pairs(keys + at, keys + at + distance, part, (at & size) == 0);
                }
            }
#pragma omp for schedule(static)
            for (long base = 0; base < n; base += block) merge(keys + base, block, block / 2, (base & size) == 0);
        }
    }
}

void exclusive_scan(uint32_t* sums, const uint32_t* x, long n) {
    std::vector<uint32_t> begins;
#pragma omp parallel
    {
        const long threads = omp_get_num_threads(), t = omp_get_thread_num(), from = n * t / threads, to = n * (t + 1) / threads;
#pragma omp single
        begins.resize(size_t(threads) + 1);
        uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (long i = from; i < to; ++i) sum += x[i];
        begins[size_t(t) + 1] = sum;
#pragma omp barrier
#pragma omp single
        for (size_t k = 1; k < begins.size(); ++k) begins[k] += begins[k - 1];
        uint32_t before = begins[size_t(t)];
        for (long i = from; i < to; ++i) sums[i] = before, before += x[i];
    }
}

void radix_pass(uint32_t* keys, uint32_t* values, const uint32_t* keys_in, const uint32_t* values_in, long n, int shift) {
    std::vector<uint32_t> starts;
#pragma omp parallel
    {
        const long threads = omp_get_num_threads(), t = omp_get_thread_num(), from = n * t / threads, to = n * (t + 1) / threads;
        uint32_t mine[16] = {};
        for (long i = from; i < to; ++i) ++mine[keys_in[i] >> shift & 15];
#pragma omp single
        starts.resize(16 * size_t(threads));
        for (long digit = 0; digit < 16; ++digit) starts[size_t(digit * threads + t)] = mine[digit];
#pragma omp barrier
#pragma omp single
        {
            uint32_t before = 0;
            for (uint32_t& s : starts) before += std::exchange(s, before);
        }
        for (long digit = 0; digit < 16; ++digit) mine[digit] = starts[size_t(digit * threads + t)];
        for (long i = from; i < to; ++i) {
            const uint32_t to_place = mine[keys_in[i] >> shift & 15]++;
            keys[to_place] = keys_in[i], values[to_place] = values_in[i];
        }
    }
}

void tridiagonal(double* x, const double* lower, const double* diagonal, const double* upper, const double* right, int systems,
                 int n) {
#pragma omp parallel for schedule(static)
    for (int s = 0; s < systems; ++s) {
        const long at = long(s) * n;
        const double *a = lower + at, *b = diagonal + at, *c = upper + at, *d = right + at;
        double* const to = x + at;
        double above[256];
        double scale = 1 / b[0], before = to[0] = d[0] * scale;
        above[0] = c[0] * scale;
        for (int i = 1; i < n; ++i) {
            scale = 1 / (b[i] - a[i] * above[i - 1]);
            above[i] = c[i] * scale;
            to[i] = before = (d[i] - a[i] * before) * scale;
        }
        for (int i = n - 2; i >= 0; --i) to[i] = before = to[i] - above[i] * before;
    }
}

namespace {

/// A step of Stockham's transform by 4: `stride` interleaved transforms of 256 / stride points each.
template <int stride> inline void by_four(double* __restrict to_re, double* __restrict to_im, const double* __restrict re,
                                          const double* __restrict im, const double* __restrict roots) {
    constexpr int quarter = 256 / stride / 4;
    for (int p = 0; p < quarter; ++p) {
        const double *r1 = roots + 2 * p * stride, *r2 = roots + 4 * p * stride, *r3 = roots + 6 * p * stride;
        const double r1_re = r1[0], r1_im = r1[1], r2_re = r2[0], r2_im = r2[1], r3_re = r3[0], r3_im = r3[1];
#pragma omp simd
        for (int q = 0; q < stride; ++q) {
            const int a = q + stride * p, b = a + 64, c = a + 128, d = a + 192, k = q + stride * 4 * p;
            const double sum_re = re[a] + re[c], sum_im = im[a] + im[c], minus_re = re[a] - re[c], minus_im = im[a] - im[c];
            const double odd_re = re[b] + re[d], odd_im = im[b] + im[d];
            const double turned_re = im[b] - im[d], turned_im = re[d] - re[b];  // -i (b - d)
            const auto put = [&](int place, double x, double y, double wx, double wy) {
                to_re[place] = x * wx - y * wy, to_im[place] = x * wy + y * wx;
            };
            to_re[k] = sum_re + odd_re, to_im[k] = sum_im + odd_im;
            put(k + stride, minus_re + turned_re, minus_im + turned_im, r1_re, r1_im);
            put(k + 2 * stride, sum_re - odd_re, sum_im - odd_im, r2_re, r2_im);
            put(k + 3 * stride, minus_re - turned_re, minus_im - turned_im, r3_re, r3_im);
        }
    }
}

}  // namespace

void fft_256(double* out, const double* in, const double* roots, int count) {
#pragma omp parallel for schedule(static)
    for (int t = 0; t < count; ++t) {
        alignas(64) double re[256], im[256], other_re[256], other_im[256];
        const double* const from = in + 512L * t;
        double* const to = out + 512L * t;
#pragma omp simd
        for (int k = 0; k < 256; ++k) re[k] = from[2 * k], im[k] = from[2 * k + 1];
        by_four<1>(other_re, other_im, re, im, roots);
        by_four<4>(re, im, other_re, other_im, roots);
        by_four<16>(other_re, other_im, re, im, roots);
        by_four<64>(re, im, other_re, other_im, roots);
#pragma omp simd
        for (int k = 0; k < 256; ++k) to[2 * k] = re[k], to[2 * k + 1] = im[k];
    }
}

void softmax(float* y, const float* x, int rows, int columns) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < rows; ++i) {
        const float* __restrict from = x + long(i) * columns;
        float* __restrict to = y + long(i) * columns;
        float largest = from[0], sum = 0;
#pragma omp simd reduction(max : largest)
        for (int j = 0; j < columns; ++j) largest = std::max(largest, from[j]);
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < columns; ++j) {
            to[j] = std::exp(from[j] - largest);
            sum += to[j];
        }
        const float scale = 1 / sum;
#pragma omp simd
        for (int j = 0; j < columns; ++j) to[j] *= scale;
    }
}

}  // namespace bench::corpus::openmp
