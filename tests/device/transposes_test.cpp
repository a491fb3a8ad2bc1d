// Items of a row that load along a column, as in transposes, with and without tiles of local memory, for every size.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

struct Size {
    int rows, columns;
    std::vector<int64_t> group;  ///< rows, columns; empty: the device's choice
};
const Size sizes[] = {{64, 48, {16, 16}}, {64, 96, {32, 32}}, {50, 70, {16, 16}}, {33, 17, {16, 16}}, {64, 64, {8, 8}},
                      {40, 40, {4, 16}},  {300, 301, {}},     {16, 400, {}},      {1, 1, {16, 16}}};

auto range_of(const Size& s) {
    if (s.group.empty()) return ndrange(s.rows, s.columns);
    return ndrange(s.rows, s.columns).group(int(s.group[0]), int(s.group[1]));
}

std::string name(const Size& s) { return std::to_string(s.rows) + " x " + std::to_string(s.columns); }

/// Runs `act(to, from)` for every size. Expects `to(i, j)` to be want(i, j, from), where from(j, i) is j * rows + i.
template <class T, class Act, class Want> void check(const Act& act, const Want& want) {
    const Device d = device();
    for (const Size& s : sizes) {
        if (!s.group.empty() && s.group[0] * s.group[1] > d.limits().max_group_size) continue;
        const Array<T, 2> from = d.upload(suite::iota<T>(int64_t(s.rows) * s.columns), {s.columns, s.rows});
        const Array<T, 2> to = d.zeros<T>({s.rows, s.columns});
        act(s, to, from);
        const std::vector<T> got = to.download();
        for (int i = 0; i < s.rows; ++i)
            for (int j = 0; j < s.columns; ++j)
                ASSERT_EQ(got[size_t(i) * size_t(s.columns) + size_t(j)], want(i, j, s)) << name(s) << " at " << i << ", " << j;
    }
}

template <class T> void transpose() {
    const auto k = kernel("transpose", [](Out<T, 2> to, In<T, 2> from) {
        auto [i, j] = global_index<2>();
        to(i, j) = from(j, i);
    });
    check<T>([&](const Size& s, const Array<T, 2>& to, const Array<T, 2>& from) { k(range_of(s), to, from).wait(); },
             [](int i, int j, const Size& s) { return T(j * s.rows + i); });
}

TEST(Transposes, ByGlobalIndices) {
    transpose<float>();
    transpose<int>();
    transpose<uint32_t>();
    if (device().supports(Feature::float64)) transpose<double>();
    if (device().supports(Feature::int16)) transpose<int16_t>();
    if (device().supports(Feature::int8)) transpose<uint8_t>();
}

TEST(Transposes, OfLongColumns) {
    // The device cpu tiles the columns by the pages of `from`, which begins at another offset in its pages from run to run.
    const Device d = device();
    const auto k = kernel("long_columns", [](Out<float, 2> to, In<float, 2> from) {
        auto [i, j] = global_index<2>();
        to(i, j) = from(j, i);
    });
    const int columns = 70, first = 5;
    std::vector<Array<float, 2>> kept;
    for (const int rows : {1000, 1536, 2100, 1100, 3000}) {
        const Array<float, 2> from = d.upload(suite::iota<float>(int64_t(rows) * columns), {columns, rows}),
                              to = d.full<float>({rows, columns}, -1);
        kept.push_back(from);
        k(ndrange({first, 0}, {rows, columns}), to, from).wait();
        const std::vector<float> got = to.download();
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j)
                ASSERT_EQ(got[size_t(i) * columns + size_t(j)], i < first ? -1.0f : float(j * rows + i))
                    << rows << " at " << i << ", " << j;
    }
}

