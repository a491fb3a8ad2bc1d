// Loops in which each item goes along its own row: forwards and backwards, for rows of every length, with loads, stores and
// additions, and with loads of earlier results.
#include "tests/device/types.h"

#include <cmath>

using namespace pumice;
using suite::device;

namespace {

const std::vector<int> lengths{0, 1, 5, 15, 16, 17, 33, 255, 256, 257, 600};

std::vector<float> numbers(int n) {
    std::vector<float> v(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) v[size_t(i)] = float(i * 37 % 101) / 64 - 0.5f;
    return v;
}

/// Numbers of rows: less than a packet, whole packets, and a partial packet at the end.
const std::vector<int> counts{3, 37, 256};

template <class Make, class Want> void each_size(Make make, Want want) {
    const Device d = device();
    const auto k = make();
    for (const int rows : counts)
        for (const int n : lengths) {
            if (rows == 256 && n > 40) continue;
            const std::vector<float> x = numbers(rows * (n + 2));
            Array<float> y = d.upload(numbers(rows * (n + 2) + 1));
            std::vector<float> expected = y.download();
            k(ndrange(rows), y, d.upload(x), n);
            for (int r = 0; r < rows; ++r) want(expected.data() + r * (n + 2), x.data() + r * (n + 2), n);
            const std::vector<float> got = y.download();
            for (size_t i = 0; i < got.size(); ++i)
                ASSERT_NEAR(got[i], expected[i], 2e-5 * (1 + std::abs(expected[i]))) << rows << " rows of " << n << " at " << i;
        }
}

TEST(ItemRows, AddToARowForwards) {
    each_size(
        [] {
            return kernel("add_forwards", [](InOut<float> y, In<float> x, Val<int> n) {
                auto row = global_index() * (n + 2);
                Var sum = 0.0f;
                $for(k, range(n)) {
                    sum += x[row + k];
                    y[row + k] += sum;
                }
            });
        },
        [](float* y, const float* x, int n) {
            for (int k = 0; k < n; ++k) {
                float sum = 0;
                for (int j = 0; j <= k; ++j) sum += x[j];
                y[k] += sum;
            }
        });
}

TEST(ItemRows, RowBackwardsFromAnOffset) {
    each_size(
        [] {
            return kernel("backwards", [](InOut<float> y, In<float> x, Val<int> n) {
                auto row = global_index() * (n + 2);
                $for(k, range(n - 1, n * 0 - 1, -1)) { y[row + k + 2] = x[row + k] - 2.0f * x[row + k + 1]; }
            });
        },
        [](float* y, const float* x, int n) {
            for (int k = 0; k < n; ++k) y[k + 2] = x[k] - 2 * x[k + 1];
        });
}

/// Subtractions from elements whose old value nobody reads, beside elements that are read.
TEST(ItemRows, SubtractFromARowAndScaleIt) {
    each_size(
        [] {
            return kernel("take_away", [](InOut<float> y, In<float> x, Val<int> n) {
                auto row = global_index() * (n + 2);
                Var sum = 0.0f;
                $for(k, range(n - 1, n * 0 - 1, -1)) { y[row + k] -= x[row + k]; }
                $for(k, range(n)) { y[row + k] *= x[row + k]; }
                $for(k, range(n)) {
                    y[row + k] += 1.0f;
                    sum += y[row + k];
                }
                y[row + n] = sum;
            });
        },
        [](float* y, const float* x, int n) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum += y[k] = (y[k] - x[k]) * x[k] + 1;
            y[n] = sum;
        });
}

/// Stored elements are loaded in a later iteration, and under a condition.
TEST(ItemRows, ReadResultsOfEarlierIterations) {
    each_size(
        [] {
            return kernel("own_results", [](InOut<float> y, In<float> x, Val<int> n) {
                auto row = global_index() * (n + 2);
                $for(k, range(n)) {
                    y[row + k + 1] = 0.5f * y[row + k] + x[row + k];
                    $if(x[row + k] > 0.3f) { y[row + k + 1] = x[row + k]; };
                }
            });
        },
        [](float* y, const float* x, int n) {
            for (int k = 0; k < n; ++k) y[k + 1] = x[k] > 0.3f ? x[k] : 0.5f * y[k] + x[k];
        });
}

