// Whole algorithms against host loops.
#include <cmath>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

std::vector<float> noise(int64_t n) {
    std::vector<float> v(static_cast<size_t>(n));
    uint32_t s = 1;
    for (float& x : v) s = s * 1664525u + 1013904223u, x = float(s >> 20) / 4096.0f - 0.5f;
    return v;
}

const auto matmul = kernel("matmul", [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    auto [i, j] = global_index<2>();
    Var sum = 0.0f;
    $for(k, range(0, a.size(1))) { sum += a(i, k) * b(k, j); }
    c(i, j) = sum;
});

/// Items past the range still load elements of the tiles for their group, so this kernel has guards of its own.
const auto matmul_tiled = kernel("matmul_tiled", whole_groups, [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    Local<float, 16, 17> ta, tb;
    auto [i, j] = global_index<2>();
    auto [y, x] = local_index<2>();
    Var sum = 0.0f;
    $for(t, range(0, (a.size(1) + 15) / 16)) {
        auto ka = t * 16 + x, kb = t * 16 + y;
        ta(y, x) = 0.0f;
        tb(y, x) = 0.0f;
        $if(i < a.size(0) && ka < a.size(1)) { ta(y, x) = a(i, ka); }
        $if(kb < b.size(0) && j < b.size(1)) { tb(y, x) = b(kb, j); }
        synchronize();
        for (int k = 0; k < 16; ++k) sum += ta(y, k) * tb(k, x);
        synchronize();
    }
    $if(in_range()) { c(i, j) = sum; }
});

/// c = a b by both kernels; samples of the entries are compared with a sum in double. The stride of the samples is prime to all
/// sizes, so that they include entries at the borders of tiles and others.
void check_matmul(int n, int m, int l, bool naive) {
    SCOPED_TRACE(testing::Message() << n << " x " << m << " x " << l);
    const std::vector<float> a = noise(n * m), b = noise(m * l);
    const Device d = device();
    Array<float, 2> da = d.upload(a, {n, m}), db = d.upload(b, {m, l}), dc = d.zeros<float>({n, l});
    const auto check = [&](const char* what) {
        const std::vector<float> got = dc.download();
        for (int at = 0; at < n * l; at += n * l > 100'000 ? 997 : 1) {
            double sum = 0, size = 0;
            for (int k = 0; k < m; ++k) {
                const double term = double(a[size_t(at / l * m + k)]) * b[size_t(k * l + at % l)];
                sum += term, size += std::abs(term);
            }
            ASSERT_NEAR(got[size_t(at)], sum, 1e-6 * size) << what << " at " << at;
        }
    };
    if (naive) {
        matmul(ndrange(n, l), dc, da, db);
        check("naive");
        dc.fill(0);
    }
    matmul_tiled(ndrange(n, l).group(16, 16), dc, da, db);
    check("tiled");
}

TEST(Examples, Matmul) {
    SKIP_WITHOUT_GROUPS_OF(256);
    if (suite::is_checking_device()) return check_matmul(64, 35, 45, true);  // a microsecond an operation
    check_matmul(256, 123, 45, true);
    check_matmul(256, 128, 512, false);
}

const auto copy_2d = [](Out<int, 2> b, In<int, 2> a) {
    auto [i, j] = global_index<2>();
    b(i, j) = a(i, j);
};
const auto copy_dynamic = kernel("copy_dynamic", copy_2d);
const auto copy_static = kernel("copy_static", static_group<1, 32>, copy_2d);

TEST(Examples, Copy) {
    const int n = 128;
    Array<int, 2> a = device().upload(suite::iota<int>(n * n), {n, n}), b = device().zeros<int>({n, n}), c = b.clone(),
                  d = b.clone();
    copy_dynamic(ndrange(n, n), b, a);
    copy_dynamic(ndrange(n, n).group(4, 8), c, a);
    copy_static(ndrange(n, n), d, a);
    for (const auto& copied : {b, c, d}) EXPECT_EQ(copied.download(), a.download());
}

