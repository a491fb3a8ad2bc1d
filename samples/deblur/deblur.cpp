#include "samples/deblur/deblur.h"

#include <cmath>

#include "samples/photo/stopwatch.h"

using namespace pumice;

namespace deblur {
namespace {

constexpr int radius = 7;
constexpr float sigma = 2.5f;
constexpr float smoothness = 0.001f;
constexpr float rounding =
    0.03f;  ///< differences of neighbours below it count by their squares: noise, not edges; less makes flat patches

float weight(int k) {
    float sum = 0;
    for (int i = -radius; i <= radius; ++i) sum += std::exp(-float(i * i) / (2 * sigma * sigma));
    return std::exp(-float(k * k) / (2 * sigma * sigma)) / sum;
}

// They run where all that they read lies inside: the adjoint of such a stencil is a stencil again.
const auto blur_rows = kernel("blur_rows", [](Out<float, 2> to, In<float, 2> from) {
    auto [i, j] = global_index<2>();
    Var sum = 0.0f;
    for (int k = -radius; k <= radius; ++k) sum += weight(k) * from(i, j + k);
    to(i, j) = sum;
});
const auto blur_columns = kernel("blur_columns", [](Out<float, 2> to, In<float, 2> from) {
    auto [i, j] = global_index<2>();
    Var sum = 0.0f;
    for (int k = -radius; k <= radius; ++k) sum += weight(k) * from(i + k, j);
    to(i, j) = sum;
});
/// The margin, which was not seen, repeats what lies next to it.
const auto extend = kernel("extend", [](Out<float, 2> to, In<float, 2> from) {
    auto [i, j] = global_index<2>();
    to(i, j) = from(clamp(i, radius, from.size(0) - 1 - radius), clamp(j, radius, from.size(1) - 1 - radius));
});
const auto noise = kernel("noise", [](InOut<float, 2> a, Val<float> deviation, Val<int> seed) {
    auto [i, j] = global_index<2>();
    rng::Counter random(cast<uint32_t>(seed), cast<uint32_t>(i * a.size(1) + j));
    a(i, j) += deviation * random.normal<float>();
});
const auto distance = kernel("distance", [](InOut<float> loss, In<float, 2> blurred, In<float, 2> seen) {
    auto [i, j] = global_index<2>();
    auto d = blurred(i, j) - seen(i, j);
    atomic_add(loss[0], 0.5f * d * d);
});
/// The length of the difference to the neighbours right and below, rounded off at zero.
const auto variation = kernel("variation", [](InOut<float> loss, In<float, 2> guess, Val<float> factor) {
    auto [i, j] = global_index<2>();
    auto right = guess(i, j + 1) - guess(i, j);
    auto below = guess(i + 1, j) - guess(i, j);
    atomic_add(loss[0], factor * sqrt(right * right + below * below + rounding * rounding));
});
/// One step of Nesterov's descent: the new point, and the point ahead of it where the next gradient is taken.
const auto descend =
    kernel("descend", [](InOut<float, 2> ahead, InOut<float, 2> at, In<float, 2> gradient, Val<float> rate, Val<float> momentum) {
        auto [i, j] = global_index<2>();
        auto next = clamp(ahead(i, j) - rate * gradient(i, j), 0.0f, 1.0f);
        ahead(i, j) = next + momentum * (next - at(i, j));
        at(i, j) = next;
    });

}  // namespace

Plane plane_of(const Device& device, const Picture& picture) {
    std::vector<float> grey(picture.pixels.size());
    for (size_t i = 0; i < grey.size(); ++i) {
        const uint32_t p = picture.pixels[i];
        grey[i] = (0.2126f * float(p & 255) + 0.7152f * float(p >> 8 & 255) + 0.0722f * float(p >> 16 & 255)) / 255;
    }
    return device.upload(grey, {picture.height, picture.width});
}

namespace {
Range inside(const Plane& plane) { return ndrange({radius, radius}, {plane.size(0) - radius, plane.size(1) - radius}); }
}  // namespace

void blur(const Plane& to, const Plane& from, const Plane& between) {
    blur_rows(ndrange({0, radius}, {from.size(0), from.size(1) - radius}), between, from);
    blur_columns(inside(from), to, between);
}

void add_noise(const Plane& to, float deviation, uint64_t seed) {
    noise(ndrange(to.size(0), to.size(1)), to, deviation, int(seed));
}

void objective(Array<float>& loss, Plane& guess, const Plane& seen, float factor) {
    const int64_t height = guess.size(0), width = guess.size(1);
    Plane between = guess.device().empty<float>({height, width}), blurred = guess.device().empty<float>({height, width});
    blur(blurred, guess, between);
    distance(inside(seen), loss, blurred, seen);
    variation(ndrange(height - 1, width - 1), loss, guess, factor);
}

double psnr(const Plane& a, const Plane& b) {
    const std::vector<float> x = a.download(), y = b.download();
    double sum = 0, count = 0;
    for (int64_t i = radius; i < a.size(0) - radius; ++i)
        for (int64_t j = radius; j < a.size(1) - radius; ++j, ++count)
            sum += std::pow(double(x[size_t(i * a.size(1) + j)]) - y[size_t(i * a.size(1) + j)], 2);
    return -10 * std::log10(sum / count);
}

Result recover(const Plane& seen, const Plane& truth, int steps, const std::function<void(const Progress&)>& report) {
    const Device device = seen.device();
    Plane at = device.zeros<float>({seen.size(0), seen.size(1)});
    extend(ndrange(seen.size(0), seen.size(1)), at, seen);
    Plane ahead = at.clone(), gradient = device.zeros<float>({seen.size(0), seen.size(1)});
    Array<float> loss = device.zeros<float>(1), seed = device.zeros<float>(1);
    const auto evaluate = [&] {
        loss.fill(0.0f), seed.fill(1.0f), gradient.fill(0.0f);
        autodiff(Reverse, objective, Duplicated(loss, seed), Duplicated(ahead, gradient), Const(seen), Const(smoothness));
    };
    Result result{at, 0, 0, psnr(seen, truth), 0, 0, 0};
    std::vector<double> gradient_ms, primal_ms;
    for (int step = 0; step < steps; ++step) {
        gradient_ms.push_back(milliseconds([&] { evaluate(), device.synchronize(); }));
        // The step is the inverse of the curvature: at most 1 of the distance (weights of a blur sum up to 1).
        descend(ndrange(at.size(0), at.size(1)), ahead, at, gradient, 0.9f, float(step) / float(step + 3));
        if (step == 0) result.loss_before = loss.download()[0];
        if (step % 10 == 0 || step + 1 == steps) report({step + 1, loss.download()[0], psnr(at, truth)});
    }
    for (int run = 0; run < 7; ++run)
        primal_ms.push_back(milliseconds([&] {
            loss.fill(0.0f);
            objective(loss, at, seen, smoothness);
            device.synchronize();
        }));
    result.loss_after = loss.download()[0];
    result.psnr_after = psnr(at, truth);
    result.primal_ms = median_of(primal_ms);
    result.gradient_ms = median_of(gradient_ms);
    return result;
}

}  // namespace deblur
