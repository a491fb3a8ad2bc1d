// Arguments of kernels: callables that a kernel is made with, and many scalars and arrays that it is launched with.
#include <bit>
#include <cfenv>
#include <limits>
#include <utility>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

template <class F> auto mapped(const char* name, F f) {
    return kernel(name, [f](InOut<float> a) { a[global_index()] = f(a[global_index()]); });
}

TEST(Language, FactoriesOfKernelsTakeACallable) {
    Array<float> a = device().upload(suite::iota<float>(10));
    mapped("plus_one", [](Val<float> x) { return x + 1; })(ndrange(10), a);
    mapped("squared", [](Val<float> x) { return x * x; })(ndrange(10), a);
    std::vector<float> want(10);
    for (int i = 0; i < 10; ++i) want[i] = float((i + 1) * (i + 1));
    EXPECT_EQ(a.download(), want);
}

// 63 scalars and an array: more than push constants hold on any device.
const auto many_arguments =
    kernel("many_arguments",
           [](InOut<int> out, Val<int> s0, Val<int> s1, Val<int> s2, Val<int> s3, Val<int> s4, Val<int> s5, Val<int> s6,
              Val<int> s7, Val<int> s8, Val<int> s9, Val<int> s10, Val<int> s11, Val<int> s12, Val<int> s13, Val<int> s14,
              Val<int> s15, Val<int> s16, Val<int> s17, Val<int> s18, Val<int> s19, Val<int> s20, Val<int> s21, Val<int> s22,
              Val<int> s23, Val<int> s24, Val<int> s25, Val<int> s26, Val<int> s27, Val<int> s28, Val<int> s29, Val<int> s30,
              Val<int> s31, Val<int> s32, Val<int> s33, Val<int> s34, Val<int> s35, Val<int> s36, Val<int> s37, Val<int> s38,
              Val<int> s39, Val<int> s40, Val<int> s41, Val<int> s42, Val<int> s43, Val<int> s44, Val<int> s45, Val<int> s46,
              Val<int> s47, Val<int> s48, Val<int> s49, Val<int> s50, Val<int> s51, Val<int> s52, Val<int> s53, Val<int> s54,
              Val<int> s55, Val<int> s56, Val<int> s57, Val<int> s58, Val<int> s59, Val<int> s60, Val<int> s61, Val<int> s62) {
               auto i = global_index();
               out[i] += i + s0 * 1 + s1 * 2 + s2 * 3 + s3 * 4 + s4 * 5 + s5 * 6 + s6 * 7 + s7 * 8 + s8 * 9 + s9 * 10 + s10 * 11 +
                         s11 * 12 + s12 * 13 + s13 * 14 + s14 * 15 + s15 * 16 + s16 * 17 + s17 * 18 + s18 * 19 + s19 * 20 +
                         s20 * 21 + s21 * 22 + s22 * 23 + s23 * 24 + s24 * 25 + s25 * 26 + s26 * 27 + s27 * 28 + s28 * 29 +
                         s29 * 30 + s30 * 31 + s31 * 32 + s32 * 33 + s33 * 34 + s34 * 35 + s35 * 36 + s36 * 37 + s37 * 38 +
                         s38 * 39 + s39 * 40 + s40 * 41 + s41 * 42 + s42 * 43 + s43 * 44 + s44 * 45 + s45 * 46 + s46 * 47 +
                         s47 * 48 + s48 * 49 + s49 * 50 + s50 * 51 + s51 * 52 + s52 * 53 + s53 * 54 + s54 * 55 + s55 * 56 +
                         s56 * 57 + s57 * 58 + s58 * 59 + s59 * 60 + s60 * 61 + s61 * 62 + s62 * 63;
           });
// 40 arrays of two dimensions, whose extents need room too, and scalars of other types.
template <size_t... N> auto many_arrays_kernel(std::index_sequence<N...>) {
    return kernel("many_arrays", [](Out<float, 2> out, Val<bool> on, Val<int> small, Val<float> scale,
                                    std::conditional_t < N<100, In<float, 2>, void>... in) {
        auto [i, j] = global_index<2>();
        Var sum = cast<float>(small);
        ((sum += in(i, j) * float(N + 1)), ...);
        $if(on) { out(i, j) = sum * scale + cast<float>((in.size(1) + ...)); }
    });
}

TEST(Language, SixtyFourArguments) {
    for (int round = 0; round < 3; ++round) {  // the same launch again and again, and after others
        Array<int> out = device().zeros<int>(5);
        for (int launch = 0; launch < 4; ++launch)
            many_arguments(ndrange(5), out, -500, -499, -496, -491, -484, -475, -464, -451, -436, -419, -400, -379, -356, -331,
                           -304, -275, -244, -211, -176, -139, -100, -59, -16, 29, 76, 125, 176, 229, 284, 341, 400, 461, 524,
                           589, 656, 725, 796, 869, 944, 1021, 1100, 1181, 1264, 1349, 1436, 1525, 1616, 1709, 1804, 1901, 2000,
                           2101, 2204, 2309, 2416, 2525, 2636, 2749, 2864, 2981, 3100, 3221, 3344);
        int sum = 0;
        for (int k = 0; k < 63; ++k) sum += (k * k - 500) * (k + 1);
        EXPECT_EQ(out.download(), (std::vector<int>{4 * sum, 4 * (sum + 1), 4 * (sum + 2), 4 * (sum + 3), 4 * (sum + 4)}));
    }
}