/// The exponentials of the first loop are used in later loops, in another order and over other ranges.
TEST(ItemRows, SoftmaxOfARow) {
    each_size(
        [] {
            return kernel("softmax", [](InOut<float> y, In<float> x, Val<int> n) {
                auto row = global_index() * (n + 2);
                Var sum = 0.0f;
                $for(k, range(1, n)) { sum += exp(x[row + k] * 0.5f); }
                $for(k, range(n)) { y[row + k] = exp(x[row + k] * 0.5f) / (1.0f + sum); }
                $for(k, range(n, n * 0, -1)) { y[row + k] += exp(x[row + k] * 0.5f); }
            });
        },
        [](float* y, const float* x, int n) {
            float sum = 1;
            for (int k = 1; k < n; ++k) sum += std::exp(x[k] * 0.5f);
            for (int k = 0; k < n; ++k) y[k] = std::exp(x[k] * 0.5f) / sum;
            for (int k = n; k > 0; --k) y[k] += std::exp(x[k] * 0.5f);
        });
}

/// Elements that were written in between are computed again.
TEST(ItemRows, ElementsChangedBetweenLoops) {
    each_size(
        [] {
            return kernel("changed", [](InOut<float> y, In<float> x, Val<int> n) {
                auto row = global_index() * (n + 2);
                Var sum = 0.0f;
                $for(k, range(n)) { sum += exp(y[row + k]); }
                $for(k, range(n)) { y[row + k] = x[row + k]; }
                $for(k, range(n)) { sum += 0.5f * exp(y[row + k]); }
                y[row + n] = sum;
            });
        },
        [](float* y, const float* x, int n) {
            float sum = 0;
            for (int k = 0; k < n; ++k) sum += std::exp(y[k]) + 0.5f * std::exp(x[k]), y[k] = x[k];
            y[n] = sum;
        });
}

TEST(ItemRows, WholeRowsReversed) {
    const Device d = device();
    const auto k = kernel("turned", [](Out<int, 2> y, In<int, 2> x) {
        auto i = global_index();
        $for(j, range(x.size(1))) { y(i, x.size(1) - 1 - j) = x(i, j) * 3; }
    });
    for (const int n : {7, 16, 50}) {
        std::vector<int> x(size_t(40 * n));
        for (size_t i = 0; i < x.size(); ++i) x[i] = int(i * 7919 % 1000);
        Array<int, 2> y = d.zeros<int>({40, n});
        k(ndrange(40), y, d.upload(x).reshape({40, n}));
        const std::vector<int> got = y.download();
        for (int i = 0; i < 40; ++i)
            for (int j = 0; j < n; ++j) ASSERT_EQ(got[size_t(i * n + n - 1 - j)], x[size_t(i * n + j)] * 3) << n;
    }
}

