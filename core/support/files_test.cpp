#include "core/support/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "core/support/other_user_test.h"

namespace pumice {
namespace {

namespace fs = std::filesystem;

class folders : public testing::Test {
protected:
    fs::path here() const { return own.path; }
    static std::string contents(const fs::path& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void put(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }
    static unsigned mode_of(const fs::path& path) { return unsigned(fs::status(path).permissions()); }
    static Folder open(const fs::path& path, unsigned make = 0) {
        std::string problem;
        return Folder::open(path, make, problem);
    }
    /// The reason for which a folder is not opened.
    static std::string refused(const fs::path& path, unsigned make = 0) {
        std::string problem;
        EXPECT_FALSE(Folder::open(path, make, problem)) << path;
        return problem;
    }
    /// The reason for which a file is not read.
    static std::string unread(const Folder& folder, const std::string& name, size_t limit = 1 << 20) {
        std::string problem;
        EXPECT_FALSE(folder.read(name, limit, problem)) << name;
        return problem;
    }
    static std::string read(const Folder& folder, const std::string& name) {
        std::string problem;
        return folder.read(name, 1 << 20, problem).value_or("not read: " + problem);
    }
    OwnFolder own;
};

TEST_F(folders, open_makes_what_is_missing_with_the_permissions_asked_for) {
    EXPECT_EQ(refused(here() / "a" / "b"), "No such file or directory");
    const mode_t before = umask(0);
    EXPECT_TRUE(open(here() / "a" / "b/", 0700));
    umask(before);
    EXPECT_EQ(mode_of(here() / "a"), 0700u);
    EXPECT_EQ(mode_of(here() / "a" / "b"), 0700u);
    EXPECT_TRUE(open(here() / "." / "a" / ".." / "a"));
    put(here() / "file", "");
    EXPECT_EQ(refused(here() / "file"), "Not a directory");
    EXPECT_EQ(refused(here() / "file" / "below", 0700), "Not a directory");
    EXPECT_EQ(refused("", 0700), "No such file or directory");
    EXPECT_NE(refused("/proc/nowhere", 0700), "");
}

TEST_F(folders, open_follows_links_of_the_user_and_of_root) {
    fs::create_directories(here() / "real" / "below");
    put(here() / "real" / "below" / "file", "here");
    fs::create_directory_symlink(here() / "real", here() / "absolute");
    fs::create_directory_symlink("real/below", here() / "relative");
    fs::create_directory_symlink("absolute/below", here() / "of_two");
    for (const char* path : {"absolute/below", "relative", "of_two", "absolute/../real/below"})
        EXPECT_EQ(read(open(here() / path), "file"), "here") << path;
    fs::create_directory_symlink("round", here() / "round");
    EXPECT_EQ(refused(here() / "round"), "Too many levels of symbolic links");
    EXPECT_EQ(refused(here() / "round" / "below", 0700), "Too many levels of symbolic links");

    const fs::path before = fs::current_path();
    fs::current_path(here());
    EXPECT_EQ(read(open("relative"), "file"), "here");
    EXPECT_TRUE(open("made/here", 0700));
    fs::current_path(before);
    EXPECT_TRUE(fs::is_directory(here() / "made" / "here"));
}

TEST_F(folders, open_follows_no_link_of_another_user) {
    PUMICE_NEEDS_ROOT();
    fs::create_directory(here() / "real");
    fs::create_directory_symlink("real", here() / "theirs");
    EXPECT_TRUE(open(here() / "theirs"));
    ASSERT_EQ(lchown((here() / "theirs").c_str(), another_user, another_user), 0);
    EXPECT_EQ(refused(here() / "theirs", 0700), "\"theirs\" on its path is a symbolic link of another user");
    EXPECT_EQ(refused(here() / "theirs" / "below", 0700), "\"theirs\" on its path is a symbolic link of another user");
    EXPECT_FALSE(fs::exists(here() / "real" / "below"));
    EXPECT_TRUE(as_another_user([&] { return bool(open(here() / "theirs")); })) << "it is that user's own";
}

TEST_F(folders, shared_names_others_who_may_write) {
    EXPECT_EQ(open(here()).shared(), "");
    for (const mode_t mode : {0777, 01777, 0770, 0702}) {
        chmod(here().c_str(), mode);
        EXPECT_NE(open(here()).shared().find("others can write it: its mode is "), std::string::npos) << mode;
    }
    chmod(here().c_str(), 0755);
    EXPECT_EQ(open(here()).shared(), "") << "all may read it";
    if (is_root()) {
        EXPECT_TRUE(as_another_user([&] { return open(here()).shared() == "it belongs to the user 0, not to 65534"; }));
        ASSERT_EQ(chown(here().c_str(), another_user, 0), 0);
        EXPECT_EQ(open(here()).shared(), "it belongs to the user 65534, not to 0");
    }
}

TEST_F(folders, read_takes_regular_files_of_the_user_alone) {
    const Folder folder = open(here());
    EXPECT_EQ(unread(folder, "missing"), "");
    put(here() / "good", "bytes");
    chmod((here() / "good").c_str(), 0644);
    EXPECT_EQ(read(folder, "good"), "bytes");
    EXPECT_EQ(unread(folder, "good", 4), "it has 5 bytes; the limit is 4");

    put(here() / "open", "bytes");
    for (const mode_t mode : {0620, 0602}) {
        chmod((here() / "open").c_str(), mode);
        EXPECT_EQ(unread(folder, "open"), "others can write it");
    }
    fs::create_symlink("good", here() / "link");
    EXPECT_EQ(unread(folder, "link"), "it is a symbolic link");
    fs::create_directory(here() / "folder");
    EXPECT_EQ(unread(folder, "folder"), "it is no regular file");
    if (is_root()) {
        ASSERT_EQ(chown((here() / "good").c_str(), another_user, another_user), 0);
        EXPECT_EQ(unread(folder, "good"), "it belongs to the user 65534, not to 0");
    }
}

TEST_F(folders, read_neither_waits_for_a_pipe_nor_reads_holes) {
    const Folder folder = open(here());
    ASSERT_EQ(mkfifo((here() / "pipe").c_str(), 0600), 0);
    EXPECT_TRUE(in_child([&] { return unread(folder, "pipe") == "it is no regular file"; })) << "it waits for a writer";
    put(here() / "sparse", "begins well");
    chmod((here() / "sparse").c_str(), 0600);
    ASSERT_EQ(truncate((here() / "sparse").c_str(), off_t(1) << 40), 0);
    EXPECT_NE(unread(folder, "sparse").find("the limit is 1048576"), std::string::npos);
    ASSERT_EQ(truncate((here() / "sparse").c_str(), 64 << 20), 0);
    EXPECT_EQ(unread(folder, "sparse", 256 << 20), "it has holes");
}

TEST_F(folders, write_replaces_files_and_links_and_never_writes_through_links) {
    const Folder folder = open(here());
    const auto written = [&](const std::string& name) {
        return in_child([&] { return folder.write(name, "new", 0644).empty(); }) && contents(here() / name) == "new" &&
               fs::is_regular_file(fs::symlink_status(here() / name)) && mode_of(here() / name) == 0644;
    };
    const mode_t before = umask(022);
    put(here() / "precious", "precious");
    fs::create_symlink("precious", here() / "link");
    fs::create_symlink("nowhere", here() / "dangling");
    fs::create_hard_link(here() / "precious", here() / "another name");
    ASSERT_EQ(mkfifo((here() / "pipe").c_str(), 0600), 0);
    for (const char* name : {"fresh", "fresh", "link", "dangling", "another name", "pipe"}) EXPECT_TRUE(written(name)) << name;
    umask(before);
    EXPECT_EQ(contents(here() / "precious"), "precious");
    EXPECT_FALSE(fs::exists(here() / "nowhere"));
    fs::create_directory(here() / "folder");
    EXPECT_EQ(folder.write("folder", "new", 0644), "Is a directory");
    EXPECT_EQ(std::distance(fs::directory_iterator(here()), fs::directory_iterator()), 7) << "a draft was left behind";
}

TEST_F(folders, remove_drafts_takes_old_ones_of_its_own_and_nothing_else) {
    const auto make = [&](const std::string& name, bool old = true) {
        put(here() / name, "bytes");
        if (old) fs::last_write_time(here() / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
    };
    const std::string draft = "pumice-0123456789abcdef.tmp", young = "pumice-00000000000000ff.tmp";
    make(draft), make(young, false);
    std::vector<std::string> kept = {young,
                                     "notes.tmp",
                                     "pumice-notes.tmp",
                                     "pumice-0123456789abcdeg.tmp",
                                     "pumice-0123456789ABCDEF.tmp",
                                     "pumice-0123456789abcdef.tm",
                                     "one.4711.0.tmp",
                                     "0123456789abcdef0123456789abcdef.object"};
    for (const std::string& name : kept)
        if (name != young) make(name);
    kept.push_back("pumice-0000000000000001.tmp");
    fs::create_directory(here() / kept.back());
    fs::last_write_time(here() / kept.back(), fs::file_time_type::clock::now() - std::chrono::hours(2));
    if (is_root()) {
        kept.push_back("pumice-0000000000000002.tmp");
        make(kept.back());
        ASSERT_EQ(chown((here() / kept.back()).c_str(), another_user, another_user), 0);
    }
    open(here()).remove_drafts(std::chrono::hours(1));
    EXPECT_FALSE(fs::exists(here() / draft));
    for (const std::string& name : kept) EXPECT_TRUE(fs::exists(here() / name)) << name;
}

TEST(file_name, replaces_path_separators) {
    EXPECT_EQ(file_name("saxpy<float> 2"), "saxpy<float> 2");
    EXPECT_EQ(file_name("../../up"), "kernel.._.._up");
    EXPECT_EQ(file_name("a/b\\c:d\n"), "a_b_c_d_");
    EXPECT_EQ(file_name(""), "kernel");
}

}  // namespace
}  // namespace pumice
