#include "bench/corpus/irregular_openmp.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace bench::corpus::openmp {

void bfs(int* level, bool* frontier, bool* reached, bool* visited, const int* starts, const int* targets, int n) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < n; ++i) {
        level[i] = i == 0 ? 0 : -1;
        frontier[i] = visited[i] = i == 0;
        reached[i] = false;
    }
    bool more = true;
    for (int next = 1; more; ++next) {
#pragma omp parallel for schedule(dynamic, 1024)
        for (int i = 0; i < n; ++i) {
            if (!frontier[i]) continue;
            frontier[i] = false;
            for (int e = starts[i]; e < starts[i + 1]; ++e) {
                const int t = targets[e];
                if (!visited[t]) level[t] = next, reached[t] = true;  // several threads write the same
            }
        }
        more = false;
#pragma omp parallel for schedule(static) reduction(|| : more)
        for (int i = 0; i < n; ++i) {
            if (!reached[i]) continue;
            reached[i] = false, frontier[i] = visited[i] = more = true;
        }
    }
}

void components(int* label, int* before, const int* from, const int* to, int nodes, int edges) {
#pragma omp parallel for simd schedule(static)
    for (int i = 0; i < nodes; ++i) label[i] = i;
    bool changed = true;
    while (changed) {
        changed = false;
#pragma omp parallel
        {
#pragma omp for simd schedule(static)
            for (int i = 0; i < nodes; ++i) before[i] = label[i];
#pragma omp for schedule(static) reduction(|| : changed)
            for (int e = 0; e < edges; ++e) {
                const int a = before[from[e]], b = before[to[e]];
                if (a == b) continue;
                std::atomic_ref<int> larger(label[a < b ? to[e] : from[e]]);
                const int least = std::min(a, b);
                int now = larger.load(std::memory_order_relaxed);
                while (now > least && !larger.compare_exchange_weak(now, least, std::memory_order_relaxed)) {}
                changed = true;
            }
        }
    }
}

void pagerank(double* rank, double* share, const int* starts, const int* sources, const int* degree, int n, int steps,
              double damping) {
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (int i = 0; i < n; ++i) rank[i] = 1;
        for (int t = 0; t < steps; ++t) {
#pragma omp for simd schedule(static)
            for (int i = 0; i < n; ++i) share[i] = rank[i] / degree[i];
#pragma omp for schedule(static)
            for (int i = 0; i < n; ++i) {
                double sum = 0;
                for (int e = starts[i]; e < starts[i + 1]; ++e) sum += share[sources[e]];
                rank[i] = 1 - damping + damping * sum;
            }
        }
    }
}

void spmv_csr(double* y, const int* starts, const int* columns, const double* values, const double* x, int n) {
#pragma omp parallel for schedule(dynamic, 512)
    for (int i = 0; i < n; ++i) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int k = starts[i]; k < starts[i + 1]; ++k) sum += values[k] * x[columns[k]];
        y[i] = sum;
    }
}

void spmv_ell(float* y, const int* columns, const float* values, const float* x, int n, int width) {
    constexpr int block = 256;
#pragma omp parallel for schedule(static)
    for (int from = 0; from < n; from += block) {
        const int count = std::min(block, n - from);
        float sums[block] = {};
        for (int k = 0; k < width; ++k) {
            const int* __restrict column = columns + long(k) * n + from;
            const float* __restrict value = values + long(k) * n + from;
#pragma omp simd
            for (int i = 0; i < count; ++i) sums[i] += value[i] * x[column[i]];
        }
        for (int i = 0; i < count; ++i) y[from + i] = sums[i];
    }
}