TEST(Transposes, OfThreeDimensions) {
    // Where rows of `from` run along axis 2 of the range, the device cpu swaps axes 1 and 2.
    const Device d = device();
    for (const std::array<int, 3>& order : {std::array{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}})
        for (const std::array<int, 3>& extents : {std::array{48, 32, 64}, {3, 50, 7}, {40, 133, 37}, {150, 21, 141}}) {
            const auto k = kernel("permute", [order](Out<int, 3> to, In<int, 3> from) {
                auto [i, j, k] = global_index<3>();
                const auto along = [&order, i = i, j = j, k = k](int dimension) {
                    return dimension == order[0] ? i : dimension == order[1] ? j : k;
                };
                to(i, j, k) = from(along(0), along(1), along(2)) + (i * 3 + j) * 1000000;
            });
            const auto [a, b, c] = extents;
            const int64_t shape[] = {extents[size_t(order[0])], extents[size_t(order[1])], extents[size_t(order[2])]};
            const Array<int, 3> from = d.upload(suite::iota<int>(int64_t(a) * b * c), {a, b, c}), to = d.full<int>(shape, -1);
            k(ndrange({1, 2, 0}, {int(shape[0]), int(shape[1]), int(shape[2])}), to, from).wait();
            const std::vector<int> got = to.download();
            size_t n = 0;
            for (int i = 0; i < shape[0]; ++i)
                for (int j = 0; j < shape[1]; ++j)
                    for (int l = 0; l < shape[2]; ++l) {
                        int at[3] = {};
                        at[order[0]] = i, at[order[1]] = j, at[order[2]] = l;
                        const int want =
                            i < 1 || j < 2 ? -1 : (at[0] * extents[1] + at[1]) * extents[2] + at[2] + (i * 3 + j) * 1000000;
                        ASSERT_EQ(got[n++], want) << order[0] << order[1] << order[2] << " at " << i << ", " << j << ", " << l;
                    }
        }
}

TEST(Transposes, IntoRowsOfAnyAlignment) {
    // The device cpu aligns packets to the cache lines of `to`. Rows begin and end at any offset; elements outside do not change.
    const Device d = device();
    const auto k = kernel("anywhere", [](Out<float, 2> to, In<float, 2> from, In<float, 2> other) {
        auto [i, j] = global_index<2>();
        to(i, j + 2) = from(from.size(0) - 1 - j, i) - other(j, i + 1);
    });
    const int first = 3, rows = 131;
    for (const int columns : {128, 129, 141, 175, 300, 1023}) {
        const Array<float, 2> from = d.upload(suite::iota<float>(int64_t(rows) * columns), {columns, rows}),
                              to = d.full<float>({rows, columns + 3}, -1);
        const Array<float, 2> other = d.upload(suite::iota<float>(int64_t(rows + 1) * columns), {columns, rows + 1});
        k(ndrange({0, first}, {rows, columns}), to, from, other).wait();
        const std::vector<float> got = to.download();
        for (int i = 0; i < rows; ++i)
            for (int j = -2; j < columns + 1; ++j) {
                const bool inside = j >= first && j < columns;
                const float want = inside ? float((columns - 1 - j) * rows + i) - float(j * (rows + 1) + i + 1) : -1.0f;
                ASSERT_EQ(got[size_t(i) * size_t(columns + 3) + size_t(j + 2)], want) << columns << " at " << i << ", " << j;
            }
    }
}

TEST(Transposes, SumsWithNeighbours) {
    // Two column loads, of which one is a row further and only inside the array for some items; and one row load.
    const auto k = kernel("neighbours", [](Out<int, 2> to, In<int, 2> from) {
        auto [i, j] = global_index<2>();
        auto next = min(i + 1, from.size(1) - 1);
        to(i, j) = from(j, i) + from(j, next) * 2 + i;
    });
    check<int>([&](const Size& s, const Array<int, 2>& to, const Array<int, 2>& from) { k(range_of(s), to, from).wait(); },
               [](int i, int j, const Size& s) { return j * s.rows + i + 2 * (j * s.rows + std::min(i + 1, s.rows - 1)) + i; });
}

TEST(Transposes, ItemsThatReturnEarly) {
    // The items that return would load outside of the array.
    const auto k = kernel("returns", [](Out<int, 2> to, In<int, 2> from) {
        auto [i, j] = global_index<2>();
        $if(i >= from.size(1) - 3 || j % 3 == 1) { $return; }
        to(i, j) = from(j, i + 3);
    });
    check<int>([&](const Size& s, const Array<int, 2>& to, const Array<int, 2>& from) { k(range_of(s), to, from).wait(); },
               [](int i, int j, const Size& s) { return i >= s.rows - 3 || j % 3 == 1 ? 0 : j * s.rows + i + 3; });
}

