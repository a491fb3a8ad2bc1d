// Many items add to few elements: along rows, in loops, under masks, in local memory and arrays, of every type. The numbers are
// small and whole, so that every order gives the same sums.
#include <cmath>

#include "tests/device/sums.h"

using namespace pumice;
using suite::device;
using suite::expect_sums;

namespace {

/// Item i adds i % 5 to every element of a row, then subtracts i % 3.
template <class T> void rows(const std::string& type) {
    for (const int step : {1, -1, 2}) {
        const auto add = kernel("rows_" + type, [step](InOut<T> sums, Val<int> n) {
            auto i = global_index();
            auto plus = cast<T>(i % 5), minus = cast<T>(i % 3);
            $for(j, range(step > 0 ? n * 0 : n - 1, step > 0 ? n : n * 0 - 1, step)) {
                atomic_add(sums[j], plus);
                atomic_sub(sums[j], minus);
            }
        });
        const Device d = device();
        for (const int n : {1, 7, 37, 200})
            for (const int items : {1, 30, 256, 1000}) {
                Array<T> sums = d.full<T>(n, T(100));
                add(ndrange(items), sums, n);
                double all = 0;
                for (int i = 0; i < items; ++i) all += i % 5 - i % 3;
                std::vector<double> want(size_t(n), 100.0);
                for (int j = 0; j < n; j += std::abs(step)) want[size_t(j)] += all;
                expect_sums(sums.download(), want,
                            type + " " + std::to_string(step) + " " + std::to_string(n) + " " + std::to_string(items));
            }
    }
}

TEST(Sums, AlongRows) {
    rows<float>("float");
    rows<int>("int");
    rows<uint32_t>("uint");
}

/// The private copies of an array with more than 3 dimensions have all of its elements.
TEST(Sums, IntoAnArrayOfFourDimensions) {
    const auto add = kernel("four_dimensions", [](InOut<int, 4> sums) {
        auto i = global_index();
        atomic_add(sums(i % 3, i % 5, i % 7, i % 11), 1);
    });
    for (const int items : {1000, 1 << 20}) {
        const Array<int, 4> sums = device().zeros<int>({3, 5, 7, 11});
        add(ndrange(items), sums);
        std::vector<int> want(3 * 5 * 7 * 11);
        for (int i = 0; i < items; ++i) ++want[size_t(((i % 3 * 5 + i % 5) * 7 + i % 7) * 11 + i % 11)];
        EXPECT_EQ(sums.download(), want) << items;
    }
}

/// All items return, or none: no barrier may be added after the return (random program 300445).
TEST(Sums, BehindAReturnOfAllItems) {
    const auto add = kernel("returns_before", [](InOut<float> sums, Val<int> n, Val<int> limit) {
        $if(n > limit) { $return; }
        auto plus = cast<float>(global_index() % 5);
        $for(j, range(n)) { atomic_add(sums[j], plus); }
    });
    const Device d = device();
    for (const int limit : {200, 10}) {
        const Array<float> sums = d.zeros<float>(100);
        add(ndrange(500).group(64), sums, 100, limit);
        expect_sums(sums.download(), std::vector<double>(100, limit == 200 ? 1000.0 : 0.0), std::to_string(limit));
    }
}

/// A tiled loop whose end is close to the largest integer: the next tile would begin past it.
TEST(Sums, LoopsUpToTheLargestInteger) {
    static constexpr int first = 2'147'483'647 - 100;
    const auto add = kernel("to_the_last", [](InOut<float> sums, Val<int> end) {
        auto plus = cast<float>(global_index() % 5);
        $for(j, range(first, end)) { atomic_add(sums[j - first], plus); }
    });
    const Device d = device();
    for (const int iterations : {100, 99, 63, 37}) {
        const Array<float> sums = d.zeros<float>(100);
        add(ndrange(500), sums, first + iterations).wait();
        std::vector<double> want(100, 0.0);
        for (int j = 0; j < iterations; ++j) want[size_t(j)] = 1000;
        expect_sums(sums.download(), want, std::to_string(iterations));
    }
}

TEST(Sums, AlongRowsOf64Bits) {
    const Device d = device();
    if (d.supports(Feature::float64)) rows<double>("double");
    if (!d.supports(Feature::int64)) GTEST_SKIP() << "SKIPPED: " << d.name() << " has no integers of 64 bits";
    rows<int64_t>("int64");
}

/// Constant trip counts, so that rows are known to be whole.
TEST(Sums, ConstantLoops) {
    const Device d = device();
    for (const int n : {3, 8, 16, 32, 40}) {
        const auto add = kernel("constant", [n](InOut<float> sums) {
            auto i = global_index();
            $for(j, range(n)) { atomic_add(sums[n - 1 - j], cast<float>(i % 4) + cast<float>(j)); }
        });
        Array<float> sums = d.zeros<float>(n);
        add(ndrange(100), sums);
        std::vector<double> want(static_cast<size_t>(n));
        for (int i = 0; i < 100; ++i)
            for (int j = 0; j < n; ++j) want[size_t(n - 1 - j)] += i % 4 + j;
        expect_sums(sums.download(), want, std::to_string(n));
    }
}

/// In a loop, items add to elements that they share; outside, to elements of their own, which may be the same.
TEST(Sums, SharedElementsAndElementsOfOneItem) {
    const Device d = device();
    const auto add = kernel("both", [](InOut<float> sums, In<int> own, Val<int> stride) {
        auto i = global_index();
        $for(j, range(5)) {
            $if(i % 2 == 0) { atomic_add(sums[j * stride], 1.0f); }
            atomic_add(sums[j * stride + 1], 2.0f);
        }
        atomic_add(sums[own[i]], 3.0f);
        atomic_add(sums[i % sums.size()], 4.0f);
    });
    for (const int items : {1, 50, 500, 3000}) {
        std::vector<int> own(static_cast<size_t>(items));
        for (int i = 0; i < items; ++i) own[size_t(i)] = (i * 7) % 11;
        Array<float> sums = d.zeros<float>(40);
        add(ndrange(items), sums, d.upload(own), 3);
        std::vector<double> want(40);
        for (int i = 0; i < items; ++i) {
            for (int j = 0; j < 5; ++j) want[size_t(j * 3)] += i % 2 == 0, want[size_t(j * 3 + 1)] += 2;
            want[size_t(own[size_t(i)])] += 3, want[size_t(i % 40)] += 4;
        }
        expect_sums(sums.download(), want, std::to_string(items));
    }
}

/// The same with long arithmetic, so that packets have several vectors, whose lanes share elements.
TEST(Sums, BesideArithmeticThatTakesSeveralVectors) {
    const Device d = device();
    const auto add = kernel("long_both", [](InOut<float> sums, In<float> x, Val<int> stride) {
        auto i = global_index();
        Var total = 0.0f;
        $for(j, range(x.size())) {
            Var v = cast<float>(i % 5);
            for (int k = 0; k < 40; ++k) v = x[j] - v;  // it comes back
            $if(j != i % 7) { atomic_add(sums[j], v); }
            atomic_sub(sums[j], v * (x[j] + 1.0f));
            total += v;
        }
        atomic_add(sums[i * stride % sums.size()], total);
        $if(i % 3 == 1) { atomic_sub(sums[i % 2], 3.0f); }
    });
    constexpr int n = 37;
    std::vector<float> x(n);
    for (int j = 0; j < n; ++j) x[size_t(j)] = float(j % 4);
    for (const int items : {1, 31, 256, 1000})
        for (const int stride : {0, 5, 16}) {
            Array<float> sums = d.zeros<float>(n);
            add(ndrange(items), sums, d.upload(x), stride);
            std::vector<double> want(n);
            for (int i = 0; i < items; ++i) {
                for (int j = 0; j < n; ++j) want[size_t(j)] += (j != i % 7 ? i % 5 : 0) - i % 5 * (x[size_t(j)] + 1);
                want[size_t(i * stride % n)] += n * (i % 5);
                if (i % 3 == 1) want[size_t(i % 2)] -= 3;
            }
            expect_sums(sums.download(), want, std::to_string(items) + " by " + std::to_string(stride));
        }
}

/// Items add to rows in some iterations only, and some leave the loop early.
TEST(Sums, UnderDivergentConditions) {
    const Device d = device();
    const auto add = kernel("masked", [](InOut<int> sums) {
        auto i = global_index();
        $if(i % 3 != 1) {
            $for(j, range(sums.size())) { atomic_add(sums[j], i % 7); }
        }
        $for(j, range(sums.size())) {
            $if(j > i % 20) { $break; }
            atomic_add(sums[j], 1);
        }
    });
    Array<int> sums = d.zeros<int>(33);
    add(ndrange(777), sums);
    std::vector<double> want(33);
    for (int i = 0; i < 777; ++i)
        for (int j = 0; j < 33; ++j) want[size_t(j)] += (i % 3 != 1 ? i % 7 : 0) + (j <= i % 20);
    expect_sums(sums.download(), want, "masked");
}

/// Iterations compute costly uniform values beside sums: upwards, downwards, few and many iterations, whole and partial groups.
TEST(Sums, BesideCostlyUniformValues) {
    const Device d = device();
    const auto add = kernel("alike", [](InOut<float> sums, Out<float, 2> y, In<float> q, In<float, 2> x) {
        const auto at = global_index<2>();
        auto mine = x(at[0], at[1]);
        Var all = 0.0f, last = 0.0f;
        $for(j, range(q.size())) { all += mine * exp(q[j]); }
        $for(j, range(q.size() - 1, -1, -1)) {
            auto e = exp(q[j]);
            auto both = mine * e;
            atomic_add(sums[j], both);
            all -= both, last = log(1.0f + e * e) + mine;
        }
        y(at[0], at[1]) = all + last;
    });
    for (const int n : {0, 1, 16, 130})
        for (const auto& [rows, columns] : {std::pair(9, 13), std::pair(32, 64)}) {
            std::vector<float> q(static_cast<size_t>(n)), x(size_t(rows * columns));
            for (size_t j = 0; j < q.size(); ++j) q[j] = float(j % 7) * 0.25f;
            double total = 0;
            for (size_t i = 0; i < x.size(); ++i) total += x[i] = float(i % 5);
            Array<float> sums = d.zeros<float>(n), of_q = d.upload(q);
            Array<float, 2> y = d.full<float>({rows, columns}, -1.0f), of_x = d.upload(x).reshape({rows, columns});
            add(ndrange(rows, columns).group(8, 16), sums, y, of_q, of_x);
            const std::vector<float> got = sums.download(), own = y.download();
            for (size_t j = 0; j < q.size(); ++j)
                ASSERT_NEAR(got[j], total * std::exp(q[j]), total * 1e-4) << n << " numbers, " << j;
            for (size_t i = 0; i < x.size(); ++i)
                ASSERT_NEAR(own[i], n ? std::log(2) + x[i] : 0, double(n + 1) * 1e-3) << n << " numbers, item " << i;
        }
}

/// Local memory: a row that others read after a barrier, and one that the loop itself reads.
TEST(Sums, RowsInLocalMemory) {
    SKIP_WITHOUT_GROUPS_OF(256);
    const Device d = device();
    const auto add = kernel("local_rows", [](Out<float, 2> out) {
        Local<float, 16, 16> tile;
        auto [ly, lx] = local_index<2>();
        tile(ly, lx) = 1.0f;
        synchronize();
        auto mine = cast<float>(lx);
        $for(k, range(16)) { atomic_add(tile(ly, k), mine); }
        synchronize();
        auto [row, col] = global_index<2>();
        out(row, col) = tile(ly, lx);
    });
    Array<float, 2> out = d.zeros<float>({32, 48});
    add(ndrange(32, 48).group(16, 16), out);
    expect_sums(out.download(), std::vector<double>(32 * 48, 121), "tile");
}

/// Rows of an array that is too large for a copy in each lane.
TEST(Sums, RowsOfALargeArray) {
    const Device d = device();
    const int size = 20'000, items = 5000;
    const auto add = kernel("large_rows", [](InOut<float> sums) {
        auto i = global_index();
        $for(j, range(70)) { atomic_add(sums[j + 1000], cast<float>(i % 3)); }
        $for(j, range(20, 0, -1)) { atomic_add(sums[sums.size() - j], 1.0f); }
    });
    Array<float> sums = d.zeros<float>(size);
    add(ndrange(items), sums);
    std::vector<double> want(static_cast<size_t>(size));
    for (int i = 0; i < items; ++i) {
        for (int j = 0; j < 70; ++j) want[size_t(j + 1000)] += i % 3;
        for (int j = 20; j > 0; --j) want[size_t(size - j)] += 1;
    }
    expect_sums(sums.download(), want, "large");
}

/// Each item adds its part of a product to every element of a row: products with a matrix in local memory, as in adjoints.
TEST(Sums, RowsOfMatrixProducts) {
    SKIP_WITHOUT_GROUPS_OF(256);
    const Device d = device();
    for (const int n : {4, 8, 16})
        for (const bool down : {false, true}) {
            const auto times = kernel("rows_of_products", [n, down](Out<float, 2> out, In<float, 2> x, In<float, 2> y) {
                Local<float> matrix(n * n), sums(n * n);
                const auto own = local_index<2>(), at = global_index<2>();
                const auto ly = own[0], lx = own[1];
                matrix[ly * n + lx] = y(ly, lx), sums[ly * n + lx] = 1.0f;
                auto mine = x(at[0], at[1]);
                $for(t, range(2)) {
                    synchronize();
                    auto twice = mine * cast<float>(t + 1);
                    if (down) {
                        $for(k, range(n - 1, -1, -1)) { atomic_add(sums[ly * n + k], twice * matrix[k * n + lx]); }
                    } else {
                        $for(k, range(n)) { atomic_add(sums[ly * n + k], matrix[k * n + lx] * mine); }
                    }
                }
                synchronize();
                out(at[0], at[1]) = sums[ly * n + lx];
            });
            for (const int rows : {n, 2 * n}) {
                const int columns = 3 * n;
                std::vector<float> x(size_t(rows * columns)), y(size_t(n * n));
                for (size_t i = 0; i < x.size(); ++i) x[i] = float(i * 7 % 11);
                for (size_t i = 0; i < y.size(); ++i) y[i] = float(i * 5 % 13);
                Array<float, 2> out = d.zeros<float>({rows, columns});
                times(ndrange(rows, columns).group(n, n), out, d.upload(x).reshape({rows, columns}), d.upload(y).reshape({n, n}));
                const std::vector<float> got = out.download();
                std::vector<double> want(got.size(), 1.0);
                for (int r = 0; r < rows; ++r)
                    for (int c = 0; c < columns; ++c)
                        for (int l = 0; l < n; ++l)
                            want[size_t(r * columns + c)] += (down ? 3 : 2) * double(x[size_t(r * columns + c / n * n + l)]) *
                                                             double(y[size_t(c % n * n + l)]);
                expect_sums(got, want, "products " + std::to_string(n));
            }
        }
}

/// Rows of large arrays, owned by the items of a row, of a column or of a plane of the range, and one without owners.
TEST(Sums, RowsThatOneThreadOwns) {
    const Device d = device();
    const int n = 270;
    const auto add = kernel("rows_with_owners", [](InOut<int, 2> rows, InOut<int, 2> columns, InOut<int> all) {
        const auto at = global_index<2>();
        const auto i = at[0], j = at[1], n = rows.size(1);
        $for(k, range(3)) {
            atomic_add(rows(i, (j * 7 + k * 13) % n), i + k);
            atomic_sub(columns((i * 5 + k) % n, j + 1), j - k);
        }
        atomic_add(all[(i + j) % all.size()], 1);
    });
    Array<int, 2> rows = d.zeros<int>({n, n}), columns = d.zeros<int>({n, n + 1});
    Array<int> all = d.zeros<int>(1000);
    add(ndrange(n, n).group(8, 16), rows, columns, all);
    std::vector<double> of_rows(size_t(n * n)), of_columns(size_t(n * (n + 1))), of_all(1000);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            for (int k = 0; k < 3; ++k) {
                of_rows[size_t(i * n + (j * 7 + k * 13) % n)] += i + k;
                of_columns[size_t((i * 5 + k) % n * (n + 1) + j + 1)] -= j - k;
            }
            ++of_all[size_t((i + j) % 1000)];
        }
    expect_sums(rows.download(), of_rows, "rows"), expect_sums(columns.download(), of_columns, "columns"),
        expect_sums(all.download(), of_all, "all");
}

