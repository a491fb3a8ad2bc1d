// Loads from short rows of local memory are permutations of vectors: of which rows, and by which instructions.
#include <gtest/gtest.h>

#include <string>

#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::cpu {
namespace {

int count(const std::string& in, const std::string& what) {
    int n = 0;
    for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++n;
    return n;
}

/// Groups of 4 rows of 16 items fill local memory; each item then loads element `place` of it, after `before`.
std::string emitted(const std::string& type, const std::string& extents, const std::string& before, const std::string& place,
                    Isa isa, Rules rules = {}) {
    const std::string load = "%30 = load local1[" + place + "] : " + type + "\nstore arg1[%0, %1], %30 : " + type + "\n";
    const bool masked = before.ends_with("if\n");
    const std::string text_of = text(
        "kernel \"k\" math contract rank 2 group [16, 4] (arg1: out ", type, "[2], arg2: in ", type,
        "[2], arg3: in i32[1]) files [\"k.cpp\"] {\nlocal local1: ", type, "[", extents,
        "]\n%0 = global_index 1 : i32\n%1 = global_index 0 : i32\n%2 = local_index 1 : i32\n%3 = local_index 0 : i32\n",
        "%4 = load arg2[%0, %1] : ", type, "\nstore local1[%2, %3], %4 : ", type, "\nbarrier\n%5 = constant 1 : i32\n",
        "%6 = constant 0 : i32\n%7 = sub %3, %5 : i32\n%8 = max %7, %6 : i32\n%9 = constant 15 : i32\n",
        masked ? before.substr(0, before.size() - 3) + "%29 = lt %3, %9 : bool\nif %29 {\n" + load + "yield\n} else {\nyield\n}\n"
               : before + load,
        "return\n}\n");
    const ir::Kernel k = ir::parse(text_of);
    EXPECT_EQ(ir::verify(k), "");
    Target target;
    target.width = isa == Isa::avx512 ? 16 : 8;
    target.isa = isa;
    target.rules = rules;
    return emit_llvm(lower(k, false), target, {{16, 4, 1}, false, true}).text;
}

TEST(RegisterLookups, rows_of_one_vector_are_permuted) {
    const std::string t = emitted("f32", "4, 16", "", "%2, %8", Isa::avx512);
    EXPECT_EQ(count(t, "call <16 x i32> @llvm.x86.avx512.permvar.si.512("), 1) << t;
    EXPECT_EQ(count(t, "gather") + count(t, "icmp eq <16 x i32>"), 0) << t;
}

TEST(RegisterLookups, rows_of_two_vectors_are_permuted_and_blended) {
    const std::string wide = emitted("f32", "4, 32", "", "%2, %8", Isa::avx512),
                      narrow = emitted("f32", "4, 16", "", "%2, %8", Isa::avx2);
    EXPECT_EQ(count(wide, "call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512("), 1) << wide;
    EXPECT_EQ(count(narrow, "call <8 x i32> @llvm.x86.avx2.permd("), 2) << narrow;
    EXPECT_EQ(count(wide, "gather") + count(narrow, "gather"), 0);
    EXPECT_GT(count(emitted("f32", "4, 33", "", "%2, %8", Isa::avx512), "gather"), 0);  // too long
}

TEST(RegisterLookups, elements_of_8_bytes_are_permuted_as_such_or_as_words) {
    const std::string wide = emitted("f64", "4, 16", "", "%2, %8", Isa::avx512);
    EXPECT_EQ(count(wide, "call <8 x i64> @llvm.x86.avx512.vpermi2var.q.512("), 2) << wide;
    const std::string narrow = emitted("f64", "4, 16", "", "%2, %8", Isa::avx2);  // a row is four vectors: a test, then a window
    EXPECT_GT(count(narrow, "call <8 x i32> @llvm.x86.avx2.permd("), 0) << narrow;
    EXPECT_GT(count(narrow, "icmp ult <8 x i32>"), 0) << narrow;
}

TEST(RegisterLookups, tables_are_looked_up_by_any_index) {
    const std::string t = emitted("i32", "4, 16", "%10 = load arg3[%1] : i32\n", "%9, %10", Isa::avx512);
    EXPECT_EQ(count(t, "permvar"), 2) << t;  // a call and its declaration
    EXPECT_EQ(count(t, "gather"), 0) << t;
}

TEST(RegisterLookups, masked_lanes_need_a_row_that_is_surely_there) {
    const std::string somewhere = emitted("i32", "4, 16", "%10 = load arg3[%2] : i32\nif\n", "%10, %8", Isa::avx512);
    EXPECT_EQ(count(somewhere, "permvar"), 0) << somewhere;
    const std::string constant = emitted("i32", "4, 16", "if\n", "%5, %8", Isa::avx512);
    EXPECT_EQ(count(constant, "permvar"), 2) << constant;
}

TEST(RegisterLookups, other_instruction_sets_and_kernels_without_the_rule_gather) {
    EXPECT_EQ(count(emitted("f32", "4, 16", "", "%2, %8", Isa::none), "perm"), 0);
    const Rules without = Rules{}.without(Rule::row_lookups);
    EXPECT_EQ(count(emitted("i32", "4, 16", "%10 = load arg3[%1] : i32\n", "%9, %10", Isa::avx512, without), "permvar"), 0);
}

}  // namespace
}  // namespace pumice::cpu
