// Indices (and bounds of loops and conditions) that wrap: sums, differences, products and casts in 8 and 16 bits; products of 32
// bits; 64 bits cut to 32. Then indices at the rim of a row or tile, by min, max, % and &; and rows of uneven length with a
// stack. In all of these the indices of neighbouring items need not be neighbours: a device must not replace their accesses by
// one access of a vector.
#include <algorithm>
#include <functional>

#include "tests/device/types.h"

using namespace pumice;
using suite::device;

namespace {

/// The ways in which an index wraps; it wraps shortly after `near`.
enum class Way { cast_sum, sum, difference, product };
constexpr Way ways[] = {Way::cast_sum, Way::sum, Way::difference, Way::product};

template <class T> constexpr int values = 1 << (8 * sizeof(T));  ///< that T has; so are the elements that an index can name
template <class T> constexpr int least = std::is_signed_v<T> ? values<T> / 2 : 0;  ///< below 0
template <class T> constexpr int near_wrap = values<T> - least<T> - 5;
constexpr int factor = 3;

template <class T> Val<int> wrapped(Way way, Val<int> i) {
    const Val<T> near = T(near_wrap<T>);
    switch (way) {
        case Way::cast_sum: return cast<int>(cast<T>(i + near_wrap<T>)) + least<T>;
        case Way::sum: return cast<int>(cast<T>(i) + near) + least<T>;
        case Way::difference: return cast<int>(cast<T>(i) - T(-near_wrap<T>)) + least<T>;
        default: return cast<int>(cast<T>(i + near_wrap<T>) * T(factor)) + least<T>;
    }
}

template <class T> int wrapped(Way way, int i) {
    return int(T((i + near_wrap<T>)*(way == Way::product ? factor : 1))) + least<T>;
}

/// Calls act(T) for each narrow type that the device has.
template <class F> void each_narrow(F act) {
    if (device().supports(Feature::int8)) act(int8_t()), act(uint8_t());
    if (device().supports(Feature::int16)) act(int16_t()), act(uint16_t());
    if (!device().supports(Feature::int8) && !device().supports(Feature::int16))
        GTEST_SKIP() << "SKIPPED: " << device().name() << " has no integers of 8 or 16 bits";
}

std::string name(Way way, size_t bytes) {
    return "way " + std::to_string(int(way)) + " in " + std::to_string(8 * bytes) + " bits";
}

TEST(WrappingIndices, NeighbouringAccesses) {
    static constexpr int n = 200;
    const Device d = device();
    each_narrow([&](auto t) {
        using T = decltype(t);
        for (const Way way : ways) {
            const auto k = kernel("side_by_side", [way](InOut<int> stored, InOut<int> loaded, In<int> x, InOut<int> apart) {
                auto i = global_index();
                auto at = wrapped<T>(way, i);
                stored[at] = x[i];
                loaded[i] = x[at];
                apart[2 * at] = i;
                apart[2 * at + 1] = i + 1;
            });
            const std::vector<int> x = suite::iota<int>(values<T>, 7);
            Array<int> stored = d.zeros<int>(values<T>), loaded = d.zeros<int>(n), apart = d.zeros<int>(2 * values<T>);
            k(ndrange(n), stored, loaded, d.upload(x), apart);
            std::vector<int> want_stored(values<T>), want_loaded(n), want_apart(2 * values<T>);
            for (int i = 0; i < n; ++i) {
                const size_t at = size_t(wrapped<T>(way, i));
                want_stored[at] = x[size_t(i)], want_loaded[size_t(i)] = x[at], want_apart[2 * at] = i,
                want_apart[2 * at + 1] = i + 1;
            }
            EXPECT_EQ(stored.download(), want_stored) << name(way, sizeof(T));
            EXPECT_EQ(loaded.download(), want_loaded) << name(way, sizeof(T));
            EXPECT_EQ(apart.download(), want_apart) << name(way, sizeof(T));
        }
    });
}

TEST(WrappingIndices, LocalMemory) {
    NEEDS(int8, "8-bit integers");
    static constexpr int n = 64;
    const Device d = device();
    const auto check = [&](auto t) {
        using T = decltype(t);
        for (const Way way : ways) {
            const auto k = kernel("local_wraps", [way](Out<int> y, In<int> x) {
                Local<int, 256> tile;
                auto i = local_index();
                $for(j, range(i, 256, group_size())) { tile[j] = -j; }
                synchronize();
                tile[wrapped<T>(way, i)] = x[i];
                synchronize();
                $for(j, range(i, 256, group_size())) { y[j] = tile[j]; }
                y[256 + i] = tile[wrapped<T>(way, i + 100)];
            });
            const std::vector<int> x = suite::iota<int>(n, 7);
            Array<int> y = d.zeros<int>(256 + n);
            k(ndrange(n).group(n), y, d.upload(x));
            std::vector<int> want(256 + n);
            for (int j = 0; j < 256; ++j) want[size_t(j)] = -j;
            for (int i = 0; i < n; ++i) want[size_t(wrapped<T>(way, i))] = x[size_t(i)];
            for (int i = 0; i < n; ++i) want[size_t(256 + i)] = want[size_t(wrapped<T>(way, i + 100))];
            EXPECT_EQ(y.download(), want) << name(way, sizeof(T));
        }
    };
    check(int8_t()), check(uint8_t());
}

TEST(WrappingIndices, RowsOfItems) {
    static constexpr int rows = 40, n = 50;
    const Device d = device();
    each_narrow([&](auto t) {
        using T = decltype(t);
        const int columns = values<T>;
        const std::vector<int> x = suite::iota<int>(rows * columns, 3);
        for (const Way way : ways) {
            const auto k = kernel("rows_wrap", [way](InOut<int, 2> stored, InOut<int, 2> added, InOut<int> sums, In<int, 2> x) {
                auto i = global_index();
                Var sum = 0;
                $for(c, range(n)) {
                    auto at = wrapped<T>(way, c);
                    sum += x(i, at) * (c + 1);
                    stored(i, at) = c + i;
                }
                $for(c, range(n)) { added(i, wrapped<T>(way, c)) += x(i, c); }
                sums[i] = sum;
            });
            Array<int, 2> stored = d.zeros<int>({rows, columns}), added = d.full<int>({rows, columns}, 5);
            Array<int> sums = d.zeros<int>(rows);
            k(ndrange(rows), stored, added, sums, d.upload(x, {rows, columns}));
            std::vector<int> want_stored(x.size()), want_added(x.size(), 5), want_sums(rows);
            for (int i = 0; i < rows; ++i)
                for (int c = 0; c < n; ++c) {
                    const size_t row = size_t(i) * size_t(columns), at = row + size_t(wrapped<T>(way, c));
                    want_sums[size_t(i)] = int(unsigned(want_sums[size_t(i)]) + unsigned(x[at]) * unsigned(c + 1));
                    want_stored[at] = c + i, want_added[at] += x[row + size_t(c)];
                }
            EXPECT_EQ(sums.download(), want_sums) << name(way, sizeof(T));
            EXPECT_EQ(stored.download(), want_stored) << name(way, sizeof(T));
            EXPECT_EQ(added.download(), want_added) << name(way, sizeof(T));
        }
    });
}

TEST(WrappingIndices, RowsByNarrowIndices) {
    NEEDS(int8, "8-bit integers");
    static constexpr int rows = 40, n = 300;  // all columns, and some of them twice
    const Device d = device();
    const auto k = kernel("rows_by_bytes", [](InOut<int, 2> added, InOut<int> sums, In<int, 2> x) {
        auto i = global_index();
        Var sum = 0;
        $for(c, range(n)) {
            sum += x(i, cast<uint8_t>(c));
            added(i, cast<uint8_t>(c) + uint8_t(250)) += 1;
        }
        sums[i] = sum;
    });
    const std::vector<int> x = suite::iota<int>(rows * 256);
    Array<int, 2> added = d.zeros<int>({rows, 256});
    Array<int> sums = d.zeros<int>(rows);
    k(ndrange(rows), added, sums, d.upload(x, {rows, 256}));
    std::vector<int> want_added(x.size()), want_sums(rows);
    for (int i = 0; i < rows; ++i)
        for (int c = 0; c < n; ++c)
            want_sums[size_t(i)] += x[size_t(i * 256 + c % 256)], ++want_added[size_t(i * 256 + (c + 250) % 256)];
    EXPECT_EQ(sums.download(), want_sums);
    EXPECT_EQ(added.download(), want_added);
}

TEST(WrappingIndices, SumsAlongRows) {
    static constexpr int n = 64, items = 128;
    const Device d = device();
    each_narrow([&](auto t) {
        using T = decltype(t);
        for (const Way way : ways) {
            const auto k = kernel("sums_wrap", [way](InOut<int> y, InOut<int> z, In<int> x) {
                Local<int, 256> row;
                auto i = global_index(), l = local_index();
                $for(j, range(l, 256, group_size())) { row[j] = 0; }
                synchronize();
                $for(c, range(n)) { atomic_add(y[wrapped<T>(way, c)], x[i] + c); }
                if constexpr (sizeof(T) == 1) {
                    $for(c, range(n)) { atomic_add(row[wrapped<T>(way, c)], x[i] * 2 + c); }
                }
                synchronize();
                $for(j, range(l, 256, group_size())) { atomic_add(z[j], row[j]); }
            });
            const std::vector<int> x = suite::iota<int>(items);
            Array<int> y = d.zeros<int>(values<T>), z = d.zeros<int>(256);
            k(ndrange(items).group(32), y, z, d.upload(x));
            std::vector<int> want_y(values<T>), want_z(256);
            for (int i = 0; i < items; ++i)
                for (int c = 0; c < n; ++c) {
                    want_y[size_t(wrapped<T>(way, c))] += x[size_t(i)] + c;
                    if (sizeof(T) == 1) want_z[size_t(wrapped<T>(way, c))] += x[size_t(i)] * 2 + c;
                }
            EXPECT_EQ(y.download(), want_y) << name(way, sizeof(T));
            EXPECT_EQ(z.download(), want_z) << name(way, sizeof(T));
        }
    });
}

TEST(WrappingIndices, Transposes) {
    SKIP_WITHOUT_GROUPS_OF(256);
    static constexpr int n = 64;
    const Device d = device();
    each_narrow([&](auto t) {
        using T = decltype(t);
        const std::vector<int> x = suite::iota<int>(values<T> * n);
        for (const Way way : ways) {
            const auto k =
                kernel("transposes_wrap", [way](Out<int, 2> a, Out<int, 2> b, Out<int, 2> c, In<int, 2> tall, In<int, 2> flat) {
                    auto [i, j] = global_index<2>();
                    a(i, j) = tall(wrapped<T>(way, j), i);
                    b(i, j) = flat(j, wrapped<T>(way, i));
                    c(wrapped<T>(way, i), j) = i + j;
                });
            for (const bool groups : {true, false}) {
                Array<int, 2> a = d.zeros<int>({n, n}), b = a.clone(), c = d.zeros<int>({values<T>, n});
                const auto range = groups ? ndrange(n, n).group(16, 16) : ndrange(n, n);
                k(range, a, b, c, d.upload(x, {values<T>, n}), d.upload(x, {n, values<T>}));
                std::vector<int> want_a(n * n), want_b(n * n), want_c(x.size());
                for (int i = 0; i < n; ++i)
                    for (int j = 0; j < n; ++j) {
                        const size_t here = size_t(i * n + j);
                        want_a[here] = x[size_t(wrapped<T>(way, j) * n + i)];
                        want_b[here] = x[size_t(j * values<T> + wrapped<T>(way, i))];
                        want_c[size_t(wrapped<T>(way, i) * n + j)] = i + j;
                    }
                EXPECT_EQ(a.download(), want_a) << name(way, sizeof(T));
                EXPECT_EQ(b.download(), want_b) << name(way, sizeof(T));
                EXPECT_EQ(c.download(), want_c) << name(way, sizeof(T));
            }
        }
    });
}

TEST(WrappingIndices, StridedLoops) {
    static constexpr int items = 128;
    const Device d = device();
    each_narrow([&](auto t) {
        using T = decltype(t);
        for (const Way way : ways) {
            const auto k = kernel("strides_wrap", [way](Out<int> y, In<int> x, Val<int> n) {
                auto i = global_index();
                Var sum = 0;
                $for(q, range(wrapped<T>(way, i), n, global_size())) { sum += x[q]; }
                y[i] = sum;
            });
            const int n = values<T> + 100;
            const std::vector<int> x = suite::iota<int>(n, 1);
            Array<int> y = d.zeros<int>(items);
            k(ndrange(items).group(32), y, d.upload(x), n);
            std::vector<int> want(items);
            for (int i = 0; i < items; ++i)
                for (int q = wrapped<T>(way, i); q < n; q += items)
                    want[size_t(i)] = int(unsigned(want[size_t(i)]) + unsigned(x[size_t(q)]));
            EXPECT_EQ(y.download(), want) << name(way, sizeof(T));
        }
    });
}

TEST(WrappingIndices, ConditionsOfGroups) {
    SKIP_WITHOUT_GROUPS_OF(256);
    static constexpr int n = 64;
    const Device d = device();
    each_narrow([&](auto t) {
        using T = decltype(t);
        for (const Way way : ways)
            for (const int axis : {0, 1}) {
                const auto k = kernel("conditions_wrap", [way, axis](Out<int, 2> y, In<int, 2> x) {
                    Local<int, 16, 16> tile;
                    const auto at = global_index<2>(), l = local_index<2>();
                    tile(l[0], l[1]) = -1;
                    $if(wrapped<T>(way, at[axis]) < values<T> / 2) { tile(l[0], l[1]) = x(at[0], at[1]); }
                    synchronize();
                    y(at[0], at[1]) = tile(15 - l[0], l[1]);
                });
                const std::vector<int> x = suite::iota<int>(n * n);
                Array<int, 2> y = d.zeros<int>({n, n});
                k(ndrange(n, n).group(16, 16), y, d.upload(x, {n, n}));
                std::vector<int> want(x.size());
                for (int i = 0; i < n; ++i)
                    for (int j = 0; j < n; ++j) {
                        const int row = i / 16 * 16 + 15 - i % 16;
                        const bool in = wrapped<T>(way, axis == 0 ? row : j) < values<T> / 2;
                        want[size_t(i * n + j)] = in ? x[size_t(row * n + j)] : -1;
                    }
                EXPECT_EQ(y.download(), want) << name(way, sizeof(T)) << " along " << axis;
            }
    });
}

TEST(WrappingIndices, ProductsOf32Bits) {
    SKIP_WITHOUT_GROUPS_OF(256);
    static constexpr int n = 64;
    const Device d = device();
    const auto k = kernel("steps_wrap", [](Out<int, 2> y, Out<int, 2> z, In<int> x) {
        auto [i, j] = global_index<2>();
        y(i, j) = -1, z(i, j) = -1;
        // Every fourth index equals the first one.
        $if(i % 4 == 0) { y(i, j) = x[i * (1 << 30) + j]; }
        $if(j % 4 == 0) { z(i, j) = x[j * (1 << 30) + i]; }
    });
    const std::vector<int> x = suite::iota<int>(n, 5);
    for (const bool groups : {true, false}) {
        Array<int, 2> y = d.zeros<int>({n, n}), z = y.clone();
        const auto range = groups ? ndrange(n, n).group(16, 16) : ndrange(n, n);
        k(range, y, z, d.upload(x));
        const std::vector<int> got_y = y.download(), got_z = z.download();
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) {
                ASSERT_EQ(got_y[size_t(i * n + j)], i % 4 == 0 ? x[size_t(j)] : -1) << i << ", " << j;
                ASSERT_EQ(got_z[size_t(i * n + j)], j % 4 == 0 ? x[size_t(i)] : -1) << i << ", " << j;
            }
    }
}

