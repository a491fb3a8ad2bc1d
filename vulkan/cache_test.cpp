#include "vulkan/cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/error.h"

namespace pumice::vulkan {
namespace {

namespace fs = std::filesystem;

class CacheTest : public testing::Test {
protected:
    void SetUp() override {
        const auto* test = testing::UnitTest::GetInstance()->current_test_info();
        // One folder a process and test: the same test may run for several drivers at once.
        folder = fs::temp_directory_path() / text("pumice-cache-test-", test->name(), "-", getpid());
        fs::remove_all(folder);
    }
    void TearDown() override { fs::remove_all(folder); }
    std::string bytes_of(const std::string& name) {
        std::ifstream file(folder / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void overwrite(const std::string& name, const std::string& bytes) {
        std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << bytes;
    }
    fs::path folder;
};

TEST_F(CacheTest, GivesBackWhatWasWritten) {
    const DiskCache cache(folder / "made" / "on demand");
    EXPECT_FALSE(cache.read("entry"));
    const std::string bytes("a\0b\n", 4);
    cache.write("entry", bytes);
    EXPECT_EQ(cache.read("entry"), bytes);
    cache.write("entry", "other");
    EXPECT_EQ(cache.read("entry"), "other");
    cache.write("empty", "");
    EXPECT_EQ(cache.read("empty"), "");
    int files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder / "made" / "on demand")) ++files;
    EXPECT_EQ(files, 2) << "a draft was left behind";
}

TEST_F(CacheTest, EveryDamageIsFoundAndTheEntryGoes) {
    const DiskCache cache(folder);
    const std::string bytes = "the bytes of an entry";
    cache.write("entry", bytes);
    const std::string whole = bytes_of("entry");
    for (size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = char(damaged[i] ^ 0x40);
        overwrite("entry", damaged);
        EXPECT_FALSE(cache.read("entry")) << "byte " << i;
        EXPECT_FALSE(fs::exists(folder / "entry"));
    }
    for (size_t size = 0; size < whole.size(); ++size) {
        overwrite("entry", whole.substr(0, size));
        EXPECT_FALSE(cache.read("entry")) << size << " bytes";
    }
    overwrite("entry", whole + "x");
    EXPECT_FALSE(cache.read("entry"));
    cache.write("entry", bytes);
    EXPECT_EQ(cache.read("entry"), bytes);
}

TEST_F(CacheTest, AFolderThatCannotBeIsNoError) {
    fs::create_directories(folder);
    overwrite("file", "not a folder");
    const DiskCache cache(folder / "file" / "below");
    EXPECT_NO_THROW(cache.write("entry", "bytes"));
    EXPECT_FALSE(cache.read("entry"));
    const DiskCache off("");
    EXPECT_FALSE(off.on());
    EXPECT_NO_THROW(off.write("entry", "bytes"));
    EXPECT_FALSE(off.read("entry"));
}

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
