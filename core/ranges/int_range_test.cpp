#include "core/ranges/int_range.h"

#include <gtest/gtest.h>

#include "core/text/parser.h"

namespace pumice::ir {
namespace {

/// The range of what the kernel stores last.
IntRange range_of(const std::string& body, const char* type = "i32") {
    const Kernel k =
        parse("kernel \"k\" math strict rank 1 (arg1: inout " + std::string(type) +
              "[1], arg2: in u8[1], arg3: in i32[1], arg4: in i8[1]) files [] {\n"
              "  %0 = global_index 0 : i32\n  %a = load arg2[%0] : u8\n  %b = load arg3[%0] : i32\n  %c = load arg4[%0] : i8\n"
              "  %x = cast %a : i32\n  %y = cast %c : i32\n  %2 = constant 2 : i32\n  %20 = constant 20 : i32\n" +
              body + "  store arg1[%0], %9 : " + type + "\n  return\n}\n");
    for (const InstId id : k.body().insts)
        if (k[id].op == Op::store) return IntRanges(k)(k.operands(k[id]).back());
    return {};
}
void expect_range(const std::string& body, int64_t low, int64_t high, const char* type = "i32") {
    const IntRange r = range_of(body, type);
    EXPECT_EQ(r.low, low) << body;
    EXPECT_EQ(r.high, high) << body;
}

TEST(IntRanges, arithmetic_of_bytes) {
    expect_range("  %9 = sub %x, %y : i32\n", -127, 383);
    expect_range("  %9 = mul %x, %y : i32\n", 255 * -128, 255 * 127);
    expect_range("  %8 = sub %y, %x : i32\n  %9 = abs %8 : i32\n", 0, 383);
    expect_range("  %8 = neg %y : i32\n  %9 = min %8, %2 : i32\n", -127, 2);
    expect_range("  %9 = max %y, %20 : i32\n", 20, 127);
    expect_range("  %8 = lt %x, %y : bool\n  %9 = select %8, %2, %y : i32\n", -128, 127);
}

TEST(IntRanges, bits_and_shifts) {
    expect_range("  %9 = and %b, %20 : i32\n", 0, 20);
    expect_range("  %9 = or %x, %20 : i32\n", 0, 255);
    expect_range("  %9 = xor %x, %y : i32\n", INT32_MIN, INT32_MAX);
    expect_range("  %9 = shl %y, %2 : i32\n", -512, 508);
    expect_range("  %9 = shr %y, %2 : i32\n", -32, 31);
    expect_range("  %9 = shr %b, %20 : i32\n", -2048, 2047);
    expect_range("  %9 = shl %20, %x : i32\n", INT32_MIN, INT32_MAX);
}

TEST(IntRanges, a_result_that_may_leave_its_type_is_any_number) {
    expect_range("  %9 = add %b, %2 : i32\n", INT32_MIN, INT32_MAX);
    expect_range("  %8 = cast %x : u32\n  %7 = constant 1 : u32\n  %9 = sub %8, %7 : u32\n", 0, UINT32_MAX, "u32");
    expect_range("  %9 = cast %y : u32\n", 0, UINT32_MAX, "u32");
    expect_range("  %9 = cast %x : u8\n", 0, 255, "u8");
    expect_range("  %9 = cast %y : u8\n", 0, 255, "u8");
    expect_range("  %7 = mul %x, %x : i32\n  %8 = mul %7, %x : i32\n  %9 = mul %8, %x : i32\n", INT32_MIN, INT32_MAX);
    expect_range("  %9 = abs %b : i32\n", INT32_MIN, INT32_MAX);
}

}  // namespace
}  // namespace pumice::ir
