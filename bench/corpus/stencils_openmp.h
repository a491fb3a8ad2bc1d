// The OpenMP forms of the stencils.
#pragma once

namespace bench::corpus::openmp {

/// a and b begin as the input, n x n; `steps` is even, and a holds the result.
void jacobi_2d(double* a, double* b, const double* input, int n, int steps);

/// The same for the seven-point scheme on n x n x n points: a step adds `rate` times the sum of the second differences.
void heat_3d(double* a, double* b, const double* input, int n, int steps, double rate);

/// u begins as the input, n x n; a sweep sets the inner points with i + j even, and then the others, to the mean of their
/// neighbours less `source`.
void gauss_seidel(double* u, const double* input, const double* source, int n, int sweeps);

/// u begins as the input, n x n, with zeros around it; `half` (n x n) is scratch. A step is implicit along columns and then along
/// rows; `rate` is the conductivity times half the time step over the squared spacing. `factors` are those of the elimination.
void adi(double* u, double* half, const double* input, const double* factors, int n, int steps, double rate);

/// `generations`, an even number, of the game of life on a torus of rows x columns bytes of 0 or 1. a holds the result.
void life(unsigned char* a, unsigned char* b, const unsigned char* input, int rows, int columns, int generations);

}  // namespace bench::corpus::openmp
