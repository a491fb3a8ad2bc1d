#include "cpu/native/llvm_versions.h"

#include <gtest/gtest.h>

namespace pumice::cpu {
namespace {

TEST(LlvmText, splats_are_written_out) {
    EXPECT_EQ(text_for_version("  %a = add <4 x i32> %b, splat (i32 -7)\n", 18),
              "  %a = add <4 x i32> %b, <i32 -7, i32 -7, i32 -7, i32 -7>\n");
    EXPECT_EQ(text_for_version("%m = select <2 x i1> %c, <2 x float> splat (float 1.0), <2 x float> %x", 18),
              "%m = select <2 x i1> %c, <2 x float> <float 1.0, float 1.0>, <2 x float> %x");
    EXPECT_EQ(text_for_version("%x = xor <2 x i1> splat (i1 true), splat (i1 true)", 16),
              "%x = xor <2 x i1> <i1 true, i1 true>, <i1 true, i1 true>");
}

TEST(LlvmText, every_line_has_its_own_lanes) {
    EXPECT_EQ(text_for_version("%a = or <1 x i8> %b, splat (i8 1)\n%c = or <3 x i8> %d, splat (i8 2)", 18),
              "%a = or <1 x i8> %b, <i8 1>\n%c = or <3 x i8> %d, <i8 2, i8 2, i8 2>");
}

TEST(LlvmText, text_without_splats_is_kept) {
    const std::string text = "define void @f(ptr %p) {\n  %x = load <8 x float>, ptr %p\n  ret void\n}\n";
    EXPECT_EQ(text_for_version(text, 16), text);
}

TEST(LlvmText, version_15_has_older_memory_attributes) {
    const std::string text = "declare <2 x float> @f(<2 x float>) nounwind memory(none)\n%a = add <2 x i32> %b, splat (i32 3)\n";
    EXPECT_EQ(text_for_version(text, 15),
              "declare <2 x float> @f(<2 x float>) nounwind readnone\n%a = add <2 x i32> %b, <i32 3, i32 3>\n");
    EXPECT_EQ(text_for_version(text, 19), text);
    EXPECT_EQ(text_for_version("define i32 @f(ptr %p) memory(read) {\ndeclare void @g(ptr) memory(write)\n", 15),
              "define i32 @f(ptr %p) readonly {\ndeclare void @g(ptr) writeonly\n");
}

TEST(LlvmTextDeathTest, a_splat_without_a_type_is_a_bug) {
    EXPECT_DEATH(text_for_version("%a = add <4 x i32> %b, %c\n%d = foo splat (i32 1)", 18), "no vector type before it");
}

}  // namespace
}  // namespace pumice::cpu
