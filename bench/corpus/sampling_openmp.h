// The OpenMP forms of the samplers, scores and statistics.
#pragma once
#include <cstdint>

namespace bench::corpus::openmp {

/// The mean payoff of each of `streams` streams of Philox 4x32-10: the key is (seed, stream), and the two low words of block n
/// are draw n.
void option_pricing(float* means, uint32_t seed, float drift, float volatility, float strike, int streams, int draws);
/// black and white: rows x half spins each, begun from black_start and white_start. rows is even.
void ising(int32_t* black, int32_t* white, const int32_t* black_start, const int32_t* white_start, uint32_t at_2, uint32_t at_4,
           int rows, int half, int sweeps);
/// Atoms: x, y, z, charge each; transforms: 12 rows of `poses`; parameters: radius and weight of each type. Types below 2 are
/// polar.
void docking(float* scores, const float* transforms, const float* ligand, const int32_t* ligand_types, int ligand_count,
             const float* protein, const int32_t* protein_types, int protein_count, const float* parameters, int poses);
/// points: 8 rows of `count`; means: 16 x 8; factors: 16 x 8 x 8, lower triangles; constants: 16.
void mixture_density(double* density, const double* points, const double* means, const double* factors, const double* constants,
                     int count);
/// counts[b]: ordered pairs of points nearer than the root of squares[b], 8 of them; x, y, z are whole numbers.
void pair_counts(uint32_t* counts, const float* x, const float* y, const float* z, const float* squares, int points);
/// potential: size^3; atoms: x, y, z, charge each.
void coulomb_grid(float* potential, const float* atoms, float spacing, int atom_count, int size);
void lorenz(double* x, double* y, double* z, const double* starts, double step, int count, int steps);
/// American puts by trees of 64 steps.
void binomial_put(float* prices, const float* spots, const float* strikes, const float* volatilities, float rate, int count);
/// Weights of particles by their distances to beacons, normalised, and the weighted mean; beacons: x, y, measured distance each.
void particle_weights(float* weights, float* mean, const float* x, const float* y, const float* beacons, int beacon_count,
                      int count);

}  // namespace bench::corpus::openmp
