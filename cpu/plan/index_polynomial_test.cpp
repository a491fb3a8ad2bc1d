#include "cpu/plan/index_polynomial.h"

#include <gtest/gtest.h>

#include "core/support/error.h"

namespace pumice::cpu {
namespace {

ir::Kernel kernel_of(const std::string& body) {
    const ir::Kernel k = ir::parse("kernel \"k\" math contract rank 2 (arg1: i32) files [\"k.cpp\"] {\n" + body + "return\n}\n");
    EXPECT_EQ(ir::verify(k), "");
    return k;
}

TEST(IndexPolynomial, WrapsInTheBitsOfItsType) {
    const ir::Kernel k = kernel_of(
        "%0 = argument arg1 : i32\n%1 = global_index 0 : i32\n%2 = constant 2000000000 : i32\n%3 = add %1, %2 : i32\n"
        "%4 = add %3, %2 : i32\n%5 = constant 65536 : i32\n%6 = mul %0, %5 : i32\n%7 = mul %6, %5 : i32\n%8 = add %4, %7 : i32\n"
        "%9 = constant -1 : i32\n%10 = add %4, %9 : i32\n%11 = cast %1 : i64\n%12 = constant 2000000000 : i64\n"
        "%13 = add %11, %12 : i64\n%14 = add %13, %12 : i64\n");
    EXPECT_EQ(offset_from_item(k, {1}, 0), 0);
    EXPECT_EQ(offset_from_item(k, {3}, 0), 2000000000);
    EXPECT_EQ(offset_from_item(k, {4}, 0), 4000000000 - (int64_t(1) << 32));
    EXPECT_EQ(offset_from_item(k, {8}, 0), 4000000000 - (int64_t(1) << 32));  // 2^32 times an integer is 0
    EXPECT_EQ(offset_from_item(k, {4}, 1), std::nullopt);
    EXPECT_EQ(offset_from_item(k, {0}, 0), std::nullopt);
    const IndexPolynomial apart = difference(k, {10}, {3}), wide = difference(k, {14}, {11});
    EXPECT_TRUE(apart.is_constant() && wide.is_constant());
    EXPECT_EQ(apart.constant, 1999999999);
    EXPECT_EQ(wide.constant, 4000000000);
    EXPECT_FALSE(difference(k, {6}, {0}).is_constant());
}

TEST(IndexPolynomial, NarrowSumsAreOneUnknown) {
    const ir::Kernel k = kernel_of(
        "%0 = argument arg1 : i32\n%1 = global_index 0 : i32\n%2 = cast %1 : u8\n%3 = constant 200 : u8\n%4 = add %2, %3 : u8\n"
        "%5 = cast %4 : i32\n%6 = cast %2 : i32\n");
    EXPECT_FALSE(difference(k, {4}, {2}).is_constant());  // the difference is 200 or -56
    EXPECT_FALSE(difference(k, {5}, {6}).is_constant());
    EXPECT_TRUE(difference(k, {4}, {4}).is_constant());
    EXPECT_EQ(offset_from_item(k, {5}, 0), std::nullopt);
}

}  // namespace
}  // namespace pumice::cpu
