#include "core/analysis/cross_item_dependence.h"

#include <gtest/gtest.h>

namespace pumice::ir {
namespace {

/// True if these statements exchange data through arg1; %i is the item, %n an argument, %z 0, %one 1.
bool has_dependence(const std::string& body, int rank = 1) {
    const Kernel k = parse("kernel \"k\" math contract whole_groups rank " + std::to_string(rank) +
                           " (arg1: inout i32[1], arg2: i32, arg3: inout i32[1]) files [] {\n  %i = global_index 0 : i32\n"
                           "  %n = argument arg2 : i32\n  %z = constant 0 : i32\n  %one = constant 1 : i32\n" +
                           body + "  return\n}\n");
    EXPECT_EQ(verify(k), "");
    return cross_item_dependent(k)[0];
}

const std::string read = "  %a = load arg1[%i] : i32\n", write = "  store arg1[%i], %n : i32\n", barrier = "  barrier\n",
                  next = "  %j = add %i, %one : i32\n", read_next = "  %b = load arg1[%j] : i32\n",
                  write_next = "  store arg1[%j], %n : i32\n";

TEST(cross_item_dependence, needs_a_write_and_a_barrier_between) {
    EXPECT_TRUE(has_dependence(next + write + barrier + read_next));
    EXPECT_TRUE(has_dependence(next + read_next + barrier + write));
    EXPECT_TRUE(has_dependence(next + write_next + barrier + write)) << "who writes last, is the question";
    EXPECT_FALSE(has_dependence(next + read + barrier + read_next));
    EXPECT_FALSE(has_dependence(next + write + read_next));
    EXPECT_FALSE(has_dependence(next + barrier + read_next + write + "  store arg3[%i], %n : i32\n"));
    EXPECT_FALSE(has_dependence(next + read_next + write + barrier));
}

TEST(cross_item_dependence, elements_of_one_item_carry_none) {
    EXPECT_FALSE(has_dependence(read + barrier + write));
    EXPECT_FALSE(has_dependence(write + barrier + write));
    EXPECT_FALSE(has_dependence("  %j = add %i, %n : i32\n  %c = load arg1[%j] : i32\n" + barrier + write_next));
    EXPECT_TRUE(has_dependence(read + barrier + write, 2)) << "items of a column share it";
    EXPECT_TRUE(has_dependence("  %c = load arg1[%z] : i32\n" + barrier + "  store arg1[%z], %n : i32\n"));
    EXPECT_TRUE(has_dependence("  %s = cast %i : i8\n  %t = cast %s : i32\n  %c = load arg1[%t] : i32\n" + barrier +
                               "  store arg1[%t], %n : i32\n"));
}

TEST(cross_item_dependence, barriers_in_a_loop_separate_its_iterations) {
    const auto loop = [](const std::string& body) { return "  for %k = %z to %n step %one {\n" + body + "  yield\n  }\n"; };
    EXPECT_TRUE(has_dependence(next + loop(barrier + read_next + write)));
    EXPECT_FALSE(has_dependence(loop(barrier + read + write)));
    EXPECT_TRUE(has_dependence(loop(barrier + "  %j = add %i, %k : i32\n" + write_next)));
    EXPECT_FALSE(has_dependence(next + loop(read_next + write)));
    EXPECT_FALSE(has_dependence(next + barrier + loop(read_next + write)));
}

TEST(cross_item_dependence, barriers_in_one_arm_count) {
    const std::string arm = "  %p = gt %n, %z : bool\n  if %p {\n  barrier\n  yield\n  } else {\n  yield\n  }\n";
    EXPECT_TRUE(has_dependence(next + write + arm + read_next));
}

}  // namespace
}  // namespace pumice::ir