TEST(ItemRows, WhilesThatLoadAndStore) {
    NEEDS(float64, "doubles");
    const auto grow = kernel("grow", [](InOut<double> y, InOut<double> x, Val<int> n) {
        auto i = global_index();
        $while(y[i] < 3.0 * cast<double>(n)) {
            y[i] = y[i] * (1.5 + x[i] * 0.25);
            x[i + 50] = y[i];
        }
    });
    const auto count =
        kernel("count", [](InOut<int> y, InOut<int> z, Val<int> n) {  // nothing carried, and carried by all items alike
            auto i = global_index();
            Var left = n;
            $while(left > 0) {
                atomic_add(y[i + left], 1), atomic_add(z[left], i);
                left -= 1;
            }
        });
    for (const int n : {1, 37, 50}) {
        std::vector<double> y(static_cast<size_t>(n)), x(100);
        for (int i = 0; i < n; ++i) y[size_t(i)] = 1 + i % 7;
        for (int i = 0; i < 100; ++i) x[size_t(i)] = i % 3;
        Array<double> got_y = device().upload(y), got_x = device().upload(x);
        Array<int> ones = device().zeros<int>(101), sums = device().zeros<int>(51);
        grow(ndrange(n), got_y, got_x, n);
        count(ndrange(n), ones, sums, n);
        std::vector<int> want_ones(101), want_sums(51);
        for (int i = 0; i < n; ++i) {
            while (y[size_t(i)] < 3.0 * n) x[size_t(i) + 50] = y[size_t(i)] = y[size_t(i)] * (1.5 + x[size_t(i)] * 0.25);
            for (int left = n; left > 0; --left) ++want_ones[size_t(i + left)], want_sums[size_t(left)] += i;
        }
        EXPECT_EQ(got_y.download(), y) << n;
        EXPECT_EQ(got_x.download(), x) << n;
        EXPECT_EQ(ones.download(), want_ones) << n;
        EXPECT_EQ(sums.download(), want_sums) << n;
    }
}

TEST(ItemRows, WrappedAndClampedIndices) {
    // Neighbours that wrap around and neighbours that are clamped, for rows of whole packets and shorter ones; also in stores.
    const Device d = device();
    const auto k = kernel("boundary_indices", [](Out<int, 2> around, Out<int, 2> kept, Out<int> shifted, In<int, 2> from) {
        auto [j, i] = global_index<2>();
        auto n = from.size(1);
        auto left = select(i == 0, n - 1, i - 1), right = select(i != n - 1, i + 1, 0);
        around(j, i) = from(j, left) + 2 * from(j, right);
        kept(j, i) = from(j, max(i - 2, 0)) + 2 * from(j, min(i + 3, n - 1));
        $if(j == 0) { shifted[left] = i; }
    });
    for (const int n : {1, 2, 15, 16, 17, 33, 64, 100, 257}) {
        const int rows = 3;
        const Array<int, 2> from = d.upload(suite::iota<int>(int64_t(rows) * n), {rows, n});
        const Array<int, 2> around = d.zeros<int>({rows, n}), kept = d.zeros<int>({rows, n});
        const Array<int> shifted = d.zeros<int>(n);
        k(ndrange(rows, n), around, kept, shifted, from).wait();
        const std::vector<int> a = around.download(), b = kept.download(), c = shifted.download();
        for (int j = 0; j < rows; ++j)
            for (int i = 0; i < n; ++i) {
                const int left = (i + n - 1) % n, right = (i + 1) % n, first = std::max(i - 2, 0), last = std::min(i + 3, n - 1);
                ASSERT_EQ(a[size_t(j * n + i)], j * n + left + 2 * (j * n + right)) << n << ": " << j << ", " << i;
                ASSERT_EQ(b[size_t(j * n + i)], j * n + first + 2 * (j * n + last)) << n << ": " << j << ", " << i;
                if (j == 0) { ASSERT_EQ(c[size_t(left)], i) << n; }
            }
    }
}

/// Kernels that load by an index that wraps or is clamped, for several shifts, against the same index on the host.
template <class DeviceIndex, class HostIndex>
void check_boundary_index(const char* name, std::initializer_list<int> shifts, DeviceIndex on_device, HostIndex on_host) {
    SCOPED_TRACE(name);
    const Device d = device();
    for (const int shift : shifts) {
        const auto k = kernel(name, [&](Out<int, 2> to, In<int, 2> from) {
            auto [j, i] = global_index<2>();
            to(j, i) = from(j, on_device(i, from.size(1), shift));
        });
        for (const int n : {1, 2, 15, 17, 48, 64, 257})
            for (const int start : {0, 3}) {
                if (start >= n) continue;
                const Array<int, 2> from = d.upload(suite::iota<int>(2 * int64_t(n)), {2, n}), to = d.zeros<int>({2, n});
                k(ndrange({0, start}, {2, n}), to, from);
                const std::vector<int> got = to.download();
                for (int i = start; i < n; ++i)
                    for (int j : {0, 1})
                        ASSERT_EQ(got[size_t(j * n + i)], j * n + on_host(i, n, shift)) << n << ", " << i << " by " << shift;
            }
    }
}

