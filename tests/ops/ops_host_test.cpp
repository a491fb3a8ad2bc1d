// The rows of ops.def and their host column, checked without a device: documented corners at every width, special functions
// against std:: and known constants, half conversions over all patterns.
#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "tests/ops/expected_values.h"

namespace {

using namespace ops_test;

class EachOp : public testing::TestWithParam<int> {
protected:
    Op op() const { return Op(GetParam()); }
};

TEST_P(EachOp, TheRowIsWellFormed) {
    const OpRow& row = pumice::internal::row(op());
    EXPECT_EQ(ir::name_of(op()), row.name);
    EXPECT_EQ(ir::op_named(row.name), op());
    EXPECT_FALSE(row.doc.empty());
    for (int i = 0; i < row.arity; ++i) {
        EXPECT_LT(row.domain[i].low, row.domain[i].high);
        EXPECT_FALSE(row.derivatives[i].empty());
    }
    for (int t = 0; t < scalar_count; ++t) {
        const Scalar type = Scalar(t);
        uint64_t operands[3] = {1, 1, 1}, bits = 0;
        EXPECT_EQ(evaluate_scalar(op(), type, operands, bits), accepts(op(), type)) << name_of(type);
        if (!accepts(op(), type)) continue;
        const std::string_view text = glsl_text(op(), type);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(text.find("$" + std::to_string(i)) != text.npos, i < row.arity) << text;
        const Scalar result = ir::result_type(op(), type);
        EXPECT_EQ(size_of(result) == 8 || bits >> (8 * size_of(result)) == 0, true) << "bits past the result's width";
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, EachOp, testing::Range(0, ir::scalar_op_count),
                         [](const auto& info) { return std::string(ir::name_of(Op(info.param))); });

TEST(Rows, TextColumnsChooseThePartOfAType) {
    EXPECT_EQ(glsl_text(Op::or_, Scalar::u32), "$0 | $1");
    EXPECT_EQ(glsl_text(Op::or_, Scalar::boolean), "$0 || $1");
    EXPECT_EQ(glsl_text(Op::div, Scalar::f32), "$0 / $1");
    EXPECT_EQ(glsl_text(Op::div, Scalar::i32), "pm_div($0, $1)");
    EXPECT_EQ(glsl_text(Op::add, Scalar::i64), "$0 + $1");
    EXPECT_EQ(row(Op::shl).infix(), "<<");
    EXPECT_EQ(row(Op::rem).infix(), "%");
    EXPECT_EQ(row(Op::not_).infix(), "~");
    EXPECT_EQ(row(Op::sin).infix(), "");
    EXPECT_EQ(row(Op::pow).infix(), "");
}

TEST(Rows, NamesAreUniqueAndFoundAgain) {
    std::set<std::string_view> names;
    for (int i = 0; i < ir::op_count; ++i) {
        EXPECT_TRUE(names.insert(ir::name_of(Op(i))).second) << ir::name_of(Op(i));
        EXPECT_EQ(ir::op_named(ir::name_of(Op(i))), Op(i));
    }
    EXPECT_EQ(ir::name_of(Op::and_), "and");
    EXPECT_EQ(ir::name_of(Op::return_), "return");
    EXPECT_EQ(ir::name_of(Op::constant), "constant");
    EXPECT_EQ(ir::op_named("no_such_op"), std::nullopt);
}

TEST(Rows, ResultTypes) {
    EXPECT_EQ(ir::result_type(Op::add, Scalar::u8), Scalar::u8);
    EXPECT_EQ(ir::result_type(Op::lt, Scalar::f64), Scalar::boolean);
    EXPECT_EQ(ir::result_type(Op::ilogb, Scalar::f32), Scalar::i32);
    EXPECT_EQ(operand_type(Op::ldexp, 1, Scalar::f64), Scalar::i32);
    EXPECT_EQ(operand_type(Op::pow, 1, Scalar::f64), Scalar::f64);
    EXPECT_FALSE(row(Op::trigamma).differentiable);
    EXPECT_FALSE(row(Op::eq).differentiable);
    EXPECT_FALSE(accepts(Op::nextafter, Scalar::f16));
}

// ---- integers ----

template <class T> class Integers : public testing::Test {};
using AllIntegers = testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(Integers, AllIntegers);

TYPED_TEST(Integers, DivisionIsDefinedEverywhere) {
    using T = TypeParam;
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    for (const T x : {low, T(0), T(5), T(-7), high}) {
        EXPECT_EQ(evaluate<T>(Op::div, x, T(0)), x);
        EXPECT_EQ(evaluate<T>(Op::rem, x, T(0)), T(0));
    }
    EXPECT_EQ(evaluate<T>(Op::div, T(7), T(2)), T(3));
    EXPECT_EQ(evaluate<T>(Op::rem, T(7), T(2)), T(1));
    if constexpr (std::is_signed_v<T>) {
        EXPECT_EQ(evaluate<T>(Op::div, low, T(-1)), low);
        EXPECT_EQ(evaluate<T>(Op::rem, low, T(-1)), T(0));
        EXPECT_EQ(evaluate<T>(Op::div, T(-7), T(2)), T(-3));
        EXPECT_EQ(evaluate<T>(Op::rem, T(-7), T(2)), T(-1));
        EXPECT_EQ(evaluate<T>(Op::rem, T(7), T(-2)), T(1));
        EXPECT_EQ(evaluate<T>(Op::abs, low), low);
        EXPECT_EQ(evaluate<T>(Op::abs, T(-5)), T(5));
        EXPECT_EQ(evaluate<T>(Op::sign, low), T(-1));
        EXPECT_EQ(evaluate<T>(Op::sign, T(0)), T(0));
        EXPECT_EQ(evaluate<T>(Op::sign, high), T(1));
    }
}

TYPED_TEST(Integers, OverflowWraps) {
    using T = TypeParam;
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    EXPECT_EQ(evaluate<T>(Op::add, high, T(1)), low);
    EXPECT_EQ(evaluate<T>(Op::sub, low, T(1)), high);
    EXPECT_EQ(evaluate<T>(Op::mul, high, high), T(1));
    EXPECT_EQ(evaluate<T>(Op::mul, high, T(2)), T(-2));
    EXPECT_EQ(evaluate<T>(Op::neg, low), low);
    EXPECT_EQ(evaluate<T>(Op::neg, T(1)), T(-1));
    EXPECT_EQ(evaluate<T>(Op::min, low, high), low);
    EXPECT_EQ(evaluate<T>(Op::max, low, high), high);
}

TYPED_TEST(Integers, ShiftCountsAreTakenModuloTheWidth) {
    using T = TypeParam;
    constexpr int width = int(sizeof(T)) * 8;
    for (const int count : {0, 1, width - 1, width, width + 1, 31, 32, 40, 63, 64, 100}) {
        const int taken = count % width;
        const T one_up = T(uint64_t(1) << taken);
        EXPECT_EQ(evaluate<T>(Op::shl, T(1), T(count)), one_up) << count;
        const T low = std::numeric_limits<T>::min();
        if constexpr (std::is_signed_v<T>) {
            EXPECT_EQ(evaluate<T>(Op::shr, T(-1), T(count)), T(-1)) << count;
            EXPECT_EQ(evaluate<T>(Op::shr, low, T(count)), T(int64_t(low) >> taken)) << count;
        } else
            EXPECT_EQ(evaluate<T>(Op::shr, T(-1), T(count)), T(T(-1) >> taken)) << count;
    }
    EXPECT_EQ(evaluate<T>(Op::shl, T(3), T(-1)), T(uint64_t(3) << (width - 1)));
}

TYPED_TEST(Integers, BitCounts) {
    using T = TypeParam;
    constexpr int width = int(sizeof(T)) * 8;
    EXPECT_EQ(evaluate<T>(Op::clz, T(0)), T(width));
    EXPECT_EQ(evaluate<T>(Op::ctz, T(0)), T(width));
    EXPECT_EQ(evaluate<T>(Op::popcount, T(0)), T(0));
    EXPECT_EQ(evaluate<T>(Op::clz, T(-1)), T(0));
    EXPECT_EQ(evaluate<T>(Op::popcount, T(-1)), T(width));
    const T top = T(uint64_t(1) << (width - 1));
    EXPECT_EQ(evaluate<T>(Op::ctz, top), T(width - 1));
    EXPECT_EQ(evaluate<T>(Op::clz, T(1)), T(width - 1));
    EXPECT_EQ(evaluate<T>(Op::reverse_bits, T(1)), top);
    EXPECT_EQ(evaluate<T>(Op::reverse_bits, top), T(1));
    EXPECT_EQ(evaluate<T>(Op::reverse_bits, T(6)), T(uint64_t(3) << (width - 3)));
    EXPECT_EQ(evaluate<T>(Op::not_, T(0)), T(-1));
    EXPECT_EQ(evaluate<T>(Op::xor_, T(6), T(3)), T(5));
    EXPECT_EQ(evaluate<T>(Op::and_, T(6), T(3)), T(2));
    EXPECT_EQ(evaluate<T>(Op::or_, T(6), T(3)), T(7));
}

TYPED_TEST(Integers, ComparisonsKnowTheSign) {
    using T = TypeParam;
    EXPECT_EQ(evaluate<bool>(Op::lt, T(-1), T(1)), std::is_signed_v<T>);
    EXPECT_EQ(evaluate<bool>(Op::ge, T(-1), T(1)), !std::is_signed_v<T>);
    EXPECT_TRUE(evaluate<bool>(Op::eq, T(5), T(5)));
    EXPECT_TRUE(evaluate<bool>(Op::ne, T(5), T(6)));
    EXPECT_TRUE(evaluate<bool>(Op::le, T(5), T(5)));
    EXPECT_FALSE(evaluate<bool>(Op::gt, T(5), T(5)));
}

TEST(Bool, Logic) {
    for (const bool x : {false, true})
        for (const bool y : {false, true}) {
            EXPECT_EQ(evaluate<bool>(Op::and_, x, y), x && y);
            EXPECT_EQ(evaluate<bool>(Op::or_, x, y), x || y);
            EXPECT_EQ(evaluate<bool>(Op::xor_, x, y), x != y);
            EXPECT_EQ(evaluate<bool>(Op::eq, x, y), x == y);
            EXPECT_EQ(evaluate<bool>(Op::ne, x, y), x != y);
        }
    EXPECT_TRUE(evaluate<bool>(Op::not_, false));
    EXPECT_FALSE(evaluate<bool>(Op::not_, true));
}

// ---- corners of floats ----

template <class T> class Floats : public testing::Test {
protected:
    static constexpr T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
};
using WideFloats = testing::Types<float, double>;
TYPED_TEST_SUITE(Floats, WideFloats);

TYPED_TEST(Floats, MinAndMaxGiveTheOtherOperandForNaN) {
    using T = TypeParam;
    for (const Op op : {Op::min, Op::max}) {
        EXPECT_EQ(evaluate<T>(op, T(3), this->nan), T(3));
        EXPECT_EQ(evaluate<T>(op, this->nan, T(3)), T(3));
        EXPECT_TRUE(std::isnan(evaluate<T>(op, this->nan, this->nan)));
    }
    EXPECT_EQ(evaluate<T>(Op::min, -this->inf, T(1)), -this->inf);
    EXPECT_EQ(evaluate<T>(Op::max, T(1), T(2)), T(2));
}

TYPED_TEST(Floats, SignAndClassification) {
    using T = TypeParam;
    EXPECT_TRUE(std::isnan(evaluate<T>(Op::sign, this->nan)));
    EXPECT_TRUE(std::signbit(evaluate<T>(Op::sign, T(-0.0))));
    EXPECT_FALSE(std::signbit(evaluate<T>(Op::sign, T(0.0))));
    EXPECT_EQ(evaluate<T>(Op::sign, -this->inf), T(-1));
    EXPECT_TRUE(evaluate<bool>(Op::isnan, this->nan));
    EXPECT_FALSE(evaluate<bool>(Op::isnan, this->inf));
    EXPECT_TRUE(evaluate<bool>(Op::isinf, -this->inf));
    EXPECT_FALSE(evaluate<bool>(Op::isinf, this->nan));
    EXPECT_TRUE(evaluate<bool>(Op::isfinite, T(1)));
    EXPECT_FALSE(evaluate<bool>(Op::isfinite, this->nan));
    EXPECT_TRUE(evaluate<bool>(Op::signbit, T(-0.0)));
    EXPECT_FALSE(evaluate<bool>(Op::eq, this->nan, this->nan));
    EXPECT_TRUE(evaluate<bool>(Op::ne, this->nan, this->nan));
    EXPECT_FALSE(evaluate<bool>(Op::le, this->nan, T(1)));
}

TYPED_TEST(Floats, Rounding) {
    using T = TypeParam;
    const T halves[] = {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5};
    const T away[] = {-3, -2, -1, 1, 2, 3}, even[] = {-2, -2, -0.0, 0, 2, 2};
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(evaluate<T>(Op::round, halves[i]), away[i]);
        EXPECT_EQ(evaluate<T>(Op::rint, halves[i]), even[i]);
    }
    EXPECT_TRUE(std::signbit(evaluate<T>(Op::rint, T(-0.3))));
    EXPECT_TRUE(std::signbit(evaluate<T>(Op::rint, T(-0.0))));
    EXPECT_EQ(evaluate<T>(Op::rint, this->inf), this->inf);
    EXPECT_TRUE(std::isnan(evaluate<T>(Op::rint, this->nan)));
    std::mt19937 random(3);
    std::uniform_real_distribution<T> any(-1e6, 1e6);
    for (int i = 0; i < 1000; ++i) {
        const T x = any(random);
        EXPECT_EQ(evaluate<T>(Op::rint, x), std::nearbyint(x));
    }
    const T no_fraction = std::ldexp(T(1.5), std::numeric_limits<T>::digits);
    EXPECT_EQ(evaluate<T>(Op::rint, no_fraction), no_fraction);
}

TYPED_TEST(Floats, PowersAndExponents) {
    using T = TypeParam;
    EXPECT_EQ(evaluate<T>(Op::pow, T(-2), T(3)), T(-8));
    EXPECT_EQ(evaluate<T>(Op::pow, T(-2), T(-2)), T(0.25));
    EXPECT_EQ(evaluate<T>(Op::pow, this->nan, T(0)), T(1));
    EXPECT_EQ(evaluate<T>(Op::pow, T(1), this->nan), T(1));
    EXPECT_TRUE(std::isnan(evaluate<T>(Op::pow, T(-2), T(0.5))));
    EXPECT_EQ(evaluate<T>(Op::pow, T(0), T(-1)), this->inf);
    EXPECT_EQ(evaluate<T>(Op::rsqrt, T(0)), this->inf);
    EXPECT_EQ(evaluate<T>(Op::rsqrt, T(4)), T(0.5));
    EXPECT_TRUE(std::isnan(evaluate<T>(Op::sqrt, T(-1))));
    EXPECT_EQ(evaluate<T>(Op::exp10, T(3)), T(1000));
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, T(0)), INT32_MIN);
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, this->inf), INT32_MAX);
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, this->nan), INT32_MAX);
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, T(-10)), 3);
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, T(0.75)), -1);
    EXPECT_EQ(evaluate<T>(Op::logb, T(0)), -this->inf);
    EXPECT_EQ(evaluate<T>(Op::logb, -this->inf), this->inf);
    EXPECT_EQ(evaluate<T>(Op::ldexp, T(3), int32_t(-1)), T(1.5));
    EXPECT_EQ(evaluate<T>(Op::ldexp, T(1), int32_t(INT32_MAX)), this->inf);
    EXPECT_EQ(evaluate<T>(Op::ldexp, T(1), int32_t(INT32_MIN)), T(0));
    EXPECT_EQ(evaluate<T>(Op::hypot, this->inf, this->nan), this->inf);
    EXPECT_EQ(evaluate<T>(Op::nextafter, T(1), T(2)), T(1) + std::numeric_limits<T>::epsilon());
    EXPECT_EQ(evaluate<T>(Op::fdim, T(1), T(3)), T(0));
    EXPECT_TRUE(std::isnan(evaluate<T>(Op::fdim, this->nan, T(3))));
    EXPECT_EQ(evaluate<T>(Op::remainder, T(5), T(3)), T(-1));
    EXPECT_EQ(evaluate<T>(Op::fmod, T(-5), T(3)), T(-2));
    EXPECT_TRUE(std::isnan(evaluate<T>(Op::fmod, T(1), T(0))));
}

