// The OpenMP forms of the products of matrices and of paths in graphs. Matrices are row-major.
#pragma once

namespace bench::corpus::openmp {

/// d = alpha a b + beta c; a is n x l, b is l x m, c and d are n x m.
void gemm(double* d, const double* a, const double* b, const double* c, int n, int m, int l, double alpha, double beta);

/// The lower triangle of c = alpha a a^T + beta start, n x n, and `start` above the diagonal. a is n x l; `transposed` is
/// scratch.
void syrk(double* c, double* transposed, const double* a, const double* start, int n, int l, double alpha, double beta);

/// c = alpha a^T b, where a is lower triangular with a diagonal of ones, n x n; b and c are n x m.
void trmm(double* c, const double* a, const double* b, int n, int m, double alpha);

struct Gemver {
    double *updated, *x, *w;  ///< the results: n x n, n, n
    const double *a, *u1, *v1, *u2, *v2, *y, *z;
    int n;
    double alpha, beta;
};
/// updated = a + u1 v1^T + u2 v2^T, x = beta updated^T y + z, w = alpha updated x.
void gemver(const Gemver& g);

/// `steps` of v = a^T a v / |a^T a v| from ones; `length` is the last |a^T a v|. a is n x m, and w, of m, is scratch.
void power_iteration(double* v, double* length, double* w, const double* a, int n, int m, int steps);

/// The m x m covariances of m columns with n samples each; `centered`, n x m, and `mean`, of m, are results as well.
void covariance(double* covariances, double* centered, double* mean, const double* samples, int n, int m);

/// Lengths of the shortest paths between n nodes; `edges` holds the lengths of the edges.
void floyd_warshall(int* paths, const int* edges, int n);

}  // namespace bench::corpus::openmp
