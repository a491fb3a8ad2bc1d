#include "core/analysis/uniformity.h"

#include <gtest/gtest.h>

#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// The scopes of a kernel's values in their order: l, g, s, i.
std::string scopes(const std::string& body, std::array<Scope, 3> local = {Scope::item, Scope::item, Scope::item}) {
    const Kernel k = parse(text(
        "kernel \"k\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1], arg3: i32) files [\"k.cpp\"] {\n", body, "}\n"));
    EXPECT_EQ(verify(k), "");
    const Uniformity u(k, local);
    std::string all;
    for (uint32_t v = 0; v < k.values.size(); ++v) all += "lgsi"[int(u.of(Value{v}))];
    return all;
}

TEST(Uniformity, code_without_control_flow) {
    EXPECT_EQ(scopes("%0 = argument arg3 : i32\n%1 = group_index 0 : i32\n%2 = local_index 0 : i32\n%3 = global_index 0 : i32\n"
                     "%4 = add %0, %1 : i32\n%5 = add %4, %2 : i32\n%6 = extent arg1, 0 : i32\nreturn\n"),
              "lgiigil");
}

TEST(Uniformity, rows_of_items) {
    EXPECT_EQ(scopes("%0 = local_index 1 : i32\n%1 = global_index 1 : i32\n%2 = local_index 0 : i32\nreturn\n",
                     {Scope::item, Scope::subgroup, Scope::subgroup}),
              "ssi");
}

TEST(Uniformity, loads_are_as_uniform_as_their_index) {
    // A load from a read-only array is as uniform as its index. A written array may change between groups.
    EXPECT_EQ(scopes("%0 = argument arg3 : i32\n%1 = load arg2[%0] : i32\n%2 = load arg1[%0] : i32\n%3 = global_index 0 : i32\n"
                     "%4 = load arg2[%3] : i32\nstore arg1[%3], %4 : i32\nreturn\n"),
              "llgii");
    EXPECT_EQ(scopes("private private1: i32[4]\n%0 = argument arg3 : i32\nstore private1[%0], %0 : i32\n"
                     "%1 = load private1[%0] : i32\n%2 = atomic add arg1[%0], %0 : i32\nreturn\n"),
              "lii");
}

TEST(Uniformity, results_of_ifs) {
    const char* join = " : bool\n%3 = if %2 : i32 {\nyield %0\n} else {\n%4 = constant 1 : i32\nyield %4\n}\nreturn\n";
    EXPECT_EQ(scopes(text("%0 = argument arg3 : i32\n%1 = local_index 0 : i32\n%2 = lt %1, %0", join)), "liiil");
    EXPECT_EQ(scopes(text("%0 = argument arg3 : i32\n%1 = local_index 0 : i32\n%2 = lt %0, %0", join)), "lilll");
}

TEST(Uniformity, loops_with_a_uniform_end) {
    // The index, a carried sum of uniform values and its result.
    EXPECT_EQ(scopes("%0 = argument arg3 : i32\n%1 = constant 0 : i32\n%2 = constant 1 : i32\n"
                     "%5 = for %3 = %1 to %0 step %2 carry (%4 = %1) : i32 {\n%6 = add %4, %3 : i32\nyield %6\n}\nreturn\n"),
              "lllllll");
}

TEST(Uniformity, loops_that_items_leave_at_different_times) {
    // Inside the loop, the index and the sum are uniform among the items that still run it; the result is not.
    const Kernel k = parse(
        "kernel \"k\" math contract rank 1 (arg1: inout i32[1]) files [\"k.cpp\"] {\n%0 = local_index 0 : i32\n%1 = constant 0 : "
        "i32\n"
        "%2 = constant 1 : i32\n%5 = for %3 = %1 to %0 step %2 carry (%4 = %1) : i32 {\n%6 = add %4, %3 : i32\nyield %6\n}\n"
        "store arg1[%0], %5 : i32\nreturn\n}\n");
    const Uniformity u(k);
    const Inst& loop = k[k.body().insts[3]];
    EXPECT_EQ(loop.op, Op::for_);
    EXPECT_EQ(u.of(k.result(loop)), Scope::item);
    EXPECT_EQ(u.of(k[loop.blocks[0]].params[0]), Scope::launch);
    EXPECT_EQ(u.of(k[loop.blocks[0]].params[1]), Scope::launch);
    EXPECT_EQ(u.parting(k.body().insts[3]), Scope::item);
    EXPECT_EQ(u.control(k[loop.blocks[0]].insts[0]), Scope::item);
    EXPECT_EQ(u.control(k.body().insts[4]), Scope::launch);  // after the loop all items run together again
}

TEST(Uniformity, jumps_make_later_code_divergent) {
    const auto control_of_store = [](const std::string& condition, const std::string& jump) {
        const Kernel k = parse(text(
            "kernel \"k\" math contract rank 1 (arg1: inout i32[1], arg2: i32) files [\"k.cpp\"] {\n%0 = local_index 0 : i32\n"
            "%1 = argument arg2 : i32\n%2 = constant 1 : i32\nfor %3 = %1 to %1 step %2 {\n%4 = lt ",
            condition, ", %1 : bool\nif %4 {\n", jump, "\n} else {\nyield\n}\nyield\n}\nstore arg1[%0], %0 : i32\nreturn\n}\n"));
        EXPECT_EQ(verify(k), "");
        const Uniformity u(k);
        const InstId loop = k.body().insts[3], store = k.body().insts[4];
        return std::pair(u.parting(loop), u.control(store));
    };
    using P = std::pair<Scope, Scope>;
    EXPECT_EQ(control_of_store("%0", "break"), P(Scope::item, Scope::launch));
    EXPECT_EQ(control_of_store("%1", "break"), P(Scope::launch, Scope::launch));
    EXPECT_EQ(control_of_store("%0", "continue"), P(Scope::launch, Scope::launch));
    EXPECT_EQ(control_of_store("%0", "return"), P(Scope::launch, Scope::item));
    EXPECT_EQ(control_of_store("%1", "return"), P(Scope::launch, Scope::launch));
}

TEST(Uniformity, a_uniform_break_inside_a_divergent_if) {
    // The items that run the loop leave it together, even if they are few.
    const Kernel k = parse(
        "kernel \"k\" math contract rank 1 (arg1: i32) files [\"k.cpp\"] {\n%0 = local_index 0 : i32\n%1 = argument arg1 : i32\n"
        "%2 = constant 1 : i32\n%3 = lt %0, %1 : bool\nif %3 {\nfor %4 = %2 to %1 step %2 {\n%5 = lt %1, %4 : bool\nif %5 "
        "{\nbreak\n"
        "} else {\nyield\n}\nyield\n}\nyield\n} else {\nyield\n}\nreturn\n}\n");
    const Uniformity u(k);
    const Inst& outer = k[k.body().insts[4]];
    EXPECT_EQ(u.parting(k.body().insts[4]), Scope::item);
    EXPECT_EQ(u.parting(k[outer.blocks[0]].insts[0]), Scope::launch);
}

}  // namespace
}  // namespace pumice::ir