TEST(ItemRows, ConstantsBesideWrappedAndClampedIndices) {
    const Device d = device();
    const auto k = kernel("beside", [](Out<int> kept, Out<int> around, In<int> from) {
        auto i = global_index(), n = from.size(0) - 8;
        auto at = clamp(i - 2, 0, n - 1), rest = (i + 5) % n;
        kept[i] = from[at] + 2 * from[at + 3] + 4 * from[at + 8];
        around[i] = from[rest] + 2 * from[rest + 3] + 4 * from[rest + 8];
    });
    for (const int n : {1, 8, 32, 249}) {
        const Array<int> from = d.upload(suite::iota<int>(n + 8)), kept = d.zeros<int>(n), around = d.zeros<int>(n);
        k(ndrange(n), kept, around, from);
        const std::vector<int> a = kept.download(), b = around.download();
        for (int i = 0; i < n; ++i) {
            const auto want = [](int at) { return at + 2 * (at + 3) + 4 * (at + 8); };
            ASSERT_EQ(a[size_t(i)], want(std::clamp(i - 2, 0, n - 1))) << i << " of " << n;
            ASSERT_EQ(b[size_t(i)], want((i + 5) % n)) << i << " of " << n;
        }
    }
}

TEST(ItemRows, OtherFormsOfWrappedAndClampedIndices) {
    check_boundary_index(
        "clamped", {-20, -3, 0, 5}, [](auto i, auto n, int by) { return clamp(i + by, 0, n - 1); },
        [](int i, int n, int by) { return std::clamp(i + by, 0, n - 1); });
    check_boundary_index(
        "rest", {-20, -1, 1, 5}, [](auto i, auto n, int by) { return (i + by + 64 * n) % n; },
        [](int i, int n, int by) { return (i + by + 64 * n) % n; });
    // Sums may wrap, and the remainder may be negative.
    check_boundary_index(
        "rest_of_wrapped", {2147483000, 2147483640},
        [](auto i, auto n, int by) {
            auto rest = (i + by) % n;
            return select(rest < 0, -rest, rest);
        },
        [](int i, int n, int by) { return std::abs(int(unsigned(i) + unsigned(by)) % n); });
    check_boundary_index(
        "kept_by_comparisons", {-20, -3, 5},
        [](auto i, auto n, int by) {
            auto x = i + by;
            return select(x < 0, 0, select(x >= n, n - 1, x));
        },
        [](int i, int n, int by) { return std::clamp(i + by, 0, n - 1); });
    check_boundary_index(
        "around_by_comparisons", {-1, 1},
        [](auto i, auto n, int by) {
            auto x = i + by;
            return select(0 > x, x + n, select(x >= n, x - n, x));
        },
        [](int i, int n, int by) { return (i + by + n) % n; });
    check_boundary_index(
        "left", {1}, [](auto i, auto n, int by) { return select(i > 0, i - by, n - 1); },
        [](int i, int n, int) { return (i + n - 1) % n; });
    check_boundary_index(
        "right", {1}, [](auto i, auto n, int by) { return select(n - 1 <= i, 0, i + by); },
        [](int i, int n, int) { return (i + 1) % n; });
    check_boundary_index(
        "by_a_bent_one", {0}, [](auto i, auto, int) { return select(min(i, 7) == 7, 0, i); },
        [](int i, int, int) { return i < 7 ? i : 0; });
    check_boundary_index(
        "kept_and_around", {1}, [](auto i, auto n, int by) { return (min(i + by, n - 1) + select(i + 1 < n, i + 1, 0)) / 2; },
        [](int i, int n, int) { return (std::min(i + 1, n - 1) + (i + 1) % n) / 2; });
}

}  // namespace