TEST(Transposes, OffsetsAndLoops) {
    const auto k = kernel("offsets", [](Out<int, 2> to, In<int, 2> from) {
        auto [i, j] = global_index<2>();
        Var sum = 0;
        $for(n, range(0, 3)) { sum += from(j, i) * (n + 1); }
        $if(j > 5) { sum += from(j - 5, i); }
        to(i, j) = sum;
    });
    check<int>([&](const Size& s, const Array<int, 2>& to, const Array<int, 2>& from) { k(range_of(s), to, from).wait(); },
               [](int i, int j, const Size& s) { return 6 * (j * s.rows + i) + (j > 5 ? (j - 5) * s.rows + i : 0); });
}

/// A tile of local memory, stored along rows, loaded along columns. `own`: items store to their elements again before they load.
void tiles(bool own) {
    const auto k = kernel("tiles", whole_groups, [own](Out<int, 2> to, In<int, 2> from) {
        Local<int, 16, 17> tile;
        auto [i, j] = local_index<2>();
        auto [row, column] = group_index<2>();
        auto x = column * 16 + i, y = row * 16 + j;
        $if(x < from.size(0) && y < from.size(1)) { tile(i, j) = from(x, y); }
        synchronize();
        if (own) tile(j, i) = tile(j, i) + 1;
        $if(in_range()) { to(row * 16 + i, column * 16 + j) = tile(j, i); }
    });
    check<int>(
        [&](Size s, const Array<int, 2>& to, const Array<int, 2>& from) {
            s.group = {16, 16};
            k(range_of(s), to, from).wait();
        },
        [own](int i, int j, const Size& s) { return j * s.rows + i + own; });
}

TEST(Transposes, ByTiles) {
    SKIP_WITHOUT_GROUPS_OF(256);
    tiles(false);
}

TEST(Transposes, ByTilesThatAreChanged) {
    SKIP_WITHOUT_GROUPS_OF(256);
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: not all of the tile is set where the range ends";
    tiles(true);
}

TEST(Transposes, ByTilesInsideOfABorder) {
    // Conditions that hold for all items of some groups, some of others, and none of the rest; one sum overflows an int.
    SKIP_WITHOUT_GROUPS_OF(256);
    const auto k = kernel("border", whole_groups, [](Out<int, 2> to, In<int, 2> from) {
        Local<int, 16, 17> tile;
        auto [i, j] = local_index<2>();
        auto [row, column] = group_index<2>();
        auto x = column * 16 + i, y = row * 16 + j;
        $if(x < from.size(0) && from.size(1) - 3 > y && x >= 2 && y + 2147483628 > 2147483600) { tile(i, j) = from(x, y); }
        $else { tile(i, j) = -1; }
        synchronize();
        $if(in_range()) { to(row * 16 + i, column * 16 + j) = tile(j, i); }
    });
    check<int>(
        [&](Size s, const Array<int, 2>& to, const Array<int, 2>& from) {
            s.group = {16, 16};
            k(range_of(s), to, from).wait();
        },
        [](int i, int j, const Size& s) { return j >= 2 && i < std::min(s.rows - 3, 20) ? j * s.rows + i : -1; });
}

TEST(Transposes, RowsOfPlanes) {
    SKIP_WITHOUT_GROUPS_OF(256);
    // The axes in the reverse order, with the number of the row in the indices.
    const Device d = device();
    const auto k = kernel("planes", [](Out<int, 3> to, In<int, 3> from) {
        auto [z, i, j] = global_index<3>();
        to(z, i, j) = from(j, z, i) + from(z, j, i);
    });
    const int n = 32, deep = 32;
    const Array<int, 3> from = d.upload(suite::iota<int>(n * n * n), {n, n, n}), to = d.zeros<int>({deep, n, n});
    k(ndrange(deep, n, n).group(1, 16, 16), to, from).wait();
    const std::vector<int> got = to.download();
    for (int z = 0; z < deep; ++z)
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                ASSERT_EQ(got[size_t((z * n + i) * n + j)], (j * n + z) * n + i + (z * n + j) * n + i)
                    << z << ", " << i << ", " << j;
}

}  // namespace
