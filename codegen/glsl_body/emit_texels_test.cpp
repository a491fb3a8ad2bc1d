// The GLSL of image parameters: what is declared, and that texels are read and written once.
#include <gtest/gtest.h>

#include "codegen/artifact/assemble.h"
#include "codegen/glsl/codegen.h"

namespace pumice::codegen {
namespace {

/// The shader of a kernel of these parameters and this body, which is valid SPIR-V.
Shader shader_of(const std::string& parameters, const std::string& body, const Options& options = {}) {
    const std::string kernel =
        "kernel \"k\" math contract rank 2 (" + parameters + ") @1 files [\"k.cpp\"] {\n" + body + "\n  return\n}\n";
    Shader shader = compile(ir::parse(kernel), options);
    EXPECT_EQ(validate(shader.spirv), "") << shader.glsl;
    return shader;
}
size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
}

const std::string texel = "{x: f32 @0, y: f32 @4, z: f32 @8, w: f32 @12}:16";
const std::string indices = "  %0 = global_index 1 : i32\n  %1 = global_index 0 : i32\n";

std::string parameter(const std::string& name, const std::string& access, const std::string& rest) {
    return name + ": " + access + " " + texel + rest;
}

TEST(emit_texels, a_copy_of_an_image_fetches_and_stores_each_texel_once) {
    std::string body = indices;
    for (const char* c : {"x", "y", "z", "w"}) {
        const std::string v = std::string("%") + std::to_string(2 + (c[0] == 'w' ? 3 : c[0] - 'x'));
        body += "  " + v + " = load arg2[%0, %1]." + c + " : f32\n";
    }
    for (const char* c : {"x", "y", "z", "w"}) {
        const std::string v = std::string("%") + std::to_string(2 + (c[0] == 'w' ? 3 : c[0] - 'x'));
        body += "  store arg1[%0, %1]." + std::string(c) + ", " + v + " : f32\n";
    }
    const Shader s = shader_of(parameter("arg1", "out", "[2] storage 2 format rgba8_unorm levels 1 native") + ", " +
                                   parameter("arg2", "in", "[2] storage 2 format rgba16_float levels 1 native"),
                               body);
    EXPECT_EQ(count(s.glsl, "texelFetch("), 1u) << s.glsl;
    EXPECT_EQ(count(s.glsl, "imageStore("), 1u) << s.glsl;
    EXPECT_NE(s.glsl.find("rgba8) writeonly uniform image2D arg1_image"), s.glsl.npos) << s.glsl;
    EXPECT_NE(s.glsl.find("uniform texture2D arg2_texels"), s.glsl.npos) << s.glsl;
    ASSERT_EQ(s.bindings.size(), 2u);
    EXPECT_EQ(s.bindings[0].kind, Binding::Kind::storage_image);
    EXPECT_EQ(s.bindings[1].kind, Binding::Kind::texels);
}

TEST(emit_texels, a_store_of_one_channel_loads_the_others) {
    const Shader s = shader_of(parameter("arg1", "inout", "[2] storage 2 format rgba8_unorm levels 1 native"),
                               indices + "  %2 = constant 1.0 : f32\n  store arg1[%0, %1].y, %2 : f32");
    EXPECT_EQ(count(s.glsl, "imageLoad("), 1u) << s.glsl;
    EXPECT_EQ(count(s.glsl, "imageStore("), 1u) << s.glsl;
    EXPECT_EQ(s.glsl.find("writeonly"), s.glsl.npos) << s.glsl;
}

TEST(emit_texels, a_texel_is_loaded_again_after_a_store) {
    const Shader s = shader_of(parameter("arg1", "inout", "[2] storage 2 format rgba32_float levels 1 native"),
                               indices +
                                   "  %2 = load arg1[%0, %1].x : f32\n  store arg1[%0, %1].y, %2 : f32\n"
                                   "  %3 = load arg1[%1, %0].x : f32\n  store arg1[%1, %0].z, %3 : f32");
    EXPECT_EQ(count(s.glsl, "imageLoad("), 4u) << s.glsl;  // two loads, and the channels that each store keeps
    EXPECT_EQ(count(s.glsl, "imageStore("), 2u) << s.glsl;
}

TEST(emit_texels, a_fast_sample_is_one_of_the_device) {
    const std::string info = " format rgba8_unorm levels 3 native filter linear mip nearest wrap repeat sampling fast";
    std::string body = indices + "  %2 = constant 0.5 : f32\n  %3 = constant 1.0 : f32\n";
    const std::string stores = "\n  store arg1[%0, %1], %4 : f32\n  store arg1[%1, %0], %5 : f32";
    const auto shader = [&](const std::string& image, const std::string& operands) {
        return shader_of(
            "arg1: out f32[2], " + parameter("arg2", "in", image + info),
            body + "  %4 = sample arg2[" + operands + "].x : f32\n  %5 = sample arg2[" + operands + "].w : f32" + stores);
    };
    const Shader plain = shader("[3] texture 2", "%3, %2, %2");
    EXPECT_EQ(count(plain.glsl, "textureLod(arg2_sampler, vec2("), 1u) << plain.glsl;
    EXPECT_EQ(plain.bindings.at(1).kind, Binding::Kind::sampler);
    EXPECT_NE(shader("[4] texture 2 cube", "%3, %2, %2, %2").glsl.find("uniform samplerCube arg2_sampler"), std::string::npos);
    EXPECT_NE(shader("[4] texture 3", "%3, %2, %2, %2").glsl.find("uniform sampler3D arg2_sampler"), std::string::npos);
}

TEST(emit_texels, levels_and_faces_of_a_cube_are_fetched_from_an_array) {
    const Shader s = shader_of(
        "arg1: out f32[2], " +
            parameter(
                "arg2", "in",
                "[4] texture 2 cube format rgba8_unorm levels 3 native filter linear mip nearest wrap repeat sampling exact"),
        indices + "  %2 = constant 2 : i32\n  %3 = load arg2[%2, %2, %0, %1].x : f32\n  store arg1[%0, %1], %3 : f32");
    EXPECT_NE(s.glsl.find("uniform texture2DArray arg2_texels"), s.glsl.npos) << s.glsl;
    EXPECT_EQ(count(s.glsl, "texelFetch(arg2_texels, ivec3("), 1u) << s.glsl;
}

}  // namespace
}  // namespace pumice::codegen
