#include "bench/corpus/sampling_openmp.h"

#include <algorithm>
#include <cmath>

namespace bench::corpus::openmp {
namespace {

inline __attribute__((always_inline)) void philox(uint32_t counter, uint32_t seed, uint32_t stream, uint32_t& low,
                                                  uint32_t& high) {
    uint32_t c0 = counter, c1 = 0, c2 = 0, c3 = 0, k0 = seed, k1 = stream;
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(0xD2511F53u) * c0, b = uint64_t(0xCD9E8D57u) * c2;
        c0 = uint32_t(b >> 32) ^ c1 ^ k0, c1 = uint32_t(b);
        c2 = uint32_t(a >> 32) ^ c3 ^ k1, c3 = uint32_t(a);
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    low = c0, high = c1;
}

inline __attribute__((always_inline)) uint32_t pcg(uint32_t x) {
    x = x * 747796405u + 2891336453u;
    x = ((x >> ((x >> 28) + 4)) ^ x) * 277803737u;
    return x >> 22 ^ x;
}

void ising_half(int32_t* own, const int32_t* other, uint32_t time, int colour, uint32_t at_2, uint32_t at_4, int rows, int half) {
#pragma omp for schedule(static)
    for (int i = 0; i < rows; ++i) {
        int32_t* const row = own + long(i) * half;
        const int32_t* const here = other + long(i) * half;
        const int32_t *const above = other + long(i ? i - 1 : rows - 1) * half, *const below =
                                                                                    other + long(i + 1 < rows ? i + 1 : 0) * half;
        const int side = (i + colour) % 2 ? 1 : -1;
        const auto update = [&](int k, int beside) __attribute__((always_inline)) {
            const int32_t aligned = row[k] * (above[k] + below[k] + here[k] + here[beside]);
            const uint32_t draw = pcg(uint32_t(i * half + k) * 2654435761u + time);
            const uint32_t threshold = aligned <= 0 ? ~0u : aligned == 2 ? at_2 : at_4;
            row[k] = draw < threshold || aligned <= 0 ? -row[k] : row[k];
        };
        update(0, side < 0 ? half - 1 : 1);
#pragma omp simd
        for (int k = 1; k < half - 1; ++k) update(k, k + side);
        update(half - 1, side < 0 ? half - 2 : 0);
    }
}

}  // namespace

void option_pricing(float* means, uint32_t seed, float drift, float volatility, float strike, int streams, int draws) {
#pragma omp parallel for schedule(static)
    for (int first = 0; first < streams; first += 64) {
        const int lanes = std::min(64, streams - first);
        float sum[64] = {};
        for (int draw = 0; draw < draws; ++draw) {
#pragma omp simd
            for (int l = 0; l < 64; ++l) {
                uint32_t low, a, b;
                philox(uint32_t(2 * draw), seed, uint32_t(first + l), low, a);
                philox(uint32_t(2 * draw + 1), seed, uint32_t(first + l), low, b);
                const float u = float(int(a >> 8)) * 0x1p-24f, v = float(int(b >> 8)) * 0x1p-24f;
                const float normal = std::sqrt(-2.0f * std::log(1.0f - u)) * std::cos(6.283185307f * v);
                const float gain = std::exp(drift + volatility * normal) - strike;
                sum[l] += gain > 0.0f ? gain : 0.0f;
            }
        }
        for (int l = 0; l < lanes; ++l) means[first + l] = sum[l] / float(draws);
    }
}

void ising(int32_t* black, int32_t* white, const int32_t* black_start, const int32_t* white_start, uint32_t at_2, uint32_t at_4,
           int rows, int half, int sweeps) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (long k = 0; k < long(rows) * half; ++k) black[k] = black_start[k], white[k] = white_start[k];
        for (int sweep = 0; sweep < sweeps; ++sweep) {
            ising_half(black, white, uint32_t(2 * sweep), 0, at_2, at_4, rows, half);
            ising_half(white, black, uint32_t(2 * sweep + 1), 1, at_2, at_4, rows, half);
        }
    }
}

