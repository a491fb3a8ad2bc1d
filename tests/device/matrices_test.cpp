// Matrices, swizzles, and vectors made of parts.
#include <cmath>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

/// Entry (i, j) of an invertible matrix.
template <class M> M sample(int seed) {
    M m = M::identity();
    const int n = detail::matrix_size<M>;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) m(i, j) += 0.25f * float((i * 7 + j * 3 + seed) % 5) - 0.5f;
    return m;
}
template <class M, class F> M each_entry(F f) {
    M m;
    for (int i = 0; i < detail::matrix_size<M>; ++i)
        for (int j = 0; j < detail::matrix_size<M>; ++j) m(i, j) = f(i, j);
    return m;
}
template <class M> M host_product(const M& a, const M& b) {
    return each_entry<M>([&](int i, int j) {
        double sum = 0;
        for (int k = 0; k < detail::matrix_size<M>; ++k) sum += a(i, k) * b(k, j);
        return decltype(sum)(sum);
    });
}
template <class M> void expect_near(const M& got, const M& want, double tolerance, const char* what) {
    for (int i = 0; i < detail::matrix_size<M>; ++i)
        for (int j = 0; j < detail::matrix_size<M>; ++j)
            EXPECT_NEAR(got(i, j), want(i, j), tolerance) << what << " (" << i << ", " << j << ")";
}

template <class M> void check_matrix_maths(const char* name, double tolerance) {
    using V = detail::row_of<M>;
    const auto maths = kernel(name, [](InOut<M> out, Out<V> vectors, In<M> in, In<V> vector) {
        auto a = in[0], b = in[1];
        auto v = vector[0];
        out[0] = a * b;
        out[1] = a + b * 2 - (-a) / 2;
        out[2] = transpose(a);
        out[3] = inverse(a);
        out[4] = inverse(a) * a;
        Var c = a;
        c *= b;
        c -= a;
        c(0, 1) += 3;
        c(1, 0) = determinant(a);
        out[5] = c;
        out[6] = M::identity();
        out[6](1, 1) = a(0, 1) + 3 * Val<M>(b)(1, 0);
        vectors[0] = a * v;
        vectors[1] = v * a;
        vectors[2] = M::identity() * v;
    });
    const M a = sample<M>(1), b = sample<M>(2);
    const int n = detail::matrix_size<M>;
    V v;
    std::vector<double> host_v(size_t(n), 0.0);
    for (int i = 0; i < n; ++i)
        reinterpret_cast<std::remove_reference_t<decltype(v.x)>*>(&v)[i] = decltype(v.x)(host_v[size_t(i)] = i + 1);
    Array<M> out = device().zeros<M>(7);
    Array<V> vectors = device().zeros<V>(3);
    maths(ndrange(1), out, vectors, device().upload<M>({a, b}), device().upload<V>({v}));
    const std::vector<M> got = out.download();
    expect_near(got[0], host_product(a, b), tolerance, "product");
    expect_near(got[1], each_entry<M>([&](int i, int j) { return a(i, j) * 1.5f + b(i, j) * 2; }), tolerance, "sum");
    expect_near(got[2], each_entry<M>([&](int i, int j) { return a(j, i); }), 0, "transpose");
    expect_near(host_product(a, got[3]), M::identity(), 20 * tolerance, "inverse");
    expect_near(got[4], M::identity(), 20 * tolerance, "inverse times matrix");
    // The determinant by elimination.
    std::vector<std::vector<double>> e(size_t(n), std::vector<double>(size_t(n), 0.0));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) e[size_t(i)][size_t(j)] = a(i, j);
    double det = 1;
    for (size_t p = 0; p < size_t(n); ++p) {
        size_t pivot = p;
        for (size_t i = p + 1; i < size_t(n); ++i)
            if (std::fabs(e[i][p]) > std::fabs(e[pivot][p])) pivot = i;
        if (pivot != p) std::swap(e[p], e[pivot]), det = -det;
        det *= e[p][p];
        for (size_t i = p + 1; i < size_t(n); ++i)
            for (size_t j = size_t(n); j-- > p;) e[i][j] -= e[i][p] / e[p][p] * e[p][j];
    }
    EXPECT_GT(std::fabs(det), 1e-3) << "the sample is invertible";
    M c = host_product(a, b);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) c(i, j) -= a(i, j);
    c(0, 1) += 3;
    c(1, 0) = decltype(v.x)(det);
    expect_near(got[5], c, tolerance, "var");
    M last = M::identity();
    last(1, 1) = a(0, 1) + 3 * b(1, 0);
    expect_near(got[6], last, tolerance, "entries");
    for (int i = 0; i < n; ++i) {
        double column = 0, row = 0;
        for (int k = 0; k < n; ++k) column += a(i, k) * host_v[size_t(k)], row += a(k, i) * host_v[size_t(k)];
        const auto at = [&](int which) { return reinterpret_cast<const decltype(v.x)*>(&vectors.download()[size_t(which)])[i]; };
        EXPECT_NEAR(at(0), column, 4 * tolerance);
        EXPECT_NEAR(at(1), row, 4 * tolerance);
        EXPECT_EQ(at(2), host_v[size_t(i)]);
    }
}

