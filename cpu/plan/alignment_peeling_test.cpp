// Alignment peeling: rows that begin within a cache line run each of their items once, and no other item.
#include "cpu/plan/alignment_peeling.h"

#include <gtest/gtest.h>

#include <functional>

#include "core/host/array.h"
#include "core/host/view.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/debug.h"
#include "cpu/runtime/cpu.h"

namespace pumice::cpu {
namespace {

Device wide(int width) {
    const debug::Override packets("PUMICE_CPU_WIDTH", std::to_string(width));
    return Device{cpu::open()};
}

constexpr int rows = 132, pitch = 163, least = 128;  // ranges of at least 128 rows and columns

/// A grid of small numbers that differ from their neighbours.
template <class T> std::vector<T> grid() {
    std::vector<T> all(size_t(rows) * pitch);
    for (size_t i = 0; i < all.size(); ++i) all[i] = T(i * 7 % 31);
    return all;
}

/// Runs `launch` over rows of every begin and length modulo 16. Checks `expected(i, j)` in the range, old contents outside.
template <class T> void every_row(const std::string& what,
                                  const std::function<void(const Range&, const Array<T, 2>& to, const Array<T, 2>& from)>& launch,
                                  const std::function<T(const std::vector<T>&, int i, int j, int begin)>& expected,
                                  std::initializer_list<int> widths = {1, 4, 8, 16}) {
    for (const int width : widths) {
        const Device device = wide(width);
        const std::vector<T> before = grid<T>();
        const Array<T, 2> from = device.upload(before, {rows, pitch}), to = device.zeros<T>({rows, pitch});
        for (int begin = 1; begin <= 16; ++begin)
            for (int end = begin + least; end < begin + least + 16 && end < pitch; ++end) {
                to.copy_from(from);
                launch(ndrange({2, begin}, {rows - 1, end}), to, from);
                const std::vector<T> got = to.download();
                int wrong = 0;
                for (int i = 0; i < rows; ++i)
                    for (int j = 0; j < pitch; ++j) {
                        const bool inside = i >= 2 && i < rows - 1 && j >= begin && j < end;
                        const size_t at = size_t(i * pitch + j);
                        wrong += got[at] != (inside ? expected(before, i, j, begin) : before[at]);
                    }
                ASSERT_EQ(wrong, 0) << what << ", " << width << " wide, columns " << begin << " to " << end;
            }
    }
}

template <class T> class Rows : public testing::Test {};
using Types = testing::Types<uint8_t, int16_t, float, double>;
TYPED_TEST_SUITE(Rows, Types);

TYPED_TEST(Rows, of_every_begin_and_length) {
    using T = TypeParam;
    const auto sides = kernel("sides", [](Out<T, 2> to, In<T, 2> from) {
        auto [i, j] = global_index<2>();
        to(i, j) = from(i, j - 1) + from(i - 1, j + 1);
    });
    every_row<T>(
        "sides", [&](const Range& r, const auto& to, const auto& from) { sides(r, to, from); },
        [](const std::vector<T>& b, int i, int j, int) {
            return T(b[size_t(i * pitch + j - 1)] + b[size_t((i - 1) * pitch + j + 1)]);
        });
    const auto in_place = kernel("in_place", [](InOut<T, 2> to) {
        auto [i, j] = global_index<2>();
        to(i, j) += to(i, j);
    });
    every_row<T>(
        "in place", [&](const Range& r, const auto& to, const auto&) { in_place(r, to); },
        [](const std::vector<T>& b, int i, int j, int) { return T(2 * b[size_t(i * pitch + j)]); }, {16});
}

TEST(AlignmentPeeling, control_flow_and_other_indices) {
    const auto parted = kernel("parted", [](Out<float, 2> to, In<float, 2> from) {
        auto [i, j] = global_index<2>();
        $if(j % 3 == 0) { to(i, j) = 100.0f; }
        $elif(from(i, j) > 20.0f) { to(i, j) = -from(i, j); }
        $else { $return; }
        to(i, j) += 1.0f;
    });
    every_row<float>(
        "parted", [&](const Range& r, const auto& to, const auto& from) { parted(r, to, from); },
        [](const std::vector<float>& b, int i, int j, int) {
            const float own = b[size_t(i * pitch + j)];
            return j % 3 == 0 ? 101.0f : own > 20.0f ? 1.0f - own : own;
        });
    const auto beside = kernel("beside", [](Out<float, 2> to, In<float, 2> from) {
        auto [i, j] = global_index<2>();
        to(i, j + 5 - 5) = from(i, from.size(1) - 1 - j);
    });
    every_row<float>(
        "beside", [&](const Range& r, const auto& to, const auto& from) { beside(r, to, from); },
        [](const std::vector<float>& b, int i, int j, int) { return b[size_t(i * pitch + pitch - 1 - j)]; });
    const auto flat = kernel("flat", [](Out<float> to, In<float> from, Val<int> width) {
        auto [i, j] = global_index<2>();
        to[i * width + j] = from[i * width + j] * 2.0f;
    });
    every_row<float>(
        "flat", [&](const Range& r, const auto& to, const auto& from) { flat(r, to.flat(), from.flat(), pitch); },
        [](const std::vector<float>& b, int i, int j, int) { return 2 * b[size_t(i * pitch + j)]; });
}

TEST(AlignmentPeeling, indices_keep_their_values) {
    const auto place = kernel("place", [](Out<int, 2> to, In<int, 2>) {
        auto [i, j] = global_index<2>();
        auto [gi, gj] = group_index<2>();
        auto [li, lj] = local_index<2>();
        auto [si, sj] = group_size<2>();
        auto [ni, nj] = global_size<2>();
        to(i, j) = (gj * sj + lj) + 1000 * (gi * si + li) + 1000000 * (nj - nj + ni);
    });
    EXPECT_TRUE(movable(*place.recorded()));
    every_row<int>(
        "place", [&](const Range& r, const auto& to, const auto& from) { place(r, to, from); },
        [](const std::vector<int>&, int i, int j, int begin) { return j - begin + 1000 * (i - 2) + 1000000 * (rows - 3); });
    // The index in the group by itself: it would change if the item ran in another group.
    const auto own = kernel("own", [](Out<int, 2> to, In<int, 2>) {
        auto [i, j] = global_index<2>();
        auto [li, lj] = local_index<2>();
        to(i, j) = lj + li * 0;
    });
    EXPECT_FALSE(movable(*own.recorded()));
    every_row<int>(
        "own", [&](const Range& r, const auto& to, const auto& from) { own(r.group(1, 64), to, from); },
        [](const std::vector<int>&, int, int j, int begin) { return (j - begin) % 64; });
}

TEST(AlignmentPeeling, atomics_count_each_item_once) {
    const auto counts = kernel("counts", [](Out<int, 2> to, InOut<int> count) {
        auto [i, j] = global_index<2>();
        to(i, j) = j;
        atomic_add(count[j], 1);
        atomic_max(count[0], j);
    });
    for (const int width : {1, 4, 8, 16}) {
        const Device device = wide(width);
        const Array<int, 2> to = device.zeros<int>({rows, pitch});
        for (int begin = 1; begin <= 16; ++begin) {
            const Array<int> count = device.zeros<int>(pitch);
            counts(ndrange({0, begin}, {rows, begin + least + 3}), to, count);
            const std::vector<int> got = count.download();
            for (int j = 1; j < pitch; ++j)
                ASSERT_EQ(got[size_t(j)], j >= begin && j < begin + least + 3 ? rows : 0) << j << ", " << width << " wide";
            ASSERT_EQ(got[0], begin + least + 2);
        }
    }
}

TEST(AlignmentPeeling, planes_and_views) {
    const auto add = kernel("add", [](InOut<float, 3> to, In<float, 3> from) {
        auto [i, j, k] = global_index<3>();
        to(i, j, k) += from(i, j, k);
    });
    const auto number = kernel("number", [](Out<float> to, Out<uint8_t> low) {
        auto i = global_index();
        to[i] = cast<float>(i), low[i] = cast<uint8_t>(i);
    });
    constexpr int deep = 5, high = 40, long_ = 215;
    for (const int width : {4, 8, 16}) {
        const Device device = wide(width);
        const Array<float, 3> to = device.zeros<float>({deep, high, long_}), from = device.zeros<float>({deep, high, long_});
        from.fill(3);
        for (int begin = 0; begin < 18; ++begin) {
            to.fill(1);
            add(ndrange({1, 0, begin}, {deep - 1, high, long_ - begin}), to, from);
            const std::vector<float> got = to.download();
            int wrong = 0;
            for (int n = 0; n < deep * high * long_; ++n) {
                const int k = n % long_, i = n / long_ / high;
                wrong += got[size_t(n)] != (i >= 1 && i < deep - 1 && k >= begin && k < long_ - begin ? 4.0f : 1.0f);
            }
            EXPECT_EQ(wrong, 0) << width << " wide from " << begin;
        }
        // Arrays that begin at any offset, at different distances from each other.
        constexpr int n = 20000;
        const Array<float> floats = device.zeros<float>(n);
        const Array<uint8_t> bytes = device.zeros<uint8_t>(n);
        for (int begin = 0; begin < 20; ++begin) {
            floats.fill(-1), bytes.fill(77);
            const int items = n - 64 - begin;
            number(ndrange({begin}, {items}), floats.slice(3 * begin, n), bytes.slice(begin, n));
            const std::vector<float> f = floats.download();
            const std::vector<uint8_t> b = bytes.download();
            int wrong = 0;
            for (int i = 0; i < n; ++i) {
                const int at = i - 3 * begin, beside = i - begin;
                wrong += f[size_t(i)] != (at >= begin && at < items ? float(at) : -1.0f);
                wrong += b[size_t(i)] != (beside >= begin && beside < items ? uint8_t(beside) : 77);
            }
            EXPECT_EQ(wrong, 0) << width << " wide from " << begin;
        }
    }
}

TEST(AlignmentPeeling, barriers_and_subgroups_keep_their_groups) {
    const auto sums = kernel("sums", [](Out<int, 2> to, In<int, 2> from) {
        Local<int, 64> own;
        auto [i, j] = global_index<2>();
        auto [li, lj] = local_index<2>();
        own[lj] = from(i, j) + 0 * li;
        synchronize();
        Var sum = 0;
        $for(n, range(group_size<2>()[1])) {
            $if(j - lj + n < global_size<2>()[1] + 3) { sum += own[n]; }
        }
        to(i, j) = sum;
    });
    const Device device = wide(16);
    constexpr int begin = 3, end = begin + 130;
    const std::vector<int> before = grid<int>();
    const Array<int, 2> from = device.upload(before, {rows, pitch}), to = device.zeros<int>({rows, pitch});
    sums(ndrange({0, begin}, {rows, end}).group(1, 64), to, from);
    const std::vector<int> got = to.download();
    int wrong = 0;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < pitch; ++j) {
            int sum = 0;
            if (j >= begin && j < end)
                for (int n = j - (j - begin) % 64; n < std::min(end, j - (j - begin) % 64 + 64); ++n)
                    sum += before[size_t(i * pitch + n)];
            wrong += got[size_t(i * pitch + j)] != sum;
        }
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pumice::cpu
