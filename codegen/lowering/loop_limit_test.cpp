#include "codegen/lowering/loop_limit.h"

#include <gtest/gtest.h>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

constexpr int64_t unknown = INT64_MAX;

ir::Kernel kernel_of(const std::string& body) {
    const ir::Kernel k = ir::parse(
        "kernel \"k\" math contract rank 1 (arg1: inout f64[1], arg2: inout i32[1], arg3: i32) @7 files [\"k.cpp\"] {\n  local "
        "local1: i32[64]\n"
        "  %n = argument arg3 : i32\n  %m1 = constant -1 : i32\n  %0 = constant 0 : i32\n  %1 = constant 1 : i32\n  %2 = "
        "constant 2 : i32\n"
        "  %7 = constant 7 : i32\n  %300 = constant 300 : i32\n  %x = load arg1[%0] : f64\n  %g = lt %n, %7 : bool\n" +
        body + "  return\n}\n");
    EXPECT_EQ(ir::verify(k), "");
    return k;
}

TEST(LoopLimit, TripCountsAreBounded) {
    const auto bound = [](const std::string& body) { return most_iterations(kernel_of(body)); };
    const auto loop = [](const char* head, const std::string& body = "") {
        static int number = 0;
        return text("  for %i", ++number, " = ", head, " carry () {\n", body, "  yield\n  }\n");
    };
    EXPECT_EQ(bound(""), 0);
    EXPECT_EQ(bound(loop("%0 to %300 step %1")), 300);
    EXPECT_EQ(bound(loop("%0 to %300 step %7")), 43);
    EXPECT_EQ(bound(loop("%300 to %0 step %m1")), 300);
    EXPECT_EQ(bound(loop("%300 to %0 step %1")), 0);
    EXPECT_EQ(bound(loop("%0 to %300 step %0")), 0);
    EXPECT_EQ(bound(loop("%0 to %7 step %1", loop("%0 to %300 step %1"))), 7 * 301);
    EXPECT_EQ(bound(loop("%0 to %n step %1")), unknown);
    EXPECT_EQ(bound(loop("%0 to %300 step %n")), unknown);
    EXPECT_EQ(bound(loop("%300 to %0 step %1", loop("%0 to %n step %1"))), 0) << "it does not run";
    EXPECT_EQ(
        bound("  if %g {\n" + loop("%0 to %7 step %1") + "  yield\n  } else {\n" + loop("%0 to %2 step %1") + "  yield\n  }\n"),
        9);
    EXPECT_EQ(bound("  while () {\n  test %g\n  } do {\n  yield\n  }\n"), unknown);
    EXPECT_EQ(bound("  %old = atomic add arg2[%0], %1 : i32\n"), 0);
    EXPECT_EQ(bound("  %old = atomic add arg1[%0], %x : f64\n"), unknown) << "a loop of exchanges, or a lock";
    EXPECT_EQ(bound(loop("%0 to %7 step %1", text("  %s = group reduce_add local1, %n : i32\n"))), 7 * 1025)
        << "one step a subgroup";
    EXPECT_GE(bound("  %r = fmod %x, %x : f64\n  store arg1[%0], %r : f64\n"), 2046) << "the function loops over the exponents";
    EXPECT_EQ(bound("  %r = add %x, %x : f64\n  store arg1[%0], %r : f64\n"), 0);
}

TEST(LoopLimit, KernelsBelowTheLimitAreUnchanged) {
    const ir::Kernel small = kernel_of("  for %i = %0 to %300 step %1 carry () {\n  yield\n  }\n");
    EXPECT_EQ(ir::print(require_loops(small, 65535, "d")), ir::print(small));
    EXPECT_NE(ir::print(require_loops(small, 300, "d")), ir::print(small));
}

TEST(LoopLimit, EveryReturnChecksTheCounter) {
    const ir::Kernel k =
        kernel_of("  for %i = %0 to %n step %1 carry () {\n  if %g {\n  return\n  } else {\n  yield\n  }\n  yield\n  }\n");
    const ir::Kernel asks = require_loops(k, 65535, "vulkan:0 {x}");
    EXPECT_EQ(ir::verify(asks), "");
    const std::string printed = ir::print(asks),
                      wanted =
                          "require \"the loops of a work-item make fewer than 65,535 iterations in all, after which "
                          "vulkan:0 {{x}} ends them, with wrong results\"";
    size_t count = 0;
    for (size_t at = printed.find(wanted); at != printed.npos; at = printed.find(wanted, at + 1)) ++count;
    EXPECT_EQ(count, 2u) << printed;
    const Shader s = compile(asks);
    EXPECT_EQ(validate(s.spirv), "") << s.glsl;
}

}  // namespace
}  // namespace pumice::codegen