void docking(float* scores, const float* transforms, const float* ligand, const int32_t* ligand_types, int ligand_count,
             const float* protein, const int32_t* protein_types, int protein_count, const float* parameters, int poses) {
    constexpr int lanes = 32;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < poses; first += lanes) {
        const int here = std::min(lanes, poses - first);
        float t[12][lanes] = {}, score[lanes] = {};
        for (int k = 0; k < 12; ++k) std::copy_n(transforms + long(k) * poses + first, here, t[k]);
        for (int a = 0; a < ligand_count; ++a) {
            const float *const atom = ligand + 4 * a, *const mine = parameters + 2 * ligand_types[a];
            float x[lanes], y[lanes], z[lanes];
#pragma omp simd
            for (int l = 0; l < lanes; ++l) {
                x[l] = t[0][l] * atom[0] + t[1][l] * atom[1] + t[2][l] * atom[2] + t[3][l];
                y[l] = t[4][l] * atom[0] + t[5][l] * atom[1] + t[6][l] * atom[2] + t[7][l];
                z[l] = t[8][l] * atom[0] + t[9][l] * atom[1] + t[10][l] * atom[2] + t[11][l];
            }
            for (int b = 0; b < protein_count; ++b) {
                const float *const other = protein + 4 * b, *const theirs = parameters + 2 * protein_types[b];
                const float px = other[0], py = other[1], pz = other[2], touch = mine[0] + theirs[0], clash = 4 * touch;
                const bool polar = ligand_types[a] < 2 && protein_types[b] < 2;
                const float charges = atom[3] * other[3], weight = mine[1] * theirs[1];
                if (polar) {
#pragma omp simd
                    for (int l = 0; l < lanes; ++l) {
                        const float dx = x[l] - px, dy = y[l] - py, dz = z[l] - pz;
                        const float square = dx * dx + dy * dy + dz * dz + 0.01f, inverse = 1.0f / std::sqrt(square);
                        const float r = square * inverse, near = inverse > 1.0f / 6.0f ? inverse - 1.0f / 6.0f : 0.0f;
                        score[l] += (r < touch ? clash - 4.0f * r : 0.0f) + charges * near;
                    }
                } else {
#pragma omp simd
                    for (int l = 0; l < lanes; ++l) {
                        const float dx = x[l] - px, dy = y[l] - py, dz = z[l] - pz;
                        const float r = std::sqrt(dx * dx + dy * dy + dz * dz + 0.01f);
                        const float near = r < 8.0f ? 1.0f - r * 0.125f : 0.0f;
                        score[l] += (r < touch ? clash - 4.0f * r : 0.0f) - weight * near;
                    }
                }
            }
        }
        std::copy_n(score, here, scores + first);
    }
}

void mixture_density(double* density, const double* points, const double* means, const double* factors, const double* constants,
                     int count) {
    constexpr int lanes = 32;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < count; first += lanes) {
        const int here = std::min(lanes, count - first);
        double x[8][lanes] = {}, term[16][lanes], most[lanes], sum[lanes] = {};
        for (int d = 0; d < 8; ++d) std::copy_n(points + long(d) * count + first, here, x[d]);
        std::fill_n(most, lanes, -1e300);
        for (int k = 0; k < 16; ++k) {
            const double *const mean = means + 8 * k, *const factor = factors + 64 * k;
#pragma omp simd
            for (int l = 0; l < lanes; ++l) {
                double square = 0, away[8];
#pragma GCC unroll 8
                for (int d = 0; d < 8; ++d) away[d] = x[d][l] - mean[d];
#pragma GCC unroll 8
                for (int d = 0; d < 8; ++d) {
                    double y = 0;
#pragma GCC unroll 8
                    for (int e = 0; e <= d; ++e) y += factor[8 * d + e] * away[e];
                    square += y * y;
                }
                term[k][l] = constants[k] - 0.5 * square;
                most[l] = most[l] > term[k][l] ? most[l] : term[k][l];
            }
        }
        for (int k = 0; k < 16; ++k) {
#pragma omp simd
            for (int l = 0; l < lanes; ++l) sum[l] += std::exp(term[k][l] - most[l]);
        }
#pragma omp simd
        for (int l = 0; l < lanes; ++l) sum[l] = most[l] + std::log(sum[l]);
        std::copy_n(sum, here, density + first);
    }
}

