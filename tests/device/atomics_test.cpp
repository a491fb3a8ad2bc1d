// Atomics that a device may compose of others: on small types, on 64 bits, and on small members of structs. Also bools in
// structs, which share words with their neighbours on devices whose buffers hold no bytes.
#include <cmath>
#include <limits>

#include "tests/device/types.h"

using namespace pumice;
using suite::device;
using suite::has_type;

namespace atomics_test {
struct Wide {
    int calls;
    double mass;
    uint64_t bits;
};
struct Small {
    float weight;
    int8_t low;
    uint8_t high;
    int16_t sum;
    int calls;
    uint16_t last;
};
struct Flags {
    bool a, b, c;
};
struct Marked {
    bool first;
    float x;
    bool on, off;
    int n;
    int64_t wide;
    bool last;
};
}  // namespace atomics_test
PUMICE_STRUCT(atomics_test::Wide, calls, mass, bits);
PUMICE_STRUCT(atomics_test::Small, weight, low, high, sum, calls, last);
PUMICE_STRUCT(atomics_test::Flags, a, b, c);
PUMICE_STRUCT(atomics_test::Marked, first, x, on, off, n, wide, last);

namespace {
using namespace atomics_test;

constexpr int items = 4096, places = 3;

/// Many groups update few elements. The results do not depend on the order, and both halves of the numbers change.
template <class T> void every_operation(const char* name) {
    SCOPED_TRACE(name);
    const T step = std::is_integral_v<T> ? T(0x1'0000'0003ll) : T(0x4000'0003ll);  // a double holds the sums exactly
    const auto k = kernel(name, [=](InOut<T, 2> a, Out<T> olds) {
        auto i = global_index();
        const Val<int> at = i % places;
        const Val<T> wide = cast<T>(i) * step;
        atomic_add(a(0, at), wide);
        atomic_sub(a(1, at), wide);
        atomic_min(a(2, at), wide);
        atomic_max(a(3, at), wide);
        olds[i] = atomic_add(a(4, at), T(1));
        const Val<T> seen_last = atomic_exchange(a(5, at), wide);
        atomic_add(a(6, at), seen_last);
        // Additions by compare-and-exchange.
        Var seen = T(0);
        Var done = i < 0;
        $while(!done) {
            const Val<T> before = atomic_compare_exchange(a(7, at), seen, seen + T(2));
            done = before == seen;
            seen = before;
        }
        if constexpr (std::is_integral_v<T>) {
            atomic_and(a(8, at), ~(Val<T>(T(1)) << cast<T>(i % 60)));
            atomic_or(a(9, at), Val<T>(T(1)) << cast<T>(i % 60));
            atomic_xor(a(10, at), wide);
        }
    });
    std::vector<T> start(11 * places, T(0));
    for (int p = 0; p < places; ++p)
        start[size_t(2 * places + p)] = std::numeric_limits<T>::max(), start[size_t(8 * places + p)] = T(-1);
    Array<T, 2> a = device().upload(start, {11, places});
    Array<T> olds = device().template zeros<T>(items);
    k(ndrange(items).group(64), a, olds);
    const std::vector<T> got = a.download();
    std::vector<T> before = olds.download();
    for (int p = 0; p < places; ++p) {
        T sum = 0, count = 0, both = T(-1), either = 0, odd = 0, last = T(0);
        std::vector<T> mine;
        for (int i = p; i < items; i += places) {
            const T wide = T(i) * step;
            sum = T(sum + wide), count = T(count + 1), last = wide;
            mine.push_back(before[size_t(i)]);
            if constexpr (std::is_integral_v<T>) both &= T(~(T(1) << (i % 60))), either |= T(1) << (i % 60), odd ^= wide;
        }
        std::sort(mine.begin(), mine.end());
        for (size_t n = 0; n < mine.size(); ++n) ASSERT_EQ(mine[n], T(n)) << "two saw the same";
        const auto row = [&](int r) { return got[size_t(r * places + p)]; };
        EXPECT_EQ(row(0), sum);
        EXPECT_EQ(row(1), T(T(0) - sum));
        EXPECT_EQ(row(2), T(p) * step);
        EXPECT_EQ(row(3), last);
        EXPECT_EQ(row(4), count);
        EXPECT_EQ(T(row(5) + row(6)), sum) << "an exchange was lost";
        EXPECT_EQ(row(7), T(2 * count));
        if (!std::is_integral_v<T>) continue;
        EXPECT_EQ(row(8), both);
        EXPECT_EQ(row(9), either);
        EXPECT_EQ(row(10), odd);
    }
}

TEST(Atomics, EveryOperationOn64Bits) {
    every_operation<int64_t>("every_i64");
    every_operation<uint64_t>("every_u64");
    if (device().supports(Feature::float64)) every_operation<double>("every_f64");
}

TEST(Atomics, NegativeNumbersOn64Bits) {
    const auto k = kernel("below", [](InOut<int64_t> a) {
        auto i = global_index();
        const Val<int64_t> v = (cast<int64_t>(i) - 100) * int64_t(0x1'0000'0003ll);
        atomic_min(a[0], v);
        atomic_max(a[1], -v);
        atomic_add(a[2], v);
    });
    Array<int64_t> a = device().zeros<int64_t>(3);
    k(ndrange(150), a);
    const int64_t step = 0x1'0000'0003ll;
    EXPECT_EQ(a.download(), (std::vector<int64_t>{-100 * step, 100 * step, (150 * 149 / 2 - 150 * 100) * step}));
}

// Items of several groups, local and global memory, two dimensions: elements share a lock or have their own; no update is lost.
TEST(Atomics, WordsOf64BitsInLocalMemory) {
    const auto k = kernel("local_wide", [](InOut<uint64_t> all, Out<int64_t, 2> groups) {
        Local<int64_t, 2, 3> tile;
        auto [l, m] = local_index<2>();
        auto [g, h] = group_index<2>();
        $if(l < 2 && m < 3) { tile(l, m) = int64_t(-1); }
        synchronize();
        atomic_add(tile(l % 2, m % 3), int64_t(1) << 33);
        atomic_add(all[m % 2], uint64_t(1) << 40);
        synchronize();
        $if(l < 2 && m < 3) { groups(g * 2 + l, h * 3 + m) = tile(l, m); }
    });
    Array<uint64_t> all = device().zeros<uint64_t>(2);
    Array<int64_t, 2> groups = device().zeros<int64_t>({8, 12});
    k(ndrange(16, 24).group(4, 6), all, groups);
    EXPECT_EQ(all.download(), std::vector<uint64_t>(2, 192ull << 40));
    EXPECT_EQ(groups.download(), std::vector<int64_t>(96, (int64_t(4) << 33) - 1));
}

TEST(Atomics, MembersOf64BitWords) {
    if (!device().supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no doubles";
    const auto k = kernel("wide_members", [](InOut<Wide> a) {
        auto i = global_index();
        atomic_add(a[i % 2].calls, 1);
        atomic_add(a[i % 2].mass, cast<double>(i) + 0.5);
        atomic_max(a[i % 2].bits, cast<uint64_t>(i) << uint64_t(35));
    });
    Array<Wide> a = device().upload(std::vector<Wide>{{1, -0.25, 7}, {2, 0, 0}});
    k(ndrange(1000).group(50), a);
    const auto got = a.download();
    EXPECT_EQ(got[0].calls, 501);
    EXPECT_EQ(got[1].calls, 502);
    EXPECT_EQ(got[0].mass, 249750.0 - 0.25);
    EXPECT_EQ(got[1].mass, 250250.0);
    EXPECT_EQ(got[0].bits, uint64_t(998) << 35);
    EXPECT_EQ(got[1].bits, uint64_t(999) << 35);
}

// Bits are compared: a NaN equals a NaN of the same bits, and -0 does not equal 0.
TEST(Atomics, CompareExchangeOfDoublesComparesBits) {
    if (!device().supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no doubles";
    const auto k = kernel("swap_doubles", [](InOut<double> a) {
        const Val<double> nan = a[2];
        atomic_compare_exchange(a[0], nan, 1.0);
        atomic_compare_exchange(a[1], 0.0, 2.0);
    });
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Array<double> a = device().upload(std::vector<double>{nan, -0.0, nan});
    k(ndrange(1), a);
    const auto got = a.download();
    EXPECT_EQ(got[0], 1.0);
    EXPECT_TRUE(got[1] == 0 && std::signbit(got[1])) << got[1];
}

TEST(Atomics, MembersOf8And16Bits) {
    if (!device().supports(Feature::int8) || !device().supports(Feature::int16))
        GTEST_SKIP() << "SKIPPED: " << device().name() << " has no 8- and 16-bit integers";
    const auto k = kernel("small_members", [](InOut<Small> a, Out<Small> local) {
        Local<Small, 2> tile;
        auto i = global_index(), l = local_index();
        $if(l < 2) {
            tile[l].weight = 2.5f;
            tile[l].low = int8_t(-1);
            tile[l].high = uint8_t(255);
            tile[l].sum = int16_t(-300);
            tile[l].calls = 0;
            tile[l].last = uint16_t(9);
        }
        synchronize();
        atomic_min(a[i % 2].low, cast<int8_t>(-(i % 100)));
        atomic_max(a[i % 2].high, cast<uint8_t>(i % 250));
        atomic_add(a[i % 2].sum, int16_t(-3));
        atomic_add(a[i % 2].calls, 1);
        atomic_compare_exchange(a[i % 2].last, uint16_t(0), cast<uint16_t>(i + 1));
        atomic_sub(tile[l % 2].sum, int16_t(-1));
        atomic_and(tile[l % 2].high, uint8_t(0x5f));
        synchronize();
        $if(i < 2) { local[i] = tile[l]; }
    });
    Array<Small> a = device().upload(std::vector<Small>{{1, 0, 0, 0, 0, 7}, {2, 0, 0, 0, 0, 0}}),
                 local = device().zeros<Small>(2);
    k(ndrange(1000).group(40), a, local);
    const auto got = a.download(), shared = local.download();
    for (int p = 0; p < 2; ++p) {
        const Small &g = got[size_t(p)], &s = shared[size_t(p)];
        EXPECT_EQ(g.weight, float(p + 1));
        EXPECT_EQ(g.low, -98 - p);
        EXPECT_EQ(g.high, 248 + p);
        EXPECT_EQ(g.sum, -1500);
        EXPECT_EQ(g.calls, 500);
        EXPECT_TRUE(p == 0 ? g.last == 7 : g.last % 2 == 0 && g.last > 0) << g.last;
        EXPECT_EQ(s.weight, 2.5f);
        EXPECT_EQ(s.low, -1);
        EXPECT_EQ(s.high, 0x5f);
        EXPECT_EQ(s.sum, -280);
        EXPECT_EQ(s.last, 9);
    }
}

// Each item writes one bool of a struct; other items write the bools beside it in the same word.
TEST(Structs, BoolsOfAStructAreWrittenApart) {
    const auto k = kernel("flags", [](InOut<Flags> f, Out<int> seen) {
        auto i = global_index();
        const Val<int> n = i / 3;
        $if(i % 3 == 0) { f[n].a = n % 2 == 0; }
        $elif(i % 3 == 1) {
            f[n].b = !f[n].b;
            seen[n] = cast<int>(f[n].b);
        }
        $else { f[n].c = n > 10; }
    });
    const int n = 101;
    std::vector<Flags> host(n);
    for (int i = 0; i < n; ++i) host[size_t(i)] = {true, i % 5 == 0, true};
    Array<Flags> f = device().upload(host);
    Array<int> seen = device().zeros<int>(n);
    k(ndrange(3 * n), f, seen);
    const auto got = f.download();
    const auto saw = seen.download();
    for (int i = 0; i < n; ++i) {
        EXPECT_EQ(got[size_t(i)].a, i % 2 == 0) << i;
        EXPECT_EQ(got[size_t(i)].b, i % 5 != 0) << i;
        EXPECT_EQ(got[size_t(i)].c, i > 10) << i;
        EXPECT_EQ(saw[size_t(i)], i % 5 != 0) << i;
    }
}

TEST(Structs, BoolsAmongOtherMembers) {
    const auto k = kernel("marked", [](InOut<Marked> m, In<Marked> from) {
        auto i = global_index();
        Var<Marked> mine = from[i];
        $if(mine.first) { mine.n += 5; }
        m[i] = mine;
        m[i].off = mine.on && !mine.off;
        m[i].last = !m[i].last;
        m[i].x = mine.x * 2.0f;
        atomic_add(m[i].n, 1);
        atomic_max(m[i].n, -4);
        atomic_add(m[i].wide, int64_t(1) << 34);
    });
    const int n = 40;
    std::vector<Marked> host(n);
    for (int i = 0; i < n; ++i) host[size_t(i)] = {i % 2 == 0, float(i), i % 3 == 0, i % 6 == 0, -i, i, i % 4 == 0};
    Array<Marked> m = device().zeros<Marked>(n);
    k(ndrange(n), m, device().upload(host));
    const auto got = m.download();
    for (int i = 0; i < n; ++i) {
        const Marked &g = got[size_t(i)], &h = host[size_t(i)];
        EXPECT_EQ(g.first, h.first) << i;
        EXPECT_EQ(g.x, 2 * h.x) << i;
        EXPECT_EQ(g.on, h.on) << i;
        EXPECT_EQ(g.off, h.on && !h.off) << i;
        EXPECT_EQ(g.n, std::max(h.n + (h.first ? 5 : 0) + 1, -4)) << i;
        EXPECT_EQ(g.wide, h.wide + (int64_t(1) << 34)) << i;
        EXPECT_EQ(g.last, !h.last) << i;
    }
}

/// All items of several groups add to few neighbouring elements; the sum shows a lost update. Also in local memory.
template <class T> void sums_in_neighbours(const char* name, int items) {
    SCOPED_TRACE(name);
    const auto k = kernel(name, [](InOut<T> a, InOut<T> largest, Out<T> local_sums) {
        Local<T, 3> local;
        auto i = global_index(), l = local_index();
        $if(l < 3) { local[l] = cast<T>(l - l); }
        synchronize();
        atomic_add(a[i % 3], cast<T>(1 + i % 2));
        atomic_max(largest[i % 2], cast<T>(i % 100));
        atomic_add(local[l % 3], cast<T>(1 + l - l));
        synchronize();
        $if(l < 3) { local_sums[group_index() * 3 + l] = local[l]; }
    });
    Array<T> a = device().template zeros<T>(3), largest = device().template zeros<T>(2), local = device().template zeros<T>(6);
    k(ndrange(items).group(items / 2), a, largest, local);
    const auto got = a.download(), most = largest.download(), sums = local.download();
    int want[3] = {}, in_group[3] = {}, high[2] = {};
    for (int i = 0; i < items; ++i) want[i % 3] += 1 + i % 2, high[i % 2] = std::max(high[i % 2], i % 100);
    for (int i = 0; i < items / 2; ++i) ++in_group[i % 3];
    for (int i = 0; i < 3; ++i) EXPECT_EQ(double(float(got[size_t(i)])), want[i]) << i;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(double(float(most[size_t(i)])), high[i]) << i;
    for (int i = 0; i < 6; ++i) EXPECT_EQ(double(float(sums[size_t(i)])), in_group[i % 3]) << i;
}

TEST(Types, AtomicsOnSmallTypes) {
    if (has_type<int8_t>()) sums_in_neighbours<int8_t>("atomics_i8", 128), sums_in_neighbours<uint8_t>("atomics_u8", 128);
    if (has_type<int16_t>()) sums_in_neighbours<int16_t>("atomics_i16", 256), sums_in_neighbours<uint16_t>("atomics_u16", 256);
    if (has_type<half>()) sums_in_neighbours<half>("atomics_f16", 256);
    sums_in_neighbours<bfloat16>("atomics_bf16", 256);
}

TEST(Types, AtomicsOn64Bits) {
    sums_in_neighbours<int64_t>("atomics_i64", 256);
    sums_in_neighbours<uint64_t>("atomics_u64", 256);
    if (has_type<double>()) sums_in_neighbours<double>("atomics_f64", 256);
}

// Flags as in a search: several items store the same value, or update it atomically.
TEST(Types, FlagsThatSeveralItemsSetDoNotRace) {
    const auto k = kernel("found", [](InOut<bool> over, InOut<int> any, In<int> x) {
        auto i = global_index();
        $if(x[i] == 7) {
            over[0] = true;
            any[1] = 7;
        }
        $if(x[i] > 100) { over[1] = true; }
    });
    std::vector<int> host(300);
    for (int i = 0; i < 300; ++i) host[size_t(i)] = i % 10;
    Array<bool> over = device().zeros<bool>(3);
    Array<int> any = device().zeros<int>(3);
    k(ndrange(300).group(64), over, any, device().upload(host));
    EXPECT_EQ(over.download(), (std::vector<bool>{true, false, false}));
    EXPECT_EQ(any.download(), (std::vector<int>{0, 7, 0}));
}

TEST(Types, AtomicsOnBools) {
    const int items = 128;
    const auto k = kernel("atomics_bool", [](InOut<bool> a, Out<int> first, Out<bool> local_flags, InOut<int> counts) {
        auto i = global_index();
        auto l = local_index();
        Local<bool, 5> local;
        Local<int, 1> taken;
        $if(l < 5) { local[l] = l == 1; }
        $if(l == 0) { taken[0] = 0; }
        // Of the items that exchange, one finds the flag unset; of the items that compare, one wins.
        first[i] = select(atomic_exchange(a[i % 3], true), 0, 1);
        $if(!atomic_compare_exchange(a[9], false, true)) { atomic_add(counts[0], 1); }
        atomic_or(a[4], i == 77);
        atomic_or(a[5], i == 1000);
        atomic_and(a[6], i != 5);
        atomic_and(a[7], true);
        atomic_xor(a[8], i % 2 == 0);
        synchronize();
        atomic_or(local[0], l == 3);
        atomic_and(local[1], l != 9);
        $if(!atomic_exchange(local[2], true)) { atomic_add(taken[0], 1); }
        atomic_xor(local[3], l == 2);
        synchronize();
        $if(l < 5) { local_flags[group_index() * 5 + l] = local[l]; }
        $if(l == 0) { atomic_add(counts[1], taken[0]); }
    });
    std::vector<bool> host(10);
    host[6] = host[7] = true;
    Array<bool> a = device().upload(host), local = device().zeros<bool>(10);
    Array<int> first = device().zeros<int>(items), counts = device().zeros<int>(2);
    k(ndrange(items).group(items / 2), a, first, local, counts);
    EXPECT_EQ(a.download(), (std::vector<bool>{true, true, true, false, true, false, false, true, false, true}));
    const auto firsts = first.download();
    EXPECT_EQ(std::count(firsts.begin(), firsts.end(), 1), 3);
    EXPECT_EQ(local.download(), (std::vector<bool>{true, false, true, true, false, true, false, true, true, false}));
    EXPECT_EQ(counts.download(), (std::vector<int>{1, 2}));
}

TEST(Types, CompareExchangeOnSmallTypes) {
    NEEDS(int8, "8-bit integers");
    const auto k = kernel("claim", [](InOut<int8_t> a, Out<int> before) {
        auto i = global_index();
        before[i] = cast<int>(atomic_compare_exchange(a[i % 4], int8_t(-1), cast<int8_t>(i % 100)));
    });
    Array<int8_t> a = device().full<int8_t>(4, int8_t(-1));
    Array<int> before = device().zeros<int>(64);
    k(ndrange(64), a, before);
    const auto got = a.download();
    const auto seen = before.download();
    int claims = 0;
    for (int i = 0; i < 64; ++i)
        if (seen[size_t(i)] == -1) {
            ++claims;
            EXPECT_EQ(got[size_t(i % 4)], i);
        }
    EXPECT_EQ(claims, 4);
}

}  // namespace