const auto transpose_naive = kernel("transpose_naive", [](Out<int, 2> b, In<int, 2> a) {
    auto [i, j] = global_index<2>();
    b(j, i) = a(i, j);
});
/// Tiles of 16 x 16, with so many columns of padding.
template <int Padding> auto transpose_tiled(const char* name) {
    return kernel(name, [](Out<int, 2> b, In<int, 2> a) {
        Local<int, 16, 16 + Padding> tile;
        auto [i, j] = global_index<2>();
        auto [y, x] = local_index<2>();
        auto [gi, gj] = group_index<2>();
        tile(y, x) = a(i, j);
        synchronize();
        b(gj * 16 + y, gi * 16 + x) = tile(x, y);
    });
}
const auto transpose_unpadded = transpose_tiled<0>("transpose_unpadded"),
           transpose_padded = transpose_tiled<1>("transpose_padded");

TEST(Examples, Transpose) {
    SKIP_WITHOUT_GROUPS_OF(256);
    const int n = suite::is_checking_device() ? 64 : 1024, m = n / 2;
    for (const auto& [rows, columns] : {std::pair(n, n), std::pair(n, m)}) {
        Array<int, 2> a = device().upload(suite::iota<int>(rows * columns), {rows, columns});
        std::vector<int> want(size_t(rows * columns));
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) want[size_t(j * rows + i)] = i * columns + j;
        for (const auto& transpose : {transpose_naive, transpose_unpadded, transpose_padded}) {
            Array<int, 2> b = device().zeros<int>({columns, rows});
            transpose(ndrange(rows, columns).group(16, 16), b, a);
            EXPECT_EQ(b.download(), want) << transpose.name();
        }
    }
}

// The stencils of a point and its neighbours along one dimension.
constexpr int stencils = 4;
template <class T> std::array<T, stencils> stencils_of(const T& before, const T& here, const T& after) {
    return {after - here, here - before, after - here * 2.0f + before, (here + after) * 0.5f};
}

/// The element at this distance from the item's own along a dimension.
template <int N> Val<float> element(const In<float, N>& a, size_t dimension, int by) {
    return [&]<size_t... D>(std::index_sequence<D...>) {
        if constexpr (N == 1)
            return Val<float>(a(global_index() + by));
        else
            return Val<float>(a((global_index<N>()[D] + (D == dimension ? by : 0))...));
    }(std::make_index_sequence<N>());
}

/// Forward, backward and second differences and means along each dimension, one array after the other.
template <int N> void check_differences(const std::array<int64_t, N>& n) {
    SCOPED_TRACE(testing::Message() << N << " dimensions, the first of " << n[0]);
    const auto differences = kernel("differences", [](Out<float, 2> out, In<float, N> a, In<int, N> places) {
        Var place = 0;
        if constexpr (N == 1)
            place = places[global_index()];
        else
            place = std::apply([&](const auto&... i) { return Val<int>(places(i...)); }, global_index<N>());
        for (size_t k = 0; k < N; ++k) {
            const auto found = stencils_of<Val<float>>(element<N>(a, k, -1), element<N>(a, k, 0), element<N>(a, k, 1));
            for (size_t s = 0; s < stencils; ++s) out(int(k * stencils + s), place) = found[s];
        }
    });
    const int64_t points = detail::count_of(n);
    std::vector<float> a(static_cast<size_t>(points));  // eighths: every value below is exact
    for (int64_t i = 0; i < points; ++i) a[size_t(i)] = float(i * i % 41) / 8;
    Array<float, N> field(device(), n, false);
    field.copy_from(a);
    Array<int, N> places(device(), n, false);
    places.copy_from(suite::iota<int>(points));
    Array<float, 2> out = device().zeros<float>({N * stencils, points});
    Range inner;
    inner.rank = N;
    for (size_t k = 0; k < N; ++k) inner.from[k] = 1, inner.to[k] = n[k] - 1;
    differences(inner, out, field, places);

    std::vector<float> want(size_t(points * N * stencils));
    for (int64_t i = 0; i < points; ++i) {
        std::array<int64_t, N> stride, index;
        int64_t rest = i, step = 1;
        bool inside = true;
        for (int k = N - 1; k >= 0; --k) {
            stride[size_t(k)] = step, step *= n[size_t(k)];
            index[size_t(k)] = rest % n[size_t(k)], rest /= n[size_t(k)];
            inside = inside && index[size_t(k)] > 0 && index[size_t(k)] < n[size_t(k)] - 1;
        }
        for (size_t k = 0; inside && k < N; ++k) {
            const auto found = stencils_of(a[size_t(i - stride[k])], a[size_t(i)], a[size_t(i + stride[k])]);
            for (size_t s = 0; s < stencils; ++s) want[size_t(int64_t(k * stencils + s) * points + i)] = found[s];
        }
    }
    EXPECT_EQ(out.download(), want);
}