TEST(FloatCorners, FmaRoundsOnce) {
    const float a = 1 + 0x1p-12f;
    EXPECT_EQ(evaluate<float>(Op::fma, a, a, -1.0f), 0x1p-11f + 0x1p-24f);
    const double b = 1 + 0x1p-30;
    EXPECT_EQ(evaluate<double>(Op::fma, b, b, -1.0), 0x1p-29 + 0x1p-60);
}

// ---- special functions ----

TEST(Special, AgreeWithTheStandardLibrary) {
    std::mt19937_64 random(11);
    std::uniform_real_distribution<double> any(-6, 30);
    for (int i = 0; i < 500; ++i) {
        const double x = any(random);
        EXPECT_EQ(evaluate<double>(Op::erf, x), std::erf(x));
        EXPECT_EQ(evaluate<double>(Op::erfc, x), std::erfc(x));
        EXPECT_EQ(evaluate<double>(Op::tgamma, x), std::tgamma(x));
        EXPECT_EQ(evaluate<double>(Op::lgamma, x), std::lgamma(x));
        EXPECT_EQ(evaluate<float>(Op::lgamma, float(x)), std::lgamma(float(x)));
    }
    EXPECT_EQ(evaluate<double>(Op::tgamma, 0.0), infinity);
    EXPECT_EQ(evaluate<double>(Op::tgamma, -0.0), -infinity);
    EXPECT_TRUE(std::isnan(evaluate<double>(Op::tgamma, -3.0)));
    EXPECT_TRUE(std::isnan(evaluate<double>(Op::tgamma, -infinity)));
    EXPECT_EQ(evaluate<double>(Op::lgamma, -3.0), infinity);
    EXPECT_EQ(evaluate<double>(Op::lgamma, 0.0), infinity);
}