void pair_counts(uint32_t* counts, const float* x, const float* y, const float* z, const float* squares, int points) {
    uint32_t total[8] = {};
#pragma omp parallel for schedule(static) reduction(+ : total[ : 8])
    for (int i = 0; i < points; ++i) {
        uint32_t c0 = 0, c1 = 0, c2 = 0, c3 = 0, c4 = 0, c5 = 0, c6 = 0, c7 = 0;
        const float s0 = squares[0], s1 = squares[1], s2 = squares[2], s3 = squares[3], s4 = squares[4], s5 = squares[5],
                    s6 = squares[6], s7 = squares[7];
#pragma omp simd reduction(+ : c0, c1, c2, c3, c4, c5, c6, c7)
        for (int j = 0; j < points; ++j) {
            const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i], square = dx * dx + dy * dy + dz * dz;
            c0 += square < s0, c1 += square < s1, c2 += square < s2, c3 += square < s3;
            c4 += square < s4, c5 += square < s5, c6 += square < s6, c7 += square < s7;
        }
        const uint32_t mine[8] = {c0, c1, c2, c3, c4, c5, c6, c7};
        for (int b = 0; b < 8; ++b) total[b] += mine[b];
    }
    std::copy_n(total, 8, counts);
}

void coulomb_grid(float* potential, const float* atoms, float spacing, int atom_count, int size) {
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) {
            float* const row = potential + (long(i) * size + j) * size;
            std::fill_n(row, size, 0.0f);
            // Two atoms a pass over the row.
            int a = 0;
            for (; a + 2 <= atom_count; a += 2) {
                const float *const p = atoms + 4 * a, *const q = p + 4;
                const float px = float(i) * spacing - p[0], py = float(j) * spacing - p[1], before = px * px + py * py;
                const float qx = float(i) * spacing - q[0], qy = float(j) * spacing - q[1], after = qx * qx + qy * qy;
#pragma omp simd
                for (int k = 0; k < size; ++k) {
                    const float pz = float(k) * spacing - p[2], qz = float(k) * spacing - q[2];
                    row[k] += p[3] / std::sqrt(before + pz * pz) + q[3] / std::sqrt(after + qz * qz);
                }
            }
            for (; a < atom_count; ++a) {
                const float* const p = atoms + 4 * a;
                const float px = float(i) * spacing - p[0], py = float(j) * spacing - p[1];
#pragma omp simd
                for (int k = 0; k < size; ++k) {
                    const float pz = float(k) * spacing - p[2];
                    row[k] += p[3] / std::sqrt(px * px + py * py + pz * pz);
                }
            }
        }
    }
}

void lorenz(double* x, double* y, double* z, const double* starts, double step, int count, int steps) {
    // Eight systems at a time, in registers.
    typedef double Four __attribute__((vector_size(32)));
    constexpr int lanes = 8;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < count; first += lanes) {
        const int here = std::min(lanes, count - first);
        double start[3][lanes] = {};
        for (int c = 0; c < 3; ++c) std::copy_n(starts + long(c) * count + first, here, start[c]);
        Four p[2][3];
        for (int h = 0; h < 2; ++h)
            for (int c = 0; c < 3; ++c)
                p[h][c] = Four{start[c][4 * h], start[c][4 * h + 1], start[c][4 * h + 2], start[c][4 * h + 3]};
        for (int s = 0; s < steps; ++s) {
#pragma GCC unroll 2
            for (int h = 0; h < 2; ++h) {
                const Four a = p[h][0], b = p[h][1], c = p[h][2];
                Four u = a, v = b, w = c, du = Four{} + 0.0, dv = du, dw = du;
                const auto stage = [&](double weight, double ahead) __attribute__((always_inline)) {
                    const Four ku = 10.0 * (v - u), kv = u * (28.0 - w) - v, kw = u * v - (8.0 / 3.0) * w;
                    du += weight * ku, dv += weight * kv, dw += weight * kw;
                    u = a + ahead * ku, v = b + ahead * kv, w = c + ahead * kw;
                };
                stage(1, 0.5 * step), stage(2, 0.5 * step), stage(2, step), stage(1, 0);
                p[h][0] = a + step / 6 * du, p[h][1] = b + step / 6 * dv, p[h][2] = c + step / 6 * dw;
            }
        }
        for (int l = 0; l < here; ++l)
            x[first + l] = p[l / 4][0][l % 4], y[first + l] = p[l / 4][1][l % 4], z[first + l] = p[l / 4][2][l % 4];
    }
}

