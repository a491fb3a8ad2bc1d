#include "bench/corpus/pictures_openmp.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace bench::corpus::openmp {
namespace {

/// The rows above and below row i, the rims repeated.
struct Rows {
    Rows(const uint8_t* in, int i, int height, int width)
        : above(in + long(std::max(i - 1, 0)) * width),
          here(in + long(i) * width),
          below(in + long(std::min(i + 1, height - 1)) * width) {}
    const uint8_t *above, *here, *below;
};

inline __attribute__((always_inline)) uint8_t median(const Rows& rows, int left, int j, int right) {
    uint8_t v0 = rows.above[left], v1 = rows.above[j], v2 = rows.above[right];
    uint8_t v3 = rows.here[left], v4 = rows.here[j], v5 = rows.here[right];
    uint8_t v6 = rows.below[left], v7 = rows.below[j], v8 = rows.below[right];
    const auto order = [](uint8_t& a, uint8_t& b) __attribute__((always_inline)) {
        const uint8_t low = a < b ? a : b, high = a < b ? b : a;
        a = low, b = high;
    };
    order(v1, v2), order(v4, v5), order(v7, v8), order(v0, v1), order(v3, v4), order(v6, v7), order(v1, v2);
    order(v4, v5), order(v7, v8), order(v0, v3), order(v5, v8), order(v4, v7), order(v3, v6), order(v1, v4);
    order(v2, v5), order(v4, v7), order(v4, v2), order(v6, v4), order(v4, v2);
    return v4;
}

inline __attribute__((always_inline)) uint8_t edge(const Rows& rows, int left, int j, int right) {
    const auto at = [](const uint8_t* row, int k) __attribute__((always_inline)) { return int16_t(row[k]); };
    const int16_t across =
        int16_t(at(rows.above, right) - at(rows.above, left) + 2 * (at(rows.here, right) - at(rows.here, left)) +
                at(rows.below, right) - at(rows.below, left));
    const int16_t down = int16_t(at(rows.below, left) - at(rows.above, left) + 2 * (at(rows.below, j) - at(rows.above, j)) +
                                 at(rows.below, right) - at(rows.above, right));
    const int16_t sum = int16_t(std::abs(across) + std::abs(down));
    return uint8_t(sum < 255 ? sum : 255);
}

/// Eight floats, anywhere.
typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));

/// to[j] = the sum of weights[k] * sources[k][j], 32 elements in registers at a time.
void weighted_sum(float* to, const float* const* sources, const float* weights, int count, int width) {
    int j = 0;
    for (; j + 32 <= width; j += 32) {
        Eight a = {}, b = {}, c = {}, d = {};
        for (int k = 0; k < count; ++k) {
            const Eight* const there = reinterpret_cast<const Eight*>(sources[k] + j);
            const float weight = weights[k];
            a += weight * there[0], b += weight * there[1], c += weight * there[2], d += weight * there[3];
        }
        Eight* const sums = reinterpret_cast<Eight*>(to + j);
        sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
    }
    for (; j < width; ++j) {
        float sum = 0;
        for (int k = 0; k < count; ++k) sum += weights[k] * sources[k][j];
        to[j] = sum;
    }
}

inline __attribute__((always_inline)) float fade(float t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }
inline __attribute__((always_inline)) float slope(int hash, float x, float y) {
    const float one = float(1 - 2 * (hash & 1)), two = float(2 - 2 * (hash & 2)), swapped = float(hash >> 2 & 1);
    return (one + swapped * (two - one)) * x + (two + swapped * (one - two)) * y;
}

/// The look-ups of a few pixels one by one, then their arithmetic by vectors.
void add_octave(float* row, const int32_t* permutation, float y, float scale, float amplitude, int width) {
    const int cell_y = int(std::floor(y)) & 255;
    const float v = y - std::floor(y), fade_y = fade(v);
    int hash[4][256];
    float inside[256];
    for (int begin = 0; begin < width; begin += 256) {
        const int count = std::min(256, width - begin);
        for (int j = 0; j < count; ++j) {
            const float x = float(begin + j) * scale;
            const int cell_x = int(x) & 255;
            inside[j] = x - std::floor(x);
            const int a = permutation[cell_x] + cell_y, b = permutation[cell_x + 1] + cell_y;
            hash[0][j] = permutation[a], hash[1][j] = permutation[b];
            hash[2][j] = permutation[a + 1], hash[3][j] = permutation[b + 1];
        }
        float* const to = row + begin;
#pragma omp simd
        for (int j = 0; j < count; ++j) {
            const float u = inside[j], fade_x = fade(u);
            const float g00 = slope(hash[0][j], u, v), g10 = slope(hash[1][j], u - 1.0f, v);
            const float g01 = slope(hash[2][j], u, v - 1.0f), g11 = slope(hash[3][j], u - 1.0f, v - 1.0f);
            const float low = g00 + fade_x * (g10 - g00), high = g01 + fade_x * (g11 - g01);
            to[j] += amplitude * (low + fade_y * (high - low));
        }
    }
}

}  // namespace

