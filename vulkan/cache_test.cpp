#include "vulkan/cache.h"

#include <gtest/gtest.h>

namespace pumice::vulkan {
namespace {

codegen::Shader shader() {
    codegen::Shader s;
    s.name = "saxpy";
    s.glsl = "void main() {}";
    s.spirv = {0x07230203, 0x10500, 1, 2, 3, 4, 5};
    s.bindings = {{0, 0, ir::Access::out}, {1, 1, ir::Access::in}};
    s.push = {{codegen::Field::Kind::argument, 2, 0, 0, Scalar::f32}, {codegen::Field::Kind::end, 0, 1, 4, Scalar::i32}};
    s.push_bytes = 8;
    s.local_bytes = 1024;
    s.features = {Feature::int64};
    s.capabilities = {"Shader", "Int64"};
    s.hash = "0123";
    return s;
}

TEST(Pack, AShaderComesBackWhole) {
    const codegen::Shader a = shader();
    const auto b = unpack(pack(a));
    ASSERT_TRUE(b);
    EXPECT_EQ(b->name, a.name);
    EXPECT_EQ(b->glsl, a.glsl);
    EXPECT_EQ(b->spirv, a.spirv);
    ASSERT_EQ(b->bindings.size(), 2u);
    EXPECT_EQ(b->bindings[1].argument, 1);
    EXPECT_EQ(b->bindings[1].access, ir::Access::in);
    ASSERT_EQ(b->push.size(), 2u);
    EXPECT_EQ(b->push[1].kind, codegen::Field::Kind::end);
    EXPECT_EQ(b->push[1].axis, 1);
    EXPECT_EQ(b->push[0].type, Scalar::f32);
    EXPECT_EQ(b->push_bytes, 8u);
    EXPECT_EQ(b->local_bytes, 1024);
    EXPECT_EQ(b->features, a.features);
    EXPECT_EQ(b->capabilities, a.capabilities);
    EXPECT_EQ(b->hash, a.hash);
}

TEST(Pack, PartOfAShaderIsNone) {
    const std::string bytes = pack(shader());
    for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(unpack(bytes.substr(0, size))) << size;
    EXPECT_FALSE(unpack(bytes + "x"));
}

TEST(Key, DependsOnWhatTheCodeDependsOn) {
    ir::Kernel k;
    k.name = "k";
    k.blocks.resize(1);
    k.insts.resize(2);
    const codegen::Options plain;
    const std::string base = shader_key("device", k, plain);
    EXPECT_EQ(base.size(), 32u);
    EXPECT_EQ(shader_key("device", k, plain), base);
    EXPECT_NE(shader_key("other device", k, plain), base);
    codegen::Options wide;
    wide.wide_offsets = true;
    EXPECT_NE(shader_key("device", k, wide), base);
    codegen::Options by_address;
    by_address.by_address = {false, true};
    EXPECT_NE(shader_key("device", k, by_address), base);
    ir::Kernel other = k;
    other.insts[1].immediate = 1;
    EXPECT_NE(shader_key("device", other, plain), base);
    other = k;
    other.math = ir::Math::strict;
    EXPECT_NE(shader_key("device", other, plain), base);
    other = k;
    other.insts[0].loc.line = 77;
    EXPECT_EQ(shader_key("device", other, plain), base) << "a source line is no part of the code";
}

TEST(Key, DependsOnTheDriver) {
    Snapshot a, b;
    EXPECT_EQ(device_key(a), device_key(b));
    b.driver_version = 2;
    EXPECT_NE(device_key(a), device_key(b));
    b = a;
    b.driver_uuid[3] = 1;
    EXPECT_NE(device_key(a), device_key(b));
}

}  // namespace
}  // namespace pumice::vulkan
