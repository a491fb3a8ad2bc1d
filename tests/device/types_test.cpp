// Scalar types in kernels: those that a device has, those that it makes of others, and what it says of those that it lacks.
#include <cmath>
#include <limits>

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

/// What a test of a type that the device has not says.
#define NEEDS(feature, what) \
    if (!device().supports(Feature::feature)) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no " what

template <class T>
bool has_type() {
    const Scalar t = *scalar_of<T>();
    if (t == Scalar::i8 || t == Scalar::u8) return device().supports(Feature::int8);
    if (t == Scalar::i16 || t == Scalar::u16) return device().supports(Feature::int16);
    if (t == Scalar::i64 || t == Scalar::u64) return device().supports(Feature::int64);
    if (t == Scalar::f16) return device().supports(Feature::float16);
    return t != Scalar::f64 || device().supports(Feature::float64);
}

/// f on each pair of elements, on the device.
template <class R, class T, class F>
std::vector<R> each(const char* name, F f, const std::vector<T>& x, const std::vector<T>& y) {
    const auto k = kernel(name, [=](Out<R> r, In<T> a, In<T> b) {
        auto i = global_index();
        r[i] = f(a[i], b[i]);
    });
    Array<R> r = device().template zeros<R>(int64_t(x.size()));
    k(ndrange(int64_t(x.size())), r, device().upload(x), device().upload(y));
    return r.download();
}

// ---- line 16 ----

template <class To>
void rounded_to(const char* type) {
    if (!has_type<To>()) return;
    std::vector<float> x;
    for (int i = 0; i < 32; ++i) x.push_back(float(i) * 3 / 32);
    if (std::is_signed_v<To>)
        for (int i = 0; i < 32; ++i) x.push_back(-float(i) * 3 / 32);
    const auto k = kernel("rounding", [](Out<To> up, Out<To> down, Out<To> near, Out<To> cut, In<float> x) {
        auto i = global_index();
        up[i] = cast<To>(ceil(x[i]));
        down[i] = cast<To>(floor(x[i]));
        near[i] = cast<To>(round(x[i]));
        cut[i] = cast<To>(trunc(x[i]));
    });
    const int64_t n = int64_t(x.size());
    Array<To> up = device().zeros<To>(n), down = device().zeros<To>(n), near = device().zeros<To>(n), cut = device().zeros<To>(n);
    k(ndrange(n), up, down, near, cut, device().upload(x));
    const auto u = up.download(), d = down.download(), r = near.download(), c = cut.download();
    for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(u[i], To(std::ceil(x[i]))) << type << " of " << x[i];
        EXPECT_EQ(d[i], To(std::floor(x[i]))) << type << " of " << x[i];
        EXPECT_EQ(r[i], To(std::round(x[i]))) << type << " of " << x[i];
        EXPECT_EQ(c[i], To(std::trunc(x[i]))) << type << " of " << x[i];
    }
}

TEST(Types, Case16_RoundingToEveryInteger) {
    rounded_to<int8_t>("int8");
    rounded_to<int16_t>("int16");
    rounded_to<int32_t>("int32");
    rounded_to<int64_t>("int64");
    rounded_to<uint8_t>("uint8");
    rounded_to<uint16_t>("uint16");
    rounded_to<uint32_t>("uint32");
    rounded_to<uint64_t>("uint64");
}

// ---- line 18 ----

TEST(Types, Case18_ReturnsBeforeABarrierAreRefused) {
    const auto k = kernel("early", [](InOut<int> a) {
        Local<int, 64> l;
        auto i = local_index();
        $if (i < 3) { $return; }
        l[i] = a[i];
        synchronize();
        a[i] = l[i ^ 1];
    });
    Array<int> a = device().zeros<int>(16);
    const std::string message = suite::message_of([&] {
        k(ndrange(16).group(16), a);
        device().synchronize();
    });
    EXPECT_NE(message.find("barrier"), std::string::npos) << message;
    EXPECT_NE(message.find("types_test.cpp"), std::string::npos) << message;
    EXPECT_EQ(device().full<int>(3, 7).download(), (std::vector<int>{7, 7, 7}));  // and the device goes on
}

// ---- line 19 ----