void median_3x3(uint8_t* out, const uint8_t* in, int height, int width) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < height; ++i) {
        const Rows rows(in, i, height, width);
        uint8_t* const row = out + long(i) * width;
#pragma omp simd
        for (int j = 1; j < width - 1; ++j) row[j] = median(rows, j - 1, j, j + 1);
        row[0] = median(rows, 0, 0, 1);
        row[width - 1] = median(rows, width - 2, width - 1, width - 1);
    }
}

void sobel(uint8_t* out, const uint8_t* in, int height, int width) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < height; ++i) {
        const Rows rows(in, i, height, width);
        uint8_t* const row = out + long(i) * width;
#pragma omp simd
        for (int j = 1; j < width - 1; ++j) row[j] = edge(rows, j - 1, j, j + 1);
        row[0] = edge(rows, 0, 0, 1);
        row[width - 1] = edge(rows, width - 2, width - 1, width - 1);
    }
}

void bilateral(float* out, const float* in, const float* near, float sharpness, int radius, int height, int width) {
#pragma omp parallel
    {
        // A row with its rims repeated, then all pixels of the row at once for each neighbour.
        float* const padded = new float[size_t(width + 2 * radius)];
        float* const sum = new float[size_t(width)];
        float* const weights = new float[size_t(width)];
#pragma omp for schedule(static)
        for (int i = 0; i < height; ++i) {
            const float* const middle = in + long(i) * width;
            std::fill_n(sum, width, 0.0f), std::fill_n(weights, width, 0.0f);
            for (int di = -radius; di <= radius; ++di) {
                const float* const row = in + long(std::clamp(i + di, 0, height - 1)) * width;
                for (int j = -radius; j < width + radius; ++j) padded[j + radius] = row[std::clamp(j, 0, width - 1)];
                for (int dj = 0; dj <= 2 * radius; ++dj) {
                    const float by_place = near[(di + radius) * (2 * radius + 1) + dj];
#pragma omp simd
                    for (int j = 0; j < width; ++j) {
                        const float difference = padded[j + dj] - middle[j];
                        const float weight = by_place * std::exp(-sharpness * difference * difference);
                        sum[j] += weight * padded[j + dj];
                        weights[j] += weight;
                    }
                }
            }
#pragma omp simd
            for (int j = 0; j < width; ++j) out[long(i) * width + j] = sum[j] / weights[j];
        }
        delete[] padded, delete[] sum, delete[] weights;
    }
}

void gaussian_blur(float* out, float* between, const float* in, const float* weights, int radius, int height, int width) {
    const int count = 2 * radius + 1;
#pragma omp parallel
    {
        float* const padded = new float[size_t(width + 2 * radius)];
        const float** const sources = new const float*[size_t(count)];
#pragma omp for schedule(static)
        for (int i = 0; i < height; ++i) {
            const float* const row = in + long(i) * width;
            std::copy_n(row, width, padded + radius);
            std::fill_n(padded, radius, row[0]), std::fill_n(padded + radius + width, radius, row[width - 1]);
            for (int k = 0; k < count; ++k) sources[k] = padded + k;
            weighted_sum(between + long(i) * width, sources, weights, count, width);
        }
#pragma omp for schedule(static)
        for (int i = 0; i < height; ++i) {
            for (int k = 0; k < count; ++k) sources[k] = between + long(std::clamp(i + k - radius, 0, height - 1)) * width;
            weighted_sum(out + long(i) * width, sources, weights, count, width);
        }
        delete[] padded, delete[] sources;
    }
}

