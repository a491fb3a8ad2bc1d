#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "codegen/artifact/assemble.h"
#include "codegen/artifact/exact_conversions.h"
#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

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

/// spirv-val accepts the rounding decoration on conversions.
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

/// Words of the module's instructions with this opcode, one instruction a row.
std::vector<std::vector<uint32_t>> instructions(const std::vector<uint32_t>& spirv, uint32_t opcode) {
    std::vector<std::vector<uint32_t>> found;
    for (size_t at = 5; at < spirv.size(); at += spirv[at] >> 16)
        if ((spirv[at] & 0xffff) == opcode)
            found.emplace_back(spirv.begin() + long(at), spirv.begin() + long(at + (spirv[at] >> 16)));
    return found;
}

TEST(assemble, fixes_specialisation_constants) {
    constexpr uint32_t type_array = 28, constant = 43, composite = 44, first_spec_constant = 48, last_spec_constant = 52;
    const auto open = assemble(R"(#version 450
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const bool full_groups = false;
layout(constant_id = 4) const int local1_size = 1;
layout(set = 0, binding = 0, std430) buffer A { float a[]; };
shared float local1[local1_size], twice[2 * local1_size];
void main() {
    uint l = gl_LocalInvocationIndex;
    local1[l] = a[l], twice[2 * l + 1] = a[l + 1];
    barrier();
    if (full_groups) a[l] = local1[gl_WorkGroupSize.x - 1 - l] + twice[1];
}
)",
                               "open");
    ASSERT_EQ(validate(open), "");
    EXPECT_GE(instructions(open, 50).size(), 4u);
    const auto fixed = with_constants(open, {{0, 24}, {1, 2}, {2, 1}, {3, 1}, {4, 48}});
    EXPECT_EQ(validate(fixed), "") << disassemble(fixed);
    for (uint32_t op = first_spec_constant; op <= last_spec_constant; ++op)
        EXPECT_EQ(instructions(fixed, op).size(), 0u) << disassemble(fixed);
    // Each array's length is a constant, with the value that was given.
    std::vector<uint32_t> lengths;
    for (const auto& array : instructions(fixed, type_array))
        for (const auto& c : instructions(fixed, constant))
            if (c[2] == array[3]) lengths.push_back(c[3]);
    EXPECT_EQ(lengths.size(), instructions(fixed, type_array).size());
    EXPECT_EQ(std::ranges::count(lengths, 48u), 1);
    EXPECT_EQ(std::ranges::count(lengths, 96u), 1);
    // The group's size is made of the given constants.
    const auto groups = instructions(fixed, composite);
    EXPECT_FALSE(groups.empty());
    // Constants that are not given keep their default.
    const auto half = with_constants(open, {{4, 8}});
    EXPECT_EQ(validate(half), "");
    EXPECT_EQ(instructions(half, 50).size(), 0u);
    EXPECT_EQ(validate(with_constants(assemble(copy, "copy"), {})), "");
}

TEST(assemble, compiles_on_several_threads_at_once) {
    warm_up();
    std::vector<std::vector<uint32_t>> results(8);
    std::vector<std::thread> threads;
    for (auto& result : results) threads.emplace_back([&result] { result = assemble(copy, "copy"); });
    for (std::thread& t : threads) t.join();
    for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(assemble_death, broken_glsl_is_a_library_bug) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(assemble("#version 450\nvoid main() { x = 1; }\n", "broken"), "the GLSL of kernel \"broken\" does not compile");
}

TEST(disassemble, refuses_words_that_are_no_module) { EXPECT_THROW(disassemble({1, 2, 3}), Error); }

}  // namespace
}  // namespace pumice::codegen
