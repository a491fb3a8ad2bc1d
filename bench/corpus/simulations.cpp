// Stencils of several fields or of several launches a step.
#include "bench/corpus/corpus.h"
#include "bench/corpus/simulations_openmp.h"
#include "bench/corpus/stencils.h"

namespace bench::corpus {
namespace {

using namespace pumice;

// ---- fdtd_2d: Maxwell's equations in two dimensions, three launches a step ----
const auto update_ey = kernel("fdtd_ey", [](InOut<double, 2> ey, In<double, 2> hz, Val<double> source) {
    auto [i, j] = global_index<2>();
    $if(i == 0) { ey(i, j) = source; }
    $else { ey(i, j) -= 0.5 * (hz(i, j) - hz(i - 1, j)); }
});
const auto update_ex = kernel("fdtd_ex", [](InOut<double, 2> ex, In<double, 2> hz) {
    auto [i, j] = global_index<2>();
    ex(i, j) -= 0.5 * (hz(i, j) - hz(i, j - 1));
});
const auto update_hz = kernel("fdtd_hz", [](InOut<double, 2> hz, In<double, 2> ex, In<double, 2> ey) {
    auto [i, j] = global_index<2>();
    hz(i, j) -= 0.7 * (ex(i, j + 1) - ex(i, j) + ey(i + 1, j) - ey(i, j));
});

Kernel fdtd_2d() {
    return compared("fdtd_2d", 1e-12, [](auto on, Size size) {
        const int n = size == Size::test ? 45 : 700, m = size == Size::test ? 53 : 801, steps = size == Size::test ? 6 : 10;
        const auto host_source = [&] { return uniform<double>(size_t(steps), 1, -1, 1); };
        const auto ex = zeros<double>(on, {n, m}), ey = zeros<double>(on, {n, m}), hz = zeros<double>(on, {n, m});
        if constexpr (on.ours) {
            return side(on.device, results_in(ex, ey, hz), [=, source = host_source()] {
                ex.fill(0), ey.fill(0), hz.fill(0);
                for (const double v : source) {
                    update_ey(ndrange(n, m), ey, hz, v);
                    update_ex(ndrange({0, 1}, {n, m}), ex, hz);
                    update_hz(ndrange(n - 1, m - 1), hz, ex, ey);
                }
            });
        } else {
            const Buffer<double> source(host_source());
            return side(results_in(ex, ey, hz), [=] { openmp::fdtd_2d(ex, ey, hz, source, n, m, steps); });
        }
    });
}

// ---- hotspot: temperatures of a chip from its power; beyond the edges lie copies of the edges' points ----
const auto hotspot_step = kernel("hotspot", [](Out<float, 2> next, In<float, 2> now, In<float, 2> power, Val<float> by_row,
                                               Val<float> by_column, Val<float> up, Val<float> of_power, Val<float> ambient) {
    auto [i, j] = global_index<2>();
    auto rows = now.size(0), columns = now.size(1);
    auto t = now(i, j);
    auto vertical = now(max(i - 1, 0), j) + now(min(i + 1, rows - 1), j) - 2.0f * t;
    auto horizontal = now(i, max(j - 1, 0)) + now(i, min(j + 1, columns - 1)) - 2.0f * t;
    next(i, j) = t + of_power * power(i, j) + by_row * vertical + by_column * horizontal + up * (ambient - t);
});

Kernel hotspot() {
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 61 : 1201), steps(size == Size::test ? 6 : 10) {}
        int n, steps;
        openmp::Chip chip{.row = 0.15f, .column = 0.1f, .up = 0.02f, .power = 0.5f, .ambient = 0.8f};
        std::vector<float> start() const { return uniform<float>(size_t(n) * size_t(n), 1, 3.2f, 3.4f); }
        std::vector<float> power() const { return uniform<float>(size_t(n) * size_t(n), 2, 0.0f, 0.1f); }
    };
    return compared<Shape>("hotspot", 1e-5, [](auto on, const Shape& s) {
        const auto input = on.of(s.start(), {s.n, s.n}), power = on.of(s.power(), {s.n, s.n}), a = zeros<float>(on, {s.n, s.n}),
                   b = zeros<float>(on, {s.n, s.n});
        if constexpr (on.ours) {
            const auto step = [=](const Array<float, 2>& next, const Array<float, 2>& now) {
                const openmp::Chip& c = s.chip;
                hotspot_step(ndrange(s.n, s.n), next, now, power, c.row, c.column, c.up, c.power, c.ambient);
            };
            return side(on.device, results_in(a), [=] {
                a.copy_from(input);
                for (int t = 0; t < s.steps; t += 2) step(b, a), step(a, b);
            });
        } else {
            return side(results_in(a), [=] { openmp::hotspot(a, b, input, power, s.n, s.steps, s.chip); });
        }
    });
}

