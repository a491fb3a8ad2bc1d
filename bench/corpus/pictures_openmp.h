// The OpenMP forms of the filters, rays and noise.
#pragma once
#include <cstdint>

namespace bench::corpus::openmp {

// Pictures are height x width; beyond the rims lie copies of them.
void median_3x3(uint8_t* out, const uint8_t* in, int height, int width);
void sobel(uint8_t* out, const uint8_t* in, int height, int width);
/// near: (2 radius + 1)^2 weights by distance in the picture; sharpness: of the weight exp(-sharpness * difference^2).
void bilateral(float* out, const float* in, const float* near, float sharpness, int radius, int height, int width);
/// weights: 2 radius + 1 of them; `between` is scratch.
void gaussian_blur(float* out, float* between, const float* in, const float* weights, int radius, int height, int width);
void soft_shadow(float* out, int height, int width);
/// permutation: 512 numbers, 0 to 255 in some order, twice.
void gradient_noise(float* out, const int32_t* permutation, float frequency, int octaves, int height, int width);
/// Means over boxes that the rims cut; `integral` is (height + 1) x (width + 1), its first row and column zero.
void box_filter(uint8_t* out, uint32_t* integral, const uint8_t* in, int radius, int height, int width);
/// Pixels of three bytes; cosine and sine times 2^16. Black where the source lies outside.
void rotate_picture(uint8_t* out, const uint8_t* in, int cosine, int sine, int height, int width);

}  // namespace bench::corpus::openmp
