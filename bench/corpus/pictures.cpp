// Image filters, rays, noise. Beyond the rims of a picture lie copies of them.
#include <cmath>
#include <numeric>

#include "bench/corpus/corpus.h"
#include "bench/corpus/pictures_openmp.h"

namespace bench::corpus {
namespace {

using namespace pumice;

struct Picture {
    int height, width;
    size_t size() const { return size_t(height) * size_t(width); }
    std::vector<uint8_t> bytes(uint32_t seed, size_t channels = 1) const {
        std::vector<uint8_t> out(size() * channels);
        const std::vector<float> drawn = uniform<float>(out.size(), seed, 0.0f, 256.0f);
        for (size_t i = 0; i < out.size(); ++i) out[i] = uint8_t(drawn[i]);
        return out;
    }
};

/// A filter from a picture of bytes to another, as all its forms have it.
template <class Filter>
Kernel filter_of_bytes(const char* name, const Filter& filter, void (*openmp)(uint8_t*, const uint8_t*, int, int)) {
    const auto picture = [](Size size) { return size == Size::test ? Picture{61, 83} : Picture{3001, 5005}; };
    return compared(name, 0, picture, [=](auto on, const Picture& p) {
        const auto in = on.of(p.bytes(1), {p.height, p.width});
        const auto out = zeros<uint8_t>(on, {p.height, p.width});
        if constexpr (on.ours)
            return side(on.device, results_in(out), [=] { filter(ndrange(p.height, p.width), out, in); });
        else
            return side(results_in(out), [=] { openmp(out, in, p.height, p.width); });
    });
}

// ---- median_3x3: the median of nine bytes by a sorting network ----
const auto median_kernel = kernel("median_3x3", [](Out<uint8_t, 2> out, In<uint8_t, 2> in) {
    auto [i, j] = global_index<2>();
    Private<uint8_t, 9> v;
    for (int k = 0; k < 9; ++k) v[k] = in(clamp(i + (k / 3 - 1), 0, in.size(0) - 1), clamp(j + (k % 3 - 1), 0, in.size(1) - 1));
    constexpr int network[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                    {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
    for (const auto& [a, b] : network) {
        auto low = min(v[a], v[b]), high = max(v[a], v[b]);
        v[a] = low;
        v[b] = high;
    }
    out(i, j) = v[4];
});

// ---- sobel: the strength of edges of a picture of bytes, at most 255 ----
const auto sobel_kernel = kernel("sobel", [](Out<uint8_t, 2> out, In<uint8_t, 2> in) {
    auto [i, j] = global_index<2>();
    auto up = max(i - 1, 0), down = min(i + 1, in.size(0) - 1), left = max(j - 1, 0), right = min(j + 1, in.size(1) - 1);
    const auto at = [&](Val<int> row, Val<int> column) { return cast<int>(in(row, column)); };
    auto x = at(up, right) - at(up, left) + 2 * (at(i, right) - at(i, left)) + at(down, right) - at(down, left);
    auto y = at(down, left) - at(up, left) + 2 * (at(down, j) - at(up, j)) + at(down, right) - at(up, right);
    out(i, j) = cast<uint8_t>(min(abs(x) + abs(y), 255));
});

// ---- bilateral: a blur of radius 3 that keeps edges, with an exp a neighbour ----
const auto bilateral_kernel =
    kernel("bilateral", [](Out<float, 2> out, In<float, 2> in, In<float, 2> near, Val<float> sharpness) {
        auto [i, j] = global_index<2>();
        auto middle = in(i, j);
        auto radius = near.size(0) / 2;
        Var sum = 0.0f, weights = 0.0f;
        $for(di, range(near.size(0))) {
            $for(dj, range(near.size(1))) {
                auto there = in(clamp(i + di - radius, 0, in.size(0) - 1), clamp(j + dj - radius, 0, in.size(1) - 1));
                auto difference = there - middle;
                auto weight = near(di, dj) * exp(-sharpness * difference * difference);
                sum += weight * there;
                weights += weight;
            }
        }
        out(i, j) = sum / weights;
    });

Kernel bilateral() {
    const auto picture = [](Size size) { return size == Size::test ? Picture{29, 37} : Picture{301, 501}; };
    const int radius = 3;
    const float sharpness = 8;
    const auto near = [=] {
        std::vector<float> weights;
        for (int i = -radius; i <= radius; ++i)
            for (int j = -radius; j <= radius; ++j) weights.push_back(std::exp(-float(i * i + j * j) / 8.0f));
        return weights;
    };
    return compared("bilateral", 1e-5, picture, [=](auto on, const Picture& p) {
        const auto in = on.of(uniform<float>(p.size(), 2), {p.height, p.width});
        const auto out = zeros<float>(on, {p.height, p.width});
        const auto weights = on.of(near(), {2 * radius + 1, 2 * radius + 1});
        if constexpr (on.ours)
            return side(on.device, results_in(out),
                        [=] { bilateral_kernel(ndrange(p.height, p.width), out, in, weights, sharpness); });
        else
            return side(results_in(out), [=] { openmp::bilateral(out, in, weights, sharpness, radius, p.height, p.width); });
    });
}

// ---- gaussian_blur: a separable blur of radius 7, rows and then columns ----
const auto blur_rows = kernel("blur_rows", [](Out<float, 2> out, In<float, 2> in, In<float> weights) {
    auto [i, j] = global_index<2>();
    auto radius = weights.size(0) / 2;
    Var sum = 0.0f;
    $for(k, range(weights.size(0))) { sum += weights[k] * in(i, clamp(j + k - radius, 0, in.size(1) - 1)); }
    out(i, j) = sum;
});
const auto blur_columns = kernel("blur_columns", [](Out<float, 2> out, In<float, 2> in, In<float> weights) {
    auto [i, j] = global_index<2>();
    auto radius = weights.size(0) / 2;
    Var sum = 0.0f;
    $for(k, range(weights.size(0))) { sum += weights[k] * in(clamp(i + k - radius, 0, in.size(0) - 1), j); }
    out(i, j) = sum;
});

Kernel gaussian_blur() {
    const auto picture = [](Size size) { return size == Size::test ? Picture{43, 61} : Picture{1001, 1503}; };
    const int radius = 7;
    const auto weights = [=] {
        std::vector<float> out;
        for (int k = -radius; k <= radius; ++k) out.push_back(std::exp(-float(k * k) / 18.0f) / 7.4f);
        return out;
    };
    return compared("gaussian_blur", 1e-5, picture, [=](auto on, const Picture& p) {
        const auto in = on.of(uniform<float>(p.size(), 3), {p.height, p.width});
        const auto between = zeros<float>(on, {p.height, p.width}), out = zeros<float>(on, {p.height, p.width});
        const auto kept = on.of(weights());
        if constexpr (on.ours)
            return side(on.device, results_in(out), [=] {
                const Range all = ndrange(p.height, p.width);
                blur_rows(all, between, in, kept);
                blur_columns(all, out, between, kept);
            });
        else
            return side(results_in(out), [=] { openmp::gaussian_blur(out, between, in, kept, radius, p.height, p.width); });
    });
}

// ---- soft_shadow: rays from the ground to the light, marched through distances to spheres, a box and a torus ----
Val<float> distance_to_scene(Val<float3> p) {
    auto cell = Val<float3>(p.x - floor(p.x) - 0.5f, p.y - 0.4f, p.z - floor(p.z) - 0.5f);
    auto sphere = length(cell) - 0.25f;
    auto beside = max(abs(p - float3{4.3f, 1.5f, 3.2f}) - float3{0.6f, 0.3f, 1.0f}, float3{0, 0, 0});
    auto box = length(beside) - 0.1f;
    auto ring = length(Val<float2>(p.x - 2.0f, p.z - 5.0f)) - 0.9f;
    auto torus = length(Val<float2>(ring, p.y - 1.2f)) - 0.2f;
    return min(sphere, min(box, torus));
}

const auto soft_shadow_kernel = kernel("soft_shadow", [](Out<float, 2> out) {
    auto [i, j] = global_index<2>();
    auto x = 8.0f * (cast<float>(j) + 0.5f) / cast<float>(out.size(1));
    auto z = 8.0f * (cast<float>(i) + 0.5f) / cast<float>(out.size(0));
    Val<float3> ground(x, 0.0f, z), to_light = float3{0.48f, 0.6f, 0.64f};
    Var light = 1.0f, t = 0.02f;
    $while(t < 4.0f && light > 0.005f) {
        auto d = distance_to_scene(ground + to_light * t);
        light = min(light, 8.0f * d / t);
        t += clamp(d, 0.02f, 0.3f);
    }
    out(i, j) = max(light - 0.005f, 0.0f);
});

Kernel soft_shadow() {
    const auto picture = [](Size size) { return size == Size::test ? Picture{27, 37} : Picture{403, 601}; };
    return compared("soft_shadow", 1e-4, picture, [=](auto on, const Picture& p) {
        const auto out = zeros<float>(on, {p.height, p.width});
        if constexpr (on.ours)
            return side(on.device, results_in(out), [=] { soft_shadow_kernel(ndrange(p.height, p.width), out); });
        else
            return side(results_in(out), [=] { openmp::soft_shadow(out, p.height, p.width); });
    });
}

// ---- gradient_noise: octaves of noise from slopes that a permutation table gives to the corners of cells ----
Val<float> slope(Val<int> hash, Val<float> x, Val<float> y) {
    auto swapped = (hash & 4) != 0;
    auto u = select(swapped, y, x), v = select(swapped, x, y);
    return select((hash & 1) != 0, -u, u) + select((hash & 2) != 0, -2.0f * v, 2.0f * v);
}
Val<float> fade(Val<float> t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }

const auto gradient_noise_kernel =
    kernel("gradient_noise", [](Out<float, 2> out, In<int> permutation, Val<float> frequency, Val<int> octaves) {
        auto [i, j] = global_index<2>();
        Var sum = 0.0f, scale = frequency, amplitude = 1.0f;
        $for(octave, range(octaves)) {
            auto x = cast<float>(j) * scale, y = cast<float>(i) * scale;
            auto u = x - floor(x), v = y - floor(y);
            auto cell_x = cast<int>(floor(x)) & 255, cell_y = cast<int>(floor(y)) & 255;
            auto a = permutation[cell_x] + cell_y, b = permutation[cell_x + 1] + cell_y;
            auto above = lerp(slope(permutation[a], u, v), slope(permutation[b], u - 1.0f, v), fade(u));
            auto below = lerp(slope(permutation[a + 1], u, v - 1.0f), slope(permutation[b + 1], u - 1.0f, v - 1.0f), fade(u));
            sum += amplitude * lerp(above, below, fade(v));
            scale *= 2.0f;
            amplitude *= 0.5f;
        }
        out(i, j) = sum;
    });

Kernel gradient_noise() {
    const auto picture = [](Size size) { return size == Size::test ? Picture{29, 45} : Picture{403, 601}; };
    const int octaves = 5;
    const float frequency = 0.017f;
    const auto permutation = [] {
        std::vector<int32_t> out(256);
        std::iota(out.begin(), out.end(), 0);
        const std::vector<float> drawn = uniform<float>(256, 4);
        for (size_t k = 255; k > 0; --k) std::swap(out[k], out[size_t(drawn[k] * float(k + 1))]);
        out.insert(out.end(), out.begin(), out.begin() + 256);
        return out;
    };
    return compared("gradient_noise", 1e-5, picture, [=](auto on, const Picture& p) {
        const auto out = zeros<float>(on, {p.height, p.width});
        const auto table = on.of(permutation());
        if constexpr (on.ours)
            return side(on.device, results_in(out),
                        [=] { gradient_noise_kernel(ndrange(p.height, p.width), out, table, frequency, octaves); });
        else
            return side(results_in(out), [=] { openmp::gradient_noise(out, table, frequency, octaves, p.height, p.width); });
    });
}

// ---- box_filter: means over boxes from an integral image: prefix sums of rows by groups, of columns by items ----
const auto sum_rows = kernel("sum_rows", static_group<256>, whole_groups, [](Out<uint32_t, 2> integral, In<uint8_t, 2> in) {
    auto row = group_index();
    Var before = 0u;
    $for(begin, range(0, in.size(1), 256)) {
        auto j = begin + local_index();
        Var value = 0u;
        $if(j < in.size(1)) { value = cast<uint32_t>(in(row, j)); }
        auto sum = before + group::inclusive_add(value);
        $if(j < in.size(1)) { integral(row + 1, j + 1) = sum; }
        before = group::broadcast(sum, 255);
    }
});
const auto sum_columns = kernel("sum_columns", [](InOut<uint32_t, 2> integral) {
    auto j = global_index() + 1;
    Var sum = 0u;
    $for(i, range(1, integral.size(0))) {
        sum += integral(i, j);
        integral(i, j) = sum;
    }
});
const auto box_means = kernel("box_means", [](Out<uint8_t, 2> out, In<uint32_t, 2> integral, Val<int> radius) {
    auto [i, j] = global_index<2>();
    auto top = max(i - radius, 0), bottom = min(i + radius + 1, out.size(0));
    auto left = max(j - radius, 0), right = min(j + radius + 1, out.size(1));
    auto sum = integral(bottom, right) - integral(bottom, left) - integral(top, right) + integral(top, left);
    out(i, j) = cast<uint8_t>(sum / cast<uint32_t>((bottom - top) * (right - left)));
});

Kernel box_filter() {
    const auto picture = [](Size size) { return size == Size::test ? Picture{37, 301} : Picture{1001, 1503}; };
    const int radius = 9;
    return compared("box_filter", 0, picture, [=](auto on, const Picture& p) {
        const auto in = on.of(p.bytes(5), {p.height, p.width});
        const auto out = zeros<uint8_t>(on, {p.height, p.width});
        const auto integral = zeros<uint32_t>(on, {p.height + 1, p.width + 1});
        if constexpr (on.ours)
            return side(on.device, results_in(out), [=] {
                sum_rows(ndrange(p.height * 256), integral, in);
                sum_columns(ndrange(p.width), integral);
                box_means(ndrange(p.height, p.width), out, integral, radius);
            });
        else
            return side(results_in(out), [=] { openmp::box_filter(out, integral, in, radius, p.height, p.width); });
    });
}

// ---- rotate_picture: a picture of three bytes a pixel turned by an angle, between four pixels in fixed point ----
const auto rotate_kernel = kernel("rotate_picture", [](Out<uint8_t, 3> out, In<uint8_t, 3> in, Val<int> cosine, Val<int> sine) {
    auto [i, j] = global_index<2>();
    auto height = in.size(0), width = in.size(1);
    auto di = i - height / 2, dj = j - width / 2;
    auto x = cosine * dj - sine * di + (width / 2 << 16), y = sine * dj + cosine * di + (height / 2 << 16);
    auto left = x >> 16, top = y >> 16;
    $if(left >= 0 && left < width - 1 && top >= 0 && top < height - 1) {
        auto u = x >> 8 & 255, v = y >> 8 & 255;
        for (int c = 0; c < 3; ++c) {
            const auto at = [&](Val<int> row, Val<int> column) { return cast<int>(in(row, column, c)); };
            auto upper = at(top, left) * (256 - u) + at(top, left + 1) * u;
            auto lower = at(top + 1, left) * (256 - u) + at(top + 1, left + 1) * u;
            out(i, j, c) = cast<uint8_t>((upper * (256 - v) + lower * v) >> 16);
        }
    }
    $else {
        for (int c = 0; c < 3; ++c) out(i, j, c) = uint8_t(0);
    }
});

Kernel rotate_picture() {
    const auto picture = [](Size size) { return size == Size::test ? Picture{43, 61} : Picture{901, 1203}; };
    const int cosine = int(0.9 * 65536), sine = int(0.43589 * 65536);
    return compared("rotate_picture", 0, picture, [=](auto on, const Picture& p) {
        const auto in = on.of(p.bytes(6, 3), {p.height, p.width, 3});
        const auto out = zeros<uint8_t>(on, {p.height, p.width, 3});
        if constexpr (on.ours)
            return side(on.device, results_in(out), [=] { rotate_kernel(ndrange(p.height, p.width), out, in, cosine, sine); });
        else
            return side(results_in(out), [=] { openmp::rotate_picture(out, in, cosine, sine, p.height, p.width); });
    });
}

}  // namespace

std::vector<Kernel> pictures() {
    return {filter_of_bytes("median_3x3", median_kernel, openmp::median_3x3),
            filter_of_bytes("sobel", sobel_kernel, openmp::sobel),
            bilateral(),
            gaussian_blur(),
            soft_shadow(),
            gradient_noise(),
            box_filter(),
            rotate_picture()};
}

}  // namespace bench::corpus