void mesh_flux(float* a, float* b, const float* input, const int* neighbours, const float* normals_x, const float* normals_y,
               int n, int steps, float step) {
    constexpr float adiabatic = 1.4f;
#pragma omp parallel
    {
#pragma omp for simd schedule(static)
        for (int k = 0; k < 4 * n; ++k) a[k] = input[k];
        for (int t = 0; t < steps; ++t) {
            const float* __restrict density = t % 2 ? b : a;
            const float* __restrict momentum_x = density + n, * __restrict momentum_y = momentum_x + n;
            const float* __restrict energy = momentum_y + n;
            float* __restrict after = t % 2 ? a : b;
#pragma omp for simd schedule(static)
            for (int i = 0; i < n; ++i) {
                const float r = density[i], u = momentum_x[i], v = momentum_y[i], e = energy[i], inverse = 1 / r;
                const float pressure = (adiabatic - 1) * (e - 0.5f * (u * u + v * v) * inverse);
                const float sound = std::sqrt(adiabatic * pressure * inverse);
                float dr = 0, du = 0, dv = 0, de = 0;
                // The faces are written out: g++ makes vectors of a loop over cells without a loop inside.
                const auto face = [&](int f) {
                    const float x = normals_x[f * n + i], y = normals_y[f * n + i];
                    const int neighbour = neighbours[f * n + i];
                    const int other = neighbour < 0 ? i : neighbour;
                    float u2 = momentum_x[other], v2 = momentum_y[other];
                    const float mirrored = neighbour < 0 ? 2 * (u2 * x + v2 * y) : 0;
                    u2 -= mirrored * x, v2 -= mirrored * y;
                    const float r2 = density[other], e2 = energy[other], inverse2 = 1 / r2;
                    const float pressure2 = (adiabatic - 1) * (e2 - 0.5f * (u2 * u2 + v2 * v2) * inverse2);
                    const float along = (u * x + v * y) * inverse, along2 = (u2 * x + v2 * y) * inverse2;
                    const float speed2 = std::abs(along2) + std::sqrt(adiabatic * pressure2 * inverse2);
                    const float speed = std::max(std::abs(along) + sound, speed2), both = pressure + pressure2;
                    dr += r * along + r2 * along2 - speed * (r2 - r);
                    du += u * along + u2 * along2 + both * x - speed * (u2 - u);
                    dv += v * along + v2 * along2 + both * y - speed * (v2 - v);
                    de += (e + pressure) * along + (e2 + pressure2) * along2 - speed * (e2 - e);
                };
                face(0), face(1), face(2), face(3);
                const float half = 0.5f * step;
                after[i] = r - half * dr, after[n + i] = u - half * du;
                after[2 * n + i] = v - half * dv, after[3 * n + i] = e - half * de;
            }
        }
    }
}

void cell_list_forces(float* forces, const float* places, const int* counts, int edge) {
    constexpr int capacity = 8;
    constexpr float cell_edge = 2.5f;
#pragma omp parallel for schedule(dynamic, 16)
    for (int cell = 0; cell < edge * edge * edge; ++cell) {
        const int z = cell / (edge * edge), y = cell / edge % edge, x = cell % edge;
        const float* mine = places + cell * capacity * 4;
        float mine_x[capacity], mine_y[capacity], mine_z[capacity];
        float force_x[capacity] = {}, force_y[capacity] = {}, force_z[capacity] = {}, energy[capacity] = {};
        for (int i = 0; i < capacity; ++i) mine_x[i] = mine[4 * i], mine_y[i] = mine[4 * i + 1], mine_z[i] = mine[4 * i + 2];
        for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const int other = ((z + dz + edge) % edge * edge + (y + dy + edge) % edge) * edge + (x + dx + edge) % edge;
                    for (int k = 0; k < counts[other]; ++k) {
                        const float* place = places + (other * capacity + k) * 4;
                        const float px = place[0] + float(dx) * cell_edge, py = place[1] + float(dy) * cell_edge,
                                    pz = place[2] + float(dz) * cell_edge;
#pragma omp simd
                        for (int i = 0; i < capacity; ++i) {
                            const float ax = mine_x[i] - px, ay = mine_y[i] - py, az = mine_z[i] - pz;
                            const float squared = ax * ax + ay * ay + az * az;
                            const bool near = squared < cell_edge * cell_edge && squared > 0;
                            const float inverse = near ? 1 / squared : 0.0f, sixth = inverse * inverse * inverse;
                            const float factor = 24 * inverse * sixth * (2 * sixth - 1);
                            force_x[i] += factor * ax, force_y[i] += factor * ay, force_z[i] += factor * az;
                            energy[i] += 2 * sixth * (sixth - 1);
                        }
                    }
                }
        for (int i = 0; i < capacity; ++i) {
            float* to = forces + (cell * capacity + i) * 4;
            const bool taken = i < counts[cell];
            to[0] = taken ? force_x[i] : 0, to[1] = taken ? force_y[i] : 0, to[2] = taken ? force_z[i] : 0;
            to[3] = taken ? energy[i] : 0;
        }
    }
}

void neighbour_count(int* near, const int* x, const int* y, const int* starts, int n, int edge, int radius) {
#pragma omp parallel for schedule(dynamic, 512)
    for (int i = 0; i < n; ++i) {
        const int my_x = x[i], my_y = y[i], column = my_x / radius, row = my_y / radius;
        const int left = std::max(column - 1, 0), right = std::min(column + 2, edge);
        int count = 0;
        for (int r = std::max(row - 1, 0); r < std::min(row + 2, edge); ++r) {
#pragma omp simd reduction(+ : count)
            for (int k = starts[r * edge + left]; k < starts[r * edge + right]; ++k) {
                const int dx = x[k] - my_x, dy = y[k] - my_y;
                count += dx * dx + dy * dy <= radius * radius;
            }
        }
        near[i] = count;
    }
}

