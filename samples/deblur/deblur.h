// Deblurring: a picture is blurred and noised by kernels, and found again by descending along the gradient of a program.
#pragma once
#include <pumice/pumice.h>

#include <functional>

#include "samples/photo/picture.h"

namespace deblur {

using Plane = pumice::Array<float, 2>;

/// The luminance of a picture, 0 to 1.
Plane plane_of(const pumice::Device& device, const Picture& picture);
/// Blurs by a Gaussian of standard deviation 2.5 pixels, row by row and column by column, all but a margin of 7 pixels, which
/// stays.
void blur(const Plane& to, const Plane& from, const Plane& between);
/// Adds normal noise of this standard deviation.
void add_noise(const Plane& to, float deviation, uint64_t seed);

/// The objective: half the squared distance of the blurred guess from what was seen, and `smoothness` times the total variation
/// of the guess. Adds its value to loss[0]. A plain program of kernels: its derivative is pumice's.
void objective(pumice::Array<float>& loss, Plane& guess, const Plane& seen, float smoothness);

struct Progress {
    int step;
    double loss;
    double psnr;  ///< decibels, against the true picture
};
struct Result {
    Plane recovered;
    double loss_before, loss_after, psnr_before, psnr_after;
    double primal_ms, gradient_ms;  ///< of one evaluation, the median
};
/// Accelerated gradient descent from what was seen.
Result recover(const Plane& seen, const Plane& truth, int steps, const std::function<void(const Progress&)>& report);

/// Peak signal to noise ratio in decibels without the margin, for values from 0 to 1.
double psnr(const Plane& a, const Plane& b);

}  // namespace deblur
