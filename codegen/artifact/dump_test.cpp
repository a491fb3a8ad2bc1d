#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "codegen/glsl/codegen.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

namespace fs = std::filesystem;

const char* const scale =
    R"(kernel "scale" math contract rank 1 (arg1: inout f32[1], arg2: f32, arg3: in {x: f32 @0, n: u32 @4}:8[1]) @7 files ["dir/scale.cpp"] {
  local local1: f32[16]
  %0 = global_index 0 : i32 @8
  %1 = load arg1[%0] : f32 @8
  %2 = argument arg2 : f32 @8
  %3 = mul %1, %2 : f32 @8
  %4 = load arg3[%0].x : f32 @9
  %5 = local_index 0 : i32 @9
  store local1[%5], %4 : f32 @9
  barrier @9
  %6 = constant 0 : i32
  %7 = load local1[%6] : f32 @9
  %8 = add %3, %7 : f32 @9
  store arg1[%0], %8 : f32 @9
  return
}
)";

struct Folder {
    fs::path path = fs::temp_directory_path() / text("pumice_dump_test_", getpid());
    Folder() { fs::remove_all(path); }
    ~Folder() { fs::remove_all(path); }
};

std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

TEST(dump, writes_five_files) {
    const Folder folder;
    const ir::Kernel k = ir::parse(scale);
    dump(k, folder.path / "deeper");
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(folder.path / "deeper")) names.push_back(e.path().filename());
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"scale.comp", "scale.ir", "scale.json", "scale.spv", "scale.spvasm"}));

    const fs::path base = folder.path / "deeper";
    EXPECT_EQ(contents(base / "scale.ir"), ir::print(k));
    const std::string glsl = contents(base / "scale.comp");
    EXPECT_EQ(glsl.find("#version 450"), 0u);
    EXPECT_NE(glsl.find("// scale.cpp:9"), std::string::npos) << glsl;
    const std::string bytes = contents(base / "scale.spv");
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    EXPECT_EQ(validate(words), "");
    EXPECT_EQ(contents(base / "scale.spvasm"), disassemble(words));
}

TEST(manifest, describes_the_launch) {
    const ir::Kernel k = ir::parse(scale);
    const Shader s = compile(k);
    const auto m = nlohmann::json::parse(manifest(k, s));
    EXPECT_EQ(m["kernel"], "scale");
    EXPECT_EQ(m["source"], "scale.cpp:7");
    EXPECT_EQ(m["entry"], "main");
    ASSERT_EQ(m["group_size"].size(), 3u);
    EXPECT_EQ(m["group_size"][2]["axis"], "z");
    EXPECT_EQ(m["group_size"][2]["specialization_constant"], 2);
    EXPECT_EQ(m["group_size"][0]["default"], 1);
    ASSERT_EQ(m["bindings"].size(), 2u);
    EXPECT_EQ(m["bindings"][0]["argument"], 1);
    EXPECT_EQ(m["bindings"][0]["access"], "inout");
    EXPECT_EQ(m["bindings"][0]["element"], "f32");
    EXPECT_EQ(m["bindings"][1]["argument"], 3);
    EXPECT_EQ(m["bindings"][1]["binding"], 1);
    EXPECT_EQ(m["bindings"][1]["access"], "in");
    EXPECT_EQ(m["bindings"][1]["element"]["bytes"], 8);
    EXPECT_EQ(m["bindings"][1]["element"]["members"][1]["path"], "n");
    const auto& push = m["push_constants"];
    EXPECT_EQ(push["bytes"], 12);
    ASSERT_EQ(push["fields"].size(), 3u);
    EXPECT_EQ(push["fields"][0]["kind"], "start");
    EXPECT_EQ(push["fields"][0]["axis"], "x");
    EXPECT_EQ(push["fields"][1]["kind"], "end");
    EXPECT_EQ(push["fields"][1]["offset"], 4);
    EXPECT_EQ(push["fields"][2]["kind"], "argument");
    EXPECT_EQ(push["fields"][2]["argument"], 2);
    EXPECT_EQ(push["fields"][2]["type"], "f32");
    EXPECT_EQ(m["local_bytes"], 64);
    EXPECT_EQ(m["capabilities"], nlohmann::json(s.capabilities));
    EXPECT_EQ(m["hash"], s.hash);
}

