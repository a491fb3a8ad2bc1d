#include "codegen/artifact/source_debug_info.h"

#include <gtest/gtest.h>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

/// A kernel whose memory is as `keep_variables` names it.
ir::Kernel kernel() {
    return ir::parse(
        "kernel \"twice\" math contract rank 1 (arg1: inout f32[1] @4) @4 files [\"user.cpp\"] {\n"
        "  private debug_1_1_d: f32[1] @5\n  return\n}\n");
}

std::string glsl() {
    const char* const file = "user.cpp";
    return text("#version 450\n#extension GL_GOOGLE_cpp_style_line_directive : require\nlayout(local_size_x = 1) in;\n",
                "layout(set = 0, binding = 0, std430) buffer Arg1 { float arg1[]; };\nfloat other(float x) { return x + 1.0; }\n",
                "void main() {\n    float debug_1_1_d;\n#line 5 \"", file, "\"\n    debug_1_1_d = other(arg1[0]);\n#line 6 \"",
                file, "\"\n    if (debug_1_1_d > 2.0 && arg1[1] > 0.0) {\n#line 7 \"", file,
                "\"\n        arg1[0] = debug_1_1_d;\n    }\n    for (int k = 0; k < 3; ++k) arg1[k] = 0.0;\n}\n");
}

size_t count(const std::string& text, const std::string& what) {
    size_t found = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
    return found;
}

TEST(SourceDebugInfo, names_file_lines_and_variables) {
    const std::vector<uint32_t> spirv = with_source_debug_info(assemble_with_lines(glsl(), "twice"), kernel());
    EXPECT_EQ(validate(spirv), "");
    const std::string text = disassemble(spirv);
    for (const char* wanted : {"OpString \"d\"", "OpString \"twice\"", "OpString \"user.cpp\"", "DebugSource",
                               "DebugLocalVariable", "DebugLine %", "%uint_5 %uint_5", "%uint_7 %uint_7"})
        EXPECT_NE(text.find(wanted), text.npos) << wanted << "\n" << text;
    EXPECT_EQ(count(text, " DebugDeclare "), 1u) << text;
    EXPECT_EQ(count(text, " DebugFunctionDefinition "), 1u) << text;
    EXPECT_EQ(count(text, "OpLine"), 0u) << text;
    EXPECT_EQ(count(text, "OpSource"), 0u) << text;
}

TEST(SourceDebugInfo, is_taken_out_for_devices_without_it) {
    const std::vector<uint32_t> with = with_source_debug_info(assemble_with_lines(glsl(), "twice"), kernel());
    const std::vector<uint32_t> without = without_source_debug_info(with);
    EXPECT_EQ(validate(without), "");
    const std::string text = disassemble(without);
    EXPECT_EQ(text.find("NonSemantic"), text.npos) << text;
    EXPECT_EQ(text.find("non_semantic"), text.npos) << text;
    EXPECT_EQ(without_source_debug_info(without), without);
}

TEST(SourceDebugInfo, kernels_have_none_without_the_switch) {
    const Shader shader = compile(kernel());
    const std::string text = disassemble(shader.spirv);
    EXPECT_EQ(text.find("NonSemantic"), text.npos) << text;
    EXPECT_EQ(shader.glsl.find("#line"), std::string::npos) << shader.glsl;
}

}  // namespace
}  // namespace pumice::codegen
