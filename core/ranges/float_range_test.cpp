#include "core/ranges/float_range.h"

#include <gtest/gtest.h>

#include "core/text/parser.h"

namespace pumice::ir {
namespace {

/// The range of what the kernel stores last.
FloatRange range_of(const std::string& body) {
    const Kernel k = parse(
        "kernel \"k\" math strict rank 1 (arg1: inout f32[1], arg2: in f32[1], arg3: in i32[1]) files [] {\n"
        "  %0 = global_index 0 : i32\n  %1 = load arg2[%0] : f32\n  %2 = load arg3[%0] : i32\n" +
        body + "  store arg1[%0], %9 : f32\n  return\n}\n");
    for (const InstId id : k.body().insts)
        if (k[id].op == Op::store) return float_range(k, k.operands(k[id]).back());
    return {};
}

void expect_range(const std::string& body, double low, double high, bool nan) {
    const FloatRange r = range_of(body);
    EXPECT_EQ(r.low, low) << body;
    EXPECT_EQ(r.high, high) << body;
    EXPECT_EQ(r.nan, nan) << body;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(FloatRange, selects_that_compare_what_they_choose_are_bounds_without_nan) {
    const std::string constants = "  %3 = constant 65536 : f32\n  %4 = constant -8 : f32\n";
    expect_range(constants + "  %5 = lt %1, %3 : bool\n  %9 = select %5, %1, %3 : f32\n", -infinity, 65536, false);
    expect_range(constants +
                     "  %5 = lt %1, %3 : bool\n  %6 = select %5, %1, %3 : f32\n  %7 = gt %6, %4 : bool\n"
                     "  %8 = select %7, %6, %4 : f32\n  %9 = floor %8 : f32\n",
                 -8, 65536, false);
    // The other order keeps NaN, and a comparison of other values bounds nothing.
    expect_range(constants + "  %5 = gt %3, %1 : bool\n  %9 = select %5, %1, %3 : f32\n", -infinity, infinity, true);
    expect_range(constants + "  %5 = lt %1, %4 : bool\n  %9 = select %5, %1, %3 : f32\n", -infinity, infinity, true);
    expect_range(constants + "  %5 = lt %3, %1 : bool\n  %9 = select %5, %3, %1 : f32\n", -infinity, 65536, true);
}

TEST(FloatRange, min_and_max_ignore_nan_of_one_operand) {
    const std::string constants = "  %3 = constant 10 : f32\n  %4 = constant 2 : f32\n";
    expect_range(constants + "  %9 = min %1, %3 : f32\n", -infinity, 10, false);
    expect_range(constants + "  %9 = min %3, %1 : f32\n", -infinity, 10, false);
    expect_range(constants + "  %9 = max %1, %4 : f32\n", 2, infinity, false);
    expect_range("  %3 = load arg2[%0] : f32\n  %9 = max %1, %3 : f32\n", -infinity, infinity, true);
    expect_range(constants + "  %5 = cast %2 : f32\n  %6 = min %5, %3 : f32\n  %9 = max %6, %4 : f32\n", 2, 10, false);
}

TEST(FloatRange, a_bounded_float_fits_an_integer) {
    const auto fits = [](const char* bound) {
        const Kernel k = parse(std::string("kernel \"k\" math strict rank 1 (arg1: inout i32[1], arg2: in f32[1]) files [] {\n"
                                           "  %0 = global_index 0 : i32\n  %1 = load arg2[%0] : f32\n  %2 = constant ") +
                               bound +
                               " : f32\n  %3 = constant -1 : f32\n  %4 = lt %1, %2 : bool\n  %5 = select %4, %1, %2 : f32\n"
                               "  %6 = gt %5, %3 : bool\n  %7 = select %6, %5, %3 : f32\n  %8 = cast %7 : i32\n"
                               "  store arg1[%0], %8 : i32\n  return\n}\n");
        for (const Inst& i : k.insts)
            if (i.op == Op::cast) return fits_i32(k, k.operands(i)[0]);
        return false;
    };
    EXPECT_TRUE(fits("2147483520"));
    EXPECT_FALSE(fits("2147483648"));
}

/// As the cell of a place that is clamped to an array: `clamp(x, 0.0f, cast<float>(a.size(0) - 1))`.
TEST(FloatRange, a_float_below_an_extent_fits_an_integer_if_the_extent_is_bounded) {
    const Kernel k = parse(
        "kernel \"k\" math strict rank 1 (arg1: inout i32[1], arg2: in f32[1]) files [] {\n"
        "  %0 = global_index 0 : i32\n  %1 = load arg2[%0] : f32\n  %2 = constant 0 : f32\n  %3 = extent arg2, 0 : i32\n"
        "  %4 = constant 1 : i32\n  %5 = sub %3, %4 : i32\n  %6 = cast %5 : f32\n  %7 = max %1, %2 : f32\n"
        "  %8 = min %7, %6 : f32\n  %9 = cast %8 : i32\n  store arg1[%0], %9 : i32\n  return\n}\n");
    Value clamped;
    for (const Inst& i : k.insts)
        if (i.op == Op::cast && i.type == Scalar::i32) clamped = k.operands(i)[0];
    EXPECT_FALSE(fits_i32(k, clamped));
    EXPECT_TRUE(fits_i32(k, clamped, std::vector<int64_t>{1 << 30, 1 << 30}));
    EXPECT_FALSE(fits_i32(k, clamped, std::vector<int64_t>{1 << 30, INT32_MAX}));
    const FloatRange r = float_range(k, clamped, std::vector<int64_t>{1 << 30, 1 << 30});
    EXPECT_EQ(r.low, -1);
    EXPECT_EQ(r.high, 0x1p30);
    EXPECT_FALSE(r.nan);
}

}  // namespace
}  // namespace pumice::ir