TEST(Sums, PlanesThatOneThreadOwns) {
    const Device d = device();
    const int planes = 40, high = 9, wide = 130, rest = 600;
    const auto add = kernel("planes_with_owners", [](InOut<int, 2> of_planes, InOut<int, 2> of_columns) {
        const auto at = global_index<3>();
        const auto p = at[0], y = at[1], x = at[2], n = of_planes.size(1);
        atomic_add(of_planes(p, (x * 5 + y * 3) % n), x);
        atomic_add(of_columns((p * 7 + y) % n, x), p + y);
    });
    Array<int, 2> of_planes = d.zeros<int>({planes, rest}), of_columns = d.zeros<int>({rest, wide});
    add(ndrange(planes, high, wide).group(2, 2, 8), of_planes, of_columns);
    std::vector<double> in_planes(size_t(planes * rest)), in_columns(size_t(rest * wide));
    for (int p = 0; p < planes; ++p)
        for (int y = 0; y < high; ++y)
            for (int x = 0; x < wide; ++x) {
                in_planes[size_t(p * rest + (x * 5 + y * 3) % rest)] += x;
                in_columns[size_t((p * 7 + y) % rest * wide + x)] += p + y;
            }
    expect_sums(of_planes.download(), in_planes, "planes"), expect_sums(of_columns.download(), in_columns, "columns");
}