TEST(WrappingIndices, NumbersOf64BitsCutTo32) {
    static constexpr int n = 200;
    const Device d = device();
    const auto k = kernel("cut", [](InOut<int, 2> y, In<int> x) {
        auto i = global_index();
        auto wide = cast<int64_t>(i);
        y(0, i) = x[cast<int>(wide * ((int64_t(1) << 32) + 1))];
        y(1, cast<int>(wide + (int64_t(5) << 33))) = i;
        y(2, cast<uint32_t>((int64_t(1) << 40) + n - 1 - wide)) = i;
    });
    const std::vector<int> x = suite::iota<int>(n, 5);
    Array<int, 2> y = d.zeros<int>({3, n});
    k(ndrange(n), y, d.upload(x));
    const std::vector<int> got = y.download();
    for (int i = 0; i < n; ++i) {
        EXPECT_EQ(got[size_t(i)], x[size_t(i)]) << i;
        EXPECT_EQ(got[size_t(n + i)], i);
        EXPECT_EQ(got[size_t(2 * n + i)], n - 1 - i);
    }
}

int lower(int a, int b) { return std::min(a, b); }
int higher(int a, int b) { return std::max(a, b); }
Val<int> lower(Val<int> a, Val<int> b) { return min(a, b); }
Val<int> higher(Val<int> a, Val<int> b) { return max(a, b); }

