#include "core/support/debug.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "core/support/disk_cache.h"
#include "core/support/error.h"
#include "core/support/other_user_test.h"

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

TEST_F(debug_switches, unknown_stages_of_dump_are_reported_once) {
    const std::string_view stages[] = {"ir", "simplify", "promote", "simplify", "glsl"};
    const auto said = [&] {
        testing::internal::CaptureStderr();
        check_dump(stages);
        return testing::internal::GetCapturedStderr();
    };
    set("PUMICE_DUMP", "glsl,glsll,,all,nonsense");
    EXPECT_EQ(said(), "pumice: PUMICE_DUMP names \"glsll\", \"nonsense\"; it knows ir, simplify, promote, glsl, all\n");
    EXPECT_EQ(said(), "");
    set("PUMICE_DUMP", "ir,promote,all");
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
}

TEST_F(debug_switches, the_cache_needs_a_home_that_belongs_to_the_user) {
    const OwnFolder own;
    const std::string home = own.path.string();
    const auto in = [&](const char* of_xdg, const char* of_home) {
        set("PUMICE_CACHE_DIR", nullptr);
        set("XDG_CACHE_HOME", of_xdg);
        set("HOME", of_home);
        return cache_folder();
    };
    EXPECT_EQ(in(nullptr, home.c_str()), home + "/.cache/pumice");
    EXPECT_EQ(in("", home.c_str()), home + "/.cache/pumice");
    EXPECT_EQ(in("caches", home.c_str()), home + "/.cache/pumice") << "not an absolute path";
    EXPECT_EQ(in((home + "/caches").c_str(), (home + "/none").c_str()), home + "/caches/pumice") << "it is made";
    EXPECT_EQ(in(nullptr, nullptr), "");
    EXPECT_EQ(in(nullptr, ""), "");
    EXPECT_EQ(in(nullptr, "."), "");
    EXPECT_EQ(in(nullptr, (home + "/none").c_str()), "");
    EXPECT_EQ(in(nullptr, "/tmp"), "/tmp/.cache/pumice") << "a folder for all, as containers give";
    if (is_root()) {
        ASSERT_EQ(chown(home.c_str(), another_user, another_user), 0);
        EXPECT_EQ(in(nullptr, home.c_str()), "") << "as under sudo";
        EXPECT_EQ(in(home.c_str(), nullptr), "");
        set("PUMICE_LOG", "1");
        testing::internal::CaptureStderr();
        in(nullptr, home.c_str());
        set("PUMICE_LOG", nullptr);
        EXPECT_EQ(testing::internal::GetCapturedStderr(),
                  text("pumice: the disk cache is off: HOME is ", own.path, ": it belongs to another user\n"));
    }
}

/// A home that cannot be written, as in some containers: the cache is off, and nothing else changes.
TEST_F(debug_switches, a_home_that_cannot_be_written) {
    PUMICE_NEEDS_ROOT();
    const OwnFolder own;
    ASSERT_EQ(chown(own.path.c_str(), another_user, another_user), 0);
    chmod(own.path.c_str(), 0500);
    EXPECT_TRUE(as_another_user([&] {
        set("PUMICE_CACHE_DIR", nullptr);
        set("XDG_CACHE_HOME", nullptr);
        set("HOME", own.path.c_str());
        const DiskCache cache(cache_folder());
        cache.write("entry", "bytes");
        return !cache.on() && !cache.read("entry");
    }));
}

TEST_F(debug_switches, dumps_stay_in_their_folder) {
    const OwnFolder own;
    const auto contents = [&](const char* name) {
        std::stringstream read;
        read << std::ifstream(own.path / name).rdbuf();
        return read.str();
    };
    set("PUMICE_DUMP_DIR", (own.path / "dumps").c_str());
    std::ofstream(own.path / "precious") << "precious";
    dump_text("ir", "../up", "ir", "text");
    EXPECT_FALSE(std::filesystem::exists(own.path / "up.ir.ir"));
    EXPECT_EQ(contents("dumps/kernel.._up.ir.ir"), "text");
    // Somebody has put a link under this name before.
    std::filesystem::create_symlink("../precious", own.path / "dumps" / "saxpy.ir.ir");
    std::filesystem::create_hard_link(own.path / "precious", own.path / "dumps" / "saxpy.dead.ir");
    ASSERT_EQ(mkfifo((own.path / "dumps" / "saxpy.promote.ir").c_str(), 0600), 0);
    for (const char* stage : {"ir", "dead", "promote"}) {
        EXPECT_TRUE(in_child([&] { return dump_text(stage, "saxpy", "ir", "text"), true; })) << stage;
        EXPECT_EQ(contents(text("dumps/saxpy.", stage, ".ir").c_str()), "text");
    }
    EXPECT_EQ(contents("precious"), "precious");
    if (is_root()) {
        std::filesystem::create_directory(own.path / "mine");
        std::filesystem::create_directory_symlink("mine", own.path / "theirs");
        ASSERT_EQ(lchown((own.path / "theirs").c_str(), another_user, another_user), 0);
        set("PUMICE_DUMP_DIR", (own.path / "theirs").c_str());
        EXPECT_THROW(dump_text("ir", "saxpy", "ir", "text"), Error);
        EXPECT_TRUE(std::filesystem::is_empty(own.path / "mine"));
    }
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