void soft_shadow(float* out, int height, int width) {
    const auto distance = [](float x, float y, float z) __attribute__((always_inline)) {
        const float cx = x - std::floor(x) - 0.5f, cz = z - std::floor(z) - 0.5f, sy = y - 0.4f;
        const float sphere = std::sqrt(cx * cx + sy * sy + cz * cz) - 0.25f;
        const float bx = std::max(std::abs(x - 4.3f) - 0.6f, 0.0f), by = std::max(std::abs(y - 1.5f) - 0.3f, 0.0f),
                    bz = std::max(std::abs(z - 3.2f) - 1.0f, 0.0f);
        const float box = std::sqrt(bx * bx + by * by + bz * bz) - 0.1f;
        const float tx = x - 2.0f, tz = z - 5.0f, round = std::sqrt(tx * tx + tz * tz) - 0.9f, ty = y - 1.2f;
        const float torus = std::sqrt(round * round + ty * ty) - 0.2f;
        return std::min(sphere, std::min(box, torus));
    };
    const float lx = 0.48f, ly = 0.6f, lz = 0.64f;
#pragma omp parallel for schedule(dynamic, 4)
    for (int i = 0; i < height; ++i) {
        for (int first = 0; first < width; first += 16) {
            // Sixteen rays at once, until the last of them ends.
            float light[16], t[16], x[16];
            for (int l = 0; l < 16; ++l) light[l] = 1, t[l] = 0.02f, x[l] = 8.0f * (float(first + l) + 0.5f) / float(width);
            const float z = 8.0f * (float(i) + 0.5f) / float(height);
            for (int active = 1; active;) {
                active = 0;
#pragma omp simd reduction(| : active)
                for (int l = 0; l < 16; ++l) {
                    const float d = distance(x[l] + lx * t[l], ly * t[l], z + lz * t[l]);
                    const bool going = t[l] < 4.0f && light[l] > 0.005f;
                    light[l] = going ? std::min(light[l], 8.0f * d / t[l]) : light[l];
                    t[l] = going ? t[l] + std::min(std::max(d, 0.02f), 0.3f) : t[l];
                    active |= t[l] < 4.0f && light[l] > 0.005f;
                }
            }
            for (int l = 0; l < std::min(16, width - first); ++l)
                out[long(i) * width + first + l] = std::max(light[l] - 0.005f, 0.0f);
        }
    }
}

void gradient_noise(float* out, const int32_t* permutation, float frequency, int octaves, int height, int width) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < height; ++i) {
        float* const row = out + long(i) * width;
        std::fill_n(row, width, 0.0f);
        float scale = frequency, amplitude = 1;
        for (int octave = 0; octave < octaves; ++octave, scale *= 2.0f, amplitude *= 0.5f)
            add_octave(row, permutation, float(i) * scale, scale, amplitude, width);
    }
}

void box_filter(uint8_t* out, uint32_t* integral, const uint8_t* in, int radius, int height, int width) {
    const long pitch = width + 1;
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int i = 0; i < height; ++i) {
            uint32_t sum = 0;
            for (int j = 0; j < width; ++j) integral[(i + 1) * pitch + j + 1] = sum += in[long(i) * width + j];
        }
        const int block = 256;
#pragma omp for schedule(static)
        for (int begin = 1; begin <= width; begin += block) {
            const int end = std::min(width + 1, begin + block);
            for (int i = 1; i <= height; ++i) {
                const uint32_t* const above = integral + (i - 1) * pitch;
                uint32_t* const here = integral + i * pitch;
#pragma omp simd
                for (int j = begin; j < end; ++j) here[j] += above[j];
            }
        }
#pragma omp for schedule(static)
        for (int i = 0; i < height; ++i) {
            const int top = std::max(i - radius, 0), bottom = std::min(i + radius + 1, height);
            const uint32_t *const above = integral + top * pitch, *const below = integral + bottom * pitch;
#pragma omp simd
            for (int j = 0; j < width; ++j) {
                const int left = std::max(j - radius, 0), right = std::min(j + radius + 1, width);
                const uint32_t sum = below[right] - below[left] - above[right] + above[left];
                out[long(i) * width + j] = uint8_t(sum / uint32_t((bottom - top) * (right - left)));
            }
        }
    }
}

void rotate_picture(uint8_t* out, const uint8_t* in, int cosine, int sine, int height, int width) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < height; ++i) {
        for (int j = 0; j < width; ++j) {
            const int di = i - height / 2, dj = j - width / 2;
            const int x = cosine * dj - sine * di + (width / 2 << 16), y = sine * dj + cosine * di + (height / 2 << 16);
            const int left = x >> 16, top = y >> 16;
            uint8_t* const to = out + (long(i) * width + j) * 3;
            if (left >= 0 && left < width - 1 && top >= 0 && top < height - 1) {
                const int u = x >> 8 & 255, v = y >> 8 & 255;
                const uint8_t *const a = in + (long(top) * width + left) * 3, *const b = a + width * 3;
                for (int c = 0; c < 3; ++c) {
                    const int upper = a[c] * (256 - u) + a[c + 3] * u, lower = b[c] * (256 - u) + b[c + 3] * u;
                    to[c] = uint8_t((upper * (256 - v) + lower * v) >> 16);
                }
            } else {
                to[0] = to[1] = to[2] = 0;
            }
        }
    }
}

}  // namespace bench::corpus::openmp