TEST(Special, DigammaAndTrigammaAtKnownPoints) {
    constexpr double euler = 0.57721566490153286061, pi = 3.14159265358979323846, catalan = 0.91596559417721901505;
    const double log2 = std::log(2.0);
    const auto near = [](double got, double want) { EXPECT_NEAR(got, want, 4e-15 * std::max(1.0, std::fabs(want))); };
    near(scalar::digamma(1.0), -euler);
    near(scalar::digamma(2.0), 1 - euler);
    near(scalar::digamma(0.5), -euler - 2 * log2);
    near(scalar::digamma(0.25), -euler - pi / 2 - 3 * log2);
    near(scalar::digamma(0.75), -euler + pi / 2 - 3 * log2);
    near(scalar::digamma(-0.5), -euler - 2 * log2 + 2);
    near(scalar::digamma(10.0), 7129.0 / 2520 - euler);
    near(scalar::digamma(1.46163214496836234126), 0);
    near(scalar::trigamma(1.0), pi * pi / 6);
    near(scalar::trigamma(2.0), pi * pi / 6 - 1);
    near(scalar::trigamma(0.5), pi * pi / 2);
    near(scalar::trigamma(0.25), pi * pi + 8 * catalan);
    near(scalar::trigamma(-0.5), pi * pi / 2 + 4);
    EXPECT_TRUE(std::isnan(scalar::digamma(0.0)));
    EXPECT_TRUE(std::isnan(scalar::digamma(-2.0)));
    EXPECT_TRUE(std::isnan(scalar::digamma(-infinity)));
    EXPECT_TRUE(std::isnan(scalar::digamma(nan_value)));
    EXPECT_EQ(scalar::digamma(infinity), infinity);
    EXPECT_EQ(scalar::trigamma(-1.0), infinity);
    EXPECT_EQ(scalar::trigamma(infinity), 0);
    EXPECT_TRUE(std::isnan(scalar::trigamma(nan_value)));
    EXPECT_EQ(scalar::digamma(1.0f), float(-euler));
}

