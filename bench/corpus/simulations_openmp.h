// The OpenMP forms of simulations with several fields or several launches a step.
#pragma once

namespace bench::corpus::openmp {

/// Maxwell's equations in two dimensions: the fields, each n x m, begin as zeros, and row 0 of ey is source[t] in step t.
void fdtd_2d(double* ex, double* ey, double* hz, const double* source, int n, int m, int steps);

struct Chip {
    float row, column, up, power, ambient;  ///< conductances to neighbours and to the ambient, and the factor of the power
};
/// a begins as the input, n x n; a step exchanges heat with four neighbours, of which those outside are the point itself, and
/// with the ambient. `steps` is even, and a holds the result.
void hotspot(float* a, float* b, const float* input, const float* power, int n, int steps, Chip chip);

/// `steps` of speckle-reducing diffusion of an image, n x m; `coefficient` and `flux`, of the same size, are scratch.
void srad(float* image, float* coefficient, float* flux, const float* input, int n, int m, int steps, float rate);

/// Steps of the wave equation on n^3 points with second differences of order 8, in the points that are 4 away from the boundary.
/// a and b begin as the field now and before; `steps` is even, and a and b hold the results.
void acoustic_wave(float* a, float* b, const float* now, const float* before, const float* speed, int n, int steps);

}  // namespace bench::corpus::openmp