/// The element of `n` that item `i` reads in iteration `d` of `taps`: for items at the rim in several ways.
template <class I> I near_element(int way, I i, I d, I n, int taps) {
    const I at = i + d - taps / 2, zero = 0;
    switch (way) {
        case 0: return lower(higher(at, zero), n - 1);
        case 1: return higher(at, zero) % n;
        case 2: return (at + n) % n;
        case 3: return lower(i, n - taps) + d;
        default: return (i + d) & 63;
    }
}
constexpr int rim_ways = 5;

/// A sum over neighbours, some of them under a condition that differs from item to item.
template <class T> void sums_of_neighbours() {
    static constexpr int taps = 7;
    for (int way = 0; way < rim_ways; ++way)
        for (const int n : {64, 65, 100, 259}) {
            SCOPED_TRACE("way " + std::to_string(way) + ", " + std::to_string(n) + " elements");
            const auto k = kernel("neighbours", [way](Out<T, 2> y, In<T, 2> x) {
                auto [row, i] = global_index<2>();
                Val<int> n = x.size(1);
                Var all = T(0), some = T(0);
                $for(d, range(taps)) {
                    Val<int> at = near_element<Val<int>>(way, i, d, n, taps);
                    all += x(row, at);
                    $if((i + d) % 3 != 1) { some += x(row, at); }
                }
                y(row, i) = cast<T>(all + all + some);
            });
            const std::vector<T> x = [&] {
                std::vector<T> values;
                for (int e = 0; e < 3 * n; ++e) values.push_back(T(e * 7 % 11));
                return values;
            }();
            Array<T, 2> y = device().zeros<T>({3, n});
            k(ndrange(3, n), y, device().upload(x).reshape({3, n}));
            const std::vector<T> got = y.download();
            for (int row = 0; row < 3; ++row)
                for (int i = 0; i < n; ++i) {
                    int all = 0, some = 0;
                    for (int d = 0; d < taps; ++d) {
                        const int at = near_element(way, i, d, n, taps), v = int(x[size_t(row * n + at)]);
                        all += v, some += (i + d) % 3 != 1 ? v : 0;
                    }
                    ASSERT_EQ(double(got[size_t(row * n + i)]), double(T(2 * all + some))) << row << ", " << i;
                }
        }
}