// ---- half ----

TEST(Half, EveryPatternConvertsToItsValueAndBack) {
    for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
        half h;
        h.bits = uint16_t(pattern);
        const float value = float(h);
        const uint32_t exponent = (pattern >> 10) & 31, fraction = pattern & 0x3ff;
        if (exponent == 31 && fraction) {
            ASSERT_TRUE(std::isnan(value)) << pattern;
            ASSERT_EQ(half(value).bits, pattern | 0x200) << "a NaN stays one, made quiet";
            continue;
        }
        const double magnitude = exponent == 31  ? infinity
                                 : exponent == 0 ? std::ldexp(double(fraction), -24)
                                                 : std::ldexp(1024.0 + fraction, int(exponent) - 25);
        ASSERT_EQ(value, float(pattern & 0x8000 ? -magnitude : magnitude)) << pattern;
        ASSERT_EQ(std::signbit(value), (pattern & 0x8000) != 0);
        ASSERT_EQ(half(value).bits, pattern);
    }
}

TEST(Half, RoundsToNearestEven) {
    // Between two neighbours (infinity stands at 2^16): the midpoint rounds to even, other numbers to the nearer neighbour.
    for (uint32_t pattern = 0; pattern < 0x7c00; ++pattern) {
        half below, above;
        below.bits = uint16_t(pattern);
        above.bits = uint16_t(pattern + 1);
        const float high = above.bits == 0x7c00 ? 65536.0f : float(above);
        const float middle = float((double(float(below)) + high) / 2);
        const uint32_t even = pattern & 1 ? pattern + 1 : pattern;
        ASSERT_EQ(half(middle).bits, even) << pattern;
        ASSERT_EQ(half(std::nextafter(middle, 0.0f)).bits, pattern);
        ASSERT_EQ(half(std::nextafter(middle, 1e9f)).bits, pattern + 1);
        ASSERT_EQ(half(-middle).bits, even | 0x8000);
    }
    EXPECT_EQ(half(1e9f).bits, 0x7c00);
    EXPECT_EQ(half(std::numeric_limits<float>::denorm_min()).bits, 0);
    EXPECT_EQ(half(-0.0f).bits, 0x8000);
}

