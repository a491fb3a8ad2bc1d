// Loads from short rows of local memory: neighbours in a tile with clamped indices, and tables that are looked up by any index.
// Rows of many lengths, elements of many types, groups of two dimensions, conditions around the loads.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

constexpr int high = 4;  ///< rows of a tile

template <class T> T made(int n) { return T(n * 37 % 101); }

/// A kernel whose groups hold a tile of 4 rows of `wide` elements in local memory, one an item. In each of two steps an item adds
/// up neighbours, some of them under conditions, and writes the sum into the tile, with a barrier before and after. In the end it
/// stores the mirrored element of its row. Expects the results of the interpreter.
template <class T, int wide> void check_tile() {
    const auto k = kernel("tile", static_group<high, wide>, whole_groups, [](Out<T, 2> out, In<T, 2> in, Val<int> shift) {
        Local<T, high, wide> tile;
        auto [i, j] = global_index<2>();
        auto [y, x] = local_index<2>();
        const auto rows = in.size(0), columns = in.size(1);
        Var<T> mine = in(min(i, rows - 1), min(j, columns - 1));
        tile(y, x) = mine;
        synchronize();
        for (int step = 0; step < 2; ++step) {
            const auto left = max(x - 1, 0), right = min(x + 1, wide - 1);
            const auto far = clamp(x * 3 - shift, 0, wide - 1), turned = (x + shift + step) % wide;
            Var<T> sum = tile(y, left) + tile(min(y + 1, high - 1), right) + tile(y, turned);
            $if(x > shift) { sum += tile(y, far); }
            $if((x + y) % 3 == 1) { sum += tile((y + x) % high, right) + tile(2, far); }
            synchronize();
            tile(y, x) = sum;
            synchronize();
        }
        $if(i < rows && j < columns) { out(i, j) = tile(y, wide - 1 - x); }
    });
    const Device d = device(), interp = Device::open("interp");
    if (high * wide > d.limits().max_group_size) return;
    constexpr int rows = 2 * high + 1, columns = 2 * wide + wide / 2;
    for (const int shift : {0, 1, 7}) {
        std::vector<T> values;
        for (int e = 0; e < rows * columns; ++e) values.push_back(made<T>(e));
        const auto run = [&](const Device& on) {
            const Array<T, 2> in = on.upload(values, {rows, columns}), out = on.zeros<T>({rows, columns});
            k(ndrange(3 * high, 3 * wide), out, in, shift);
            return out.download();
        };
        ASSERT_EQ(run(d), run(interp)) << "rows of " << wide << ", shift " << shift;
    }
}

template <class T> void check_tiles() {
    check_tile<T, 4>(), check_tile<T, 7>(), check_tile<T, 8>(), check_tile<T, 16>(), check_tile<T, 24>(), check_tile<T, 32>();
}

/// Each item looks a table up by the remainder of a number, under conditions and without; the last local array has no other
/// memory behind it.
template <class T, int length> void check_table() {
    const auto k = kernel("table", static_group<64>, whole_groups, [](Out<T> out, In<int> numbers, In<T> values) {
        Local<T, 2, length> pairs;
        Local<T, length> table;
        const auto i = global_index(), l = local_index();
        $if(l < length) {
            table[l] = values[l];
            pairs(0, l) = values[l + 1];
            pairs(1, l) = values[l + 2];
        }
        synchronize();
        const auto number = numbers[min(i, numbers.size(0) - 1)], place = number % length;
        Var<T> sum = table[place];
        $if(number > 50) { sum += table[length - 1 - place]; }
        $if(number % 2 == 0) { sum += pairs(0, place) - pairs(number % 4 / 2, place); }
        $for(n, range(number % 3)) { sum += pairs(1, (place + n) % length); }
        $if(i < out.size(0)) { out[i] = sum; }
    });
    const Device d = device(), interp = Device::open("interp");
    const auto run = [&](const Device& on) {
        std::vector<int> numbers;
        std::vector<T> values;
        for (int e = 0; e < 150; ++e) numbers.push_back(e * e * 31 % 103);
        for (int e = 0; e < length + 2; ++e) values.push_back(made<T>(e + 3));
        const Array<T> out = on.zeros<T>(150), of = on.upload(values);
        const Array<int> by = on.upload(numbers);
        k(ndrange(150), out, by, of);
        return out.download();
    };
    ASSERT_EQ(run(d), run(interp)) << "a table of " << length;
}

template <class T> void check_tables() {
    check_table<T, 3>(), check_table<T, 4>(), check_table<T, 8>(), check_table<T, 11>(), check_table<T, 16>();
    check_table<T, 17>(), check_table<T, 32>(), check_table<T, 33>();
}

TEST(ShortRows, FloatsInTiles) { check_tiles<float>(); }
TEST(ShortRows, WordsInTiles) { check_tiles<int>(); }
TEST(ShortRows, TablesOfWords) { check_tables<uint32_t>(); }
TEST(ShortRows, TablesOfFloats) { check_tables<float>(); }
TEST(ShortRows, DoublesAndBytes) {
    if (device().supports(Feature::float64)) check_tiles<double>(), check_tables<double>();
    if (device().supports(Feature::int64)) check_tile<int64_t, 8>(), check_table<int64_t, 16>();
    if (device().supports(Feature::int8)) check_tile<uint8_t, 16>(), check_table<uint8_t, 16>();
    if (device().supports(Feature::int16)) check_tile<int16_t, 16>();
}

}  // namespace