// ---- srad: speckle-reducing diffusion of an image: statistics in two launches, a coefficient for each point, and the step ----
constexpr int statistics_groups = 64;
const auto partial_sums = kernel("srad_sums", static_group<256>, [](Out<float, 2> parts, In<float> image) {
    Var<float> sum = 0.0f, squares = 0.0f;
    $for(k, range(global_index(), image.size(0), global_size())) {
        auto v = image[k];
        sum += v;
        squares += v * v;
    }
    auto all = group::reduce_add(sum), all_squares = group::reduce_add(squares);
    $if(local_index() == 0) {
        parts(0, group_index()) = all;
        parts(1, group_index()) = all_squares;
    }
});
const auto speckle_of =
    kernel("srad_speckle", static_group<statistics_groups>, [](Out<float> speckle, In<float, 2> parts, Val<float> count) {
        auto lane = local_index();
        auto mean = group::reduce_add(parts(0, lane)) / count, mean_square = group::reduce_add(parts(1, lane)) / count;
        $if(lane == 0) { speckle[0] = mean_square / (mean * mean) - 1.0f; }
    });
const auto diffusion_coefficient =
    kernel("srad_coefficient", [](Out<float, 2> coefficient, In<float, 2> image, In<float> speckle) {
        auto [i, j] = global_index<2>();
        auto v = image(i, j);
        auto up = image(max(i - 1, 0), j) - v, down = image(min(i + 1, image.size(0) - 1), j) - v;
        auto west = image(i, max(j - 1, 0)) - v, east = image(i, min(j + 1, image.size(1) - 1)) - v;
        auto gradient = (up * up + down * down + west * west + east * east) / (v * v);
        auto laplace = (up + down + west + east) / v, scale = 1.0f + 0.25f * laplace;
        auto q = (0.5f * gradient - 0.0625f * laplace * laplace) / (scale * scale);
        auto c = 1.0f / (1.0f + (q - speckle[0]) / (speckle[0] * (1.0f + speckle[0])));
        coefficient(i, j) = clamp(c, 0.0f, 1.0f);
    });
const auto diffuse = kernel("srad_step", [](Out<float, 2> next, In<float, 2> image, In<float, 2> coefficient, Val<float> rate) {
    auto [i, j] = global_index<2>();
    auto below = min(i + 1, image.size(0) - 1), right = min(j + 1, image.size(1) - 1);
    auto v = image(i, j), c = coefficient(i, j);
    next(i, j) = v + 0.25f * rate *
                         (coefficient(below, j) * (image(below, j) - v) + c * (image(max(i - 1, 0), j) - v) +
                          coefficient(i, right) * (image(i, right) - v) + c * (image(i, max(j - 1, 0)) - v));
});

