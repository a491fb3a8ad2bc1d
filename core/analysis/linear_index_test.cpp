#include "core/analysis/linear_index.h"

#include <gtest/gtest.h>

#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// The form of the last store's index, like "2*l0 + g1*%3 + %0 + 5".
std::string stored_at(const std::string& body) {
    const Kernel k =
        parse("kernel \"k\" math contract rank 2 (arg1: inout i32[1], arg2: i32) files [\"k.cpp\"] {\n" + body + "return\n}\n");
    EXPECT_EQ(verify(k), "");
    const Uniformity u(k);
    const LinearIndex affine(k, u);
    const Inst* store = nullptr;
    const auto look = [&](InstId i) {
        if (k[i].op == Op::store) store = &k[i];
    };
    for (const InstId i : k.body().insts) look(i), each_inside(k, k[i], look);
    const AffineForm& f = affine.of(k.operands(*store)[0]);
    if (!f.known) return "none";
    std::string all;
    const auto term = [&](const std::string& what) { all += (all.empty() ? "" : " + ") + what; };
    const auto coefficient = [&](const Coefficient& c, const std::string& index) {
        if (!c.zero())
            term((c.factor == 1 ? "" : std::to_string(c.factor) + "*") + index + (c.times ? text("*%", c.times.id) : ""));
    };
    for (size_t axis = 0; axis < 3; ++axis) coefficient(f.local[axis], text("l", axis));
    for (size_t axis = 0; axis < 3; ++axis) coefficient(f.global[axis], text("g", axis));
    if (f.composed) term("?");
    if (f.base) term(text("%", f.base.id));
    if (f.offset) term(std::to_string(f.offset));
    if (f.bits < 8 * size_of(k.type_of(k.operands(*store)[0]))) all += text(" modulo 2^", f.bits);
    return all.empty() ? "0" : all;
}

const std::string head = "%0 = argument arg2 : i32\n%1 = global_index 0 : i32\n%2 = local_index 1 : i32\n%3 = constant 3 : i32\n";

TEST(LinearIndex, sums_and_products) {
    EXPECT_EQ(stored_at(head + "store arg1[%1], %0 : i32\n"), "g0");
    EXPECT_EQ(stored_at(head + "%4 = add %1, %3 : i32\n%5 = sub %4, %0 : i32\nstore arg1[%5], %0 : i32\n"), "g0 + ?");
    EXPECT_EQ(stored_at(head + "%4 = mul %1, %3 : i32\n%5 = add %4, %2 : i32\nstore arg1[%5], %0 : i32\n"), "l1 + 3*g0");
    EXPECT_EQ(stored_at(head + "%4 = mul %1, %0 : i32\n%5 = add %4, %3 : i32\nstore arg1[%5], %0 : i32\n"), "g0*%0 + 3");
    EXPECT_EQ(stored_at(head + "%4 = shl %1, %3 : i32\n%5 = add %0, %4 : i32\nstore arg1[%5], %0 : i32\n"), "8*g0 + %0");
    EXPECT_EQ(stored_at(head + "%4 = neg %1 : i32\nstore arg1[%4], %0 : i32\n"), "-1*g0");
    EXPECT_EQ(stored_at(head + "%4 = sub %1, %1 : i32\n%5 = add %4, %3 : i32\nstore arg1[%5], %0 : i32\n"), "3");
    EXPECT_EQ(stored_at(head + "%4 = mul %1, %2 : i32\nstore arg1[%4], %0 : i32\n"), "none");
    EXPECT_EQ(stored_at(head + "%4 = rem %1, %3 : i32\nstore arg1[%4], %0 : i32\n"), "none");
    EXPECT_EQ(stored_at(head + "%4 = rem %0, %3 : i32\nstore arg1[%4], %0 : i32\n"), "%4");
}

