// Helpers of the suite of images: the device under test, inputs, and the filters on the host.
#pragma once
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <algorithm>
#include <cmath>

#include "tests/kept_device.h"

namespace suite {

inline pumice::Device device() { return kept_device->get(); }

template <class F> std::string message_of(F&& act) {
    try {
        act();
    } catch (const pumice::Error& e) { return e.what(); }
    return "(no error)";
}

/// Numbers from 0 to 1 without pattern.
inline std::vector<float> numbers(size_t n, uint32_t seed = 1) {
    std::vector<float> all(n);
    uint32_t state = seed * 2654435761u + 12345u;
    for (float& x : all) state = state * 1664525u + 1013904223u, x = float(state >> 8) / float(1 << 24);
    return all;
}

/// A texture of one channel and two dimensions on the host.
struct Picture {
    int64_t height = 1, width = 1;
    std::vector<float> texels;
    float at(int64_t y, int64_t x) const { return texels[size_t(y * width + x)]; }
};

/// The taps of a filter along an axis, as docs/images.md defines them: indices (-1: the border), and the fraction.
struct Taps {
    std::vector<int64_t> index;
    float part = 0;
};
inline Taps taps(float u, int64_t size, pumice::Filter filter, pumice::Wrap wrap) {
    using namespace pumice;
    if (wrap == Wrap::repeat) u = u - std::floor(u);
    if (wrap == Wrap::mirror) {
        const float t = u - 2.0f * std::floor(u * 0.5f);
        u = std::min(t, 2.0f - t);
    }
    float x = u * float(size);
    if (filter != Filter::nearest) x = x - 0.5f;
    x = x < 65536.0f ? x : 65536.0f;
    x = x > -8.0f ? x : -8.0f;
    const float below = std::floor(x);
    Taps t;
    t.part = x - below;
    const int first = filter == Filter::cubic ? -1 : 0, past = filter == Filter::nearest ? 1 : filter == Filter::linear ? 2 : 3;
    for (int n = first; n < past; ++n) {
        int64_t i = int64_t(below) + n;
        const bool outside = i < 0 || i >= size;
        if (wrap == Wrap::repeat) i = ((i % size) + size) % size;
        if (wrap == Wrap::mirror) i = i < 0 ? -1 - i : i >= size ? 2 * size - 1 - i : i;
        i = std::clamp<int64_t>(i, 0, size - 1);
        t.index.push_back(wrap == Wrap::border && outside ? -1 : i);
    }
    return t;
}
inline float combined(const std::vector<float>& v, float t) {
    if (v.size() == 1) return v[0];
    if (v.size() == 2) return v[0] + t * (v[1] - v[0]);
    const float square = t * t;
    float sum = (((-0.5f * t + 1.0f) * t - 0.5f) * t) * v[0];
    sum = sum + ((1.5f * t - 2.5f) * square + 1.0f) * v[1];
    sum = sum + (((-1.5f * t + 2.0f) * t + 0.5f) * t) * v[2];
    return sum + ((0.5f * t - 0.5f) * square) * v[3];
}
inline float filtered(const Picture& picture, float u, float v, pumice::Filter filter, pumice::Wrap wrap, float border) {
    const Taps x = taps(u, picture.width, filter, wrap), y = taps(v, picture.height, filter, wrap);
    std::vector<float> rows;
    for (const int64_t j : y.index) {
        std::vector<float> row;
        for (const int64_t i : x.index) row.push_back(i < 0 || j < 0 ? border : picture.at(j, i));
        rows.push_back(combined(row, x.part));
    }
    return combined(rows, y.part);
}

}  // namespace suite
