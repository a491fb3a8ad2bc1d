// Arrays that do not fit the caches: streaming stores, alignment peeling, blocked groups.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/host/array.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/indices.h"
#include "core/language/memory.h"
#include "core/support/debug.h"
#include "cpu/runtime/cpu.h"

namespace pumice::cpu {
namespace {

constexpr int n = 17 << 20;  // words: 68 MiB

/// The caches of two threads hold at most 64 MiB.
Device two_threads() {
    const debug::Override threads("PUMICE_CPU_THREADS", "2");
    return Device{cpu::open()};
}

const auto number = kernel("number", [](Out<int> to, In<int> from) {
    auto i = global_index();
    to[i] = from[i] + i;
});

/// Elements in [begin, end) hold their index plus 7; the others have not changed.
void check(const std::vector<int>& got, int begin, int end) {
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += got[size_t(i)] != (i >= begin && i < end ? i + 7 : -1);
    EXPECT_EQ(wrong, 0) << begin << " to " << end;
}

TEST(Streaming, ranges_of_any_alignment) {
    const Device device = two_threads();
    const Array<int> from = device.upload(std::vector<int>(n, 7)), to = device.zeros<int>(n);
    for (const auto& [begin, end] : {std::pair{0, n}, {1, n}, {5, n - 3}, {16, n - 16}, {1023, 1025}, {3, 9}, {n - 1, n}}) {
        to.fill(-1);
        number(ndrange({begin}, {end}), to, from).wait();
        check(to.download(), begin, end);
    }
}

TEST(Streaming, fills_and_copies_of_any_alignment) {
    const Device device = two_threads();
    const Array<int> from = device.upload(std::vector<int>(n, 7)), to = device.zeros<int>(n);
    const Array<int> index = device.zeros<int>(n);
    number(ndrange(n), index, from).wait();
    const auto expect = [&](int begin, int end, const auto& inside) {
        const std::vector<int> got = to.download();
        int wrong = 0;
        for (int i = 0; i < n; ++i) wrong += got[size_t(i)] != (i >= begin && i < end ? inside(i) : -1);
        EXPECT_EQ(wrong, 0) << begin << " to " << end;
    };
    for (const auto& [begin, end] : {std::pair{0, n}, {1, n - 3}, {13, n - 16}}) {
        to.fill(-1);
        to.slice(begin, end).fill(123456789);
        expect(begin, end, [](int) { return 123456789; });
        to.fill(-1);
        to.slice(begin, end).copy_from(index.slice(0, end - begin));
        expect(begin, end, [first = begin](int i) { return i - first + 7; });
    }
}

/// The first and the last cache line of a row are written in part. If rows are no multiple of a line, their offsets differ.
template <class T> void check_row_ends(const char* type, int wide) {
    const int high = int((40 << 20) / sizeof(T)) / wide;
    const auto twice = kernel("twice", [](Out<T, 2> to, In<T, 2> from) {
        auto [i, j] = global_index<2>();
        to(i, j) = from(i, j) + from(i, j - 1);
    });
    const Device device = two_threads();
    const Array<T, 2> from = device.zeros<T>({high, wide}), to = device.zeros<T>({high, wide});
    from.fill(T(3));
    for (const auto& [begin, end] :
         {std::pair{1, wide - 1}, {7, wide - 8}, {2, wide}, {15, 17}, {12, wide - 15}, {33, 46}, {21, 22}}) {
        to.fill(T(1));
        twice(ndrange({1, begin}, {high - 1, end}), to, from).wait();
        const std::vector<T> got = to.download();
        int wrong = 0;
        for (int i = 0; i < high; ++i)
            for (int j = 0; j < wide; ++j)
                wrong += got[size_t(i) * wide + size_t(j)] != (i >= 1 && i < high - 1 && j >= begin && j < end ? T(6) : T(1));
        EXPECT_EQ(wrong, 0) << type << ", " << begin << " to " << end;
    }
}
TEST(Streaming, rows_that_end_within_cache_lines) {
    check_row_ends<float>("float", 1021);
    check_row_ends<double>("double", 1024);
    check_row_ends<int64_t>("int64", 1021);
    check_row_ends<uint8_t>("uint8", 1024);
    check_row_ends<int16_t>("int16", 1021);
}

TEST(Streaming, views_of_any_alignment) {
    const Device device = two_threads();
    const Array<int> from = device.upload(std::vector<int>(n, 7)), to = device.zeros<int>(n);
    for (const int skipped : {1, 16, 31}) {
        const int items = n - skipped;
        number(ndrange({3}, {items}), to.slice(skipped, n), from.slice(0, items)).wait();
        const std::vector<int> got = to.download();
        int wrong = 0;
        for (int i = 3; i < items; ++i) wrong += got[size_t(i + skipped)] != i + 7;
        EXPECT_EQ(wrong, 0) << skipped;
    }
}

TEST(Streaming, stencils_of_any_size_in_any_group) {
    const auto sides = kernel("sides", [](Out<int, 3> to, In<int, 3> from) {
        auto [i, j, k] = global_index<3>();
        to(i, j, k) =
            from(i - 1, j, k) + 2 * from(i + 2, j, k) + 3 * from(i, j - 1, k) + 4 * from(i, j + 1, k) + 5 * from(i, j, k + 1);
    });
    constexpr int deep = 131, high = 259, wide = 517;
    const Device device = two_threads();
    std::vector<int> count(size_t(deep) * high * wide);
    for (size_t i = 0; i < count.size(); ++i) count[i] = int(i * 17 % 1009);
    const Array<int, 3> from = device.upload(count, {deep, high, wide}), to = device.zeros<int>({deep, high, wide});
    const auto at = [&](int i, int j, int k) { return count[(size_t(i) * high + size_t(j)) * wide + size_t(k)]; };
    for (const int begin : {1, 3}) {
        for (const bool grouped : {false, true}) {
            to.fill(-1);
            const auto range = ndrange({begin, begin, begin}, {deep - 2, high - 1, wide - 1});
            sides(grouped ? range.group(2, 8, 32) : range, to, from).wait();
            const std::vector<int> got = to.download();
            int wrong = 0;
            for (int i = 0; i < deep; ++i)
                for (int j = 0; j < high; ++j)
                    for (int k = 0; k < wide; ++k) {
                        const bool inside = std::min({i, j, k}) >= begin && i < deep - 2 && j < high - 1 && k < wide - 1;
                        const int expected = !inside ? -1
                                                     : at(i - 1, j, k) + 2 * at(i + 2, j, k) + 3 * at(i, j - 1, k) +
                                                           4 * at(i, j + 1, k) + 5 * at(i, j, k + 1);
                        wrong += got[(size_t(i) * high + size_t(j)) * wide + size_t(k)] != expected;
                    }
            EXPECT_EQ(wrong, 0) << begin << (grouped ? ", in a group of the launch's" : "");
        }
    }
}

constexpr int rows = 4111, columns = 4234;

const auto across = kernel("across", [](Out<int, 2> to, In<int, 2> from) {
    auto [i, j] = global_index<2>();
    to(i, j) = from(j, i);
});
const auto tiles = kernel("tiles", whole_groups, [](Out<int, 2> to, In<int, 2> from) {
    Local<int, 16, 17> tile;
    auto [i, j] = local_index<2>();
    auto [row, column] = group_index<2>();
    $if(column * 16 + i < from.size(0) && row * 16 + j < from.size(1)) { tile(i, j) = from(column * 16 + i, row * 16 + j); }
    synchronize();
    $if(in_range()) { to(row * 16 + i, column * 16 + j) = tile(j, i); }
});

TEST(Streaming, transposes_of_any_size) {
    const Device device = two_threads();
    std::vector<int> count(size_t(rows) * columns);
    for (size_t i = 0; i < count.size(); ++i) count[i] = int(i);
    const Array<int, 2> from = device.upload(count, {columns, rows}), to = device.zeros<int>({rows, columns});
    const auto check = [&](const char* what) {
        const std::vector<int> got = to.download();
        int wrong = 0;
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) wrong += got[size_t(i) * columns + size_t(j)] != j * rows + i;
        EXPECT_EQ(wrong, 0) << what;
        to.fill(0);
    };
    across(ndrange(rows, columns), to, from).wait();
    check("by global indices");
    tiles(ndrange(rows, columns).group(16, 16), to, from).wait();
    check("by tiles");
}

/// Loops over rows, of lengths that only the launch knows: the long one prefetches.
TEST(Streaming, loops_over_few_and_many_rows) {
    const auto weighted = kernel("weighted", [](Out<int> to, In<int, 2> from, In<int> weight, Val<int> first, Val<int> end) {
        auto j = global_index();
        Var sum = 1, last = 0;
        for_(range(first, end), [&](auto k) {
            sum = sum * 3 + weight[k] * from(k, j);
            last = from(k, j);
        });
        to[j] = sum - last;
    });
    const Device device = two_threads();
    const int high = 40, wide = n / high;
    std::vector<int> host(size_t(high) * size_t(wide)), weights(high);
    for (size_t k = 0; k < host.size(); ++k) host[k] = int(k * 2654435761u >> 20);
    for (int k = 0; k < high; ++k) weights[size_t(k)] = k * 7 - 50;
    const Array<int, 2> from = device.upload(host, {high, wide});
    const Array<int> weight = device.upload(weights), to = device.zeros<int>(wide);
    for (const auto& [first, end] : {std::pair{0, 0}, {3, 2}, {0, 12}, {5, 6}, {0, 31}, {0, 32}, {7, 40}, {0, 40}}) {
        weighted(ndrange({3}, {wide}), to, from, weight, first, end).wait();
        const std::vector<int> got = to.download();
        int wrong = 0;
        for (int j = 3; j < wide; j += 13) {
            uint32_t sum = 1, last = 0;
            for (int k = first; k < end; ++k) {
                last = uint32_t(host[size_t(k) * size_t(wide) + size_t(j)]);
                sum = sum * 3 + uint32_t(weights[size_t(k)]) * last;
            }
            wrong += got[size_t(j)] != int(sum - last);
        }
        EXPECT_EQ(wrong, 0) << first << " to " << end;
    }
}

}  // namespace
}  // namespace pumice::cpu
