// Owner computes: launches in which items own shadow elements, and launches that scatter because owners would be few or slow.
#include "tests/autodiff/derivatives.h"

#include <cmath>

#include "tests/log_capture.h"

using namespace pumice;
using suite::device;

namespace {

Array<float, 2> table(int64_t rows, int64_t columns, uint64_t seed) {
    return device().upload(suite::numbers<float>(rows * columns, seed, -1, 1)).reshape({rows, columns});
}

/// c(i, j) = sum over k from first(i, j) to end(i, j) of a(i, k) b(k, j).
template <class F> auto product(const char* name, F bounds) {
    return kernel(name, [bounds](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
        auto [i, j] = global_index<2>();
        auto [first, end] = bounds(i, j, a.size(1));
        Var sum = 0.0f;
        $for(k, range(first, end)) { sum += a(i, k) * b(k, j); }
        c(i, j) = sum;
    });
}
using Bounds = std::pair<Val<int>, Val<int>>;
const auto whole = product("whole", [](auto, auto, auto n) { return Bounds(0, n); });
const auto triangle = product("triangle", [](auto i, auto, auto n) { return Bounds(i, n); });
const auto band = product("band", [](auto i, auto, auto n) { return Bounds(max(i - 1, 0), min(i + 2, n)); });

/// Compares with sums in double on the host; returns true if items owned elements.
template <class K> bool owned(const K& kernel, int n, int m, int inner, const auto& first, const auto& end) {
    const Array<float, 2> a = table(n, inner, 1), b = table(inner, m, 2), c = table(n, m, 3), dc = table(n, m, 4),
                          da = table(n, inner, 5), db = table(inner, m, 6);
    const std::vector<float> ha = a.download(), hb = b.download(), seeds = dc.download();
    std::vector<double> wa, wb;
    for (const float v : da.download()) wa.push_back(v);
    for (const float v : db.download()) wb.push_back(v);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < m; ++j)
            for (int k = first(i); k < end(i); ++k) {
                wa[size_t(i * inner + k)] += double(seeds[size_t(i * m + j)]) * hb[size_t(k * m + j)];
                wb[size_t(k * m + j)] += double(seeds[size_t(i * m + j)]) * ha[size_t(i * inner + k)];
            }
    const std::string log = log_of([&] {
        autodiff(Reverse, kernel, ndrange(n, m), DuplicatedNoNeed(c, dc), Duplicated(a, da), Duplicated(b, db));
        device().synchronize();
    });
    const std::vector<float> ga = da.download(), gb = db.download();
    for (size_t e = 0; e < wa.size(); ++e) EXPECT_NEAR(ga[e], wa[e], 1e-4) << "a, element " << e << " on " << device().name();
    for (size_t e = 0; e < wb.size(); ++e) EXPECT_NEAR(gb[e], wb[e], 1e-4) << "b, element " << e << " on " << device().name();
    EXPECT_EQ(dc.download(), std::vector<float>(size_t(n * m), 0.0f));
    return log.find("runs by owner_computes") != std::string::npos;
}

TEST(AutodiffOwners, OfProducts) {
    const auto none = [](int) { return 0; };
    EXPECT_TRUE(owned(whole, 33, 47, 21, none, [](int) { return 21; }));
    EXPECT_TRUE(owned(whole, 1, 1, 1, none, [](int) { return 1; }));
    EXPECT_TRUE(owned(triangle, 40, 30, 40, [](int i) { return i; }, [](int) { return 40; }));
}

TEST(AutodiffOwners, NotWhereTheyAreFewOrSlow) {
    const auto none = [](int) { return 0; };
    EXPECT_FALSE(owned(whole, 3, 600, 1, none, [](int) { return 1; })) << "3 owners of a";
    EXPECT_FALSE(owned(
        band, 60, 20, 60, [](int i) { return std::max(i - 1, 0); }, [](int i) { return std::min(i + 2, 60); }))
        << "an owner would visit all rows for the sake of 3";
}

/// The adjoint of A A^T B, as a program of two launches: each has owners, and both add to the shadow of A.
TEST(AutodiffOwners, InPrograms) {
    const auto square = kernel("square", [](Out<float, 2> c, In<float, 2> a) {
        auto [i, j] = global_index<2>();
        Var sum = 0.0f;
        $for(k, range(a.size(1))) { sum += a(i, k) * a(j, k); }
        c(i, j) = sum;
    });
    const int n = 20, m = 15;
    const auto both = [&](Array<float, 2>& out, Array<float, 2>& a, Array<float, 2>& b) {
        Array<float, 2> squared = device().zeros<float>({n, n});
        square(ndrange(n, n), squared, a);
        whole(ndrange(n, m), out, squared, b);
    };
    Array<float, 2> a = table(n, 9, 1), b = table(n, m, 2), out = table(n, m, 3), tangent_a = table(n, 9, 4),
                    tangent_b = table(n, m, 5), tangent = table(n, m, 6);
    autodiff(Forward, both, Duplicated(out, tangent), Duplicated(a, tangent_a), Duplicated(b, tangent_b));
    Array<float, 2> da = device().zeros<float>({n, 9}), db = device().zeros<float>({n, m}), seeds = table(n, m, 7);
    const std::vector<float> weights = seeds.download();
    autodiff(Reverse, both, Duplicated(out, seeds), Duplicated(a, da), Duplicated(b, db));
    const auto dot = [](const std::vector<float>& x, const std::vector<float>& y) {
        double sum = 0;
        for (size_t e = 0; e < x.size(); ++e) sum += double(x[e]) * y[e];
        return sum;
    };
    const double want = dot(weights, tangent.download()),
                 got = dot(da.download(), tangent_a.download()) + dot(db.download(), tangent_b.download());
    EXPECT_NEAR(got, want, 1e-4 * std::abs(want) + 1e-3) << device().name();
}

}  // namespace
