// Compares the results of two devices for one picture.
#pragma once
#include "samples/photo/photo_kernels.h"

/// The greatest differences between two results.
struct Agreement {
    int64_t histogram = 0, equalised = 0;  ///< of a bin; of a channel
    double blurred = 0, edges = 0;         ///< in luminance from 0 to 255

    bool good() const;
    std::string sentence() const;
};
Agreement compare(const Results& a, const Results& b);

// Whole numbers must be equal. Floats may be contracted and divided differently by each device (Math::strict would forbid it):
// - A blurred pixel is a sum of 13 products with weights of sum 1, twice. Each of the 13 roundings on a value's way through one
//   sum changes it by at most 255 / 2^24, on both devices: 2 x 2 x 13 x 255 / 2^24 = 0.0008.
// - An edge's two parts are differences of blurred pixels with weights whose sizes have the sum 1, hence as wrong as a pixel is;
//   their length is sqrt(2) times that: 0.0012, and a few roundings (at most 3 units in the last place for a Vulkan sqrt).
// Either is far below half a level, so the saved pictures differ by one level at most.
inline constexpr double blurred_tolerance = 0.001, edges_tolerance = 0.002;
