#include <gtest/gtest.h>

#include "codegen/glsl/codegen.h"
#include "core/support/debug.h"

namespace pumice::codegen {
namespace {

const char* const sum = R"(kernel "sum" math contract rank 1 (arg1: inout i32[1], arg2: i32) files [] {
  %i = global_index 0 : i32
  %zero = constant 0 : i32
  %one = constant 1 : i32
  %n = argument arg2 : i32
  %total = var %zero : i32
  for %k = %zero to %n step %one carry () {
    %a = get %total : i32
    %b = mul %n, %n : i32
    %c = add %a, %b : i32
    set %total, %c : i32
    yield
  }
  %t = get %total : i32
  store arg1[%i], %t : i32
  return
}
)";

TEST(lower, removes_variables_predicates_the_tail_and_hoists) {
    const std::string text = ir::print(lower(ir::parse(sum)));
    EXPECT_EQ(ir::verify(ir::parse(text)), "");
    for (const char* gone : {" var ", " get ", "set "}) EXPECT_EQ(text.find(gone), std::string::npos) << text;
    EXPECT_NE(text.find("in_range"), std::string::npos) << text;
    EXPECT_LT(text.find("mul"), text.find("for ")) << text;
}

TEST(lower, is_idempotent) {
    const ir::Kernel once = lower(ir::parse(sum));
    EXPECT_EQ(ir::print(lower(once)), ir::print(once));
}

TEST(lower, dumps_the_passes_that_are_asked_for) {
    const debug::Override dump("PUMICE_DUMP", "ir,hoist");
    testing::internal::CaptureStderr();
    lower(ir::parse(sum));
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed.find("---- sum: ir ----\nkernel \"sum\""), 0u) << printed;
    EXPECT_NE(printed.find("---- sum: hoist ----"), std::string::npos) << printed;
    EXPECT_EQ(printed.find("---- sum: predicate_range_tail ----"), std::string::npos) << printed;
}

TEST(lower, lists_its_stages) {
    const debug::Override dump("PUMICE_DUMP", "hoistt");
    testing::internal::CaptureStderr();
    lower(ir::parse(sum));
    lower(ir::parse(sum));
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(printed,
              "pumice: PUMICE_DUMP names \"hoistt\"; it knows ir, inlining, group_by_memory, promote, simplify, "
              "forward_stores, linearize_indices, hoist, cross_loop_cse, owner_computes_atomics, subgroup_aggregated_atomics, "
              "predicate_range_tail, group_by_subgroups, reassociate_for_fma, dead, analysis, glsl, spirv, all\n");
}

}  // namespace
}  // namespace pumice::codegen
