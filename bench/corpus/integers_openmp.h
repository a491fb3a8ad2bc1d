// The OpenMP forms of the integer kernels.
#pragma once
#include <cstdint>

namespace bench::corpus::openmp {

/// Messages of 8 words, digests of 8 words; `constants` are the 64 of the rounds.
void sha256(uint32_t* digests, const uint32_t* messages, const uint32_t* constants, int count);
/// Blocks of 16 words; the counter of a block is its number.
void chacha20(uint32_t* cipher, const uint32_t* text, const uint32_t* key, const uint32_t* nonce, int blocks);
/// Records of `words` words, a multiple of 4.
void xxhash64(uint64_t* hashes, const uint64_t* records, int count, int words, uint64_t seed);
/// Rows of `words` words; tables[k] continues a byte by k bytes of zeros.
void crc32(uint32_t* sums, const uint32_t* rows, const uint32_t (*tables)[256], int count, int words);
/// Patterns of `width` bytes each, of which the first lengths[p] count; text has `positions + width` bytes.
void find_patterns(int32_t* counts, const uint8_t* text, const uint8_t* patterns, const int32_t* lengths, int positions,
                   int pattern_count, int width);
/// For each query the nearest fingerprint, the first of equally near ones.
void nearest_fingerprint(int32_t* nearest, const uint64_t* queries, const uint64_t* fingerprints, int query_count,
                         int fingerprint_count);
/// Steps until 1 from first, first + 1, ...
void collatz(uint32_t* steps, uint64_t first, int count);
/// 1 for primes; numbers are odd, above 61 and below 2^32.
void miller_rabin(int32_t* prime, const uint32_t* numbers, int count);
/// Runs begin at starts[r], ascending, starts[0] = 0; `starts` has runs + 1 elements.
void decode_runs(uint32_t* out, const int32_t* starts, const uint32_t* values, int runs);

}  // namespace bench::corpus::openmp
