#include "core/debug.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "core/error.h"

namespace pumice::debug {
namespace {

/// Sets variables for one test and puts the environment back.
class debug_switches : public testing::Test {
protected:
    void set(const char* name, const char* value) {
        if (!saved.count(name)) saved[name] = std::getenv(name) ? std::optional<std::string>(std::getenv(name)) : std::nullopt;
        if (value)
            setenv(name, value, 1);
        else
            unsetenv(name);
        reload();
    }
    void TearDown() override {
        for (const auto& [name, value] : saved) {
            if (value)
                setenv(name.c_str(), value->c_str(), 1);
            else
                unsetenv(name.c_str());
        }
        reload();
    }
    std::map<std::string, std::optional<std::string>> saved;
};

TEST_F(debug_switches, dump_lists_stages) {
    set("PUMICE_DUMP", "ir,promote,glsl");
    EXPECT_TRUE(dumps("ir"));
    EXPECT_TRUE(dumps("promote"));
    EXPECT_TRUE(dumps("glsl"));
    EXPECT_FALSE(dumps("spirv"));
    EXPECT_FALSE(dumps("gl"));
    EXPECT_FALSE(dumps(""));
    set("PUMICE_DUMP", "all");
    EXPECT_TRUE(dumps("spirv"));
    set("PUMICE_DUMP", nullptr);
    EXPECT_FALSE(dumps("ir"));
}

TEST_F(debug_switches, unknown_words_of_dump_are_said_once) {
    const std::string_view stages[] = {"ir", "simplify", "guard", "simplify", "glsl"};
    const auto said = [&] {
        testing::internal::CaptureStderr();
        check_dump(stages);
        return testing::internal::GetCapturedStderr();
    };
    set("PUMICE_DUMP", "glsl,glsll,,all,nonsense");
    EXPECT_EQ(said(), "pumice: PUMICE_DUMP names \"glsll\", \"nonsense\"; it knows ir, simplify, guard, glsl, all\n");
    EXPECT_EQ(said(), "");
    set("PUMICE_DUMP", "ir,guard,all");
    EXPECT_EQ(said(), "");
    set("PUMICE_DUMP", nullptr);
    EXPECT_EQ(said(), "");
}

TEST_F(debug_switches, dump_goes_to_the_folder_or_to_stderr) {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / text("pumice_debug_test_", getpid());
    set("PUMICE_DUMP_DIR", (folder / "new").c_str());
    dump_text("glsl", "saxpy", "comp", "void main() {}\n");
    std::stringstream read;
    read << std::ifstream(folder / "new" / "saxpy.glsl.comp").rdbuf();
    EXPECT_EQ(read.str(), "void main() {}\n");
    std::filesystem::remove_all(folder);

    set("PUMICE_DUMP_DIR", nullptr);
    testing::internal::CaptureStderr();
    dump_text("glsl", "saxpy", "comp", "void main() {}");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "---- saxpy: glsl ----\nvoid main() {}\n");

    set("PUMICE_DUMP_DIR", "/dev/null/folder");
    EXPECT_THROW(dump_text("glsl", "saxpy", "comp", "x"), Error);
}

TEST_F(debug_switches, flags_and_folders) {
    for (const char* no : {"", "0", "off"}) {
        set("PUMICE_VALIDATE", no);
        EXPECT_FALSE(validate()) << no;
    }
    set("PUMICE_VALIDATE", "1");
    EXPECT_TRUE(validate());
    set("PUMICE_CACHE_DIR", "off");
    EXPECT_EQ(cache_folder(), "");
    set("PUMICE_CACHE_DIR", "/tmp/kept");
    EXPECT_EQ(cache_folder(), "/tmp/kept");
    set("PUMICE_CACHE_DIR", nullptr);
    set("XDG_CACHE_HOME", nullptr);
    set("HOME", "/home/me");
    EXPECT_EQ(cache_folder(), "/home/me/.cache/pumice");
}

TEST_F(debug_switches, log_speaks_only_when_asked) {
    set("PUMICE_LOG", nullptr);
    testing::internal::CaptureStderr();
    log_line("cache miss");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    set("PUMICE_LOG", "1");
    testing::internal::CaptureStderr();
    log_line("cache miss");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "pumice: cache miss\n");
}

}  // namespace
}  // namespace pumice::debug
