// Checks that the derivatives of any kernel must pass, on the device under test.
#pragma once
#include <cmath>

#include "tests/device/suite.h"

namespace suite {

/// Numbers of [low, high), the same in every run.
template <class T> std::vector<T> numbers(int64_t n, uint64_t seed, double low = -1, double high = 1) {
    pumice::rng::Splittable random(seed);
    std::vector<T> v(static_cast<size_t>(n));
    for (T& x : v) x = T(low + (high - low) * double(random.next() >> 11) * 0x1p-53);
    return v;
}

template <class T> double dot(const std::vector<T>& a, const std::vector<T>& b, double* scale = nullptr) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        sum += double(a[i]) * double(b[i]);
        if (scale) *scale += std::abs(double(a[i]) * double(b[i]));
    }
    return sum;
}

/// The parts of a check: reverse mode whole; or that, halves and a batch, which have kernels of their own.
enum class Modes { whole, all };

/// The gradient agrees with central differences, and reverse mode is the transpose of forward mode: <seeds, J t> = <J' seeds, t>,
/// whole, in halves, and for each of a batch of three. The kernel's arguments are the arrays.
template <class K, class T, int... N>
void expect_derivatives(Modes modes, const K& kernel, const pumice::Range& range, const pumice::Array<T, N>&... arrays) {
    using namespace pumice;
    const GradientCheck found = check_gradient(kernel, range, arrays...);
    EXPECT_TRUE(found) << found.text();

    constexpr size_t count = sizeof...(N);
    std::vector<std::vector<T>> tangents, seeds[3], after;
    uint64_t seed = 1;
    const auto draw = [&](const auto& a, std::vector<std::vector<T>>& to) {
        to.push_back(numbers<T>(int64_t(a.download().size()), ++seed));
    };
    (draw(arrays, tangents), ...);
    for (auto& s : seeds) (draw(arrays, s), ...);
    const auto with = [](const auto& like, const std::vector<T>& elements) {
        auto a = like.clone();
        a.copy_from(elements);
        return a;
    };
    const auto expect = [&](const std::vector<std::vector<T>>& adjoints, int s, const char* how) {
        double want = 0, got = 0, scale = 0;
        for (size_t i = 0; i < count; ++i)
            want += dot(seeds[s][i], after[i], &scale), got += dot(adjoints[i], tangents[i], &scale);
        EXPECT_NEAR(got, want, (std::is_same_v<T, float> ? 3e-6 : 1e-13) * scale) << how << ", direction " << s;
    };
    [&]<size_t... I>(std::index_sequence<I...>) {
        const auto shadows = [&](const std::vector<std::vector<T>>& from) { return std::tuple(with(arrays, from[I])...); };
        const auto read = [&](const auto& all) { return std::vector<std::vector<T>>{std::get<I>(all).download()...}; };
        const auto moved = shadows(tangents);
        autodiff(Forward, kernel, range, Duplicated(arrays.clone(), std::get<I>(moved))...);
        after = read(moved);

        const auto whole = shadows(seeds[0]);
        autodiff(Reverse, kernel, range, Duplicated(arrays.clone(), std::get<I>(whole))...);
        expect(read(whole), 0, "reverse");
        if (modes == Modes::whole) return;

        const auto first = shadows(seeds[0]), second = shadows(seeds[1]), third = shadows(seeds[2]);
        autodiff(Reverse, kernel, range,
                 BatchDuplicated(arrays.clone(), {std::get<I>(first), std::get<I>(second), std::get<I>(third)})...);
        expect(read(first), 0, "batch");
        expect(read(second), 1, "batch");
        expect(read(third), 2, "batch");

        // The tape is used twice, and the arrays change in between.
        const auto own = std::tuple(arrays.clone()...);
        const auto once = shadows(seeds[0]), again = shadows(seeds[1]);
        const auto [forward, reverse] = autodiff_split(kernel, range, Duplicated(std::get<I>(own), std::get<I>(once))...);
        const auto tape = forward(Duplicated(std::get<I>(own), std::get<I>(once))...);
        (Array<T, N>(std::get<I>(own)).fill(T(1e6)), ...);
        reverse(Duplicated(std::get<I>(own), std::get<I>(once))..., tape);
        reverse(Duplicated(std::get<I>(own), std::get<I>(again))..., tape);
        expect(read(once), 0, "in halves");
        expect(read(again), 1, "in halves");
    }(std::make_index_sequence<count>());
}
template <class K, class T, int... N>
void expect_derivatives(const K& kernel, const pumice::Range& range, const pumice::Array<T, N>&... arrays) {
    expect_derivatives(Modes::all, kernel, range, arrays...);
}

}  // namespace suite