TEST(Half, IsComputedInFloatAndRounded) {
    EXPECT_EQ(float(evaluate<half>(Op::add, half(2048.0f), half(1.0f))), 2048.0f);
    EXPECT_EQ(float(evaluate<half>(Op::mul, half(300.0f), half(300.0f))), std::numeric_limits<float>::infinity());
    EXPECT_EQ(float(evaluate<half>(Op::sqrt, half(2.0f))), float(half(std::sqrt(2.0f))));
    EXPECT_TRUE(evaluate<bool>(Op::lt, half(1.0f), half(2.0f)));
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, half(10.0f)), 3);
}

// ---- bfloat16 ----

TEST(BFloat16, EveryPatternIsTheUpperHalfOfAFloat) {
    for (uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
        bfloat16 b;
        b.bits = uint16_t(pattern);
        const float value = float(b);
        const uint32_t exponent = (pattern >> 7) & 255, fraction = pattern & 0x7f;
        if (exponent == 255 && fraction) {
            ASSERT_TRUE(std::isnan(value)) << pattern;
            ASSERT_EQ(bfloat16(value).bits, pattern | 0x40) << "a NaN stays one, made quiet";
            continue;
        }
        const double magnitude = exponent == 255 ? infinity
                                 : exponent == 0 ? std::ldexp(double(fraction), -133)
                                                 : std::ldexp(128.0 + fraction, int(exponent) - 134);
        ASSERT_EQ(value, float(pattern & 0x8000 ? -magnitude : magnitude)) << pattern;
        ASSERT_EQ(std::signbit(value), (pattern & 0x8000) != 0);
        ASSERT_EQ(bfloat16(value).bits, pattern);
    }
}

