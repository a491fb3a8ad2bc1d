#include "bench/corpus/integers_openmp.h"

#include <algorithm>
#include <cstring>

namespace bench::corpus::openmp {
namespace {

/// One word of each of eight messages or blocks.
typedef uint32_t Lanes __attribute__((vector_size(32)));

Lanes rotate_right(Lanes x, int n) { return x >> n | x << (32 - n); }
Lanes rotate_left(Lanes x, int n) { return x << n | x >> (32 - n); }

}  // namespace

void sha256(uint32_t* digests, const uint32_t* messages, const uint32_t* constants, int count) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
#pragma omp parallel for schedule(static)
    for (int first = 0; first < count; first += 8) {
        const int lanes = std::min(8, count - first);
        Lanes w[64] = {};
        for (int l = 0; l < lanes; ++l)
            for (int k = 0; k < 8; ++k) w[k][l] = messages[long(first + l) * 8 + k];
        w[8] = Lanes{} + 0x80000000u;
        w[15] = Lanes{} + 256u;
        for (int k = 16; k < 64; ++k) {
            const Lanes x = w[k - 15], y = w[k - 2];
            w[k] = w[k - 16] + (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) + w[k - 7] +
                   (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
        }
        Lanes s[8];
        for (int k = 0; k < 8; ++k) s[k] = Lanes{} + start[k];
        Lanes a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
#pragma GCC unroll 8
        for (int k = 0; k < 64; ++k) {
            const Lanes t =
                h + (rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25)) + (g ^ (e & (f ^ g))) + constants[k] + w[k];
            const Lanes u = (rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22)) + ((a & b) | (c & (a | b)));
            h = g, g = f, f = e, e = d + t, d = c, c = b, b = a, a = t + u;
        }
        s[0] += a, s[1] += b, s[2] += c, s[3] += d, s[4] += e, s[5] += f, s[6] += g, s[7] += h;
        for (int l = 0; l < lanes; ++l)
            for (int k = 0; k < 8; ++k) digests[long(first + l) * 8 + k] = s[k][l];
    }
}

void chacha20(uint32_t* cipher, const uint32_t* text, const uint32_t* key, const uint32_t* nonce, int blocks) {
#pragma omp parallel for schedule(static)
    for (int first = 0; first < blocks; first += 8) {
        const int lanes = std::min(8, blocks - first);
        const uint32_t constant[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
        Lanes x[16], start[16] = {};
        for (int k = 0; k < 16; ++k)
            start[k] = Lanes{} + (k < 4 ? constant[k] : k < 12 ? key[k - 4] : k > 12 ? nonce[k - 13] : 0);
        for (int l = 0; l < 8; ++l) start[12][l] = uint32_t(first + l);
        for (int k = 0; k < 16; ++k) x[k] = start[k];
        const auto quarter = [&](int a, int b, int c, int d) {
            x[a] += x[b], x[d] = rotate_left(x[d] ^ x[a], 16);
            x[c] += x[d], x[b] = rotate_left(x[b] ^ x[c], 12);
            x[a] += x[b], x[d] = rotate_left(x[d] ^ x[a], 8);
            x[c] += x[d], x[b] = rotate_left(x[b] ^ x[c], 7);
        };
        for (int round = 0; round < 10; ++round) {
            quarter(0, 4, 8, 12), quarter(1, 5, 9, 13), quarter(2, 6, 10, 14), quarter(3, 7, 11, 15);
            quarter(0, 5, 10, 15), quarter(1, 6, 11, 12), quarter(2, 7, 8, 13), quarter(3, 4, 9, 14);
        }
        for (int k = 0; k < 16; ++k) x[k] += start[k];
        uint32_t stream[16][8];
        std::memcpy(stream, x, sizeof stream);
        const long begin = long(first) * 16;
        for (int l = 0; l < lanes; ++l)
            for (int k = 0; k < 16; ++k) cipher[begin + l * 16 + k] = text[begin + l * 16 + k] ^ stream[k][l];
    }
}

void xxhash64(uint64_t* hashes, const uint64_t* records, int count, int words, uint64_t seed) {
    const uint64_t p1 = 0x9E3779B185EBCA87, p2 = 0xC2B2AE3D27D4EB4F, p3 = 0x165667B19E3779F9, p4 = 0x85EBCA77C2B2AE63;
    const auto rotate = [](uint64_t x, int n) { return x << n | x >> (64 - n); };
#pragma omp parallel for schedule(static)
    for (int r = 0; r < count; ++r) {
        uint64_t a = seed + p1 + p2, b = seed + p2, c = seed, d = seed - p1;
        const uint64_t* const record = records + long(r) * words;
        for (int k = 0; k < words; k += 4) {
            a = rotate(a + record[k] * p2, 31) * p1;
            b = rotate(b + record[k + 1] * p2, 31) * p1;
            c = rotate(c + record[k + 2] * p2, 31) * p1;
            d = rotate(d + record[k + 3] * p2, 31) * p1;
        }
        uint64_t h = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
        for (const uint64_t lane : {a, b, c, d}) h = (h ^ rotate(lane * p2, 31) * p1) * p1 + p4;
        h += uint64_t(words) * 8;
        h = (h ^ h >> 33) * p2;
        h = (h ^ h >> 29) * p3;
        hashes[r] = h ^ h >> 32;
    }
}

void crc32(uint32_t* sums, const uint32_t* rows, const uint32_t (*tables)[256], int count, int words) {
    // Four rows at once: each is a chain of loads.
#pragma omp parallel for schedule(static)
    for (int first = 0; first < count; first += 4) {
        uint32_t sum[4] = {~0u, ~0u, ~0u, ~0u};
        const uint32_t* row[4];
        for (int l = 0; l < 4; ++l) row[l] = rows + long(std::min(first + l, count - 1)) * words;
        for (int k = 0; k < words; ++k) {
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l) {
                const uint32_t x = sum[l] ^ row[l][k];
                sum[l] = tables[3][x & 255] ^ tables[2][x >> 8 & 255] ^ tables[1][x >> 16 & 255] ^ tables[0][x >> 24];
            }
        }
        for (int l = 0; l < 4 && first + l < count; ++l) sums[first + l] = ~sum[l];
    }
}