void cross_sections(double* found, const double* wanted, const double* energies, const double* table, int lookups, int entries,
                    int channels) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < lookups; ++i) {
        const double energy = wanted[i];
        int low = 0, high = entries - 1;
        while (high - low > 1) {
            const int middle = (low + high) / 2;
            const bool above = energies[middle] > energy;
            high = above ? middle : high, low = above ? low : middle;
        }
        const double part = (energy - energies[low]) / (energies[low + 1] - energies[low]);
        const double *here = table + long(low) * channels, *next = here + channels;
        for (int c = 0; c < channels; ++c) found[long(i) * channels + c] = here[c] + part * (next[c] - here[c]);
    }
}

void kmeans(int* label, int* counts, float* centres, const float* points, int n, int steps) {
    constexpr int clusters = 32, dimensions = 10, block = 64;
    for (int t = 0; t < steps; ++t) {
        int sums[clusters * dimensions] = {}, count[clusters] = {};
#pragma omp parallel for schedule(static) reduction(+ : sums, count)
        for (int from = 0; from < n; from += block) {
            const int items = std::min(block, n - from);
            float least[block];
            int best[block];
            for (int i = 0; i < block; ++i) least[i] = 1e30f, best[i] = 0;
            for (int c = 0; c < clusters; ++c) {
                float sum[block] = {};
                for (int k = 0; k < dimensions; ++k) {
                    const float centre = centres[c * dimensions + k];
                    const float* __restrict at = points + long(k) * n + from;
#pragma omp simd
                    for (int i = 0; i < items; ++i) sum[i] += (at[i] - centre) * (at[i] - centre);
                }
#pragma omp simd
                for (int i = 0; i < items; ++i) {
                    best[i] = sum[i] < least[i] ? c : best[i];
                    least[i] = std::min(sum[i], least[i]);
                }
            }
            for (int i = 0; i < items; ++i) {
                const int c = label[from + i] = best[i];
                ++count[c];
                for (int k = 0; k < dimensions; ++k) sums[c * dimensions + k] += int(points[long(k) * n + from + i]);
            }
        }
        for (int c = 0; c < clusters; ++c) {
            counts[c] = count[c];
            const int divisor = std::max(count[c], 1);
            for (int k = 0; k < dimensions; ++k)
                centres[c * dimensions + k] = 0.25f * float((4 * sums[c * dimensions + k] + divisor / 2) / divisor);
        }
    }
}

void sums_by_key(uint32_t* counts, int* sums, const int* key, const int* value, int n) {
    constexpr int keys = 1000;
    uint32_t count[keys] = {};
    int sum[keys] = {};
#pragma omp parallel for schedule(static) reduction(+ : count, sum)
    for (int i = 0; i < n; ++i) ++count[key[i]], sum[key[i]] += value[i];
    std::copy(count, count + keys, counts);
    std::copy(sum, sum + keys, sums);
}

namespace {

uint32_t ways_from(uint32_t column, uint32_t fall, uint32_t rise, uint32_t board) {
    if (column == board) return 1;
    uint32_t ways = 0;
    for (uint32_t places = board & ~(column | fall | rise); places; places &= places - 1) {
        const uint32_t place = places & -places;
        ways += ways_from(column | place, (fall | place) << 1, (rise | place) >> 1, board);
    }
    return ways;
}

}  // namespace

void n_queens(uint32_t* ways, const uint32_t* columns, const uint32_t* falling, const uint32_t* rising, int n, uint32_t board) {
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < n; ++i) ways[i] = ways_from(columns[i], falling[i], rising[i], board);
}

void levenshtein(int* distance, const uint8_t* first, const uint8_t* second, const int* first_length, const int* second_length,
                 int pairs) {
    constexpr int longest = 32;
#pragma omp parallel for schedule(dynamic, 64)
    for (int p = 0; p < pairs; ++p) {
        const uint8_t *a = first + long(p) * longest, *b = second + long(p) * longest;
        const int columns = second_length[p];
        int row[longest + 1];
        for (int j = 0; j <= columns; ++j) row[j] = j;
        for (int i = 0; i < first_length[p]; ++i) {
            int corner = i, left = i + 1;
            for (int j = 0; j < columns; ++j) {
                const int above = row[j + 1];
                left = std::min(std::min(above, left) + 1, corner + (a[i] != b[j]));
                row[j + 1] = left, corner = above;
            }
            row[0] = i + 1;
        }
        distance[p] = row[columns];
    }
}

}  // namespace bench::corpus::openmp
