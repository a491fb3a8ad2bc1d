// Kernels whose elements have 8 or 16 bits, and stores under conditions: rows of every length, rims, loops, private arrays. The
// device cpu takes more items at once here than elsewhere, and stores old values again where a condition is false.
#include <algorithm>

#include "tests/device/types.h"

using namespace pumice;
using suite::device;

namespace {

template <class F> void each_narrow(F act) {
    if (device().supports(Feature::int8)) act(int8_t()), act(uint8_t());
    if (device().supports(Feature::int16)) act(int16_t()), act(uint16_t());
    if (!device().supports(Feature::int8) && !device().supports(Feature::int16))
        GTEST_SKIP() << "SKIPPED: " << device().name() << " has no integers of 8 or 16 bits";
}

template <class T> std::vector<T> numbers(int count, int seed) {
    std::vector<T> out;
    for (int i = 0; i < count; ++i) out.push_back(T(unsigned(i + seed) * 2654435761u >> 13));
    return out;
}

TEST(NarrowElements, RowsOfEveryLength) {
    each_narrow([](auto t) {
        using T = decltype(t);
        const auto k = kernel("narrow_rows", [](Out<T> out, In<T> a, In<T> b, Val<T> factor) {
            auto i = global_index();
            Var<T> sum = a[i];
            $for(n, range(4)) { sum = sum * factor + b[i + n]; }
            out[i] = max(min(sum, b[i]), a[i]) + select(a[i] > b[i], a[i], b[i]);
        });
        for (const int n : {1, 7, 8, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 1000, 70001}) {
            const std::vector<T> a = numbers<T>(n, 1), b = numbers<T>(n + 4, 2);
            const Array<T> out = device().zeros<T>(n);
            k(ndrange(n), out, device().upload(a), device().upload(b), T(3));
            std::vector<T> want;
            for (size_t i = 0; i < size_t(n); ++i) {
                T sum = a[i];
                for (size_t m = 0; m < 4; ++m) sum = T(T(sum * T(3)) + b[i + m]);
                want.push_back(T(std::max(std::min(sum, b[i]), a[i]) + (a[i] > b[i] ? a[i] : b[i])));
            }
            EXPECT_EQ(out.download(), want) << n;
        }
    });
}

TEST(NarrowElements, RimsThatWrapOrClamp) {
    each_narrow([](auto t) {
        using T = decltype(t);
        const auto k = kernel("narrow_rims", [](Out<T, 2> out, In<T, 2> in) {
            auto [i, j] = global_index<2>();
            const auto rows = in.size(0), columns = in.size(1);
            Private<T, 3> v;
            v[0] = in(clamp(i - 1, 0, rows - 1), select(j > 0, j - 1, columns - 1));
            v[1] = in(i, clamp(j + 2, 0, columns - 1));
            v[2] = in(select(i < rows - 1, i + 1, 0), (j + 1) % columns);
            out(i, j) = max(v[0], v[1]) + v[2];
        });
        for (const auto& [rows, columns] :
             {std::pair(3, 5), std::pair(5, 33), std::pair(4, 64), std::pair(3, 129), std::pair(300, 301)}) {
            const std::vector<T> in = numbers<T>(rows * columns, 3);
            const Array<T, 2> out = device().zeros<T>({rows, columns});
            k(ndrange(rows, columns), out, device().upload(in, {rows, columns}));
            std::vector<T> want;
            const auto at = [&, w = columns](int i, int j) { return in[size_t(i * w + j)]; };
            for (int i = 0; i < rows; ++i)
                for (int j = 0; j < columns; ++j) {
                    const T a = at(std::max(i - 1, 0), j > 0 ? j - 1 : columns - 1), b = at(i, std::min(j + 2, columns - 1));
                    want.push_back(T(std::max(a, b) + at(i < rows - 1 ? i + 1 : 0, (j + 1) % columns)));
                }
            EXPECT_EQ(out.download(), want) << rows << " x " << columns;
        }
    });
}

TEST(NarrowElements, PrivateArraysAndSums) {
    each_narrow([](auto t) {
        using T = decltype(t);
        const auto k = kernel("narrow_private", [](Out<T> out, InOut<int> count, In<T> in, In<int> which) {
            auto i = global_index();
            Private<T, 4> v;
            for (int n = 0; n < 4; ++n) v[n] = in[i + n];
            out[i] = v[which[0] & 3] + v[which[1] & 3];
            $if(v[which[2] & 3] > T(100)) { atomic_add(count[0], 1); }
        });
        const int n = 1234;
        const std::vector<T> in = numbers<T>(n + 4, 4);
        const std::vector<int> which{3, 1, 2};
        const Array<T> out = device().zeros<T>(n);
        const Array<int> count = device().zeros<int>(1);
        k(ndrange(n), out, count, device().upload(in), device().upload(which));
        std::vector<T> want;
        int above = 0;
        for (size_t i = 0; i < size_t(n); ++i) want.push_back(T(in[i + 3] + in[i + 1])), above += in[i + 2] > T(100);
        EXPECT_EQ(out.download(), want);
        EXPECT_EQ(count.download()[0], above);
    });
}

TEST(ConditionalStores, ToElementsThatWereLoaded) {
    const auto k = kernel("relaxes", [](InOut<int, 2> length, InOut<float, 2> weight, In<int> column, Out<bool> changed) {
        auto [i, j] = global_index<2>();
        const Val<int> through = column[i] + column[j], now = length(i, j);
        $if(through < now) { length(i, j) = through; }
        const Val<float> w = weight(i, j);
        $if(now % 3 == 0) { weight(i, j) = 2.0f * w + 1.0f; }
        $if(through < now) { changed[i] = true; }
    });
    const int rows = 67, columns = 67;
    std::vector<int> length, column;
    std::vector<float> weight;
    for (int i = 0; i < rows; ++i) column.push_back(i * 37 % 50);
    for (int i = 0; i < rows * columns; ++i) length.push_back(i * 7919 % 101), weight.push_back(float(i % 13));
    const Array<int, 2> l = device().upload(length, {rows, columns});
    const Array<float, 2> w = device().upload(weight, {rows, columns});
    std::vector<bool> changed(rows, false);
    const Array<bool> c = device().zeros<bool>(rows);
    k(ndrange(rows, columns), l, w, device().upload(column), c);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            const size_t at = size_t(i * columns + j);
            const int through = column[size_t(i)] + column[size_t(j)], now = length[at];
            if (now % 3 == 0) weight[at] = 2 * weight[at] + 1;
            if (through < now) length[at] = through, changed[size_t(i)] = true;
        }
    EXPECT_EQ(l.download(), length);
    EXPECT_EQ(w.download(), weight);
    const auto got = c.download();
    for (int i = 0; i < rows; ++i) EXPECT_EQ(bool(got[size_t(i)]), bool(changed[size_t(i)])) << i;
}