Kernel srad() {
    return compared("srad", 1e-5, [](auto on, Size size) {
        const int n = size == Size::test ? 45 : 750, m = size == Size::test ? 53 : 801, steps = size == Size::test ? 2 : 6;
        const float rate = 0.5f;
        const auto input = on.of(uniform<float>(size_t(n) * size_t(m), 1, 1.0f, 3.0f), {n, m}), a = zeros<float>(on, {n, m}),
                   b = zeros<float>(on, {n, m}), coefficient = zeros<float>(on, {n, m}),
                   parts = zeros<float>(on, {2, statistics_groups});
        const auto speckle = zeros<float>(on, 1);
        if constexpr (on.ours) {
            const auto step = [=](const Array<float, 2>& next, const Array<float, 2>& now) {
                const Range points = ndrange(n, m);
                partial_sums(ndrange(statistics_groups * 256), parts, now.flat());
                speckle_of(ndrange(statistics_groups), speckle, parts, float(n * m));
                diffusion_coefficient(points, coefficient, now, speckle);
                diffuse(points, next, now, coefficient, rate);
            };
            return side(on.device, results_in(a), [=] {
                a.copy_from(input);
                for (int t = 0; t < steps; t += 2) step(b, a), step(a, b);
            });
        } else {
            return side(results_in(a), [=] { openmp::srad(a, coefficient, b, input, n, m, steps, rate); });
        }
    });
}

// ---- acoustic_wave: the wave equation in three dimensions, leapfrog in time and order 8 in space ----
const auto wave_step = kernel("acoustic_wave", [](InOut<float, 3> next, In<float, 3> now, In<float, 3> speed) {
    constexpr float weights[] = {-205.0f / 72, 8.0f / 5, -1.0f / 5, 8.0f / 315, -1.0f / 560};
    auto [i, j, k] = global_index<3>();
    auto u = now(i, j, k);
    Var laplace = 3.0f * weights[0] * u;
    for (int d = 1; d <= 4; ++d)
        laplace += weights[d] * (now(i - d, j, k) + now(i + d, j, k) + now(i, j - d, k) + now(i, j + d, k) + now(i, j, k - d) +
                                 now(i, j, k + d));
    next(i, j, k) = 2.0f * u - next(i, j, k) + speed(i, j, k) * laplace;
});

Kernel acoustic_wave() {
    struct Shape {
        explicit Shape(Size size) : n(size == Size::test ? 21 : 150), steps(size == Size::test ? 4 : 6) {}
        int n, steps;
        size_t count() const { return size_t(n) * size_t(n) * size_t(n); }
        std::vector<float> now() const { return uniform<float>(count(), 1, -0.1f, 0.1f); }
        std::vector<float> before() const { return uniform<float>(count(), 2, -0.1f, 0.1f); }
        /// The square of the speed times the time step over the spacing.
        std::vector<float> speed() const { return uniform<float>(count(), 3, 0.05f, 0.15f); }
    };
    return compared<Shape>("acoustic_wave", 1e-5, [](auto on, const Shape& s) {
        const auto now = on.of(s.now(), {s.n, s.n, s.n}), before = on.of(s.before(), {s.n, s.n, s.n}),
                   speed = on.of(s.speed(), {s.n, s.n, s.n}), a = zeros<float>(on, {s.n, s.n, s.n}),
                   b = zeros<float>(on, {s.n, s.n, s.n});
        if constexpr (on.ours)
            return side(on.device, results_in(a, b), [=] {
                a.copy_from(now), b.copy_from(before);
                const Range inside = ndrange({4, 4, 4}, {s.n - 4, s.n - 4, s.n - 4});
                for (int t = 0; t < s.steps; t += 2) wave_step(inside, b, a, speed), wave_step(inside, a, b, speed);
            });
        else
            return side(results_in(a, b), [=] { openmp::acoustic_wave(a, b, now, before, speed, s.n, s.steps); });
    });
}

}  // namespace

std::vector<Kernel> simulations() { return {fdtd_2d(), hotspot(), srad(), acoustic_wave()}; }

}  // namespace bench::corpus