TEST(Language, FortyArrays) {
    const auto many_arrays = many_arrays_kernel(std::make_index_sequence<40>());
    Array<float, 2> out = device().zeros<float>({2, 3}), in = device().upload(suite::iota<float>(6), {2, 3});
    const auto launch = [&]<size_t... N>(std::index_sequence<N...>) {
        many_arrays(ndrange(2, 3), out, true, -7, 0.5f, (void(N), in)...);
    };
    const std::string message = suite::message_of([&] { launch(std::make_index_sequence<40>()); });
    if (message.find("has no device addresses") != std::string::npos) GTEST_SKIP() << "SKIPPED: " << message;
    ASSERT_EQ(message, "(no error)");
    for (int i = 0; i < 6; ++i) EXPECT_EQ(out.download()[size_t(i)], (float(i) * 820 - 7) * 0.5f + 120);
}

TEST(Language, ALaunchRefusesNumbersThatItsParametersDoNotHold) {
    const Device d = device();
    for (const Feature needed : {Feature::int8, Feature::float16})
        if (!d.supports(needed)) GTEST_SKIP() << "SKIPPED: " << d.name() << " lacks u8 or f16";
    const Array<int64_t> out = d.zeros<int64_t>(1);
    const auto byte = kernel("byte", [](Out<int64_t> o, Val<uint8_t> a) { o[0] = cast<int64_t>(a); }).names({"o", "a"});
    const auto whole = kernel("whole", [](Out<int64_t> o, Val<int> a) { o[0] = cast<int64_t>(a); });
    const auto large = kernel("large", [](Out<int64_t> o, Val<uint64_t> a) { o[0] = cast<int64_t>(a); });
    const auto real = kernel("real", [](Out<int64_t> o, Val<float> a) { o[0] = cast<int64_t>(a); });
    const auto small = kernel("small", [](Out<int64_t> o, Val<half> a) { o[0] = cast<int64_t>(a); });
    byte(ndrange(1), out, 255);
    EXPECT_EQ(out.get(0), 255);
    whole(ndrange(1), out, int64_t(INT32_MIN));
    EXPECT_EQ(out.get(0), INT32_MIN);
    large(ndrange(1), out, 7);
    EXPECT_EQ(out.get(0), 7);
    real(ndrange(1), out, 16777217);
    EXPECT_EQ(out.get(0), 16777216);
    real(ndrange(1), out, std::numeric_limits<double>::infinity());
    small(ndrange(1), out, 65504.0);
    EXPECT_EQ(out.get(0), 65504);
    const auto ends_with = [](const std::string& message, const char* end) { return message.ends_with(end); };
    EXPECT_PRED2(ends_with, suite::message_of([&] { byte(ndrange(1), out, 300); }),
                 "argument 2 (\"a\") is given 300, which does not fit into u8: it holds 0 to 255");
    EXPECT_PRED2(ends_with, suite::message_of([&] { byte(ndrange(1), out, -1); }),
                 "is given -1, which does not fit into u8: it holds 0 to 255");
    EXPECT_PRED2(ends_with, suite::message_of([&] { whole(ndrange(1), out, int64_t(5000000000)); }),
                 "is given 5000000000, which does not fit into i32: it holds -2147483648 to 2147483647");
    EXPECT_PRED2(ends_with, suite::message_of([&] { whole(ndrange(1), out, 4294967295u); }),
                 "it holds -2147483648 to 2147483647");
    EXPECT_PRED2(ends_with, suite::message_of([&] { large(ndrange(1), out, -1); }), "it holds 0 to 18446744073709551615");
    EXPECT_PRED2(ends_with, suite::message_of([&] { real(ndrange(1), out, 1e300); }),
                 "does not fit into f32: its largest number is 3.40282e+38");
    EXPECT_PRED2(ends_with, suite::message_of([&] { small(ndrange(1), out, 1e6f); }),
                 "does not fit into f16: its largest number is 65504");
    byte(ndrange(1), out, 9);  // the device goes on
    EXPECT_EQ(out.get(0), 9);
}

/// The caller rounds downwards, or flushes subnormal numbers: kernels do neither, on all threads.
TEST(Language, KernelsDoNotRunInTheFloatModeOfTheCaller) {
    if (device().name().starts_with("vulkan")) GTEST_SKIP() << "SKIPPED: threads of the driver, or a card, run its shaders";
    const auto third = kernel("third", Math::strict, [](Out<float> o, In<float> x) {
        auto i = global_index();
        o[i] = x[i] / 3.0f;
    });
    const Device d = device();
    for (const int64_t n : {int64_t(10), int64_t(3000000)}) {
        if (n > 1000 && d.name() == "interp") continue;
        const Array<float> x = d.full<float>(n, 1.0f), out = d.zeros<float>(n);
        std::fesetround(FE_DOWNWARD);
        third(ndrange(n), out, x);
        d.synchronize();
        const bool kept = std::fegetround() == FE_DOWNWARD;
        std::fesetround(FE_TONEAREST);
        EXPECT_TRUE(kept);
        EXPECT_EQ(out.download(), std::vector<float>(size_t(n), 1.0f / 3.0f));
#if defined(__SSE2__)
        const unsigned before = _mm_getcsr();
        x.fill(1e-38f);
        _mm_setcsr(before | 0x8040);  // FTZ, DAZ
        third(ndrange(n), out, x);
        d.synchronize();
        _mm_setcsr(before);
        EXPECT_EQ(out.download(), std::vector<float>(size_t(n), std::bit_cast<float>(0x244bfau)));
#endif
    }
}

}  // namespace
