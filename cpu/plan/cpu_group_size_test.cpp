#include "cpu/plan/cpu_group_size.h"

#include <gtest/gtest.h>

#include <set>

namespace pumice::cpu {
namespace {

using Extents = std::array<int64_t, 3>;

TEST(GroupTest, FewDifferentGroupsWithinTheLimits) {
    const ir::Kernel plain;
    std::set<Extents> seen;
    for (int rank = 1; rank <= 3; ++rank)
        for (int64_t x = 1; x < 200'000; x = x * 3 / 2 + 1)
            for (int64_t y = 1; y < (rank > 1 ? 3000 : 2); y *= 3) {
                const Extents group = choose_group(plain, {x, y, rank > 2 ? 9 : 1}, rank);
                EXPECT_LE(group[0] * group[1] * group[2], max_group_items);
                EXPECT_GE(group[0] * group[1] * group[2], 1);
                seen.insert(group);
            }
    EXPECT_LE(seen.size(), 16u);
}

TEST(GroupTest, RowsShorterThanAPacketTakeNarrowGroups) {
    EXPECT_EQ(with_short_rows({16, 16, 1}, 3), (Extents{4, 16, 1}));
    EXPECT_EQ(with_short_rows({16, 16, 1}, 8), (Extents{8, 16, 1}));
    EXPECT_EQ(with_short_rows({16, 16, 1}, 9), (Extents{16, 16, 1}));
    EXPECT_EQ(with_short_rows({2, 16, 1}, 8), (Extents{2, 16, 1}));
    EXPECT_EQ(with_short_rows({256, 1, 1}, 17), (Extents{256, 1, 1}));
    EXPECT_EQ(with_short_rows({64, 4, 1}, 5000), (Extents{64, 4, 1}));
    EXPECT_EQ(group_of_stencil({7, 5000, 1}, 2)[0], 8);
}

TEST(GroupTest, TransposesTakeSquares) {
    const ir::Kernel k = ir::parse(
        "kernel \"k\" math contract rank 2 (arg1: out i32[2], arg2: in i32[2]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = global_index 1 : i32\n%2 = load arg2[%0, %1] : i32\nstore arg1[%1, %0], %2 : "
        "i32\nreturn\n}\n");
    EXPECT_EQ(choose_group(k, {1000, 1000, 1}, 2), (Extents{16, 16, 1}));
    EXPECT_EQ(choose_group(ir::Kernel(), {1000, 1000, 1}, 2), (Extents{256, 1, 1}));
}

TEST(GroupTest, RowsAlongTheSlowestAxis) {
    const ir::Kernel k = ir::parse(
        "kernel \"k\" math contract rank 3 (arg1: out i32[3], arg2: in i32[3]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = global_index 1 : i32\n%2 = global_index 2 : i32\n%3 = load arg2[%0, %1, %2] : i32\n"
        "store arg1[%2, %1, %0], %3 : i32\nreturn\n}\n");
    EXPECT_EQ(argument_across(k, 1), -1);
    EXPECT_EQ(argument_across(k, 2), 1);
    EXPECT_EQ(argument_across(with_axes_swapped(k), 1), 1);
    EXPECT_EQ(argument_across(with_axes_swapped(k), 2), -1);
}

/// The axes of a stencil with two loads at these indices; %0, %1, %2 are the axes 0, 1, 2 of the range, and %3 is 1.
uint32_t axes_of(const std::string& a, const std::string& b) {
    return axes_of_stencils(
        ir::parse("kernel \"k\" math contract rank 3 (arg1: out f32[3], arg2: in f32[3]) files [\"k.cpp\"] {\n"
                  "%0 = global_index 0 : i32\n%1 = global_index 1 : i32\n%2 = global_index 2 : i32\n%3 = constant 1 : i32\n"
                  "%4 = add %0, %3 : i32\n%5 = sub %1, %3 : i32\n%6 = add %2, %3 : i32\n%7 = add %2, %0 : i32\n"
                  "%8 = load arg2[" +
                  a + "] : f32\n%9 = load arg2[" + b +
                  "] : f32\n%10 = add %8, %9 : f32\n"
                  "store arg1[%2, %1, %0], %10 : f32\nreturn\n}\n"));
}

TEST(GroupTest, StencilsTakeRowsOfPlanesTogether) {
    EXPECT_EQ(axes_of("%2, %1, %0", "%2, %1, %4"), 0u);
    EXPECT_EQ(axes_of("%2, %1, %0", "%2, %5, %4"), 2u);
    EXPECT_EQ(axes_of("%6, %1, %0", "%2, %5, %0"), 6u);
    EXPECT_EQ(axes_of("%2, %1, %0", "%7, %1, %0"), 0u) << "apart by what is no constant";
    EXPECT_EQ(axes_of("%3, %1, %0", "%2, %1, %0"), 0u);
    EXPECT_EQ(group_of_stencil({254, 254, 254}, 6), (Extents{272, 1, 4}));
    EXPECT_EQ(group_of_stencil({256, 256, 256}, 6), (Extents{256, 1, 4}));
    EXPECT_EQ(group_of_stencil({8000, 8000, 1}, 2), (Extents{272, 4, 1}));
    EXPECT_EQ(group_of_stencil({60, 300, 300}, 4), (Extents{64, 4, 4}));
    EXPECT_EQ(group_of_stencil({8000, 8000, 1}, 2, 8), (Extents{272, 4, 1}));
    EXPECT_EQ(group_of_stencil({8000, 8000, 1}, 2, 2), (Extents{528, 4, 1}));
    EXPECT_EQ(group_of_stencil({8000, 8000, 1}, 2, 1), (Extents{1040, 4, 1}));
    EXPECT_EQ(group_of_stencil({60, 300, 1}, 2, 1), (Extents{64, 16, 1}));
}

TEST(GroupTest, LongRowsWhereEachIsLoadedOnce) {
    EXPECT_EQ(with_long_rows({256, 1, 1}), (Extents{1024, 1, 1}));
    EXPECT_EQ(with_long_rows({64, 4, 1}), (Extents{64, 4, 1}));
    EXPECT_EQ(with_long_rows({256, 4, 1}), (Extents{256, 4, 1}));
}

TEST(GroupTest, StencilsOverHandwrittenLinearIndices) {
    // arg2[i + nx * (j + b) + nx * ny * (k + c)], and the same index minus nx or nx * ny.
    const auto axes = [](const std::string& other) {
        return axes_of_stencils(ir::parse(
            "kernel \"k\" math contract rank 3 (arg1: out f32[1], arg2: in f32[1], arg3: i32, arg4: i32) files [\"k.cpp\"] {\n"
            "%0 = global_index 0 : i32\n%1 = global_index 1 : i32\n%2 = global_index 2 : i32\n%3 = constant 1 : i32\n"
            "%4 = argument arg3 : i32\n%5 = argument arg4 : i32\n%6 = mul %4, %5 : i32\n%7 = mul %4, %1 : i32\n%8 = mul %6, %2 : "
            "i32\n"
            "%9 = add %0, %7 : i32\n%10 = add %9, %8 : i32\n%11 = load arg2[%10] : f32\n" +
            other + "%14 = load arg2[%13] : f32\n%15 = add %11, %14 : f32\nstore arg1[%10], %15 : f32\nreturn\n}\n"));
    };
    EXPECT_EQ(axes("%13 = sub %10, %4 : i32\n"), 2u);
    EXPECT_EQ(axes("%13 = add %10, %6 : i32\n"), 4u);
    EXPECT_EQ(axes("%13 = add %10, %3 : i32\n"), 0u) << "the same row";
    EXPECT_EQ(axes("%13 = add %10, %5 : i32\n"), 0u) << "apart by what is no stride";
    EXPECT_EQ(axes("%12 = add %2, %3 : i32\n%16 = mul %6, %12 : i32\n%13 = add %9, %16 : i32\n"), 4u) << "multiplied out";
}

TEST(GroupTest, LocalMemoryFits) {
    ir::Kernel k;
    ir::Memory m;
    m.kind = ir::MemoryKind::local;
    m.element = Element::of(Scalar::f32);
    m.extents = {100, 10};
    k.memories.push_back(m);
    EXPECT_EQ(local_bytes(k, {64, 1, 1}), 4000);
    EXPECT_EQ(choose_group(k, {100'000, 1, 1}, 1), (Extents{256, 1, 1}));
}

}  // namespace
}  // namespace pumice::cpu