template <class T>
void integer_corners() {
    if (!has_type<T>()) return;
    SCOPED_TRACE(name_of(*scalar_of<T>()));
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const int width = 8 * int(sizeof(T));
    const std::vector<T> x{7, high, low, 0, low, high}, y{0, 0, 0, 0, T(-1), T(-1)};
    const bool is_signed = std::is_signed_v<T>;
    EXPECT_EQ((each<T>("quotients", [](auto a, auto b) { return a / b; }, x, y)),
              (std::vector<T>{7, high, low, 0, is_signed ? low : T(0), is_signed ? T(-high) : T(1)}));
    EXPECT_EQ((each<T>("rests", [](auto a, auto b) { return a % b; }, x, y)), (std::vector<T>{0, 0, 0, 0, is_signed ? T(0) : low, 0}));
    std::vector<T> bits, counts, up, down;
    for (const int count : {0, 1, 7, 8, 31, 32, 40, 63, 64})
        for (const T v : {T(1), T(-1), T(0x55), high, low}) {
            bits.push_back(v);
            counts.push_back(T(count));
            const int n = count % width;
            using U = std::make_unsigned_t<T>;
            up.push_back(T(U(uint64_t(U(v)) << n)));
            down.push_back(T(v >> n));
        }
    EXPECT_EQ((each<T>("shifts_up", [](auto a, auto b) { return a << b; }, bits, counts)), up);
    EXPECT_EQ((each<T>("shifts_down", [](auto a, auto b) { return a >> b; }, bits, counts)), down);
}

template <class T>
void float_corners() {
    if (!has_type<T>()) return;
    const std::vector<float> x{NAN, INFINITY, -INFINITY, 1e20f, -1e20f, -0.5f, 3.9f};
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    EXPECT_EQ((each<T>("saturated", [](auto a, auto) { return cast<T>(a); }, x, x)),
              (std::vector<T>{0, high, low, high, low, 0, 3}));
}

TEST(Types, Case19_DivisionsShiftsAndCastsAtTheirCorners) {
    integer_corners<int8_t>(), float_corners<int8_t>();
    integer_corners<int16_t>(), float_corners<int16_t>();
    integer_corners<int32_t>(), float_corners<int32_t>();
    integer_corners<int64_t>(), float_corners<int64_t>();
    integer_corners<uint8_t>(), float_corners<uint8_t>();
    integer_corners<uint16_t>(), float_corners<uint16_t>();
    integer_corners<uint32_t>(), float_corners<uint32_t>();
    integer_corners<uint64_t>(), float_corners<uint64_t>();
}

// Items share the roots: on the device cpu they are no vectors.
TEST(Types, ReciprocalRootsAtTheirCorners) {
    const auto scaled = kernel("scaled", [](Out<float> y, In<float> x) {
        y[0] = 2.0f / sqrt(x[0]);
        y[1] = 2.0f * rsqrt(x[0]);
    });
    const auto of = [&](float x) {
        Array<float> y = device().zeros<float>(2);
        scaled(ndrange(1), y, device().full<float>(1, x));
        return y.download();
    };
    constexpr float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(of(0.0f), (std::vector<float>{infinity, infinity}));
    EXPECT_EQ(of(infinity), (std::vector<float>{0.0f, 0.0f}));
    for (const float y : of(16.0f)) EXPECT_FLOAT_EQ(y, 0.5f);
    for (const float y : of(-1.0f)) EXPECT_TRUE(std::isnan(y));
}

// ---- line 21 ----

TEST(Types, Case21_HalfArithmeticAndStorage) {
    NEEDS(float16, "half");
    std::vector<half> x, y, sum, product;
    for (int i = 0; i < 40; ++i) {
        x.push_back(half(float(i) * 1.37f - 20));
        y.push_back(half(0.1f * float(i)));
        sum.push_back(half(float(x.back()) + float(y.back())));
        product.push_back(half(float(x.back()) * float(y.back())));
    }
    EXPECT_EQ((each<half>("half_sum", [](auto a, auto b) { return a + b; }, x, y)), sum);
    EXPECT_EQ((each<half>("half_product", [](auto a, auto b) { return a * b; }, x, y)), product);
}

TEST(Types, HalvesOfTheHostBesideThoseOfTheDevice) {
    NEEDS(float16, "half");
    EXPECT_EQ(half(0.1), half(0.1f));  // on the host it is made of all numbers, and becomes each
    EXPECT_EQ(half(2), half(2.0f));
    EXPECT_EQ(double(half(0.5f)), 0.5);
    EXPECT_EQ(int(half(-3.5f)), -3);
    const auto mixed = kernel("mixed", [](InOut<half> y, In<float> x) {
        auto i = global_index();
        Var v = half(1.5f);
        v = v * half(2.0f) + y[i];
        v += half(0.5f);
        Val<half> one = half(1.0f);
        y[i] = select(v > half(4.0f), max(v, half(5.0f)), one);
        y[i] += cast<half>(x[i] * half(0.5f));
    });
    const Array<half> y = device().upload(std::vector<half>{half(0.0f), half(1.0f), half(3.0f)});
    mixed(ndrange(3), y, device().full<float>(3, 2.0f));
    EXPECT_EQ(y.download(), (std::vector<half>{half(2.0f), half(6.0f), half(7.5f)}));
}

