// The derivatives' cases. An adjoint written by hand is a kernel of the same contract: it adds to the shadow of what is read and
// zeroes the shadow of what was written; nobody asks for the primal's results.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <pumice/pumice.h>

namespace bench::gradients {

struct Case {
    std::string name;
    double target;
    std::function<void()> seed;                       ///< fills the shadows anew
    std::function<void()> primal, gradient, by_hand;  ///< each returns when it is done; by_hand may be empty
    std::function<std::vector<float>()> result;       ///< what was added to the shadows
};

// gradient_cases.cpp
Case elementwise(const pumice::Device& d);
Case diffusion(const pumice::Device& d);
Case nbody(const pumice::Device& d);
Case lotka_volterra(const pumice::Device& d);  ///< 100 steps of RK4
// gradient_images.cpp
Case linear_texels(const pumice::Device& d);      ///< a linear texture by its texels
Case cubic_texels(const pumice::Device& d);       ///< a cubic one
Case texture_positions(const pumice::Device& d);  ///< a linear texture by texels and positions
Case magnified_texels(const pumice::Device& d);   ///< positions are affine along each axis: 2 work-items a texel and axis
Case large_texels(const pumice::Device& d);       ///< likewise, one work-item a texel, of more than 64 MiB
// gradient_sums.cpp
Case matrices(const pumice::Device& d);
Case rows(const pumice::Device& d);  ///< logsumexp
Case gmm(const pumice::Device& d);

}  // namespace bench::gradients
