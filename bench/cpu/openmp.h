// The peers in C++: loops with OpenMP as a good programmer writes them, and two kernels with vectors written out by hand.
// Compiled with -O3 -march=native -ffast-math -fopenmp.
#pragma once
#include <cstdint>

namespace openmp {

void triad(float* a, const float* b, const float* c, float s, int n);
void diffuse(float* next, const float* now, float c, int n);
void maths(float* y, const float* x, int n);
void transpose(float* to, const float* from, int n);
void matmul(float* c, const float* a, const float* b, int n);
/// One sum for each 256 elements.
void sums(float* to, const float* x, int n);
/// 256 bins.
void histogram(uint32_t* bins, const uint32_t* x, int n);
void nbody(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* m, int n);
void mandelbrot(float* steps, int width, int height, int most);
void black_scholes(float* call, float* put, const float* spot, const float* strike, const float* years, int n);
/// One step of D2Q9 on a periodic n x n grid, nine planes one after another.
void lbm(float* next, const float* now, float omega, int n);
void push(float* x, float* y, float* u, float* v, float dt, int n);

}  // namespace openmp

namespace by_hand {

/// STREAM's loop with stores that do not read the lines first; a is aligned to 64 bytes, n a multiple of 16.
void triad(float* a, const float* b, const float* c, float s, int n);
/// The sum, as fast as memory gives it; n a multiple of 64.
float read(const float* x, int n);
void matmul(float* c, const float* a, const float* b, int n);
void nbody(float* ax, float* ay, float* az, const float* x, const float* y, const float* z, const float* m, int n);
/// Floating-point operations a second of both cores, multiplying and adding in registers.
double peak_flops();

}  // namespace by_hand
