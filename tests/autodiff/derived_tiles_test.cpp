// Derivatives of kernels with local memory and barriers: tiles of all shapes, nested loops, many sums.
#include "tests/autodiff/derivatives.h"

using namespace pumice;
using suite::device;
using suite::expect_derivatives;
using suite::numbers;

struct Body {
    float3 at;
    float mass;
    int kind;
    double charge;
};
PUMICE_STRUCT(Body, at, mass, kind, charge);

namespace {

template <class T> Array<T> random(int64_t n, uint64_t seed, double low = -1, double high = 1) {
    return device().upload(numbers<T>(n, seed, low, high));
}
template <class T> Array<T, 2> random(int rows, int columns, uint64_t seed) {
    return random<T>(int64_t(rows) * columns, seed).reshape({rows, columns});
}

/// c = scale * a b by tiles of `side`, padded with zeros at the end of the range and of the matrices.
template <class T> auto product_of_tiles(const std::string& name, int side) {
    return kernel(name, [side](InOut<T, 2> c, In<T, 2> a, In<T, 2> b) {
        Local<T, 8, 8> ta, tb;
        const auto at = global_index<2>(), l = local_index<2>();
        Var sum = T(0);
        $for(t, range((a.size(1) + side - 1) / side)) {
            $for(k, range(8)) {
                $if(k % side == l[1]) {
                    ta(l[0], k) = select(k < side && t * side + k < a.size(1), a(at[0], min(t * side + k, a.size(1) - 1)), T(0));
                }
                $if(k % side == l[0]) {
                    tb(k, l[1]) = select(k < side && t * side + k < b.size(0), b(min(t * side + k, b.size(0) - 1), at[1]), T(0));
                }
            }
            synchronize();
            $for(k, range(8)) { sum += ta(l[0], k) * tb(k, l[1]); }
            synchronize();
        }
        c(at[0], at[1]) += T(0.5) * sum;
    });
}

TEST(AutodiffTiles, ProductsOfTiles) {
    const auto whole = product_of_tiles<float>("product8", 8);
    expect_derivatives(whole, ndrange(16, 16).group(8, 8), random<float>(16, 16, 1), random<float>(16, 16, 2),
                       random<float>(16, 16, 3));
    expect_derivatives(whole, ndrange(8, 16).group(8, 8), random<float>(8, 16, 1), random<float>(8, 13, 2),
                       random<float>(13, 16, 3));
    const auto small = product_of_tiles<float>("product4", 4);
    expect_derivatives(small, ndrange(8, 12).group(4, 4), random<float>(8, 12, 1), random<float>(8, 6, 2),
                       random<float>(6, 12, 3));
    if (device().supports(Feature::float64))
        expect_derivatives(product_of_tiles<double>("product_double", 8), ndrange(8, 16).group(8, 8), random<double>(8, 16, 1),
                           random<double>(8, 9, 2), random<double>(9, 16, 3));
}

/// Each item computes two elements of c, so that two values of each item are used by others.
TEST(AutodiffTiles, TwoElementsAnItem) {
    const auto k = kernel("two_elements", [](Out<float, 2> c, In<float, 2> a, In<float, 2> b) {
        Local<float, 8, 8> ta, tb;
        Local<float, 8, 16> wide;
        const auto at = global_index<2>(), l = local_index<2>();
        Var first = 0.0f, second = 0.0f;
        $for(t, range(a.size(1) / 8)) {
            ta(l[0], l[1]) = a(at[0], t * 8 + l[1]), wide(l[0], l[1]) = b(t * 8 + l[0], at[1]),
                     wide(l[0], l[1] + 8) = b(t * 8 + l[0], at[1] + 8);
            tb(l[0], l[1]) = sin(a(at[0], t * 8 + l[1]));
            synchronize();
            $for(k, range(8)) { first += ta(l[0], k) * wide(k, l[1]), second += tb(l[0], 7 - k) * wide(k, l[1] + 8); }
            synchronize();
        }
        c(at[0], at[1]) = tanh(first), c(at[0], at[1] + 8) = second * first;
    });
    expect_derivatives(k, ndrange(8, 8).group(8, 8), random<float>(8, 16, 1), random<float>(8, 16, 2), random<float>(16, 16, 3));
}

/// Local memory as a ring of neighbours, written and read around barriers in nested loops, in place.
TEST(AutodiffTiles, RingsInNestedLoops) {
    const auto k = kernel("rings", [](InOut<float> y, In<float> x, In<float> w) {
        Local<float, 8> ring;
        auto i = global_index(), l = local_index();
        Var mine = x[i];
        $for(a, range(w.size())) {
            $for(b, range(2)) {
                ring[l] = mine;
                synchronize();
                auto next = ring[(l + 1) % 8], far = ring[(l + 8 - a) % 8];
                mine = tanh(mine * w[a] + next * 0.5f) + cast<float>(b) * far * next;
                synchronize();
                $for(c, range(3)) {
                    $if(c == l % 3) { ring[l] = mine * cast<float>(c + 1); }
                }
                synchronize();
                mine += 0.25f * ring[7 - l];
                synchronize();
            }
        }
        y[i] += mine;
    });
    expect_derivatives(k, ndrange(24).group(8), random<float>(24, 1), random<float>(24, 2), random<float>(3, 3));
}

/// A box of items with three axes, an element that two items share, and 64-bit indices.
TEST(AutodiffTiles, ThreeAxes) {
    const auto k = kernel("three", [](Out<float, 3> y, In<float, 3> x, In<float> p) {
        Local<float, 2, 4, 8> tile;
        const auto at = global_index<3>(), l = local_index<3>();
        tile(l[0], l[1], l[2]) = x(at[0], at[1], at[2]);
        synchronize();
        Var sum = 0.0f;
        $for(m, range(8)) {
            sum += tile(l[0], l[1], m) * p[m % p.size()] + tile(l[0], cast<int>(cast<int64_t>(m) % int64_t(4)), l[2]);
        }
        synchronize();
        y(at[0], at[1], at[2]) = sum * tile(l[0], 3 - l[1], l[2]);
    });
    const Device d = device();
    const auto cube = [&](uint64_t seed) { return random<float>(4 * 8 * 8, seed).reshape({4, 8, 8}); };
    if (!d.supports(Feature::int64)) GTEST_SKIP() << "SKIPPED: " << d.name() << " has no integers of 64 bits";
    expect_derivatives(k, ndrange(4, 8, 8).group(2, 4, 8), cube(1), cube(2), random<float>(3, 3));
}

/// Additions to shared elements after returns, breaks and conditions that split subgroups.
TEST(AutodiffTiles, SharedElementsUnderConditions) {
    const auto k = kernel("under_conditions", [](Out<float> y, In<float> x, In<float> p) {
        auto i = global_index();
        Var sum = 0.0f;
        $for(j, range(p.size())) { sum += p[j] * x[i]; }
        $if(i % 7 == 3) {
            y[i] = sum * sum;
            $return;
        }
        $for(j, range(p.size())) {
            $if(j > i % 5) { $break; }
            sum += p[j] * p[p.size() - 1 - j] * x[i];
        }
        Var n = i % 4;
        $while(n > 0) {
            sum = sum * p[1] + p[n];
            n -= 1;
        }
        $if(i % 3 == 0) {
            $for(j, range(p.size())) { sum += sin(p[j] * sum); }
        }
        y[i] = sum;
    });
    for (const int n : {1, 37, 256, 300})
        expect_derivatives(k, ndrange(n), random<float>(n, 1), random<float>(n, 2), random<float>(6, 3, 0.1, 0.5));
}

/// Pairwise loops, in float and double.
template <class T> void pairs(int n) {
    const auto k = kernel("pairs", [](Out<T> f, In<T> x, In<T> m) {
        auto i = global_index();
        auto mine = x[i];
        Var sum = T(0);
        $for(j, range(x.size())) {
            auto d = x[j] - mine;
            sum += m[j] * d / sqrt(d * d + T(0.1));
        }
        f[i] = sum;
    });
    expect_derivatives(k, ndrange(n), random<T>(n, 1), random<T>(n, 2), random<T>(n, 3));
}
TEST(AutodiffTiles, PairwiseLoops) {
    for (const int n : {5, 64, 100}) pairs<float>(n);
    if (device().supports(Feature::float64)) pairs<double>(40);
}

/// More arrays than a device can bind, with a shadow each, and sums of elements that all items read.
TEST(AutodiffTiles, ManyArrays) {
    const auto k = kernel("many", [](Out<float> y, In<float> a, In<float> b, In<float> c, In<float> d, In<float> e, In<float> f,
                                     In<float> g, In<float> h, In<float> o, In<float> p, In<float> q, In<float> r, In<float> s,
                                     In<float> t, In<float> u, In<float> v) {
        auto i = global_index();
        y[i] = a[i] * b[0] + c[i] * d[1] + e[i] * f[0] + g[i] * h[1] + o[i] * p[0] + q[i] * r[1] + s[i] * t[0] + u[i] * v[1];
        $for(j, range(3)) { y[i] += a[j] * v[j] + c[j] * u[j]; }
    });
    const auto x = [&](uint64_t seed) { return random<float>(50, seed); };
    const GradientCheck found = check_gradient(k, ndrange(50), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9), x(10), x(11),
                                               x(12), x(13), x(14), x(15), x(16), x(17));
    EXPECT_TRUE(found) << found.text();
}