void binomial_put(float* prices, const float* spots, const float* strikes, const float* volatilities, float rate, int count) {
    constexpr int lanes = 16, steps = 64;
#pragma omp parallel for schedule(static)
    for (int first = 0; first < count; first += lanes) {
        float value[steps + 1][lanes], strike[lanes], low[lanes], up[lanes], square[lanes], rise[lanes], fall[lanes],
            price[lanes];
        for (int l = 0; l < lanes; ++l) {
            const int option = std::min(first + l, count - 1);
            const float time = 1.0f / steps;
            strike[l] = strikes[option];
            up[l] = std::exp(volatilities[option] * std::sqrt(time));
            square[l] = up[l] * up[l];
            const float p = (std::exp(rate * time) - 1.0f / up[l]) / (up[l] - 1.0f / up[l]), discount = std::exp(-rate * time);
            rise[l] = discount * p, fall[l] = discount * (1.0f - p);
            low[l] = spots[option] * std::exp(-volatilities[option] * std::sqrt(time) * steps);
            price[l] = low[l];
        }
        for (int k = 0; k <= steps; ++k) {
#pragma omp simd
            for (int l = 0; l < lanes; ++l) {
                value[k][l] = std::max(strike[l] - price[l], 0.0f);
                price[l] *= square[l];
            }
        }
        for (int step = steps - 1; step >= 0; --step) {
#pragma omp simd
            for (int l = 0; l < lanes; ++l) low[l] *= up[l], price[l] = low[l];
            for (int k = 0; k <= step; ++k) {
#pragma omp simd
                for (int l = 0; l < lanes; ++l) {
                    value[k][l] = std::max(rise[l] * value[k + 1][l] + fall[l] * value[k][l], strike[l] - price[l]);
                    price[l] *= square[l];
                }
            }
        }
        std::copy_n(value[0], std::min(lanes, count - first), prices + first);
    }
}

void particle_weights(float* weights, float* mean, const float* x, const float* y, const float* beacons, int beacon_count,
                      int count) {
    float sum = 0, sum_x = 0, sum_y = 0;
#pragma omp parallel
    {
#pragma omp for schedule(static) reduction(+ : sum, sum_x, sum_y)
        for (int begin = 0; begin < count; begin += 512) {
            const int here = std::min(512, count - begin);
            const float *const px = x + begin, *const py = y + begin;
            float misfit[512] = {};
            for (int b = 0; b < beacon_count; ++b) {
                const float bx = beacons[3 * b], by = beacons[3 * b + 1], measured = beacons[3 * b + 2];
#pragma omp simd
                for (int i = 0; i < here; ++i) {
                    const float dx = px[i] - bx, dy = py[i] - by, away = std::sqrt(dx * dx + dy * dy) - measured;
                    misfit[i] += away * away;
                }
            }
#pragma omp simd reduction(+ : sum, sum_x, sum_y)
            for (int i = 0; i < here; ++i) {
                const float weight = std::exp(-0.5f * misfit[i]);
                weights[begin + i] = weight;
                sum += weight, sum_x += weight * px[i], sum_y += weight * py[i];
            }
        }
        const float scale = float(count) / sum;
#pragma omp for simd schedule(static)
        for (int i = 0; i < count; ++i) weights[i] *= scale;
    }
    mean[0] = sum_x / sum, mean[1] = sum_y / sum;
}

}  // namespace bench::corpus::openmp
