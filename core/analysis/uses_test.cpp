// Def-use, memory effects and trip counts of small kernels.
#include "core/analysis/uses.h"

#include <gtest/gtest.h>

#include "core/analysis/loop_info.h"
#include "core/analysis/memory_effects.h"

using namespace pumice;
using namespace pumice::ir;

namespace {

Kernel kernel_of(const std::string& body, const std::string& type = "i32") {
    return parse("kernel \"k\" math contract rank 1 (arg1: inout " + type + "[1], arg2: in " + type +
                 "[1], arg3: inout i32[1]) files [] {\n" + body + "  return\n}\n");
}

InstId first(const Kernel& k, Op op) {
    for (uint32_t i = 0; i < k.insts.size(); ++i)
        if (k.insts[i].op == op) return {i};
    return {};
}

TEST(Uses, CountsEachOperand) {
    const Kernel k =
        kernel_of("  %0 = global_index 0 : i32\n  %1 = add %0, %0 : i32\n  %2 = mul %1, %0 : i32\n  store arg1[%0], %1 : i32\n");
    const Uses uses(k);
    const Value index = k.result(k[first(k, Op::global_index)]), sum = k.result(k[first(k, Op::add)]),
                unused = k.result(k[first(k, Op::mul)]);
    EXPECT_EQ(uses.count(index), 4u);
    EXPECT_EQ(uses.count(sum), 2u);
    EXPECT_FALSE(uses.any(unused));
    ASSERT_EQ(uses.of(sum).size(), 2u);
    EXPECT_EQ(uses.of(sum)[0], first(k, Op::mul));
    EXPECT_EQ(uses.of(sum)[1], first(k, Op::store));
    EXPECT_EQ(uses.of(index)[0], uses.of(index)[1]);  // the addition, twice
}

TEST(Uses, IncludeOperandsInsideOfConstructs) {
    const Kernel k = kernel_of(
        "  %0 = global_index 0 : i32\n  %1 = constant true : bool\n  if %1 {\n    store arg1[%0], %0 : i32\n    yield\n  } else "
        "{\n    yield\n  }\n");
    const Uses uses(k);
    EXPECT_EQ(uses.count(k.result(k[first(k, Op::global_index)])), 2u);
    EXPECT_EQ(uses.of(k.result(k[first(k, Op::constant)]))[0], first(k, Op::if_));
}

TEST(MemoryEffects, AtomicsReadAndWrite) {
    const Kernel k = kernel_of(
        "  %0 = global_index 0 : i32\n  %1 = load arg2[%0] : i32\n  store arg1[%0], %1 : i32\n  %2 = atomic add arg3[%0], %1 : "
        "i32\n");
    const MemoryEffects effects(k);
    EXPECT_TRUE(effects.writes({0}) && !effects.reads({0}));
    EXPECT_TRUE(effects.reads({1}) && !effects.writes({1}));
    EXPECT_TRUE(effects.reads({2}) && effects.writes({2}));
}

std::optional<int64_t> trips(const std::string& type, const std::string& from, const std::string& to, const std::string& step) {
    const Kernel k =
        kernel_of("  %0 = constant " + from + " : " + type + "\n  %1 = constant " + to + " : " + type + "\n  %2 = constant " +
                      step + " : " + type + "\n  for %3 = %0 to %1 step %2 {\n    yield\n  }\n",
                  type);
    return constant_trip_count(k, k[first(k, Op::for_)]);
}

TEST(LoopInfo, TripCountsOfConstantBounds) {
    EXPECT_EQ(trips("i32", "0", "10", "3"), 4);
    EXPECT_EQ(trips("i32", "10", "0", "-3"), 4);
    EXPECT_EQ(trips("i32", "0", "10", "-1"), 0);
    EXPECT_EQ(trips("i32", "0", "10", "0"), 0);
    EXPECT_EQ(trips("i32", "-2147483648", "2147483647", "1"), 4294967295);
    EXPECT_EQ(trips("u32", "0", "4294967295", "1"), 4294967295);
    EXPECT_EQ(trips("i8", "-128", "127", "100"), 3);
    EXPECT_EQ(trips("u64", "0", "18446744073709551615", "1"), INT64_MAX);  // capped
}

TEST(LoopInfo, NothingForOtherBoundsAndInstructions) {
    const Kernel k =
        kernel_of("  %0 = global_index 0 : i32\n  %1 = constant 1 : i32\n  for %2 = %1 to %0 step %1 {\n    yield\n  }\n");
    EXPECT_EQ(constant_trip_count(k, k[first(k, Op::for_)]), std::nullopt);
    EXPECT_EQ(constant_trip_count(k, k[first(k, Op::constant)]), std::nullopt);
    EXPECT_EQ(constant_integer(k, k.result(k[first(k, Op::constant)])), WideInt(1));
    EXPECT_EQ(constant_integer(k, k.result(k[first(k, Op::global_index)])), std::nullopt);
}

}  // namespace