TEST(manifest, gives_the_size_of_local_memory_by_the_group) {
    const ir::Kernel k = ir::parse(R"(kernel "sized" math contract rank 1 (arg1: inout i32[1]) files [] {
  local local1: i32[size %5]
  %0 = group_size 0 : i32
  %1 = constant -3 : i32
  %2 = mul %0, %1 : i32
  %3 = cast %2 : i64
  %4 = abs %3 : i64
  %5 = cast %4 : i32
  %6 = local_index 0 : i32
  store local1[%6], %6 : i32
  barrier
  %8 = constant 0 : i32
  %7 = load local1[%8] : i32
  store arg1[%6], %7 : i32
  return
}
)");
    const Shader s = compile(k);
    const auto m = nlohmann::json::parse(manifest(k, s));
    ASSERT_TRUE(m.contains("sized_locals")) << m.dump(1);
    ASSERT_EQ(m["sized_locals"].size(), 1u);
    const auto& local = m["sized_locals"][0];
    EXPECT_EQ(local["specialization_constant"], 5);
    EXPECT_EQ(local["unit"], "elements");
    EXPECT_EQ(local["element_bytes"], 4);
    EXPECT_EQ(local["default"], 3);
    EXPECT_EQ(local["elements"].dump(), R"(["cast","i32",["abs",["cast","i64",["mul",["group_size","x"],-3]]]])");
    EXPECT_EQ(s.length_of(s.sized_locals[0], {64, 1, 1}), 192);
    EXPECT_EQ(validate(s.spirv), "");
    // The driver has no part of the expression left to compute.
    EXPECT_NE(s.glsl.find("layout(constant_id = 5) const int local1_size = 3;"), std::string::npos) << s.glsl;
    EXPECT_NE(s.glsl.find("shared int local1[local1_size];"), std::string::npos) << s.glsl;
}

TEST(dump, says_why_a_folder_cannot_be_written) {
    const Folder folder;
    fs::create_directories(folder.path);
    std::ofstream(folder.path / "file") << "in the way";
    const auto message = [&](const fs::path& path) {
        try {
            dump(ir::parse(scale), path);
        } catch (const Error& e) { return std::string(e.what()); }
        return std::string("nothing");
    };
    EXPECT_EQ(message(folder.path / "file"), text("the folder ", folder.path / "file", " cannot be made: a file has that name"));
    EXPECT_EQ(message(folder.path / "file" / "below"),
              text("the folder ", folder.path / "file" / "below", " cannot be made: Not a directory"));
    fs::create_directories(folder.path / "scale.spv");  // a folder where the file should be
    EXPECT_EQ(message(folder.path), text("the file ", folder.path / "scale.spv", " cannot be written: Is a directory"));
}

TEST(compile, names_the_kernel_that_fails) {
    const ir::Kernel k = ir::parse(R"(kernel "narrow" math contract rank 1 (arg1: inout i32[1]) @7 files ["dir/narrow.cpp"] {
  %0 = constant 0 : i32
  %1 = constant 1 : i32
  %2 = atomic add arg1[%0], %1 : i32 @9
  %3 = gt %2, %0 : bool
  if %3 {
    barrier @11
    yield
  } else {
    yield
  }
  return
}
)");
    try {
        compile(k);
        FAIL() << "an atomic that decides about a barrier compiles";
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(),
                     "kernel \"narrow\" (narrow.cpp:7) decides control flow around a barrier by the result of the atomic on line "
                     "9, which items past the "
                     "range do not run; share the result through local memory, or use whole_groups\n"
                     "  while compiling kernel \"narrow\" (narrow.cpp:7)");
    }
}

}  // namespace
}  // namespace pumice::codegen
