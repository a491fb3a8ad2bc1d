// Scalar types in kernels: native types, types that the device emulates, and errors for types that it lacks.
#include <cmath>
#include <limits>

#include "tests/device/types.h"

using namespace pumice;
using namespace pumice::internal;
using suite::device;
using suite::has_type;

namespace {

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

// ---- rounding ----

template <class To> void rounded_to(const char* type) {
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

TEST(Types, RoundingToEveryIntegerType) {
    rounded_to<int8_t>("int8");
    rounded_to<int16_t>("int16");
    rounded_to<int32_t>("int32");
    rounded_to<int64_t>("int64");
    rounded_to<uint8_t>("uint8");
    rounded_to<uint16_t>("uint16");
    rounded_to<uint32_t>("uint32");
    rounded_to<uint64_t>("uint64");
}

// ---- returns and barriers ----

TEST(Types, ReturnsBeforeABarrierAreRefused) {
    const auto k = kernel("early", [](InOut<int> a) {
        Local<int, 64> l;
        auto i = local_index();
        $if(i < 3) { $return; }
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
    EXPECT_EQ(device().full<int>(3, 7).download(), (std::vector<int>{7, 7, 7}));  // the device still works
}

// ---- corner cases of integers ----

template <class T> void integer_corners() {
    if (!has_type<T>()) return;
    SCOPED_TRACE(name_of(*scalar_of<T>()));
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const int width = 8 * int(sizeof(T));
    const std::vector<T> x{7, high, low, 0, low, high}, y{0, 0, 0, 0, T(-1), T(-1)};
    const bool is_signed = std::is_signed_v<T>;
    EXPECT_EQ((each<T>(
                  "quotients", [](auto a, auto b) { return a / b; }, x, y)),
              (std::vector<T>{7, high, low, 0, is_signed ? low : T(0), is_signed ? T(-high) : T(1)}));
    EXPECT_EQ(
        (each<T>("rests", [](auto a, auto b) { return a % b; }, x, y)), (std::vector<T>{0, 0, 0, 0, is_signed ? T(0) : low, 0}));
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

template <class T, class F> void float_corners_of() {
    if (!has_type<T>() || !has_type<F>()) return;
    SCOPED_TRACE(text(name_of(*scalar_of<F>()), " to ", name_of(*scalar_of<T>())));
    constexpr F infinity = std::numeric_limits<F>::infinity();
    constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    std::vector<F> x{NAN, infinity, -infinity, F(1e20), F(-1e20), F(-0.5), F(3.9), F(-3.9), F(0.9), F(-1)};
    for (const F end : {F(low), F(high)})  // the latter may be rounded up
        for (const F v : {end, std::nextafter(end, F(0)), std::nextafter(end, infinity), std::nextafter(end, -infinity),
                          end - F(0.5), end + F(0.5)})
            x.push_back(v);
    std::vector<T> expected;
    for (const F v : x)
        expected.push_back(std::isnan(v)                                           ? T(0)
                           : v <= F(low)                                           ? low
                           : v >= std::ldexp(F(1), std::numeric_limits<T>::digits) ? high
                                                                                   : T(v));
    EXPECT_EQ((each<T>("saturated", [](auto a, auto) { return cast<T>(a); }, x, x)), expected);
}

template <class T> void float_corners() {
    float_corners_of<T, float>();
    float_corners_of<T, double>();
}

/// Integers next to a tie between two floats of F, of each length: one rounding gives the right float, two roundings a wrong one.
template <class T, class F> void rounded_once() {
    if (!has_type<T>() || !has_type<F>()) return;
    SCOPED_TRACE(text(name_of(*scalar_of<T>()), " to ", name_of(*scalar_of<F>())));
    constexpr int mantissa = std::is_same_v<F, half> ? 11 : std::numeric_limits<F>::digits;
    std::vector<T> x{T(0), std::numeric_limits<T>::max(), std::numeric_limits<T>::min()};
    for (int top = 0; top < std::numeric_limits<T>::digits; ++top) {
        const uint64_t one = uint64_t(1) << top, tie = top >= mantissa ? one >> mantissa : 0;
        for (const uint64_t first : {one, one | one >> 1})  // bits of the significand
            for (const uint64_t by : {0, 1, 2, 3, 5})       // above or below the tie
                for (const bool less : {false, true}) {
                    const T v = T(first + tie + (less ? 0 - by : by));
                    x.push_back(v);
                    if (std::is_signed_v<T>) x.push_back(T(0 - uint64_t(v)));
                }
    }
    const auto k = kernel("to_float_and_back", Math::strict, [](Out<F> y, Out<T> back, In<T> x) {
        auto i = global_index();
        y[i] = cast<F>(x[i]);
        back[i] = cast<T>(cast<F>(x[i]));  // not x[i]
    });
    Array<F> y = device().zeros<F>(int64_t(x.size()));
    Array<T> back = device().zeros<T>(int64_t(x.size()));
    k(ndrange(int64_t(x.size())), y, back, device().upload(x));
    const std::vector<F> got = y.download();
    const std::vector<T> got_back = back.download();
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    for (size_t i = 0; i < x.size(); ++i) {
        const F expected = F(x[i]);
        EXPECT_EQ(double(got[i]), double(expected)) << +x[i];
        EXPECT_EQ(got_back[i], double(expected) >= end   ? std::numeric_limits<T>::max()
                               : double(expected) < -end ? std::numeric_limits<T>::min()
                                                         : T(double(expected)))
            << +x[i];
    }
}

template <class... Ts> void each_rounded_once() {
    (rounded_once<Ts, float>(), ...);
    (rounded_once<Ts, double>(), ...);
    (rounded_once<Ts, half>(), ...);
}

TEST(Types, IntegersBecomeFloatsByOneRounding) {
    each_rounded_once<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>();
}

/// Casts to a narrower type and on to another one: the first cast rounds, even if the last type is wide enough for the number.
template <class From, class Narrow, class To> void by_way_of() {
    if (!has_type<From>() || !has_type<Narrow>() || !has_type<To>()) return;
    std::vector<From> x;
    const int exponents = std::is_integral_v<From> ? std::numeric_limits<From>::digits - 1 : 15;  // below the largest integer
    for (int i = 0; i < 400; ++i) x.push_back(From((i % 2 ? -1 : 1) * std::ldexp(1 + i * 0.00267890123456789, i % exponents)));
    for (const Math math : {Math::strict, Math::contract}) {
        SCOPED_TRACE(text(name_of(*scalar_of<From>()), " to ", name_of(*scalar_of<Narrow>()), " to ", name_of(*scalar_of<To>())));
        const auto k = kernel("by_way_of", math,
                              [](Out<To> y, In<From> x) { y[global_index()] = cast<To>(cast<Narrow>(x[global_index()])); });
        Array<To> y = device().zeros<To>(int64_t(x.size()));
        k(ndrange(int64_t(x.size())), y, device().upload(x));
        const std::vector<To> got = y.download();
        for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(double(got[i]), double(To(double(Narrow(x[i]))))) << double(x[i]);
    }
}

TEST(Types, CastsToNarrowTypesAreNotDropped) {
    by_way_of<float, half, float>(), by_way_of<double, half, float>(), by_way_of<double, float, double>();
    by_way_of<int, float, double>(), by_way_of<int64_t, float, double>(), by_way_of<int16_t, half, float>();
}

TEST(Types, ProductsOfHalvesAreHalves) {
    if (!has_type<half>()) GTEST_SKIP() << "SKIPPED: " << device().name() << " has no halves";
    const auto k = kernel("half_products", Math::strict, [](InOut<half> x) {
        auto i = global_index();
        x[i] = x[i] * x[i] * x[i] * x[i];
    });
    std::vector<half> x, want;
    for (int i = 0; i < 400; ++i) {
        x.push_back(half(0.5f + float(i) / 512));
        half product = x.back();
        for (int n = 0; n < 3; ++n) product = half(float(product) * float(x.back()));
        want.push_back(product);
    }
    Array<half> a = device().upload(x);
    k(ndrange(400), a);
    const std::vector<half> got = a.download();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(float(got[i]), float(want[i])) << float(x[i]);
}

TEST(Types, DivisionsShiftsAndCastsInCornerCases) {
    integer_corners<int8_t>(), float_corners<int8_t>();
    integer_corners<int16_t>(), float_corners<int16_t>();
    integer_corners<int32_t>(), float_corners<int32_t>();
    integer_corners<int64_t>(), float_corners<int64_t>();
    integer_corners<uint8_t>(), float_corners<uint8_t>();
    integer_corners<uint16_t>(), float_corners<uint16_t>();
    integer_corners<uint32_t>(), float_corners<uint32_t>();
    integer_corners<uint64_t>(), float_corners<uint64_t>();
}

// All items share the roots: the device cpu computes them as scalars.
TEST(Types, ReciprocalRootsInCornerCases) {
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

// ---- small types ----

TEST(Types, HalfArithmeticAndStorage) {
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
    EXPECT_EQ(half(0.1), half(0.1f));  // on the host a half converts from every number
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

TEST(Types, SmallIntegersKeepTheirSign) {
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
    EXPECT_EQ((each<int16_t>(
                  "widened16", [](auto a, auto) { return cast<int16_t>(a); }, x, x)),
              (std::vector<int16_t>(x.begin(), x.end())));
}

// Every device has arrays of bool, of any length, and items write neighbouring elements without disturbing each other.
TEST(Types, ArraysOfBool) {
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

// ---- indices ----

TEST(Types, IndicesOf8Bits) {
    NEEDS(int8, "8-bit integers");
    const auto k = kernel("small_index", [](Out<int> a) { a[cast<int8_t>(global_index())] = global_index(); });
    Array<int> a = device().zeros<int>(100);
    k(ndrange(100), a);
    EXPECT_EQ(a.download(), suite::iota<int>(100));
}

TEST(Types, IndicesOf64Bits) {
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

/// Writes and reads four elements at this offset of an array of this length; the rest is never touched.
template <class T, class Index> void far_elements(int64_t n, Index at) {
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

TEST(Types, AnElementBehind128MiB) {  // lavapipe binds at most 128 MiB
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: the interpreter keeps a shadow of every byte";
    const int64_t n = (int64_t(130) << 20) / 4;
    far_elements<int>(n, int(n - 4));
}

TEST(Types, ElementsBehind2GiB) {
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: the interpreter keeps a shadow of every byte";
    const int64_t bytes = (int64_t(1) << 31) + (int64_t(1) << 20);
    if (device().limits().max_array_bytes < bytes || device().limits().memory < 2 * bytes)
        GTEST_SKIP() << "SKIPPED: an array of " << device().name() << " has at most " << device().limits().max_array_bytes
                     << " bytes";
    far_elements<int>(bytes / 4, int(bytes / 4 - 4));
    if (has_type<int8_t>()) far_elements<int8_t, int64_t>(bytes, bytes - 4);
}

TEST(Types, NeighboursInArraysOf2GiB) {
    if (suite::is_checking_device()) GTEST_SKIP() << "SKIPPED: the interpreter keeps a shadow of every byte";
    const int64_t rows = 3, row = int64_t(3) << 28, bytes = rows * row;
    if (!has_type<int8_t>() || device().limits().max_array_bytes < bytes || device().limits().memory < 2 * bytes)
        GTEST_SKIP() << "SKIPPED: an array of " << device().name() << " has at most " << device().limits().max_array_bytes
                     << " bytes";
    const auto fill = kernel("fill_corner", [](Out<int8_t, 2> a) {
        auto [i, j] = global_index<2>();
        a(i, j) = cast<int8_t>(j % 100);
    });
    const auto neighbours = kernel("neighbours", [](Out<int, 2> r, In<int8_t, 2> a) {
        auto [i, j] = global_index<2>();
        auto wrapped = select(j == 0, r.size(1) - 1, j - 1);
        r(i, j) =
            cast<int>(a(i, max(j - 1, 0))) + 100 * cast<int>(a(i, min(j + 1, r.size(1) - 1))) + 10000 * cast<int>(a(i, wrapped));
    });
    const int columns = 200;
    const Array<int8_t, 2> a = device().empty<int8_t>({rows, row});
    const Array<int, 2> r = device().zeros<int>({rows, columns});
    fill(ndrange(rows, columns), a);
    neighbours(ndrange(rows, columns), r, a);
    const std::vector<int> got = r.download();
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            const int left = std::max(j - 1, 0), right = std::min(j + 1, columns - 1), wrapped = (j + columns - 1) % columns;
            ASSERT_EQ(got[size_t(i * columns + j)], left % 100 + right % 100 * 100 + wrapped % 100 * 10000) << i << ", " << j;
        }
}

}  // namespace
