#include <gtest/gtest.h>

#include <thread>

#include "codegen/codegen.h"
#include "codegen/spirv.h"
#include "core/error.h"

namespace pumice::codegen {
namespace {

const std::string copy = R"(#version 450
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0, std430) buffer A { float a[]; };
void main() { a[gl_GlobalInvocationID.x] = 2.0 * a[gl_GlobalInvocationID.x + 1]; }
)";

TEST(assemble, gives_a_valid_module) {
    const auto spirv = assemble(copy, "copy");
    ASSERT_GT(spirv.size(), 5u);
    EXPECT_EQ(spirv[0], 0x07230203u);
    EXPECT_EQ(spirv[1], 0x00010500u);  // SPIR-V 1.5 goes with Vulkan 1.2
    EXPECT_EQ(validate(spirv), "");
    EXPECT_NE(disassemble(spirv).find("OpEntryPoint GLCompute %main \"main\""), std::string::npos);
    EXPECT_EQ(capabilities_of(spirv), std::vector<std::string>{"Shader"});
}

TEST(assemble, optimizes_for_dumps_only) {
    const auto plain = assemble(copy, "copy"), optimized = assemble(copy, "copy", true);
    EXPECT_LT(optimized.size(), plain.size());
    EXPECT_EQ(validate(optimized), "");
}

TEST(assemble, validation_finds_a_broken_module) {
    auto spirv = assemble(copy, "copy");
    spirv.resize(spirv.size() - 1);  // the end of OpFunctionEnd
    EXPECT_NE(validate(spirv), "");
}

TEST(assemble, names_every_capability) {
    const auto spirv = assemble(R"(#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_buffer_reference : require
layout(set = 0, binding = 0, std430) buffer A { uint8_t a[]; };
layout(buffer_reference, std430) buffer B { double b; };
layout(push_constant) uniform P { B p; };
void main() { p.b = double(uint(a[0])); }
)",
                                "capable");
    EXPECT_EQ(capabilities_of(spirv),
              (std::vector<std::string>{"Shader", "Float64", "StorageBuffer8BitAccess", "PhysicalStorageBufferAddresses"}));
}

/// spirv-val takes the decoration on conversions.
TEST(assemble, exact_conversions) {
    const auto count = [](const std::string& text, const std::string& what) {
        size_t found = 0;
        for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++found;
        return found;
    };
    const auto plain = assemble(R"(#version 450
layout(set = 0, binding = 0, std430) buffer A { int a[2]; uint b[2]; float c; double d; };
void main() { a[0] = int(float(a[1])); b[0] = uint(float(b[1])); c = float(d); d = double(c + 1); }
)",
                                "conversions");
    const auto exact = with_exact_conversions(plain);
    EXPECT_EQ(count(disassemble(plain), "NoContraction"), 0u);
    EXPECT_EQ(count(disassemble(exact), "NoContraction"), 6u) << disassemble(exact);
    EXPECT_EQ(validate(exact), "");
    EXPECT_EQ(with_exact_conversions(assemble(copy, "copy")), assemble(copy, "copy"));
}

TEST(assemble, works_from_several_threads) {
    warm_up();
    std::vector<std::vector<uint32_t>> results(8);
    std::vector<std::thread> threads;
    for (auto& result : results) threads.emplace_back([&result] { result = assemble(copy, "copy"); });
    for (std::thread& t : threads) t.join();
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(assemble_death, broken_glsl_is_our_own_fault) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(assemble("#version 450\nvoid main() { x = 1; }\n", "broken"), "the GLSL of kernel \"broken\" does not compile");
}

TEST(disassemble, says_that_words_are_no_module) { EXPECT_THROW(disassemble({1, 2, 3}), Error); }

}  // namespace
}  // namespace pumice::codegen
