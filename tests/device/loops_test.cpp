// Loops whose carried values depend on each other, and loops at the ends of every integer type.
#include <array>
#include <limits>

#include "tests/device/suite.h"
#include "tests/device/types.h"

using namespace pumice;
using suite::device;

namespace {

// ---- carried values that depend on each other ----------------------------------------------------------------------

/// N values; each becomes a function of `Reads` of the others, all at once.
template <int N, int Reads> void check_cycle() {
    const auto k = kernel(text("cycle_", N, "_", Reads), [](InOut<int> out, Val<int> times) {
        auto i = global_index();
        std::vector<Var<int>> v;
        v.reserve(N);
        for (int n = 0; n < N; ++n) v.emplace_back(out[i * N + n]);
        $for(t, range(0, times)) {
            std::vector<Val<int>> next;
            for (int n = 0; n < N; ++n) {
                std::vector<Val<int>> sum{v[size_t((n + 1) % N)] * 3};
                for (int r = 2; r <= Reads; ++r) sum.push_back(sum.back() - v[size_t((n + r) % N)] * r);
                next.push_back(sum.back());
            }
            for (int n = 0; n < N; ++n) v[size_t(n)] = next[size_t(n)];
        }
        for (int n = 0; n < N; ++n) out[i * N + n] = v[size_t(n)];
    });
    const int items = 5, times = 6;
    std::vector<int> want = suite::iota<int>(items * N, 1);
    Array<int> out = device().upload(want);
    k(ndrange(items), out, times);
    for (int i = 0; i < items; ++i)
        for (int t = 0; t < times; ++t) {
            std::array<int, N> next;
            for (int n = 0; n < N; ++n) {
                unsigned sum = unsigned(want[size_t(i * N + (n + 1) % N)]) * 3;
                for (int r = 2; r <= Reads; ++r) sum -= unsigned(want[size_t(i * N + (n + r) % N)] * r);
                next[size_t(n)] = int(sum);
            }
            for (int n = 0; n < N; ++n) want[size_t(i * N + n)] = next[size_t(n)];
        }
    EXPECT_EQ(out.download(), want) << N << " values that read " << Reads << " others each";
}

TEST(Loops, CarriedValuesThatAreComputedFromEachOther) {
    check_cycle<2, 1>();
    check_cycle<3, 1>();
    check_cycle<3, 2>();
    check_cycle<4, 1>();
    check_cycle<4, 2>();
    check_cycle<4, 3>();
    check_cycle<5, 1>();
    check_cycle<5, 2>();
    check_cycle<5, 4>();
}

const auto lorenz = kernel("lorenz", [](InOut<double> state, Val<double> dt, Val<int> steps) {
    auto i = global_index();
    Var x = state[i * 3], y = state[i * 3 + 1], z = state[i * 3 + 2];
    $for(t, range(0, steps)) {
        auto dx = 10.0 * (y - x), dy = x * (28.0 - z) - y, dz = x * y - z * (8.0 / 3.0);
        x += dt * dx;
        y += dt * dy;
        z += dt * dz;
    }
    state[i * 3] = x;
    state[i * 3 + 1] = y;
    state[i * 3 + 2] = z;
});

/// Sums of neighbours in place, in a private array. A driver may compute the counter's next value, which is an index, too, before
/// it stores (codegen::Options::stale_counters).
template <class T, int... Extents> void check_neighbours_in_place(const char* type) {
    static constexpr int n = (Extents * ...), last = std::get<sizeof...(Extents) - 1>(std::array{Extents...}), rows = n / last;
    const auto k = kernel(text("neighbours_", type, "_", n), [](InOut<int> x, Val<int> sums) {
        auto i = global_index();
        Private<T, Extents...> v;
        const auto at = [&](Val<int> row, Val<int> place) -> decltype(auto) {
            if constexpr (sizeof...(Extents) == 1)
                return v[place];
            else
                return v(row, place);
        };
        for (int row = 0; row < rows; ++row) {
            $for(p, range(last)) { at(row, p) = cast<T>(x[i * n + row * last + p]); }
            $for(p, range(sums)) { at(row, p) = at(row, p) + at(row, p + 1); }
            $for(p, range(sums)) {
                auto a = at(row, p), b = at(row, p + 1);
                at(row, p) = min(a, b), at(row, p + 1) = max(a, b);
            }
            $for(p, range(last)) { x[i * n + row * last + p] = cast<int>(at(row, p)); }
        }
    });
    const int items = 3, sums = last - 2;
    std::vector<int> want = suite::iota<int>(items * n, 1);
    for (int& w : want) w = w * 7 % 11;
    Array<int> x = device().upload(want);
    k(ndrange(items), x, sums);
    for (int row = 0; row < items * rows; ++row) {
        int* const v = want.data() + row * last;
        for (int p = 0; p < sums; ++p) v[p] += v[p + 1];
        for (int p = 0; p < sums; ++p)
            if (v[p] > v[p + 1]) std::swap(v[p], v[p + 1]);
    }
    EXPECT_EQ(x.download(), want) << type << ", " << n << " elements";
}

TEST(Loops, PrivateArraysThatChangeInPlace) {
    check_neighbours_in_place<int, 7>("int");
    check_neighbours_in_place<int, 32>("int");
    check_neighbours_in_place<int, 33>("int");
    check_neighbours_in_place<float, 70>("float");
    check_neighbours_in_place<float, 1, 40>("float");
    check_neighbours_in_place<int, 2, 40>("int");
}

TEST(Loops, LorenzAttractor) {
    NEEDS(float64, "double");
    std::vector<double> want{1, 1, 1, -2, 0.5, 20};
    Array<double> state = device().upload(want);
    const double dt = 0.001;
    lorenz(ndrange(2), state, dt, 100);
    for (size_t i = 0; i < 2; ++i)
        for (int t = 0; t < 100; ++t) {
            double &x = want[i * 3], &y = want[i * 3 + 1], &z = want[i * 3 + 2];
            const double dx = 10.0 * (y - x), dy = x * (28.0 - z) - y, dz = x * y - z * (8.0 / 3.0);
            x += dt * dx;
            y += dt * dy;
            z += dt * dz;
        }
    const std::vector<double> got = state.download();
    for (size_t n = 0; n < want.size(); ++n) EXPECT_NEAR(got[n], want[n], 1e-9) << n;
}

const auto rotating = kernel("rotating", [](InOut<float3> v, Val<float3> w, Val<int> steps) {
    auto i = global_index();
    Var p = v[i];
    Var q = v[i];
    auto m = Val<float3x3>(Val<float3>(0.0f, 1.0f, 0.0f), Val<float3>(0.0f, 0.0f, 1.0f), Val<float3>(1.0f, 0.0f, 0.0f));
    $for(t, range(0, steps)) {
        p = p + cross(p, w);
        q = m * q;
    }
    v[i] = p + q;
});

TEST(Loops, CarriedVectorsWithMatricesAndCrossProducts) {
    const float3 w{1, -2, 3};
    Array<float3> v = device().upload(std::vector<float3>{{1, 2, 3}, {-4, 5, 0}});
    rotating(ndrange(2), v, w, 4);
    const std::vector<float3> got = v.download(), start{{1, 2, 3}, {-4, 5, 0}};
    for (size_t i = 0; i < 2; ++i) {
        float3 p = start[i], q = start[i];
        for (int t = 0; t < 4; ++t) {
            p = {p.x + p.y * w.z - p.z * w.y, p.y + p.z * w.x - p.x * w.z, p.z + p.x * w.y - p.y * w.x};
            q = {q.z, q.x, q.y};  // m has columns e_y, e_z, e_x
        }
        // Whole numbers far below 2^24 are exact. The fourth power of the permutation is itself or its inverse.
        const float3 other{start[i].y, start[i].z, start[i].x};
        EXPECT_TRUE(got[i] == (float3{p.x + q.x, p.y + q.y, p.z + q.z}) ||
                    got[i] == (float3{p.x + other.x, p.y + other.y, p.z + other.z}))
            << i;
    }
}

// ---- the ends of the types -----------------------------------------------------------------------------------------

constexpr int most_times = 9;

struct Counted {
    int times;
    uint64_t sum;  ///< of the indices
};

/// The iterations of a loop, computed with integers that hold any sum of two values of T; at most most_times iterations.
template <class T> Counted expected(T from, T to, T by) {
    using Wide = __int128;
    Counted c{0, 0};
    for (Wide i = from; c.times < most_times && (by > 0 ? i < Wide(to) : by < 0 && i > Wide(to)); i += by) {
        if (i < Wide(std::numeric_limits<T>::min()) || i > Wide(std::numeric_limits<T>::max())) break;
        ++c.times;
        c.sum += uint64_t(T(i));
    }
    return c;
}

template <class T> struct Extremes {
    using L = std::numeric_limits<T>;
    static constexpr T least = L::min(), most = L::max();
    const std::vector<T> steps{T(0),        T(1), T(2),         T(3), T(-1), T(-2), T(most / 2), T(most / 2 + 1),
                               T(most - 1), most, T(least + 1), least};
    const std::vector<std::array<T, 2>> bounds{
        {least, most},       {most, least},       {T(0), T(6)},          {T(6), T(0)},
        {T(most - 5), most}, {T(1), T(most - 1)}, {T(least + 5), least}, {T(most - 1), T(least + 1)}};
};

/// Counts the iterations of a loop and sums up its indices.
const auto count = [](Out<int> times, Out<uint64_t> sums, Val<int> at, auto from, auto to, auto by) {
    Var n = Val<int>(0);
    Var sum = Val<uint64_t>(0);
    $for(i, range(from, to, by)) {
        sum += cast<uint64_t>(i);
        n += 1;
        $if(n >= most_times) { $break; }
    }
    times[at] = n;
    sums[at] = sum;
};

template <class T> void check_ends(const char* name) {
    if (!suite::has_type<T>()) return;
    const Extremes<T> all;
    const int steps = int(all.steps.size()), bounds = int(all.bounds.size());
    std::vector<T> from, to;
    for (const auto& b : all.bounds) from.push_back(b[0]), to.push_back(b[1]);
    const Array<T> f = device().upload(from), t = device().upload(to), s = device().upload(all.steps);
    const auto check = [&](const char* what, auto&& launch, auto&& runs) {
        Array<int> times = device().zeros<int>(bounds * steps);
        Array<uint64_t> sums = device().zeros<uint64_t>(bounds * steps);
        launch(times, sums);
        const std::vector<int> n = times.download();
        const std::vector<uint64_t> sum = sums.download();
        for (int l = 0; l < bounds * steps; ++l) {
            if (!runs(l)) continue;
            const auto [from, to] = all.bounds[size_t(l / steps)];
            const T by = all.steps[size_t(l % steps)];
            const Counted want = expected<T>(from, to, by);
            EXPECT_EQ(n[size_t(l)], want.times) << name << ", " << what << ": from " << +from << " to " << +to << " by " << +by;
            EXPECT_EQ(sum[size_t(l)], want.sum) << name << ", " << what << ": from " << +from << " to " << +to << " by " << +by;
        }
    };
    const auto always = [](int) { return true; };
    check(
        "from memory",
        [&](Array<int>& times, Array<uint64_t>& sums) {
            kernel(text("ends_", name), [=](Out<int> times, Out<uint64_t> sums, In<T> from, In<T> to, In<T> by) {
                auto [b, s] = global_index<2>();
                count(times, sums, b * steps + s, from[b], to[b], by[s]);
            })(ndrange(bounds, steps), times, sums, f, t, s);
        },
        always);
    check(
        "by a constant step",
        [&](Array<int>& times, Array<uint64_t>& sums) {
            kernel(text("ends_by_constants_", name), [&](Out<int> times, Out<uint64_t> sums, In<T> from, In<T> to) {
                auto b = global_index();
                for (int s = 0; s < steps; ++s) count(times, sums, b * steps + s, from[b], to[b], Val<T>(all.steps[size_t(s)]));
            })(ndrange(bounds), times, sums, f, t);
        },
        always);
    // A sample of the loops: drivers take long to compile many.
    const auto some = [&](int l) { return (l % steps + 3 * (l / steps)) % 6 == 0; };
    check(
        "of constants",
        [&](Array<int>& times, Array<uint64_t>& sums) {
            kernel(text("ends_of_constants_", name), [&](Out<int> times, Out<uint64_t> sums) {
                for (int l = 0; l < bounds * steps; ++l) {
                    const auto [from, to] = all.bounds[size_t(l / steps)];
                    if (some(l)) count(times, sums, Val<int>(l), Val<T>(from), Val<T>(to), Val<T>(all.steps[size_t(l % steps)]));
                }
            })(ndrange(1), times, sums);
        },
        some);
}

TEST(Loops, EndsOfTypesOf8And16Bits) {
    check_ends<int8_t>("i8");
    check_ends<uint8_t>("u8");
    check_ends<int16_t>("i16");
    check_ends<uint16_t>("u16");
}
TEST(Loops, EndsOfTypesOf32Bits) {
    check_ends<int32_t>("i32");
    check_ends<uint32_t>("u32");
}
TEST(Loops, EndsOfTypesOf64Bits) {
    check_ends<int64_t>("i64");
    check_ends<uint64_t>("u64");
}

// ---- many iterations -----------------------------------------------------------------------------------------------

/// Runs and compares; a device that ends loops by itself may report an error instead, but must not give a wrong result.
template <class F> void right_or_refused(const Array<int>& out, const std::vector<int>& want, bool within_limits, F&& launch) {
    try {
        launch();
        EXPECT_EQ(out.download(), want);
    } catch (const Error& e) {
        const std::string said = e.what();
        EXPECT_FALSE(within_limits) << said;
        EXPECT_NE(device().name().find("llvmpipe"), std::string::npos) << said;
        EXPECT_NE(said.find("the loops of a work-item make fewer than 65,535 iterations in all, after which " + device().name()),
                  std::string::npos)
            << said;
        EXPECT_NE(said.find("loops_test.cpp:"), std::string::npos) << said;
        EXPECT_THROW(throw e, Error);
        const std::vector<int> after = suite::iota<int>(5);
        EXPECT_EQ(device().upload(after).download(), after) << "the device still works";
    }
}

const auto nested_loops = kernel("nested_loops", [](Out<int> out, Val<int> n, Val<int> m) {
    auto i = global_index();
    Var sum = i;
    $for(a, range(n)) {
        $for(b, range(m)) { sum = sum * 3 + (a ^ b); }
    }
    out[i] = sum;
});

TEST(Loops, ManyIterationsAreRightOrRefused) {
    constexpr int items = 19;
    for (const auto& [n, m] : {std::pair{1, 60000}, {250, 250}, {1, 65600}, {400, 440}, {100000, 2}}) {
        std::vector<int> want(items);
        for (int i = 0; i < items; ++i) {
            unsigned sum = unsigned(i);
            for (int a = 0; a < n; ++a)
                for (int b = 0; b < m; ++b) sum = sum * 3 + unsigned(a ^ b);
            want[size_t(i)] = int(sum);
        }
        Array<int> out = device().zeros<int>(items);
        right_or_refused(out, want, n * (m + 1) < 65500, [&, n = n, m = m] { nested_loops(ndrange(items), out, n, m); });
    }
}

// Each item makes some 13,000 iterations, at other times than its neighbours.
const auto one_after_another = kernel("one_after_another", [](Out<int> out, Val<int> n) {
    auto i = global_index();
    Var sum = 0;
    $for(a, range(16)) {
        $if(a == i) {
            Var left = n + i;
            $while(left > 0) {
                sum += left ^ i;
                left -= 1;
            }
        }
    }
    out[i] = sum;
});

TEST(Loops, ManyIterationsOfItemsThatTakeTurns) {
    constexpr int items = 16, n = 13000;
    std::vector<int> want(items);
    for (int i = 0; i < items; ++i)
        for (int left = n + i; left > 0; --left) want[size_t(i)] = int(unsigned(want[size_t(i)]) + unsigned(left ^ i));
    Array<int> out = device().zeros<int>(items);
    right_or_refused(out, want, false, [&] { one_after_another(ndrange(items), out, n); });
}

const auto returning = kernel("returning", [](Out<int> out, Val<int> n) {
    auto i = global_index();
    Var sum = 0;
    $for(a, range(n)) { sum += a & i; }
    $if(i % 2 == 0) {
        out[i] = sum;
        $return;
    }
    out[i] = sum + 1;
});

TEST(Loops, ManyIterationsBeforeAReturn) {
    constexpr int items = 8, n = 90000;
    // Only items that return early.
    const auto even = kernel("returning_all", [](Out<int> out, Val<int> n) {
        auto i = global_index();
        Var sum = 0;
        $for(a, range(n)) {
            sum += a & i;
            $if(a == n - 1) {
                out[i] = sum;
                $return;
            }
        }
        $if(sum > -1) {
            out[i] = sum;
            $return;
        }
        out[i] = 0;
    });
    std::vector<int> want(items);
    for (int i = 0; i < items; ++i)
        for (int a = 0; a < n; ++a) want[size_t(i)] += a & i;
    Array<int> out = device().zeros<int>(items);
    right_or_refused(out, want, false, [&] { even(ndrange(items), out, n); });
    for (int i = 1; i < items; i += 2) ++want[size_t(i)];
    right_or_refused(out, want, false, [&] { returning(ndrange(items), out, n); });
}

// Barriers, local memory and atomics in the same kernel.
const auto with_barriers = kernel("with_barriers", static_group<16>, [](InOut<int> out, Val<int> n) {
    Local<int, 16> tile;
    auto l = local_index();
    tile[l] = l;
    synchronize();
    Var sum = 0;
    $for(a, range(n)) {
        sum += tile[(l + a) % 16];
        $if(a % 4096 == 0) { sum += 1; }
    }
    synchronize();
    atomic_add(out[0], sum);
});

TEST(Loops, ManyIterationsBetweenBarriers) {
    for (const int n : {50000, 80000}) {
        int want = 0;
        for (int l = 0; l < 16; ++l)
            for (int a = 0; a < n; ++a) want += (l + a) % 16 + (a % 4096 == 0);
        Array<int> out = device().zeros<int>(1);
        right_or_refused(out, {want}, n < 65500, [&] { with_barriers(ndrange(16), out, n); });
    }
}

/// The copies of an unrolled body round like the body.
TEST(Loops, StrictMathsHoldsInUnrolledLoops) {
    const auto quotients = kernel("quotients", Math::strict, [](InOut<float> x) {
        auto i = global_index();
        Private<float, 2> kept;
        $for(j, range(0, 2)) { kept[j] = x[i] + cast<float>(j); }
        Var sum = 0.0f;
        $for(j, range(0, 5).unroll()) { sum = kept[1] / 4.75f - sum * cast<float>(j); }
        x[i] = sum;
    });
    std::vector<float> x(64), want;
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = 1 + float(i) * 0.37f;
        float sum = 0;
        for (int j = 0; j < 5; ++j) {
            const volatile float product = sum * float(j);  // not fused with the difference
            sum = (x[i] + 1) / 4.75f - product;
        }
        want.push_back(sum);
    }
    Array<float> a = device().upload(x);
    quotients(ndrange(64), a);
    EXPECT_EQ(a.download(), want);
}