TEST(WrappingIndices, NeighboursAtTheRimInALoop) {
    sums_of_neighbours<float>();
    sums_of_neighbours<int>();
    if (device().supports(Feature::float64)) sums_of_neighbours<double>();
    if (device().supports(Feature::int8)) sums_of_neighbours<uint8_t>();
    if (device().supports(Feature::int64)) sums_of_neighbours<int64_t>();
}

TEST(WrappingIndices, NeighboursAtTheRimOfATile) {
    static constexpr int n = 32;
    const auto k = kernel("tile", whole_groups, [](Out<float> y, In<float> x) {
        Local<float, n> tile;
        auto l = local_index();
        tile[l] = x[global_index()];
        synchronize();
        y[global_index()] = tile[max(l - 1, 0)] + 2.0f * tile[min(l + 1, n - 1)] + 4.0f * tile[(l + 3) % n];
    });
    const std::vector<float> x = suite::iota<float>(4 * n);
    Array<float> y = device().zeros<float>(4 * n);
    k(ndrange(4 * n).group(n), y, device().upload(x));
    const std::vector<float> got = y.download();
    for (int i = 0; i < 4 * n; ++i) {
        const int l = i % n, base = i - l;
        const auto at = [&](int e) { return x[size_t(base + e)]; };
        EXPECT_EQ(got[size_t(i)], at(std::max(l - 1, 0)) + 2 * at(std::min(l + 1, n - 1)) + 4 * at((l + 3) % n)) << i;
    }
}