TEST(LinearIndex, casts_widen_and_wrap) {
    // An index of the range keeps its value in a wider type. A sum may have wrapped before it was widened.
    EXPECT_EQ(stored_at(head + "%4 = cast %1 : i64\nstore arg1[%4], %0 : i32\n"), "g0");
    EXPECT_EQ(stored_at(head + "%4 = add %1, %3 : i32\n%5 = cast %4 : i64\nstore arg1[%5], %0 : i32\n"), "g0 + 3 modulo 2^32");
    EXPECT_EQ(stored_at(head + "%4 = cast %1 : u32\n%5 = cast %4 : i64\nstore arg1[%5], %0 : i32\n"), "g0 modulo 2^32");
    EXPECT_EQ(stored_at(head + "%4 = cast %1 : u8\n%5 = cast %4 : i32\nstore arg1[%5], %0 : i32\n"), "g0 modulo 2^8");
    EXPECT_EQ(stored_at(head + "%4 = cast %1 : i16\n%5 = cast %4 : i64\n%6 = cast %5 : i32\n%7 = add %6, %3 : i32\n"
                               "store arg1[%7], %0 : i32\n"),
              "g0 + 3 modulo 2^16");
    EXPECT_EQ(stored_at(head + "%4 = cast %1 : i64\n%5 = add %4, %4 : i64\n%6 = cast %5 : i32\nstore arg1[%6], %0 : i32\n"),
              "2*g0");
    EXPECT_EQ(stored_at(head + "%4 = add %1, %3 : i32\n%5 = sub %1, %4 : i32\n%6 = cast %5 : i64\nstore arg1[%6], %0 : i32\n"),
              "-3");
    EXPECT_EQ(stored_at(head + "%4 = add %1, %3 : i32\n%5 = sub %1, %4 : i32\n%6 = cast %5 : u32\n%7 = cast %6 : i64\n"
                               "store arg1[%7], %0 : i32\n"),
              "4294967293");
    // 200 is -56 modulo 2^8, but not modulo a larger power.
    EXPECT_EQ(stored_at("%0 = argument arg2 : i32\n%1 = global_index 0 : i32\n%2 = constant 200 : u8\n%3 = cast %1 : u8\n"
                        "%4 = mul %2, %3 : u8\n%5 = cast %4 : i32\nstore arg1[%5], %0 : i32\n"),
              "-56*g0 modulo 2^8");
    // Indices that are equal modulo 2^8 may differ.
    EXPECT_EQ(stored_at(head + "%4 = cast %1 : u8\n%5 = cast %4 : i32\n%6 = sub %5, %1 : i32\n%7 = add %6, %3 : i32\n"
                               "store arg1[%7], %0 : i32\n"),
              "3 modulo 2^8");
}

TEST(LinearIndex, products_wrap_in_their_type) {
    EXPECT_EQ(stored_at(head + "%4 = constant 16 : i32\n%5 = shl %1, %4 : i32\n%6 = shl %5, %4 : i32\n%7 = add %6, %2 : i32\n"
                               "store arg1[%7], %0 : i32\n"),
              "l1");
    EXPECT_EQ(stored_at(head + "%4 = constant 31 : i32\n%5 = shl %1, %4 : i32\nstore arg1[%5], %0 : i32\n"), "-2147483648*g0");
}

TEST(LinearIndex, indices_and_carried_values_of_loops) {
    // The index of the loop starts at the item's own index.
    EXPECT_EQ(stored_at(head + "for %4 = %1 to %0 step %3 {\nstore arg1[%4], %0 : i32\nyield\n}\n"), "g0 + ?");
    // A carried index that grows by the same amount for all items.
    EXPECT_EQ(stored_at(head + "%6 = for %4 = %3 to %0 step %3 carry (%5 = %1) : i32 {\nstore arg1[%5], %0 : i32\n"
                               "%7 = add %5, %0 : i32\nyield %7\n}\n"),
              "g0 + ?");
    // A carried index that grows by different amounts.
    EXPECT_EQ(stored_at(head + "%6 = for %4 = %3 to %0 step %3 carry (%5 = %1) : i32 {\nstore arg1[%5], %0 : i32\n"
                               "%7 = add %5, %2 : i32\nyield %7\n}\n"),
              "none");
}

TEST(LinearIndex, results_of_ifs) {
    const std::string choice = " : bool\n%5 = if %4 : i32 {\n%6 = add %1, %3 : i32\nyield %6\n} else {\nyield %1\n}\n";
    EXPECT_EQ(stored_at(head + "%4 = lt %0, %3" + choice + "store arg1[%5], %0 : i32\n"), "g0 + ?");
    EXPECT_EQ(stored_at(head + "%4 = lt %1, %3" + choice + "store arg1[%5], %0 : i32\n"), "none");
}

TEST(LinearIndex, steps_along_an_axis) {
    const Kernel k = parse(
        "kernel \"k\" math contract rank 1 (arg1: i32) files [\"k.cpp\"] {\n%0 = argument arg1 : i32\n%1 = global_index 0 : i32\n"
        "%2 = local_index 0 : i32\n%3 = add %1, %2 : i32\n%4 = mul %1, %0 : i32\n%5 = group_index 0 : i32\nreturn\n}\n");
    const Uniformity u(k);
    const LinearIndex affine(k, u);
    const auto step = [&](uint32_t v, int bits, size_t axis = 0) { return affine.of(Value{v}).step(bits, axis); };
    EXPECT_EQ(step(3, 32), 2);
    EXPECT_EQ(step(3, 32, 1), 0);
    EXPECT_EQ(step(3, 64), std::nullopt);
    EXPECT_EQ(step(1, 64), 1);
    EXPECT_EQ(step(4, 32), std::nullopt);
    EXPECT_EQ(step(5, 64), 0);
}

}  // namespace
}  // namespace pumice::ir
