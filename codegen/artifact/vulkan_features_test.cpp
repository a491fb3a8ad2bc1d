#include "codegen/artifact/vulkan_features.h"

#include <gtest/gtest.h>

#include <set>

#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

using Features = std::set<std::string>;

/// The features of a shader with these extensions, declarations and statements.
Features features_of(const std::string& extensions, const std::string& declarations, const std::string& body) {
    std::string glsl = "#version 450\n";
    for (size_t at = 0, end; at < extensions.size(); at = end + 1) {
        end = std::min(extensions.find(' ', at), extensions.size());
        glsl += "#extension GL_EXT_" + extensions.substr(at, end - at) + " : require\n";
    }
    const auto spirv = assemble(glsl + declarations + "\nvoid main() { " + body + " }\n", "features");
    EXPECT_EQ(validate(spirv), "");
    const std::vector<std::string> found = vulkan_features(spirv);
    const Features all(found.begin(), found.end());
    EXPECT_EQ(all.size(), found.size()) << "a feature is listed twice";
    return all;
}

TEST(vulkan_features, a_plain_shader_needs_none) {
    EXPECT_EQ(features_of("", "layout(set = 0, binding = 0) buffer A { uint a[]; };", "atomicAdd(a[0], 1);"), Features{});
}

TEST(vulkan_features, atomics_of_64_bits_say_which_memory) {
    const std::string extensions = "shader_explicit_arithmetic_types_int64 shader_atomic_int64",
                      buffer = "layout(set = 0, binding = 0) buffer A { uint64_t a[]; };", local = "shared uint64_t b[4];";
    EXPECT_EQ(features_of(extensions, buffer + local, "atomicAdd(a[0], 1ul); b[0] = a[1];"),
              (Features{"shaderInt64", "shaderBufferInt64Atomics"}));
    EXPECT_EQ(features_of(extensions, buffer + local, "b[0] = 1ul; a[0] = atomicMax(b[gl_LocalInvocationIndex], 3ul);"),
              (Features{"shaderInt64", "shaderSharedInt64Atomics"}));
    EXPECT_EQ(features_of(extensions, buffer + local, "atomicCompSwap(b[0], 1ul, 2ul); atomicExchange(a[0], 1ul);"),
              (Features{"shaderInt64", "shaderBufferInt64Atomics", "shaderSharedInt64Atomics"}));
    EXPECT_EQ(
        features_of(extensions + " buffer_reference",
                    "layout(buffer_reference, std430) buffer B { uint64_t b[]; }; layout(push_constant) uniform P { B p; };",
                    "atomicAdd(p.b[3], 1ul);"),
        (Features{"shaderInt64", "shaderBufferInt64Atomics", "bufferDeviceAddress"}));
}

TEST(vulkan_features, atomics_of_floats_say_which_memory) {
    const std::string declarations = "layout(set = 0, binding = 0) buffer A { float a[]; }; shared float b[4];";
    EXPECT_EQ(features_of("shader_atomic_float", declarations, "atomicAdd(a[0], 1.0); b[0] = a[1];"),
              (Features{"shaderBufferFloat32AtomicAdd"}));
    EXPECT_EQ(features_of("shader_atomic_float", declarations, "b[0] = 0; a[0] = atomicAdd(b[1], 1.0);"),
              (Features{"shaderSharedFloat32AtomicAdd"}));
    EXPECT_EQ(features_of("shader_atomic_float", declarations, "atomicExchange(a[0], 1.0); atomicExchange(b[0], 1.0);"),
              (Features{"shaderBufferFloat32Atomics", "shaderSharedFloat32Atomics"}));
}

TEST(vulkan_features, narrow_types_need_arithmetic_and_storage) {
    EXPECT_EQ(features_of("shader_explicit_arithmetic_types_int8 shader_8bit_storage",
                          "layout(set = 0, binding = 0) buffer A { uint8_t a[]; };", "a[0] += uint8_t(a[1]);"),
              (Features{"shaderInt8", "storageBuffer8BitAccess"}));
    EXPECT_EQ(features_of("shader_8bit_storage", "layout(set = 0, binding = 0) buffer A { uint8_t a[]; };",
                          "a[0] = uint8_t(uint(a[1]) + 1);"),
              (Features{"storageBuffer8BitAccess"}));
    EXPECT_EQ(
        features_of("shader_8bit_storage",
                    "layout(set = 0, binding = 0) buffer A { uint a; }; layout(set = 0, binding = 1) uniform B { uint8_t b; };",
                    "a = uint(b);"),
        (Features{"uniformAndStorageBuffer8BitAccess"}));
}

TEST(vulkan_features, subgroup_operations_and_their_types) {
    const std::string declarations =
        "#extension GL_KHR_shader_subgroup_arithmetic : require\n#extension GL_KHR_shader_subgroup_ballot : require\n"
        "layout(set = 0, binding = 0) buffer A { uint64_t a[]; }; layout(set = 0, binding = 1) buffer B { uint b[]; };";
    EXPECT_EQ(features_of("shader_explicit_arithmetic_types_int64", declarations, "b[0] = subgroupAdd(b[1]); a[0] = 1ul;"),
              (Features{"shaderInt64", "subgroup:basic", "subgroup:arithmetic"}));
    EXPECT_EQ(
        features_of("shader_subgroup_extended_types_int64 shader_explicit_arithmetic_types_int64", declarations,
                    "a[0] = subgroupAdd(a[1]); b[0] = subgroupBroadcastFirst(b[1]);"),
        (Features{"shaderInt64", "subgroup:basic", "subgroup:arithmetic", "subgroup:ballot", "shaderSubgroupExtendedTypes"}));
}

TEST(vulkan_features, scalar_block_layout_only_where_it_differs) {
    EXPECT_EQ(
        features_of("scalar_block_layout",
                    "struct S { float x, y, z; }; layout(set = 0, binding = 0, scalar) buffer A { S a[]; };", "a[0].x = a[1].z;"),
        Features{});
    EXPECT_EQ(features_of("scalar_block_layout", "layout(set = 0, binding = 0, scalar) buffer A { vec3 a[]; };", "a[0] = a[1];"),
              (Features{"scalarBlockLayout"}));
}

TEST(vulkan_features, unknown_capabilities_are_refused) {
    const auto spirv = assemble(
        "#version 450\nlayout(set = 0, binding = 0, rgba8) uniform writeonly imageBuffer i;\n"
        "void main() { imageStore(i, 0, vec4(1)); }\n",
        "image");
    try {
        vulkan_features(spirv);
        FAIL() << "a capability without a feature is accepted";
    } catch (const Error& e) { EXPECT_STREQ(e.what(), "no feature of Vulkan is known for the SPIR-V capability ImageBuffer"); }
    EXPECT_THROW(vulkan_features({1, 2, 3, 4, 5, 0}), Error);
}

}  // namespace
}  // namespace pumice::codegen