/// A condition that holds for some items after others have stored: the old value that was loaded is no longer there.
TEST(ConditionalStores, AfterAnotherStoreOrABarrier) {
    const auto k = kernel("stores_twice", static_group<64>, [](InOut<int> x, Out<int> seen) {
        auto i = global_index();
        const Val<int> before = x[i];
        x[i] = before + 1;
        $if(i % 3 == 0) { x[i] = before * 10; }
        Local<int, 64> t;
        const auto l = local_index();
        t[l] = l;
        const Val<int> mine = t[l];
        synchronize();
        t[63 - l] = mine + 100;
        synchronize();
        $if(l % 2 == 0) { t[l] = mine; }
        synchronize();
        seen[i] = t[l];
    });
    const int n = 256;
    const Array<int> x = device().upload(suite::iota<int>(n)), seen = device().zeros<int>(n);
    k(ndrange(n), x, seen);
    const std::vector<int> got = x.download(), tile = seen.download();
    for (int i = 0; i < n; ++i) {
        EXPECT_EQ(got[size_t(i)], i % 3 == 0 ? i * 10 : i + 1) << i;
        const int l = i % 64;
        EXPECT_EQ(tile[size_t(i)], l % 2 == 0 ? l : 163 - l) << i;
    }
}

}  // namespace
