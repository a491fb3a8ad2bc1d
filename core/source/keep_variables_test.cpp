#include "core/source/keep_variables.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace pumice::ir {
namespace {

/// The kernel's text after the pass, with this source file beside it.
class KeepVariables : public testing::Test {
protected:
    void SetUp() override {
        std::ofstream(path) << "kernel([](Out<float> y, Val<float> by) {\nauto i = global_index();\n"
                               "Var<float> sum = by;\nsum += 1.0f;\n$for (k, range(2))\n"
                               "auto [row, column] = global_index<2>();\nother();\n";
    }
    void TearDown() override { std::filesystem::remove(path); }
    std::string kept(const std::string& body) const {
        const std::string head =
            "kernel \"k\" math contract rank 2 (arg1: out f32[1] @1, arg2: f32) @1 files [\"" + path.string() + "\"] {\n";
        const Kernel k = keep_variables(parse(head + body + "  return\n}\n"));
        EXPECT_EQ(verify(k), "");
        EXPECT_EQ(print(parse(print(k))), print(k));
        const std::string text = print(k);
        return text.substr(text.find('\n') + 1);
    }
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() /
        ("pumice_keep_variables_" + std::to_string(testing::UnitTest::GetInstance()->random_seed()) +
         testing::UnitTest::GetInstance()->current_test_info()->name() + ".cpp");
};

TEST_F(KeepVariables, named_values_are_stored) {
    const std::string text = kept("  %i = global_index 0 : i32 @2\n  %x = cast %i : f32 @7\n  store arg1[%i], %x : f32 @7\n");
    EXPECT_NE(text.find("private debug_1_1_i: i32[1] @2"), text.npos) << text;
    EXPECT_NE(text.find("private debug_2_2_by: f32[1] @1"), text.npos) << text;
    EXPECT_NE(text.find("store debug_1_1_i[%"), text.npos) << text;
    EXPECT_EQ(text.find("debug_3"), text.npos) << text;
}

TEST_F(KeepVariables, variables_are_stored_whenever_they_are_set) {
    const std::string text = kept(
        "  %a = argument arg2 : f32 @3\n  %v = var %a : f32 @3\n  %g = get %v : f32 @4\n  %s = add %g, %a : f32 @4\n  set %v, %s "
        ": f32 @4\n");
    const size_t first = text.find("store debug_1_3_sum[");
    ASSERT_NE(first, text.npos) << text;
    EXPECT_NE(text.find("store debug_1_3_sum[", first + 1), text.npos) << text;
}

TEST_F(KeepVariables, loops_store_their_index) {
    const std::string text = kept(
        "  %a = constant 0 : i32 @5\n  %b = constant 2 : i32 @5\n  %c = constant 1 : i32 @5\n  for %k = %a to %b step %c @5 {\n  "
        "  yield @5\n  }\n");
    EXPECT_NE(text.find("store debug_1_1_k["), text.npos) << text;
}

TEST_F(KeepVariables, bound_names_of_indices_are_in_the_order_of_axes) {
    const std::string text = kept("  %a = global_index 0 : i32 @6\n  %b = global_index 1 : i32 @6\n");
    // The slowest axis comes first, whichever was recorded first.
    const size_t row = text.find("debug_1_3_row[%"), column = text.find("debug_2_6_column[%");
    ASSERT_NE(row, text.npos) << text;
    ASSERT_NE(column, text.npos) << text;
    EXPECT_LT(column, row) << text;
}

TEST(KeptName, is_the_users) {
    Memory m;
    m.kind = MemoryKind::private_;
    for (const auto& [name, wanted] : {std::pair<const char*, const char*>{"debug_12_3_sum", "sum"},
                                       {"debug_1_5_a_b_c", "a_b_c"},
                                       {"debug_1_1_x_7", "x"},  // a copy that inlining made
                                       {"private1", ""},
                                       {"debug_x", ""}}) {
        m.name = name;
        EXPECT_EQ(kept_name(m), wanted);
    }
    m.kind = MemoryKind::local;
    m.name = "debug_1_1_x";
    EXPECT_EQ(kept_name(m), "");
}

}  // namespace
}  // namespace pumice::ir