TEST(Matrices, MathsOfTwoRows) { check_matrix_maths<float2x2>("maths2", 1e-5); }
TEST(Matrices, MathsOfThreeRows) { check_matrix_maths<float3x3>("maths3", 1e-5); }
TEST(Matrices, MathsOfFourRows) { check_matrix_maths<float4x4>("maths4", 1e-5); }
TEST(Matrices, MathsOfDoubles) {
    if (!device().supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: no double on " << device().name();
    check_matrix_maths<double2x2>("maths2d", 1e-13);
    check_matrix_maths<double3x3>("maths3d", 1e-13);
    check_matrix_maths<double4x4>("maths4d", 1e-13);
}

const auto parts = kernel("parts", [](Out<float4> out, In<float3> in, Val<float4x4> m) {
    auto v = in[0];
    out[0] = Val<float4>(v, 9.0f);
    out[1] = Val<float4>(swizzle<"zy">(v), swizzle<"xx">(v));
    out[2] = Val<float4>(8.0f, float2{1, 2}, v[2]);
    out[3] = swizzle<"wzyx">(m * Val<float4>(v, 1.0f));
    Var w = Val<float4>(0.0f, 0.0f, 0.0f, swizzle<"y">(v));
    w[1] = 5.0f;
    w.z += v[0];
    out[4] = w;
    out[5] = uniform(Val<float4>(m.row1));
    out[5][3] = -1.0f;
    const Val<float2x2> small(swizzle<"xy">(v), 3.0f, 4.0f);
    out[6] = Val<float4>(small.row0, small.row1);
});

TEST(Matrices, SwizzlesAndVectorsMadeOfParts) {
    Array<float4> out = device().zeros<float4>(7);
    const float4x4 m{{1, 0, 0, 10}, {0, 2, 0, 20}, {0, 0, 3, 30}, {0, 0, 0, 1}};
    parts(ndrange(1), out, device().upload<float3>({{1, 2, 3}}), m);
    const std::vector<float4> want = {{1, 2, 3, 9}, {3, 2, 1, 1},  {8, 1, 2, 3}, {1, 39, 24, 11},
                                      {0, 5, 1, 2}, {0, 2, 0, -1}, {1, 2, 3, 4}};
    EXPECT_EQ(out.download(), want);
    EXPECT_EQ(sizeof(float3x3), 36u);
}

const auto transform = function("transform", [](Val<float3x3> m, Val<float3> v) { return m * v; });
TEST(Matrices, AsArgumentsOfFunctions) {
    EXPECT_EQ(transform(float3x3{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, float3{1, 1, 2}), (float3{9, 21, 33}));
}

}  // namespace