TEST(BFloat16, RoundsToNearestEven) {
    // Between two neighbours (infinity stands at 2^128): the midpoint rounds to even, other numbers to the nearer neighbour.
    for (uint32_t pattern = 0; pattern < 0x7f80; ++pattern) {
        const float middle = std::bit_cast<float>(pattern << 16 | 0x8000);
        const uint32_t even = pattern & 1 ? pattern + 1 : pattern;
        ASSERT_EQ(bfloat16(middle).bits, even) << pattern;
        ASSERT_EQ(bfloat16(std::nextafter(middle, 0.0f)).bits, pattern);
        ASSERT_EQ(bfloat16(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, pattern + 1);
        ASSERT_EQ(bfloat16(-middle).bits, even | 0x8000);
    }
    EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
    EXPECT_EQ(double(bfloat16(float(bfloat16::largest))), bfloat16::largest);
    EXPECT_EQ(bfloat16(std::nanf("1")).bits & 0x7fc0, 0x7fc0);
    // A NaN whose payload is all in the lower half.
    EXPECT_TRUE(std::isnan(float(bfloat16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(BFloat16, IsComputedInFloatAndRounded) {
    EXPECT_EQ(float(evaluate<bfloat16>(Op::add, bfloat16(256.0f), bfloat16(1.0f))), 256.0f);
    EXPECT_EQ(float(evaluate<bfloat16>(Op::mul, bfloat16(1e30f), bfloat16(1e30f))), std::numeric_limits<float>::infinity());
    EXPECT_EQ(float(evaluate<bfloat16>(Op::sqrt, bfloat16(2.0f))), float(bfloat16(std::sqrt(2.0f))));
    EXPECT_TRUE(evaluate<bool>(Op::lt, bfloat16(1.0f), bfloat16(2.0f)));
    EXPECT_EQ(evaluate<int32_t>(Op::ilogb, bfloat16(10.0f)), 3);
}

TEST(Scalars, NamesAreFoundAgain) {
    for (int i = 0; i < scalar_count; ++i) EXPECT_EQ(scalar_named(name_of(Scalar(i))), Scalar(i));
    EXPECT_EQ(name_of(Scalar::boolean), "bool");
    EXPECT_EQ(scalar_named("f128"), std::nullopt);
}

}  // namespace