/// Rows of a sparse matrix, and a stack: the loops in which lanes part and gather.
TEST(WrappingIndices, UnevenRowsAndStacks) {
    constexpr int n = 203;
    std::vector<int> begin{0}, column;
    std::vector<float> value;
    for (int i = 0; i < n; ++i) {
        for (int e = 0; e < i * 7 % 23; ++e) column.push_back((i * 31 + e * 17) % n), value.push_back(float(1 + e % 5));
        begin.push_back(int(column.size()));
    }
    const auto k = kernel("rows", [](Out<float> y, Out<int> depth, In<int> begin, In<int> column, In<float> value, In<float> x) {
        auto i = global_index();
        Var sum = 0.0f;
        $for(e, range(begin[i], begin[i + 1])) { sum += value[e] * x[column[e]]; }
        y[i] = sum;
        Private<int, 8> stack;
        Var top = 1, seen = 0;
        stack[0] = i % 29;
        $while(top > 0) {
            top -= 1;
            Val<int> v = stack[top];
            seen += 1;
            $if(v > 1) {
                stack[top] = v / 2;
                stack[top + 1] = v - v / 2 - 1;
                top += 2;
            }
        }
        depth[i] = seen;
    });
    const std::vector<float> x = suite::iota<float>(n);
    Array<float> y = device().zeros<float>(n);
    Array<int> depth = device().zeros<int>(n);
    k(ndrange(n), y, depth, device().upload(begin), device().upload(column), device().upload(value), device().upload(x));
    const std::vector<float> got = y.download();
    const std::vector<int> seen = depth.download();
    const std::function<int(int)> nodes = [&](int v) { return v > 1 ? 1 + nodes(v / 2) + nodes(v - v / 2 - 1) : 1; };
    for (int i = 0; i < n; ++i) {
        float sum = 0;
        for (int e = begin[size_t(i)]; e < begin[size_t(i) + 1]; ++e) sum += value[size_t(e)] * x[size_t(column[size_t(e)])];
        EXPECT_EQ(got[size_t(i)], sum) << i;
        EXPECT_EQ(seen[size_t(i)], nodes(i % 29)) << i;
    }
}

}  // namespace
