// The OpenMP forms of factorizations and of solutions of systems of linear equations. Matrices are row-major.
#pragma once

namespace bench::corpus::openmp {

/// u, upper triangular, with u^T u = input; n x n. `a`, of the same size, is scratch, and u begins as zeros.
void cholesky(double* u, double* a, const double* input, int n);

/// Elimination without pivots: the factors of `input`, n x n, in one matrix without the diagonal of ones.
void lu(double* a, const double* input, int n);

/// x with l x = b; l is lower triangular, n x n, and b is n x m.
void triangular_solve(double* x, const double* l, const double* b, int n, int m);

/// x with a x = b for `count` systems of 6 equations: element (i, j) of system s lies at a[(i * 6 + j) * count + s].
void small_solve(double* x, const double* a, const double* b, int count);

}  // namespace bench::corpus::openmp