/// More active scalars than push constants can hold; ranges with more groups than one dispatch takes, and empty ones.
TEST(AutodiffTiles, ManyScalarsAndGroups) {
    using V = Val<float>;
    const auto k = kernel("many_scalars", [](Out<float> y, In<float> x, V a, V b, V c, V d, V e, V f, V g, V h, Val<double> o,
                                             V p, V q, V r, V s, V t, V u, V v, V w, V z, In<float> m) {
        auto i = global_index();
        auto l = x[i];
        y[i] = a * l + b + c * l + d + e * l + f + g * l + h + cast<float>(o) * l + p + q * l + r + s * l + t + u * l + v +
               w * l + z + m[0];
    });
    const Device d = device();
    if (!d.supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << d.name() << " has no double";
    for (const int n : {0, 1, 100, 70'000}) {
        if (n > 1000 && suite::is_checking_device()) continue;
        const Array<float> y = d.zeros<float>(n), dy = d.full<float>(n, 1.0f), x = d.full<float>(n, 2.0f), dx = d.zeros<float>(n),
                           m = d.full<float>(1, 1.0f), dm = d.zeros<float>(1);
        const Active<float> one(1.0f);
        const auto all = autodiff(Reverse, k, ndrange(n).group(1), Duplicated(y, dy), Duplicated(x, dx), one, one, one, one, one,
                                  one, one, one, Active(1.0), one, one, one, one, one, one, one, one, one, Duplicated(m, dm));
        const auto [da, db, dc, dd, de, df, dg, dh, dp0, dp, dq, dr, ds, dt, du, dv, dw, dz] = all;
        for (const double twice :
             {double(da), double(dc), double(de), double(dg), double(dp0), double(dq), double(ds), double(du), double(dw)})
            EXPECT_EQ(twice, 2.0 * n);
        for (const float once : {db, dd, df, dh, dp, dr, dt, dv, dz}) EXPECT_EQ(once, float(n));
        EXPECT_EQ(dm.get(0), float(n));
        EXPECT_EQ(dx.download(), std::vector<float>(size_t(n), 9.0f));
    }
}

/// Arrays without elements: the loop over them has no iteration.
TEST(AutodiffTiles, EmptyArrays) {
    const auto k = kernel("empty", [](Out<float> y, In<float> x, In<float> p) {
        auto i = global_index();
        Var sum = x[i];
        $for(j, range(p.size())) { sum += p[j] * x[i]; }
        y[i] = sum * sum;
    });
    const Device d = device();
    const Array<float> y = d.zeros<float>(5), dy = d.full<float>(5, 1.0f), x = d.full<float>(5, 3.0f), dx = d.zeros<float>(5),
                       p = d.zeros<float>(0), dp = d.zeros<float>(0);
    autodiff(Reverse, k, ndrange(5), Duplicated(y, dy), Duplicated(x, dx), Duplicated(p, dp));
    EXPECT_EQ(dx.download(), std::vector<float>(5, 6.0f));
    autodiff(Forward, k, ndrange(5), Duplicated(y, dy), Duplicated(x, dx), Duplicated(p, dp));
    EXPECT_EQ(dy.download(), std::vector<float>(5, 36.0f));
}

/// Members of a struct that all items read, with a vector and a double, compared with separate arrays.
TEST(AutodiffTiles, StructsThatAllItemsRead) {
    const auto term = [](const Val<float>& x, const Val<float>& px, const Val<float>& py, const Val<float>& pz,
                         const Val<float>& mass, const Val<double>& charge) {
        auto u = px - x, v = py - 0.5f, w = pz + x;
        return mass / sqrt(u * u + v * v + w * w + 1.0f) + cast<float>(charge) * x;
    };
    const auto whole = kernel("shared_structs", [&](Out<float> y, In<float> x, In<Body> bodies) {
        auto i = global_index();
        Var sum = 0.0f;
        $for(j, range(bodies.size())) {
            auto b = bodies[j];
            $if(b.kind != 1) { sum += term(x[i], b.at.x, b.at.y, b.at.z, b.mass, b.charge); }
        }
        y[i] = sum;
    });
    const auto apart = kernel(
        "apart", [&](Out<float> y, In<float> x, In<float> px, In<float> py, In<float> pz, In<float> mass, In<double> charge) {
            auto i = global_index();
            Var sum = 0.0f;
            $for(j, range(px.size())) {
                $if(j % 3 != 1) { sum += term(x[i], px[j], py[j], pz[j], mass[j], charge[j]); }
            }
            y[i] = sum;
        });
    const Device d = device();
    if (!d.supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << d.name() << " has no double";
    const int n = 50, count = 7;
    const Array<float> x = random<float>(n, 1), y = d.zeros<float>(n);
    std::vector<Array<float>> parts, shadows;
    for (uint64_t p = 0; p < 4; ++p) parts.push_back(random<float>(count, 2 + p)), shadows.push_back(d.zeros<float>(count));
    const Array<double> charge = random<double>(count, 9), dcharge = d.zeros<double>(count);
    std::vector<Body> host(static_cast<size_t>(count));
    for (int j = 0; j < count; ++j) {
        const auto part = [&](size_t p) { return parts[p].get(j); };
        host[size_t(j)] = {{part(0), part(1), part(2)}, part(3), j % 3, charge.get(j)};
    }
    const Array<Body> bodies = d.upload(host), dbodies = d.upload(std::vector<Body>(size_t(count)));
    const Array<float> seed = d.full<float>(n, 1.0f), seed_too = d.full<float>(n, 1.0f), dx = d.zeros<float>(n),
                       dx_too = d.zeros<float>(n);
    autodiff(Reverse, whole, ndrange(n), Duplicated(y, seed), Duplicated(x, dx), Duplicated(bodies, dbodies));
    autodiff(Reverse, apart, ndrange(n), Duplicated(y, seed_too), Duplicated(x, dx_too), Duplicated(parts[0], shadows[0]),
             Duplicated(parts[1], shadows[1]), Duplicated(parts[2], shadows[2]), Duplicated(parts[3], shadows[3]),
             Duplicated(charge, dcharge));
    const std::vector<Body> got = dbodies.download();
    for (int j = 0; j < count; ++j) {
        const Body& b = got[size_t(j)];
        const float all[] = {b.at.x, b.at.y, b.at.z, b.mass};
        for (size_t p = 0; p < 4; ++p) EXPECT_NEAR(all[p], shadows[p].get(j), 1e-4) << j << ", " << p;
        EXPECT_NEAR(b.charge, dcharge.get(j), 1e-4) << j;
    }
    for (int i = 0; i < n; ++i) EXPECT_NEAR(dx.get(i), dx_too.get(i), 1e-4) << i;
}

/// Atomics alone read the tile: no load of it keeps its stores alive.
TEST(AutodiffTiles, NumbersThatAtomicsHandOut) {
    const auto k = kernel("handed_out", [](InOut<float> y, In<float> x) {
        Local<int, 3> counts;
        const auto i = global_index(), l = local_index();
        $if(l < 3) { counts[l] = 100 * (l + 1); }
        synchronize();
        const auto slot = atomic_add(counts[l % 2], 1), most = atomic_max(counts[2], l);
        y[i] = x[i] * x[i] * cast<float>(slot / 100) + x[i] * cast<float>(most);
    });
    expect_derivatives(k, ndrange(16).group(8), random<float>(16, 1), random<float>(16, 2));
}

}  // namespace