TEST(Types, Case21_SmallIntegersKeepTheirSign) {
    NEEDS(int8, "8-bit integers");
    std::vector<int8_t> x, y, sum;
    for (int i = -128; i < 128; i += 3) {
        x.push_back(int8_t(i));
        y.push_back(int8_t(i * 5));
        sum.push_back(int8_t(i * 6));
    }
    EXPECT_EQ((each<int8_t>("sum8", [](auto a, auto b) { return a + b; }, x, y)), sum);
    std::vector<int> wide(x.begin(), x.end());
    EXPECT_EQ((each<int>("widened8", [](auto a, auto) { return cast<int>(a); }, x, x)), wide);
    if (!has_type<int16_t>()) return;
    EXPECT_EQ((each<int16_t>("widened16", [](auto a, auto) { return cast<int16_t>(a); }, x, x)),
              (std::vector<int16_t>(x.begin(), x.end())));
}

// Every device has arrays of bool, of any length, and items write neighbours without disturbing each other.
TEST(Types, Case21_ArraysOfBool) {
    const auto k = kernel("bools", [](Out<bool> even, InOut<bool> flip, In<bool> in, Out<int> seen, Val<bool> extra) {
        auto i = global_index();
        even[i] = i % 2 == 0;
        flip[i] = !flip[i];
        seen[i] = select(in[i] && extra, 1, 0);
    });
    for (const int n : {1, 2, 3, 5, 257}) {
        std::vector<bool> flags, turned, evens;
        std::vector<int> ints;
        for (int i = 0; i < n; ++i) {
            flags.push_back(i % 3 == 0);
            turned.push_back(i % 3 != 0);
            evens.push_back(i % 2 == 0);
            ints.push_back(i % 3 == 0);
        }
        Array<bool> in = device().empty<bool>(n), flip = device().empty<bool>(n), even = device().full<bool>(n, true);
        Array<int> seen = device().zeros<int>(n);
        const auto set = kernel("set", [](Out<bool> a, Out<bool> b) {
            auto i = global_index();
            a[i] = i % 3 == 0;
            b[i] = i % 3 == 0;
        });
        set(ndrange(n), in, flip);
        k(ndrange(n), even, flip, in, seen, true);
        const auto as_ints = [&](const Array<bool>& a) {
            Array<int> r = device().zeros<int>(n);
            kernel("read", [](Out<int> r, In<bool> a) { r[global_index()] = cast<int>(a[global_index()]); })(ndrange(n), r, a);
            return r.download();
        };
        EXPECT_EQ(as_ints(even), std::vector<int>(evens.begin(), evens.end()));
        EXPECT_EQ(as_ints(flip), std::vector<int>(turned.begin(), turned.end()));
        EXPECT_EQ(seen.download(), ints);
    }
}

// ---- line 25 ----

TEST(Types, Case25_IndicesOfOtherTypes) {
    NEEDS(int8, "8-bit integers");
    const auto k = kernel("small_index", [](Out<int> a) { a[cast<int8_t>(global_index())] = global_index(); });
    Array<int> a = device().zeros<int>(100);
    k(ndrange(100), a);
    EXPECT_EQ(a.download(), suite::iota<int>(100));
}

TEST(Types, Case25_IndicesOf64Bits) {
    const auto k = kernel("wide_index", [](Out<int> a, Out<int, 2> b) {
        const auto i = cast<uint64_t>(global_index());
        a[i * 3u % 101u] = cast<int>(i);
        b(cast<int64_t>(i) / 10, i % 10u) = cast<int>(i);
    });
    Array<int> a = device().zeros<int>(101), b = device().zeros<int>(1);
    Array<int, 2> c = device().zeros<int>({11, 10});
    k(ndrange(101), a, c);
    const std::vector<int> got = a.download(), plane = c.download();
    for (int i = 0; i < 101; ++i) EXPECT_EQ(got[size_t(i * 3 % 101)], i) << i;
    for (int i = 0; i < 101; ++i) EXPECT_EQ(plane[size_t(i)], i) << i;
}