void find_patterns(int32_t* counts, const uint8_t* text, const uint8_t* patterns, const int32_t* lengths, int positions,
                   int pattern_count, int width) {
    std::fill_n(counts, pattern_count, 0);
    const int chunk = 8192, chunks = (positions + chunk - 1) / chunk;
#pragma omp parallel for schedule(static) reduction(+ : counts[ : pattern_count])
    for (int c = 0; c < chunks; ++c) {
        const int begin = c * chunk, end = std::min(positions, begin + chunk);
        uint8_t equal[8192];
        for (int p = 0; p < pattern_count; ++p) {
            const uint8_t* const pattern = patterns + p * width;
            const int length = lengths[p];
            uint8_t letter = pattern[0];
#pragma omp simd
            for (int i = begin; i < end; ++i) equal[i - begin] = text[i] == letter;
            for (int k = 1; k < length; ++k) {
                letter = pattern[k];
#pragma omp simd
                for (int i = begin; i < end; ++i) equal[i - begin] &= text[i + k] == letter;
            }
            int found = 0;
#pragma omp simd reduction(+ : found)
            for (int i = 0; i < end - begin; ++i) found += equal[i];
            counts[p] += found;
        }
    }
}

void nearest_fingerprint(int32_t* nearest, const uint64_t* queries, const uint64_t* fingerprints, int query_count,
                         int fingerprint_count) {
#pragma omp parallel for schedule(static)
    for (int first = 0; first < query_count; first += 4) {
        uint64_t query[4], best[4];
        for (int l = 0; l < 4; ++l) query[l] = queries[std::min(first + l, query_count - 1)], best[l] = ~uint64_t(0);
        for (int k = 0; k < fingerprint_count; ++k) {
            const uint64_t fingerprint = fingerprints[k];
#pragma GCC unroll 4
            for (int l = 0; l < 4; ++l)
                best[l] = std::min(best[l], uint64_t(__builtin_popcountll(query[l] ^ fingerprint)) << 32 | uint64_t(k));
        }
        for (int l = 0; l < 4 && first + l < query_count; ++l) nearest[first + l] = int32_t(best[l]);
    }
}

void collatz(uint32_t* steps, uint64_t first, int count) {
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < count; ++i) {
        uint64_t n = first + uint64_t(i);
        uint32_t done = uint32_t(__builtin_ctzll(n));
        n >>= done;
        while (n != 1) {
            n = 3 * n + 1;
            const int zeros = __builtin_ctzll(n);
            n >>= zeros;
            done += uint32_t(zeros) + 1;
        }
        steps[i] = done;
    }
}

void miller_rabin(int32_t* prime, const uint32_t* numbers, int count) {
#pragma omp parallel for schedule(dynamic, 64)
    for (int i = 0; i < count; ++i) {
        const uint64_t n = numbers[i];
        const int twos = __builtin_ctzll(n - 1);
        int32_t passed = 1;
        for (const uint64_t base : {2, 7, 61}) {
            uint64_t power = 1, square = base;
            for (uint64_t exponent = (n - 1) >> twos; exponent; exponent >>= 1) {
                if (exponent & 1) power = power * square % n;
                square = square * square % n;
            }
            bool found = power == 1 || power == n - 1;
            for (int k = 1; k < twos && !found; ++k) {
                power = power * power % n;
                found = power == n - 1;
            }
            if (!found) {
                passed = 0;
                break;
            }
        }
        prime[i] = passed;
    }
}

void decode_runs(uint32_t* out, const int32_t* starts, const uint32_t* values, int runs) {
    const int count = starts[runs], chunk = 4096;
#pragma omp parallel for schedule(static)
    for (int begin = 0; begin < count; begin += chunk) {
        const int end = std::min(count, begin + chunk);
        int run = int(std::upper_bound(starts, starts + runs, begin) - starts) - 1;
        for (int i = begin; i < end; ++run) {
            const int stop = std::min(end, starts[run + 1]);
            for (const uint32_t value = values[run]; i < stop; ++i) out[i] = value;
        }
    }
}

}  // namespace bench::corpus::openmp
