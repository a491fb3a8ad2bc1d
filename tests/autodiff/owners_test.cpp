// Owner computes: launches in which items own shadow elements, and launches that scatter because owners would be few or slow.
#include "tests/autodiff/derivatives.h"

#include <bit>
#include <cmath>
#include <random>

#include "tests/fuzz/seeds.h"
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

/// The middle rows of a larger array, and what surrounds them.
template <int N> struct Padded {
    static constexpr int pad = 5;
    static constexpr float around = 7e-42f;  // subnormal: an addition of zero changes it where subnormals are zeros
    Array<float, N> whole, middle;

    Padded(const Device& on, std::array<int64_t, N> extents, uint64_t seed) : whole(on, padded(extents), false), middle(whole) {
        whole.fill(around);
        middle = whole.slice(pad, pad + extents[0]);
        int64_t count = 1;
        for (const int64_t e : extents) count *= e;
        middle.copy_from(suite::numbers<float>(count, seed));
    }
    static std::array<int64_t, N> padded(std::array<int64_t, N> extents) {
        extents[0] += 2 * pad;
        return extents;
    }
    /// The elements around the rows are as they were.
    bool kept() const {
        const std::vector<float> all = whole.download();
        const size_t rim = all.size() / size_t(whole.extents[0]) * pad;
        for (size_t e = 0; e < rim; ++e)
            if (std::bit_cast<uint32_t>(all[e]) != std::bit_cast<uint32_t>(around) ||
                std::bit_cast<uint32_t>(all[all.size() - 1 - e]) != std::bit_cast<uint32_t>(around))
                return false;
        return true;
    }
};

/// A product of matrices whose loads stand under conditions, because their indices may lie outside of the arrays.
struct GuardedProduct {
    using Made = Kernel<InOut<float, 2>, In<float, 2>, In<float, 2>, In<float, 3>, Val<int>>;
    std::mt19937_64 random;
    int of_x, of_z, in_x, in_z, layer, rows, columns, inner,
        beyond;  ///< beyond: items of the range beyond the arrays, along each axis
    bool ahead, layered;
    Made made;

    int roll(int n) { return int(random() % uint64_t(n)); }
    explicit GuardedProduct(uint64_t seed)
        : random(seed * 7919),
          of_x(roll(7) - 3),
          of_z(roll(7) - 3),
          in_x(roll(5) - 2),
          in_z(roll(5) - 2),
          layer(roll(6) - 2),
          rows(1 + roll(9)),
          columns(1 + roll(9)),
          inner(1 + roll(9)),
          beyond(roll(2) ? 0 : roll(7)),
          ahead(roll(2) == 0),
          layered(roll(2) == 0),
          made(kernel("guarded_product",
                      [this](InOut<float, 2> y, In<float, 2> x, In<float, 2> z, In<float, 3> w, Val<int> layer) {
                          auto [i, j] = global_index<2>();
                          const auto inside = [](const Val<int>& at, const Val<int>& extent) { return at >= 0 && at < extent; };
                          const Val<int> row = i + of_x, column = j + of_z;
                          const auto item = inside(row, x.size(0)) && inside(column, z.size(1));
                          const auto stores = inside(i, y.size(0)) && inside(j, y.size(1));
                          $if(ahead ? stores && item : stores) {
                              Var sum = 0.0f;
                              $for(k, range(y.size(0))) {
                                  const Val<int> a = k + in_x, b = k + in_z;
                                  const auto factors = item && inside(a, x.size(1)) && inside(b, z.size(0));
                                  if (layered) {
                                      $if(factors && inside(layer, w.size(0)) && inside(k, w.size(2))) {
                                          sum += x(row, a) * z(b, column) * w(layer, row, k);
                                      }
                                  } else {
                                      $if(factors) { sum += x(row, a) * z(b, column); }
                                  }
                              }
                              y(i, j) = sum;
                          }
                      })) {}

    std::vector<std::vector<float>> gradients(const Device& on) const {
        const Padded<2> y(on, {rows, columns}, 1), x(on, {rows, inner}, 2), z(on, {inner, columns}, 3),
            dy(on, {rows, columns}, 5), dx(on, {rows, inner}, 6), dz(on, {inner, columns}, 7);
        const Padded<3> w(on, {3, rows, inner}, 4), dw(on, {3, rows, inner}, 8);
        autodiff(Reverse, made, ndrange(rows + beyond, columns + beyond), Duplicated(y.middle, dy.middle),
                 Duplicated(x.middle, dx.middle), Duplicated(z.middle, dz.middle), Duplicated(w.middle, dw.middle), Const(layer));
        EXPECT_TRUE(dx.kept() && dz.kept() && dw.kept() && dy.kept()) << "elements around a shadow, on " << on.name();
        return {dy.middle.download(), dx.middle.download(), dz.middle.download(), dw.middle.download()};
    }
};

/// No item owns an element that is not there, where a condition keeps the primal within its arrays.
TEST(AutodiffOwners, OfGuardedIndices) {
    fuzz::each_seed(25, [&](uint64_t seed) {
        const GuardedProduct product(seed);
        SCOPED_TRACE(text("PUMICE_FUZZ_SEED=", seed, "\n", product.made.ir()));
        const auto want = product.gradients(Device::open("interp")), got = product.gradients(device());
        for (size_t n = 0; n < want.size(); ++n)
            for (size_t e = 0; e < want[n].size() && !testing::Test::HasFailure(); ++e)
                ASSERT_NEAR(got[n][e], want[n][e], 1e-5) << "shadow " << n << ", element " << e;
    });
}

/// Forces between all pairs of items, some of which have no element.
TEST(AutodiffOwners, OfGuardedPairs) {
    const auto pairs = kernel("guarded_pairs", [](Out<float> y, In<float> x) {
        const Val<int> i = global_index();
        Var sum = 0.0f;
        $for(j, range(y.size())) {
            $if(j < x.size()) {
                const auto d = x[j] - 0.1f * cast<float>(i);
                sum += d * d * d;
            }
        }
        y[i] = sum;
    });
    const auto gradient = [&](const Device& on) {
        const Padded<1> y(on, {300}, 1), x(on, {290}, 2), dy(on, {300}, 3), dx(on, {290}, 4);
        autodiff(Reverse, pairs, ndrange(300), Duplicated(y.middle, dy.middle), Duplicated(x.middle, dx.middle));
        EXPECT_TRUE(dx.kept() && dy.kept()) << "elements around a shadow, on " << on.name();
        return dx.middle.download();
    };
    const std::vector<float> want = gradient(Device::open("interp")), got = gradient(device());
    for (size_t e = 0; e < want.size(); ++e) ASSERT_NEAR(got[e], want[e], 2e-3 * (std::abs(want[e]) + 10)) << "element " << e;
}

}  // namespace
