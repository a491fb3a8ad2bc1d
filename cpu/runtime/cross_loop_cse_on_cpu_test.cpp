// Cross-loop CSE: values that are kept from one loop for a later one, and values that must not be kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/support/error.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::cpu {
namespace {

/// Two loops over x, the second from n - 1 down. The instructions at the end of their bodies compute %v.
ir::Kernel after_cse(const std::string& first, const std::string& second, const std::string& between = "",
                     const std::string& head = "") {
    const auto loop = [](const std::string& bounds, const std::string& body) {
        return text("for %k = ", bounds, " carry (%s = %zero) : f32 {\n%at = add %row, %k : i32\n", body,
                    "%t = add %s, %v : f32\nyield %t\n}\n");
    };
    std::string kernel =
        text("kernel \"k\" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1], arg3: i32) files [\"k.cpp\"] {\n", head,
             "%i = global_index 0 : i32\n%n = argument arg3 : i32\n%row = mul %i, %n : i32\n%zero = constant 0.0 : f32\n"
             "%none = constant 0 : i32\n%one = constant 1 : i32\n%down = constant -1 : i32\n%last = sub %n, %one : i32\n",
             "%a = ", loop("%none to %n step %one", first), between, "%b = ", loop("%last to %down step %down", second),
             "%sum = add %a, %b : f32\nstore arg1[%i], %sum : f32\nreturn\n}\n");
    // Values of the text are numbered.
    std::vector<std::string> names;
    for (size_t at = kernel.find('%'); at != kernel.npos; at = kernel.find('%', at + 1)) {
        size_t end = at + 1;
        while (end < kernel.size() && std::isalnum(static_cast<unsigned char>(kernel[end]))) ++end;
        const std::string name = kernel.substr(at + 1, end - at - 1);
        const bool defined = kernel.compare(end, 2, " =") == 0;
        auto found = std::find(names.rbegin(), names.rend(), name);
        if (defined) names.push_back(name), found = names.rbegin();
        kernel.replace(at + 1, end - at - 1, std::to_string(names.size() - 1 - size_t(found - names.rbegin())));
    }
    const ir::Kernel parsed = ir::parse(kernel);
    EXPECT_EQ(ir::verify(parsed), "") << kernel;
    const ir::Kernel now = cross_loop_cse(parsed);
    EXPECT_EQ(ir::verify(now), "") << ir::print(now);
    return now;
}

int ops(const ir::Kernel& k, ir::Op op) {
    return int(std::count_if(k.insts.begin(), k.insts.end(), [&](const ir::Inst& i) { return i.op == op; }));
}

bool keeps_values(const ir::Kernel& k) { return !k.memories.empty() && k.memories.back().kind == ir::MemoryKind::private_; }

const std::string load = "%x = load arg2[%at] : f32\n", exponential = load + "%v = exp %x : f32\n";

TEST(CrossLoopCse, KeepsCostlyFunctionsOfUnchangedArrays) {
    const ir::Kernel k = after_cse(exponential, exponential);
    ASSERT_TRUE(keeps_values(k)) << ir::print(k);
    EXPECT_EQ(k.memories.back().extents, std::vector<int64_t>{1024});
    // One in the first loop, and one in a loop of its own for iterations that were not kept.
    EXPECT_EQ(ops(k, ir::Op::exp), 2);
    EXPECT_EQ(ops(k, ir::Op::for_), 3);
    EXPECT_EQ(ops(k, ir::Op::if_), 0);
}

TEST(CrossLoopCse, NotCheapOperations) {
    EXPECT_FALSE(keeps_values(after_cse(load + "%v = mul %x, %x : f32\n", load + "%v = mul %x, %x : f32\n")));
}

TEST(CrossLoopCse, NotOtherElements) {
    EXPECT_FALSE(
        keeps_values(after_cse(exponential, "%on = add %at, %one : i32\n%x = load arg2[%on] : f32\n%v = exp %x : f32\n")));
}

TEST(CrossLoopCse, NotElementsThatMayHaveChanged) {
    const std::string own = "%x = load arg1[%at] : f32\n%v = exp %x : f32\n";
    EXPECT_FALSE(keeps_values(after_cse(own, own)));
}

TEST(CrossLoopCse, NotFunctionsOfCarriedValues) {
    EXPECT_FALSE(keeps_values(
        after_cse(load + "%y = add %x, %s : f32\n%v = exp %y : f32\n", load + "%y = add %x, %s : f32\n%v = exp %y : f32\n")));
}

/// Equal constant trip counts: no condition is left.
TEST(CrossLoopCse, LoopsWithEqualConstantBoundsNeedNoCondition) {
    const auto kernel = [](const std::string& first, const std::string& limit) {
        return ir::parse(
            "kernel \"k\" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1]) files [\"k.cpp\"] {\n"
            "%0 = global_index 0 : i32\n%1 = load arg2[%0] : f32\n%2 = constant 0 : i32\n%3 = constant 1 : i32\n%4 = constant 20 "
            ": i32\n%5 = constant 0.0 : f32\n"
            "%6 = for %7 = %2 to %4 step %3 carry (%8 = %5) : f32 {\n%9 = cast %7 : f32\n%10 = mul %9, %1 : f32\n%11 = exp %10 : "
            "f32\n%12 = add %8, %11 : f32\n"
            "yield %12\n}\n%13 = constant " +
            first + " : i32\n%14 = constant " + limit +
            " : i32\n%15 = constant -1 : i32\n"
            "%16 = for %17 = %13 to %14 step %15 carry (%18 = %6) : f32 {\n%19 = cast %17 : f32\n%20 = mul %19, %1 : f32\n%21 = "
            "exp %20 : f32\n%22 = mul %18, %21 : f32\n"
            "yield %22\n}\nstore arg1[%0], %16 : f32\nreturn\n}\n");
    };
    const ir::Kernel k = kernel("19", "-1");
    ASSERT_EQ(ir::verify(k), "");
    const ir::Kernel now = cross_loop_cse(k);
    EXPECT_EQ(ir::verify(now), "");
    ASSERT_TRUE(keeps_values(now)) << ir::print(now);
    EXPECT_EQ(now.memories.back().extents, std::vector<int64_t>{32});
    EXPECT_EQ(ops(now, ir::Op::exp), 1);
    EXPECT_EQ(ops(cross_loop_cse(kernel("20", "-1")), ir::Op::exp), 2) << "the first loop had no 20";
    EXPECT_EQ(ops(cross_loop_cse(kernel("5", "2")), ir::Op::exp), 1);
}

/// The later loop stands in a nested block, under another condition, after a barrier.
TEST(CrossLoopCse, LoopsInNestedBlocks) {
    const std::string kernel =
        "kernel \"k\" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1], arg3: i32) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = argument arg3 : i32\n%2 = constant 0 : i32\n%3 = constant 1 : i32\n%4 = constant 0.0 : "
        "f32\n"
        "%5 = for %6 = %2 to %1 step %3 carry (%7 = %4) : f32 {\n%8 = load arg2[%6] : f32\n%9 = load arg2[%0] : f32\n%10 = mul "
        "%8, %9 : f32\n"
        "%11 = exp %10 : f32\n%12 = add %7, %11 : f32\nyield %12\n}\nbarrier\n%13 = gt %5, %4 : bool\nif %13 {\n"
        "for %14 = %2 to %1 step %3 {\n%15 = load arg2[%14] : f32\n%16 = load arg2[%0] : f32\n%17 = mul %15, %16 : f32\n%18 = "
        "exp %17 : f32\n"
        "store arg1[%0], %18 : f32\nyield\n}\nyield\n} else {\nyield\n}\nreturn\n}\n";
    const ir::Kernel k = ir::parse(kernel);
    ASSERT_EQ(ir::verify(k), "");
    // Each loop has its own load of arg2[%0], and the two give the same value.
    const ir::Kernel now = cross_loop_cse(k);
    EXPECT_EQ(ir::verify(now), "");
    EXPECT_TRUE(keeps_values(now)) << ir::print(now);
}

/// Other private memory takes a part of the budget.
TEST(CrossLoopCse, BesideOtherPrivateMemory) {
    const ir::Kernel k = after_cse(exponential, exponential, "", "private own: f32[100]\n");
    ASSERT_TRUE(keeps_values(k));
    EXPECT_EQ(k.memories.back().extents, std::vector<int64_t>{512});
    EXPECT_EQ(after_cse(exponential, exponential, "", "private own: f32[1020]\n").memories.size(), 3u);
}

}  // namespace
}  // namespace pumice::cpu
