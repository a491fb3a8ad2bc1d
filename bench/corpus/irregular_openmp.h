// The OpenMP forms of the irregular kernels.
#pragma once
#include <cstdint>

namespace bench::corpus::openmp {

/// The level of each of n nodes, -1 where node 0 does not reach it; the flags are memory of n elements each.
void bfs(int* level, bool* frontier, bool* reached, bool* visited, const int* starts, const int* targets, int n);

/// The least node of each node's component; before is memory of as many elements.
void components(int* label, int* before, const int* from, const int* to, int nodes, int edges);

/// share is memory of n elements.
void pagerank(double* rank, double* share, const int* starts, const int* sources, const int* degree, int n, int steps,
              double damping);

void spmv_csr(double* y, const int* starts, const int* columns, const double* values, const double* x, int n);

/// Entry k of row i is at k * n + i.
void spmv_ell(float* y, const int* columns, const float* values, const float* x, int n, int width);

/// a begins as the input, 4 variables of n cells; steps is even, and a holds the result.
void mesh_flux(float* a, float* b, const float* input, const int* neighbours, const float* normals_x, const float* normals_y,
               int n, int steps, float step);

/// Force and energy, and a place with a fourth number, for 8 slots in each of edge * edge * edge cells.
void cell_list_forces(float* forces, const float* places, const int* counts, int edge);

void neighbour_count(int* near, const int* x, const int* y, const int* starts, int n, int edge, int radius);

void cross_sections(double* found, const double* wanted, const double* energies, const double* table, int lookups, int entries,
                    int channels);

/// 32 centres and n points of 10 dimensions, the points dimension by dimension; the centres are read and moved.
void kmeans(int* label, int* counts, float* centres, const float* points, int n, int steps);

/// 1,000 keys.
void sums_by_key(uint32_t* counts, int* sums, const int* key, const int* value, int n);

void n_queens(uint32_t* ways, const uint32_t* columns, const uint32_t* falling, const uint32_t* rising, int n, uint32_t board);

/// The strings have room for 32 letters each.
void levenshtein(int* distance, const uint8_t* first, const uint8_t* second, const int* first_length, const int* second_length,
                 int pairs);

}  // namespace bench::corpus::openmp