/// The array is large compared with the number of items, so it gets no copies.
TEST(Sums, FewAddsToALargeArray) {
    const Device d = device();
    const auto add = kernel("few", [](InOut<float> sums) {
        $for(j, range(20)) { atomic_add(sums[j * 1000], 1.0f); }
    });
    Array<float> sums = d.zeros<float>(100'000);
    add(ndrange(64), sums);
    std::vector<double> want(100'000);
    for (size_t j = 0; j < 20; ++j) want[j * 1000] = 64;
    expect_sums(sums.download(), want, "few");
}

/// Items add to the elements between two bounds, as of the rows of a sparse matrix, and to the columns of these, of which a few
/// get all: bounds that increase, of which one is too large, and that give half of the items the same elements. A kernel writes
/// the bounds just before.
TEST(Sums, RangesBetweenBounds) {
    const Device d = device();
    const int items = 20000, most = 80000, shift = 2;
    const auto make_bounds = kernel("bounds", [](Out<int> bounds, Val<int> kind) {
        auto i = global_index();
        bounds[i] = select(kind == 0, i * 3, select(kind == 1, i * 3 + select(i == 2500, 300, 0), i % 2 * 7));
    });
    const auto add = kernel("between_bounds", [](InOut<int> elements, InOut<int> few, InOut<int, 2> pairs, In<int> bounds) {
        auto i = global_index();
        $for(e, range(bounds[i + 2], bounds[i + 3])) {
            atomic_add(elements[e], i + e);
            atomic_sub(pairs(i % 2, e), i);
            atomic_add(few[e % 3], 1);
        }
    });
    Array<int> bounds = d.zeros<int>(items + shift + 1);
    for (const int kind : {0, 1, 2}) {
        Array<int> elements = d.zeros<int>(most), few = d.zeros<int>(3);
        Array<int, 2> pairs = d.zeros<int>({2, most});
        make_bounds(ndrange(bounds.size(0)), bounds, kind);
        add(ndrange(items), elements, few, pairs, bounds);
        const std::vector<int> at = bounds.download();
        std::vector<double> of_elements(most), of_few(3), of_pairs(2 * most);
        for (int i = 0; i < items; ++i)
            for (int e = at[size_t(i + shift)]; e < at[size_t(i + shift + 1)]; ++e)
                of_elements[size_t(e)] += i + e, of_pairs[size_t(i % 2 * most + e)] -= i, ++of_few[size_t(e % 3)];
        const std::string what = "kind " + std::to_string(kind);
        expect_sums(elements.download(), of_elements, "elements, " + what);
        expect_sums(few.download(), of_few, "few, " + what), expect_sums(pairs.download(), of_pairs, "pairs, " + what);
    }
}

/// The large array keeps its atomics; the small one, to which all items add, has private copies.
TEST(Sums, IntoALargeAndASmallArray) {
    const Device d = device();
    const auto add = kernel("large_and_small", [](InOut<float> large, InOut<float> small) {
        auto i = global_index();
        $for(j, range(5)) {
            atomic_add(large[(i % 50 * 977 + j * 1000) % large.size()], 1.0f);
            atomic_add(small[(i + j) % 4], 2.0f);
        }
    });
    const int n = 1000;
    Array<float> large = d.zeros<float>(100'000), small = d.zeros<float>(4);
    add(ndrange(n), large, small);
    std::vector<double> of_large(100'000), of_small(4);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < 5; ++j) ++of_large[size_t(i % 50 * 977 + j * 1000)], of_small[size_t((i + j) % 4)] += 2;
    expect_sums(large.download(), of_large, "large"), expect_sums(small.download(), of_small, "small");
}

/// Two streams add to one array at the same time.
TEST(Sums, TwoStreamsAddToOneArray) {
    const Device d = device();
    const auto add = kernel("streams", [](InOut<float> sums) {
        $for(j, range(sums.size())) { atomic_add(sums[j], 1.0f); }
    });
    Array<float> sums = d.zeros<float>(50);
    d.synchronize();
    const Stream a = d.stream(), b = d.stream();
    for (int round = 0; round < 20; ++round) {
        add(ndrange(2000).on(a), sums);
        add(ndrange(2000).on(b), sums);
    }
    a.synchronize(), b.synchronize();
    expect_sums(sums.download(), std::vector<double>(50, 80'000), "streams");
}

}  // namespace