/// Four elements written and read again at this place of an array so long, of which the rest is never touched.
template <class T, class Index>
void far_elements(int64_t n, Index at) {
    const Array<T> a = device().empty<T>(n);
    const auto write = kernel("far_write", [](InOut<T> a, Val<Index> at) {
        auto i = global_index();
        a[at + cast<Index>(i)] = cast<T>(7 + i);
    });
    const auto read = kernel("far_read", [](Out<int> r, In<T> a, Val<Index> at) {
        auto i = global_index();
        r[i] = cast<int>(a[at + cast<Index>(i)]);
    });
    const Array<int> r = device().zeros<int>(4);
    write(ndrange(4), a, at);
    read(ndrange(4), r, a, at);
    EXPECT_EQ(r.download(), (std::vector<int>{7, 8, 9, 10}));
    EXPECT_EQ(a.get(int64_t(at) + 3), T(10));
}

TEST(Types, Case25_AnElementBehind128MiB) {  // which is what lavapipe binds at once
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: the interpreter keeps a shadow of every byte";
    const int64_t n = (int64_t(130) << 20) / 4;
    far_elements<int>(n, int(n - 4));
}

TEST(Types, Case25_ElementsBehind2GiB) {
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: the interpreter keeps a shadow of every byte";
    const int64_t bytes = (int64_t(1) << 31) + (int64_t(1) << 20);
    if (device().limits().max_array_bytes < bytes || device().limits().memory < 2 * bytes)
        GTEST_SKIP() << "SKIPPED: an array of " << device().name() << " has at most " << device().limits().max_array_bytes << " bytes";
    far_elements<int>(bytes / 4, int(bytes / 4 - 4));
    if (has_type<int8_t>()) far_elements<int8_t, int64_t>(bytes, bytes - 4);
}

}  // namespace

// ---- 64-bit integers wherever values can be ----

namespace types_test {
struct Account {
    int32_t id;
    int64_t balance;
    uint64_t turnover;
    float share;
};
}  // namespace types_test
PUMICE_STRUCT(types_test::Account, id, balance, turnover, share);

