// The OpenMP forms of the kernels with groups: wavefronts, ghost zones, sorts, scans, batches.
#pragma once
#include <cstdint>

namespace bench::corpus::openmp {

/// score is (n + 1) x (n + 1), similarity letters x letters.
void needleman_wunsch(int* score, const int* down, const int* across, const int* similarity, int letters, int gap, int n);

/// one and other are lines of n: the result is in one if rows is odd, otherwise in other.
void pathfinder(int* one, int* other, const int* cost, int n, int rows);

/// a begins as the input; steps is even, and a holds the result.
void heat(float* a, float* b, const float* input, const float* power, int rows, int columns, int steps);

/// n is a power of 2; keys begins as the input.
void bitonic_sort(uint32_t* keys, const uint32_t* input, long n);

void exclusive_scan(uint32_t* sums, const uint32_t* x, long n);

/// Sorts stably by the 4 bits from `shift` on.
void radix_pass(uint32_t* keys, uint32_t* values, const uint32_t* keys_in, const uint32_t* values_in, long n, int shift);

/// Each of `systems` has n rows, at most 256: lower x[i - 1] + diagonal x[i] + upper x[i + 1] = right.
void tridiagonal(double* x, const double* lower, const double* diagonal, const double* upper, const double* right, int systems,
                 int n);

/// Transforms of 256 complex numbers each, pairs of real and imaginary part; roots[k] = exp(-2 pi i k / 256).
void fft_256(double* out, const double* in, const double* roots, int count);

/// The softmax of each row.
void softmax(float* y, const float* x, int rows, int columns);

}  // namespace bench::corpus::openmp