/// Functions of constants, and of carried values that begin as constants, in the condition or in the result of a loop.
TEST(Loops, StrictMathsCarriesResultsOfFunctions) {
    const auto functions = kernel("functions", Math::strict, [](Out<float> x, Out<int32_t> n, Val<int32_t> times) {
        Var floored = 4.0f, root = 65536.0f, rounded = 1.0f, largest = 3.5f, once = 1.0f;
        Var least = 9;
        Var<uint32_t> sum = 5u;
        $for(i, range(times)) {
            floored = floor(floored * 0.75f);
            root = sqrt(root);
            rounded = trunc(rounded * 2.5f);
            largest = max(largest, 5.0f);
            least = min(least, 4);
        }
        $if(times > 1) { once = floor(Val<float>(1.5f)) + 3.0f; }
        Var steps = 0;
        $for(i, range(Val<uint32_t>(5u), Val<uint32_t>(14u), Val<uint32_t>(0xfffffffcu))) {
            steps += 1;
            x[5] = 1.5f;
            $if(steps > 8) { $break; }
        }
        $while(sum < 14u && steps < 40) {
            sum += min(Val<uint32_t>(4u), 14u - sum);
            steps += 1;
        }
        x[0] = floored, x[1] = root, x[2] = rounded, x[3] = largest, x[4] = once;
        n[0] = least, n[1] = steps, n[2] = cast<int32_t>(sum);
    });
    Array<float> x = device().zeros<float>(6);
    Array<int32_t> n = device().zeros<int32_t>(3);
    functions(ndrange(1), x, n, 3);
    EXPECT_EQ(x.download(), (std::vector<float>{1, 4, 12, 5, 4, 1.5f}));
    EXPECT_EQ(n.download(), (std::vector<int32_t>{4, 4, 14}));
}

}  // namespace