namespace {
using types_test::Account;

TEST(Types, Integers64InMemoryAndControlFlow) {
    const auto k = kernel("accounts", [](InOut<Account> accounts, Out<int64_t> sums, Val<int64_t> offset, Val<uint64_t> big) {
        Local<int64_t, 8> local;
        Private<uint64_t, 4> own;
        auto i = global_index(), l = local_index();
        auto a = accounts[i];
        $for (j, range(4)) { own[j] = big + cast<uint64_t>(j); }
        local[l] = a.balance + offset;
        synchronize();
        Var sum = Val<int64_t>(0);
        $for (j, range(local[0] - local[0], cast<int64_t>(group_size()))) { sum += local[j]; }
        $for (j, range(Val<int64_t>(10), -Val<int64_t>(10), Val<int64_t>(-4))) { sum -= j; }
        $for (j, range(Val<uint64_t>(0u), Val<uint64_t>(9u), cast<uint64_t>(l + 1))) { sum += cast<int64_t>(j) << 33; }
        $while (sum > (int64_t(1) << 40)) { sum = sum / 3; }
        sums[i] = select(sum == 0, offset, sum);
        accounts[i].turnover = a.turnover + own[i % 4];
        accounts[i].balance = -a.balance;
    });
    const int n = 16;
    const int64_t offset = int64_t(-3) << 34;
    const uint64_t big = 0xfffffffffffffff0u;
    std::vector<Account> accounts;
    for (int i = 0; i < n; ++i) accounts.push_back({i, (int64_t(i) << 38) - 5, uint64_t(i) * 0x123456789abcdu, float(i)});
    Array<Account> a = device().upload(accounts);
    Array<int64_t> sums = device().zeros<int64_t>(n);
    k(ndrange(n).group(8), a, sums, offset, big);
    const std::vector<int64_t> got = sums.download();
    const std::vector<Account> after = a.download();
    for (int i = 0; i < n; ++i) {
        const int l = i % 8;
        uint64_t sum = 0;
        for (int j = 0; j < 8; ++j) sum += uint64_t(accounts[size_t(i / 8 * 8 + j)].balance + offset);
        for (int64_t j = 10; j > -10; j -= 4) sum -= uint64_t(j);
        for (uint64_t j = 0; j < 9; j += uint64_t(l + 1)) sum += j << 33;
        int64_t want = int64_t(sum);
        while (want > (int64_t(1) << 40)) want /= 3;
        EXPECT_EQ(got[size_t(i)], want == 0 ? offset : want) << i;
        EXPECT_EQ(after[size_t(i)].turnover, accounts[size_t(i)].turnover + big + uint64_t(i % 4)) << i;
        EXPECT_EQ(after[size_t(i)].balance, -accounts[size_t(i)].balance) << i;
        EXPECT_EQ(after[size_t(i)].id, i);
        EXPECT_EQ(after[size_t(i)].share, float(i));
    }
}

// A step that would carry the index past its type's limit ends the loop.
TEST(Types, Loops64EndAtTheLimitsOfTheirType) {
    const auto k = kernel("limits", [](Out<int> n, Val<int64_t> from, Val<int64_t> to, Val<int64_t> by) {
        Var count = Val<int>(0);
        $for (j, range(from, to, by)) { count += 1; }
        n[0] = count;
    });
    const auto times = [&](int64_t from, int64_t to, int64_t by) {
        Array<int> n = device().zeros<int>(1);
        k(ndrange(1), n, from, to, by);
        return n.download()[0];
    };
    EXPECT_EQ(times(INT64_MAX - 3, INT64_MAX, 2), 2);
    EXPECT_EQ(times(INT64_MIN + 3, INT64_MIN, -2), 2);
    EXPECT_EQ(times(-2, 3, INT64_MAX), 1);
    EXPECT_EQ(times(0, 5, 0), 0);
    EXPECT_EQ(times(5, 0, 1), 0);
    EXPECT_EQ(times(0, 5, 2), 3);
}

// ---- atomics on other types than the 32-bit ones ----

/// All items of several groups add to few neighbours; the sum tells whether one was lost. Local memory, too.
template <class T>
void sums_in_neighbours(const char* name, int items) {
    SCOPED_TRACE(name);
    const auto k = kernel(name, [](InOut<T> a, InOut<T> largest, Out<T> local_sums) {
        Local<T, 3> local;
        auto i = global_index(), l = local_index();
        $if (l < 3) { local[l] = cast<T>(l - l); }
        synchronize();
        atomic_add(a[i % 3], cast<T>(1 + i % 2));
        atomic_max(largest[i % 2], cast<T>(i % 100));
        atomic_add(local[l % 3], cast<T>(1 + l - l));
        synchronize();
        $if (l < 3) { local_sums[group_index() * 3 + l] = local[l]; }
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
}

TEST(Types, AtomicsOn64Bits) {
    sums_in_neighbours<int64_t>("atomics_i64", 256);
    sums_in_neighbours<uint64_t>("atomics_u64", 256);
    if (has_type<double>()) sums_in_neighbours<double>("atomics_f64", 256);
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

// ---- random numbers in double ----

TEST(Types, RandomDoubles) {
    const auto k = kernel("random_doubles", [](Out<double> u, Out<double> z, Out<int> n) {
        auto i = global_index();
        rng::Counter random(5u, cast<uint32_t>(i));
        u[i] = random.uniform<double>();
        z[i] = random.normal<double>();
        n[i] = random.integer(10);
    });
    const int count = 4000;
    if (!device().supports(Feature::float64)) {
        Array<double> u = device().zeros<double>(count), z = device().zeros<double>(count);
        Array<int> n = device().zeros<int>(count);
        EXPECT_EQ(suite::message_of([&] { k(ndrange(count), u, z, n); }).substr(0, 82),
                  "the kernel random_doubles uses double-precision floats (float64), which " + device().name().substr(0, 10));
        return;
    }
    Array<double> u = device().zeros<double>(count), z = device().zeros<double>(count);
    Array<int> n = device().zeros<int>(count);
    k(ndrange(count), u, z, n);
    double mean = 0, square = 0, whole = 0;
    for (const double v : u.download()) {
        ASSERT_TRUE(v >= 0 && v < 1);
        mean += v / count;
    }
    for (const double v : z.download()) square += v * v / count;
    for (const int v : n.download()) whole += double(v) / count;
    EXPECT_NEAR(mean, 0.5, 0.02);
    EXPECT_NEAR(square, 1, 0.08);
    EXPECT_NEAR(whole, 4.5, 0.15);
    // The same draws for every group size.
    Array<double> again = device().zeros<double>(count);
    k(ndrange(count).group(32), again, z, n);
    EXPECT_EQ(again.download(), u.download());
}

}  // namespace