TEST(Examples, FiniteDifferences) {
    check_differences<1>({9});
    check_differences<1>({1000});
    check_differences<2>({9, 7});
    check_differences<2>({65, 130});
    check_differences<3>({9, 7, 5});
    check_differences<3>({20, 33, 17});
}

const auto diffuse = kernel("diffuse_strict", Math::strict, [](Out<float, 3> next, In<float, 3> now, In<float, 3> c) {
    auto [i, j, k] = global_index<3>();
    next(i, j, k) = now(i, j, k) + c(i, j, k) * (now(i - 1, j, k) + now(i + 1, j, k) + now(i, j - 1, k) + now(i, j + 1, k) +
                                                 now(i, j, k - 1) + now(i, j, k + 1) - 6.0f * now(i, j, k));
});

TEST(Examples, StrictDiffusionIsExact) {
    const int nx = 12, ny = 13, nz = 14;
    const std::vector<float> now = noise(nx * ny * nz), c = noise(nx * ny * nz);
    const Device d = device();
    Array<float, 3> a = d.upload(now, {nx, ny, nz}), dc = d.upload(c, {nx, ny, nz}), b = d.zeros<float>({nx, ny, nz});
    diffuse(ndrange({1, 1, 1}, {nx - 1, ny - 1, nz - 1}), b, a, dc);
    std::vector<float> want(now.size());
    const auto at = [&](int i, int j, int k) { return (i * ny + j) * nz + k; };
    for (int i = 1; i < nx - 1; ++i)
        for (int j = 1; j < ny - 1; ++j)
            for (int k = 1; k < nz - 1; ++k) {
                volatile float sum = now[at(i - 1, j, k)];  // one rounding for each operation, in the order of the kernel
                sum = sum + now[at(i + 1, j, k)];
                sum = sum + now[at(i, j - 1, k)];
                sum = sum + now[at(i, j + 1, k)];
                sum = sum + now[at(i, j, k - 1)];
                sum = sum + now[at(i, j, k + 1)];
                volatile float six = 6.0f * now[at(i, j, k)];
                sum = sum - six;
                volatile float change = c[at(i, j, k)] * sum;
                want[at(i, j, k)] = now[at(i, j, k)] + change;
            }
    EXPECT_EQ(b.download(), want);
}

/// Each item has two elements. The sum of all earlier elements is a scan of the sums of the pairs.
const auto scan = kernel("scan", whole_groups, [](Out<int> total, Out<int> inclusive, Out<int> exclusive, In<int> x, Val<int> n) {
    Local<int, 256> tile;
    auto l = local_index();
    Var first = 0;
    Var second = 0;
    $if(2 * l < n) { first = x[2 * l]; }
    $if(2 * l + 1 < n) { second = x[2 * l + 1]; }
    tile[l] = first + second;
    synchronize();
    Var step = 1;
    $while(step < group_size()) {
        Var v = tile[l];
        $if(l >= step) { v += tile[l - step]; }
        synchronize();
        tile[l] = v;
        synchronize();
        step *= 2;
    }
    auto before = tile[l] - first - second;
    $if(2 * l < n) {
        exclusive[2 * l] = before;
        inclusive[2 * l] = before + first;
    }
    $if(2 * l + 1 < n) {
        exclusive[2 * l + 1] = before + first;
        inclusive[2 * l + 1] = before + first + second;
    }
    $if(l == group_size() - 1) { total[0] = tile[l]; }
});

TEST(Examples, ReductionsAndScansOfEverySize) {
    Array<int> total = device().zeros<int>(1), out[2] = {device().empty<int>(257), device().empty<int>(257)};
    int group = 1;
    for (int n = 1; n <= 257; ++n) {
        while (2 * group < n) group *= 2;
        if (group > device().limits().max_group_size) break;
        std::vector<int> x, inclusive, exclusive;
        int sum = 0;
        for (int i = 0; i < n; ++i) {
            x.push_back(i * 37 % 101 - 20);
            exclusive.push_back(sum);
            inclusive.push_back(sum += x.back());
        }
        scan(ndrange(group).group(group), total, out[0], out[1], device().upload(x), n);
        EXPECT_EQ(total.get(0), sum) << n;
        EXPECT_EQ(out[0].slice(0, n).download(), inclusive) << n;
        EXPECT_EQ(out[1].slice(0, n).download(), exclusive) << n;
    }
}

}  // namespace
