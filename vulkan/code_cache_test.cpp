#include "vulkan/code_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

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
    s.private_bytes = 96;
    s.sized_locals = {{4, 0, 1, 8, 1}};
    s.size_steps = {{ir::Op::group_size, Scalar::i32, Scalar::i32, 0, {}, 2}};
    s.features = {Feature::int64};
    s.capabilities = {"Shader", "Int64"};
    s.hash = "0123";
    return s;
}

TEST(Pack, AShaderIsReadBackUnchanged) {
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
    EXPECT_EQ(b->private_bytes, 96);
    ASSERT_EQ(b->sized_locals.size(), 1u);
    EXPECT_EQ(b->length_of(b->sized_locals[0], {1, 1, 7}), 14) << "7 elements of 8 bytes in words";
    EXPECT_EQ(b->local_bytes_for({1, 1, 7}), 1024 + 56);
    EXPECT_EQ(b->features, a.features);
    EXPECT_EQ(b->capabilities, a.capabilities);
    EXPECT_EQ(b->hash, a.hash);
}

TEST(Pack, ATruncatedShaderIsRefused) {
    const std::string bytes = pack(shader());
    for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(unpack(bytes.substr(0, size))) << size;
    EXPECT_FALSE(unpack(bytes + "x"));
}

// core/ir/cache_key_test.cpp flips every field of the kernel.
TEST(Key, DependsOnEveryInputOfTheCode) {
    ir::Kernel k;
    k.name = "k";
    k.blocks.resize(1);
    k.insts.resize(2);
    k.blocks[0].insts = {ir::InstId{0}};
    k.files = {"k.cpp"};
    const codegen::Options plain;
    const std::string base = shader_key("device", k, plain);
    EXPECT_EQ(base.size(), 32u);
    EXPECT_EQ(shader_key("device", k, plain), base);
    EXPECT_NE(shader_key("other device", k, plain), base);
    using Options = codegen::Options;
    const std::function<void(Options&)> changes[] = {
        [](Options& o) { o.comments = true; },
        [](Options& o) { o.float_atomics = true; },
        [](Options& o) { o.local_float_atomics = true; },
        [](Options& o) { o.by_address = {false}; },
        [](Options& o) { o.by_address = {true}; },
        [](Options& o) { o.by_address = {false, true}; },
        [](Options& o) { o.shifted = {true}; },
        [](Options& o) { o.wide_offsets = true; },
        [](Options& o) { o.long_extents = true; },
        [](Options& o) { o.int64_atomics = false; },
        [](Options& o) { o.local_int64_atomics = false; },
        [](Options& o) { o.shares = {0}; },
        [](Options& o) { o.float_modes = 1; },
        [](Options& o) { o.memory_barriers = false; },
        [](Options& o) { o.idle_lanes = true; },
        [](Options& o) { o.ordered_as_unsigned = true; },
        [](Options& o) { o.unsigned_rounds_twice = true; },
        [](Options& o) { o.unrolled_imprecise = true; },
        [](Options& o) { o.parted_merges = true; },
        [](Options& o) { o.folded_zeros = true; },
        [](Options& o) { o.stale_counters = true; },
        [](Options& o) { o.exact_conversions = true; },
        [](Options& o) { o.rounded_division = true; },
        [](Options& o) { o.byte_storage = false; },
        [](Options& o) { o.pairs = true; },
        [](Options& o) { o.push_bytes = 256; },
        [](Options& o) { o.subgroups = 3; },
        [](Options& o) { o.linear_subgroups = true; },
        [](Options& o) { o.packed_subgroups = true; },
        [](Options& o) { o.cross_loop_cse = true; },
        [](Options& o) { o.subgroup_sums = true; },
    };
    std::set<std::string> keys{base};
    int number = 0;
    for (const auto& change : changes) {
        Options options;
        change(options);
        EXPECT_FALSE(options == plain) << number;
        EXPECT_TRUE(keys.insert(shader_key("device", k, options)).second) << "option " << number;
        ++number;
    }
    ir::Kernel other = k;
    other.group = {64, 1, 1};
    EXPECT_NE(shader_key("device", other, plain), base);
    other = k;
    other.insts[0].loc.line = 77;
    EXPECT_EQ(shader_key("device", other, plain), base) << "a source line is no part of the code";
    Options comments;
    comments.comments = true;
    EXPECT_NE(shader_key("device", other, comments), shader_key("device", k, comments)) << "but of its comments";
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
