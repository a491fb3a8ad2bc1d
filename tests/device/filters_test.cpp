// Filters whose loop moves a clamped index, and eliminations whose items read an element of their row in an array that they
// write.
#include "tests/device/types.h"

#include <algorithm>

using namespace pumice;
using suite::device;

namespace {

/// Numbers of columns: less than a packet, packets with and without a rest, and more than a group.
constexpr int widths[] = {3, 16, 37, 130, 1100};
constexpr int rows = 3;

template <class T> std::vector<T> small_numbers(int count) {
    std::vector<T> all;
    for (int i = 0; i < count; ++i) all.push_back(T((i * 29 + i / 7) % 13));
    return all;
}

/// The sum over c from `from` to `to` of x(i, clamp(j + factor * c)), for each element of a plane, by a kernel's loop with the
/// same bounds and by the host.
template <class T, class K> void expect_filtered(const K& filter, int factor, int from, int to, int step) {
    for (const int n : widths) {
        const std::vector<T> x = small_numbers<T>(rows * n);
        const Array<T, 2> y = device().template zeros<T>({rows, n});
        filter(ndrange(rows, n), y, device().upload(x, {rows, n}), from, to);
        std::vector<T> want(x.size());
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < n; ++j)
                for (int c = from; step > 0 ? c < to : c > to; c += step)
                    want[size_t(i * n + j)] =
                        T(want[size_t(i * n + j)] + x[size_t(i * n + std::clamp(j + factor * c, 0, n - 1))]);
        ASSERT_EQ(y.download(), want) << n << " columns, " << factor << " times the counter from " << from << " to " << to;
    }
}

template <class T> void expect_filters(std::initializer_list<int> steps) {
    for (const int factor : {1, -3})
        for (const int step : steps) {
            const auto filter = kernel("filter", [=](Out<T, 2> y, In<T, 2> x, Val<int> from, Val<int> to) {
                auto [i, j] = global_index<2>();
                Var<T> sum = T(0);
                $for(c, range(from, to, step)) { sum += x(i, clamp(j + factor * c, 0, x.size(1) - 1)); }
                y(i, j) = sum;
            });
            for (const int radius : {0, 2, 9}) expect_filtered<T>(filter, factor, step * -radius, step * (radius + 1), step);
            expect_filtered<T>(filter, factor, step * 2, step * 20, step);
            expect_filtered<T>(filter, factor, step * 5, step * 5, step);
        }
}

TEST(Filters, ClampedIndicesMoveWithTheCounter) { expect_filters<float>({1, -1}); }

TEST(Filters, ClampedIndicesOfBytesMoveWithTheCounter) {
    if (!device().supports(Feature::int8)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no integers of 8 bits";
    expect_filters<uint8_t>({1});
}

TEST(Filters, CountersComeRoundTheValuesOfTheirType) {
    // The index of the last iteration equals that of the first one, and those between are far away. Few iterations run.
    static constexpr int factor = 1024, round = 1 << 22, n = 300;
    const auto filter = kernel("round", [](Out<int> y, In<int> x, Val<int> from, Val<int> to) {
        auto j = global_index();
        Var sum = 0;
        $for(c, range(from, to)) {
            sum += x[clamp(j + c * factor, 0, x.size(0) - 1)];
            $if(c > from + 5) { $break; }
        }
        y[j] = sum;
    });
    const std::vector<int> x = small_numbers<int>(n);
    const Array<int> y = device().zeros<int>(n);
    for (const int to : {1, 4, round + 1}) {
        filter(ndrange(n), y, device().upload(x), 0, to);
        std::vector<int> want(x.size());
        for (int j = 0; j < n; ++j)
            for (int c = 0; c < std::min(to, 7); ++c) want[size_t(j)] += x[size_t(std::clamp(j + c * factor, 0, n - 1))];
        ASSERT_EQ(y.download(), want) << to << " iterations";
    }
}

TEST(Eliminations, ItemsReadAnElementOfTheirRow) {
    const auto eliminate = kernel("eliminate", [](InOut<int, 2> a, Val<int> k) {
        auto [i, j] = global_index<2>();
        a(i, j) -= a(i, k) * a(k, j);
    });
    for (const int n : {5, 40, 150, 1050}) {
        const int height = std::min(n, 40);
        std::vector<int> want = small_numbers<int>(height * n);
        const Array<int, 2> a = device().upload(want, {height, n});
        for (const int k : {0, 1, height / 2}) {
            eliminate(ndrange({k + 1, k + 1}, {height, n}), a, k);
            for (int i = k + 1; i < height; ++i)
                for (int j = k + 1; j < n; ++j) {
                    int& at = want[size_t(i * n + j)];
                    at = int(uint32_t(at) - uint32_t(want[size_t(i * n + k)]) * uint32_t(want[size_t(k * n + j)]));
                }
        }
        ASSERT_EQ(a.download(), want) << n << " columns";
    }
}

}  // namespace
