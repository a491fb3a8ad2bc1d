// Software prefetch, as the text of modules shows it.
#include <gtest/gtest.h>

#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::cpu {
namespace {

int prefetches_in(const std::string& kernel, const Target& target, const Variant& variant) {
    const ir::Kernel k = ir::parse(kernel);
    EXPECT_EQ(ir::verify(k), "");
    const std::string module = emit_llvm(lower(k, false), target, variant).text;
    int n = 0;
    for (size_t at = 0; (at = module.find("call void @llvm.prefetch", at)) != module.npos; ++at) ++n;
    return n;
}

// The next packet's loads come only after the loop.
TEST(Emit, loads_that_a_loop_follows_prefetch_for_later_packets) {
    const auto prefetches = [](const char* loop, Target target) {
        Variant variant;
        variant.group = {64, 1, 1};
        variant.full = true;
        return prefetches_in(
            text("kernel \"k\" math contract rank 1 (arg1: out i32[1], arg2: in i32[1], arg3: in i32[1], arg4: i32) files [] {\n"
                 "%0 = global_index 0 : i32\n%1 = load arg2[%0] : i32\n%2 = argument arg4 : i32\n%zero = constant 0 : i32\n"
                 "%one = constant 1 : i32\n",
                 loop, "store arg1[%0], %3 : i32\nreturn\n}\n"),
            target, variant);
    };
    const char* const loop =
        "%3 = for %4 = %zero to %2 step %one carry (%5 = %1) : i32 {\n%6 = load arg3[%4] : i32\n%7 = mul %5, %6 : i32\n"
        "%8 = xor %7, %1 : i32\nyield %8\n}\n";
    Target target;
    target.width = 16;
    EXPECT_EQ(prefetches(loop, target), 1);
    EXPECT_EQ(prefetches("%3 = mul %1, %2 : i32\n", target), 0);
    target.rules = target.rules.without(Rule::software_prefetch);
    EXPECT_EQ(prefetches(loop, target), 0);
}

// Of the loads of a stencil only the one furthest ahead is prefetched; it loads what the others get later.
TEST(Emit, stencils_prefetch_only_new_elements) {
    const std::string kernel =
        "kernel \"k\" math contract rank 2 (arg1: out i32[2], arg2: in i32[2], arg3: in i32[2]) files [\"k.cpp\"] {\n"
        "%0 = global_index 1 : i32\n%1 = global_index 0 : i32\n%2 = constant 1 : i32\n%3 = add %0, %2 : i32\n%4 = sub %0, %2 : "
        "i32\n"
        "%5 = add %1, %2 : i32\n%6 = load arg2[%0, %1] : i32\n%7 = load arg2[%0, %5] : i32\n%8 = load arg2[%3, %1] : i32\n"
        "%9 = load arg2[%4, %1] : i32\n%10 = load arg3[%4, %1] : i32\n%11 = add %6, %7 : i32\n%12 = add %8, %9 : i32\n"
        "%13 = add %11, %12 : i32\n%14 = add %13, %10 : i32\nstore arg1[%0, %1], %14 : i32\nreturn\n}\n";
    Target target;
    target.width = 8;
    Variant variant;
    variant.group = {64, 1, 1};
    variant.full = variant.streaming = true;
    EXPECT_EQ(prefetches_in(kernel, target, variant), 2);
}

}  // namespace
}  // namespace pumice::cpu
