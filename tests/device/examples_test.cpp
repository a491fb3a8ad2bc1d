// Whole algorithms against host loops. Numbers in the names are those of shared/cases/kernels.md.
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
    $for (k, range(0, a.size(1))) { sum += a(i, k) * b(k, j); }
    c(i, j) = sum;
});

/// Items past the range still load the tiles' halves that their group needs, so this one guards itself.
const auto matmul_tiled = kernel("matmul_tiled", whole_groups, [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
    Local<float, 16, 17> ta, tb;
    auto [i, j] = global_index<2>();
    auto [y, x] = local_index<2>();
    Var sum = 0.0f;
    $for (t, range(0, (a.size(1) + 15) / 16)) {
        auto ka = t * 16 + x, kb = t * 16 + y;
        ta(y, x) = 0.0f;
        tb(y, x) = 0.0f;
        $if (i < a.size(0) && ka < a.size(1)) { ta(y, x) = a(i, ka); }
        $if (kb < b.size(0) && j < b.size(1)) { tb(y, x) = b(kb, j); }
        synchronize();
        for (int k = 0; k < 16; ++k) sum += ta(y, k) * tb(k, x);
        synchronize();
    }
    $if (in_range()) { c(i, j) = sum; }
});

TEST(Examples, Case33_Matmul) {
    const int n = 64, m = 35, l = 45;
    const std::vector<float> a = noise(n * m), b = noise(m * l);
    std::vector<float> want(n * l);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < l; ++j) {
            double sum = 0;
            for (int k = 0; k < m; ++k) sum += double(a[i * m + k]) * b[k * l + j];
            want[i * l + j] = float(sum);
        }
    const Device d = device();
    Array<float, 2> da = d.upload(a, {n, m}), db = d.upload(b, {m, l}), dc = d.zeros<float>({n, l});
    matmul(ndrange(n, l), dc, da, db);
    const auto check = [&](const char* what) {
        const std::vector<float> got = dc.download();
        for (int i = 0; i < n * l; ++i) ASSERT_NEAR(got[i], want[i], 1e-5) << what << " at " << i;
    };
    check("naive");
    dc.fill(0);
    matmul_tiled(ndrange(n, l).group(16, 16), dc, da, db);
    check("tiled");
}

const auto transpose = kernel("transpose", [](Out<int, 2> b, In<int, 2> a) {
    Local<int, 16, 17> tile;
    auto [i, j] = global_index<2>();
    auto [y, x] = local_index<2>();
    auto [gi, gj] = group_index<2>();
    tile(y, x) = a(i, j);
    synchronize();
    b(gj * 16 + y, gi * 16 + x) = tile(x, y);
});

TEST(Examples, Case34_Transpose) {
    const int n = 64, m = 32;
    Array<int, 2> a = device().upload(suite::iota<int>(n * m), {n, m}), b = device().zeros<int>({m, n});
    transpose(ndrange(n, m).group(16, 16), b, a);
    std::vector<int> want(n * m);
    for (int i = 0; i < n; ++i) for (int j = 0; j < m; ++j) want[j * n + i] = i * m + j;
    EXPECT_EQ(b.download(), want);
}

const auto finite_differences = kernel("finite_differences", [](Out<float, 2> forward, Out<float, 2> second, Out<float, 2> mean, In<float, 2> a) {
    auto [i, j] = global_index<2>();
    forward(i, j) = a(i + 1, j) - a(i, j);
    second(i, j) = a(i, j + 1) - 2.0f * a(i, j) + a(i, j - 1);
    mean(i, j) = 0.25f * (a(i, j) + a(i + 1, j) + a(i, j + 1) + a(i + 1, j + 1));
});

TEST(Examples, Case35_FiniteDifferences) {
    const int n = 9, m = 7;
    std::vector<float> a(n * m);  // eighths: every sum below is exact
    for (int i = 0; i < n * m; ++i) a[i] = float(i * i % 41) / 8;
    Array<float, 2> da = device().upload(a, {n, m});
    Array<float, 2> f = device().zeros<float>({n, m}), s = device().zeros<float>({n, m}), e = device().zeros<float>({n, m});
    finite_differences(ndrange({1, 1}, {n - 1, m - 1}), f, s, e, da);
    std::vector<float> wf(n * m), ws(n * m), we(n * m);
    for (int i = 1; i < n - 1; ++i)
        for (int j = 1; j < m - 1; ++j) {
            const auto at = [&](int y, int x) { return a[y * m + x]; };
            wf[i * m + j] = at(i + 1, j) - at(i, j);
            ws[i * m + j] = at(i, j + 1) - 2 * at(i, j) + at(i, j - 1);
            we[i * m + j] = 0.25f * (at(i, j) + at(i + 1, j) + at(i, j + 1) + at(i + 1, j + 1));
        }
    EXPECT_EQ(f.download(), wf);
    EXPECT_EQ(s.download(), ws);
    EXPECT_EQ(e.download(), we);
}

const auto diffuse = kernel("diffuse_strict", Math::strict, [](Out<float, 3> next, In<float, 3> now, In<float, 3> c) {
    auto [i, j, k] = global_index<3>();
    next(i, j, k) = now(i, j, k) + c(i, j, k) * (now(i - 1, j, k) + now(i + 1, j, k) + now(i, j - 1, k) + now(i, j + 1, k) + now(i, j, k - 1) +
                                                 now(i, j, k + 1) - 6.0f * now(i, j, k));
});

TEST(Examples, Case36_StrictDiffusionIsExact) {
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
                volatile float sum = now[at(i - 1, j, k)];  // one rounding an operation, in the kernel's order
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

const auto scan = kernel("scan", whole_groups, [](Out<int> inclusive, In<int> x, Val<int> n) {
    Local<int, 256> tile;
    auto l = local_index();
    tile[l] = 0;
    $if (l < n) { tile[l] = x[l]; }
    synchronize();
    Var step = 1;
    $while (step < n) {
        Var v = tile[l];
        $if (l >= step) { v += tile[l - step]; }
        synchronize();
        tile[l] = v;
        synchronize();
        step *= 2;
    }
    $if (l < n) { inclusive[l] = tile[l]; }
});

TEST(Examples, Case38_ScansOfEverySize) {
    const int g = suite::at_most_group(256);
    for (const int n : {1, 2, 3, 5, 8, 17, 64, 100, 255, 256}) {
        if (n > g) continue;
        Array<int> x = device().upload(suite::iota<int>(n, 1)), out = device().zeros<int>(n);
        scan(ndrange(g).group(g), out, x, n);
        std::vector<int> want(n);
        for (int i = 0; i < n; ++i) want[i] = (i + 1) * (i + 2) / 2;
        EXPECT_EQ(out.download(), want) << n;
    }
}

}  // namespace
