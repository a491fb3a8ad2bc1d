#include "core/support/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/other_user_test.h"

namespace pumice {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
protected:
    std::string bytes_of(const std::string& name) {
        std::ifstream file(folder / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    int files(const char* below = "") {
        return int(std::distance(fs::directory_iterator(folder / below), fs::directory_iterator()));
    }
    void overwrite(const std::string& name, const std::string& bytes) {
        std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << bytes;
        chmod((folder / name).c_str(), 0600);
    }
    /// The line of PUMICE_LOG about a cache that is off, in this folder.
    std::string off(const fs::path& where) {
        const debug::Override log("PUMICE_LOG", "1");
        testing::internal::CaptureStderr();
        for (int times = 0; times < 2; ++times) {
            const DiskCache cache(where);
            EXPECT_FALSE(cache.on());
            cache.write("new", "bytes");
            EXPECT_FALSE(cache.read("entry"));
            EXPECT_FALSE(cache.read("new"));
        }
        return testing::internal::GetCapturedStderr();
    }
    const OwnFolder own;
    const fs::path folder = own.path;
};

TEST_F(DiskCacheTest, GivesBackWhatWasWritten) {
    const DiskCache cache(folder / "made" / "on demand");
    EXPECT_FALSE(cache.read("entry"));
    const std::string bytes("a\0b\n", 4);
    cache.write("entry", bytes);
    EXPECT_EQ(cache.read("entry"), bytes);
    cache.write("entry", "other");
    EXPECT_EQ(cache.read("entry"), "other");
    cache.write("empty", "");
    EXPECT_EQ(cache.read("empty"), "");
    EXPECT_EQ(files("made/on demand"), 2) << "a draft was left behind";
}

TEST_F(DiskCacheTest, DamagedEntriesAreFoundAndRemoved) {
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
    overwrite("another", whole);  // a valid entry under the name of another
    EXPECT_FALSE(cache.read("another"));
    cache.write("entry", bytes);
    EXPECT_EQ(cache.read("entry"), bytes);
}

TEST_F(DiskCacheTest, AFolderThatCannotBeMadeIsNoError) {
    overwrite("file", "not a folder");
    const DiskCache cache(folder / "file" / "below");
    EXPECT_NO_THROW(cache.write("entry", "bytes"));
    EXPECT_FALSE(cache.read("entry"));
    const DiskCache off("");
    EXPECT_FALSE(off.on());
    EXPECT_NO_THROW(off.write("entry", "bytes"));
    EXPECT_FALSE(off.read("entry"));
}

TEST_F(DiskCacheTest, WritersAndReadersAtOnceSeeWholeEntries) {
    const DiskCache cache(folder);
    const std::string a(100'000, 'a'), b(70'000, 'b');
    cache.write("entry", a);
    std::thread writer([&] {
        for (int i = 0; i < 30; ++i) cache.write("entry", i % 2 ? a : b);
    });
    for (int i = 0; i < 60; ++i) {
        const auto found = cache.read("entry");
        EXPECT_TRUE(found && (*found == a || *found == b));
    }
    writer.join();
}

TEST_F(DiskCacheTest, TwoProcessesWriteAndReadTheSameEntries) {
    const DiskCache cache(folder);
    const std::string names[] = {"one", "two", "three"};
    // An entry names its writer: it is whole if it consists of one letter, as often as that writer writes the letter.
    const auto bytes_by = [](bool parent) { return std::string(parent ? 100'000 : 70'000, parent ? 'p' : 'c'); };
    const auto work = [&](bool parent) {
        bool whole = true;
        for (int i = 0; i < 60; ++i) {
            cache.write(names[i % 3], bytes_by(parent));
            const auto found = cache.read(names[(i + 1) % 3]);
            whole = whole && (!found || *found == bytes_by(true) || *found == bytes_by(false));
        }
        return whole;
    };
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) _exit(work(false) ? 0 : 1);
    EXPECT_TRUE(work(true));
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(files(), 3) << "a draft was left behind";
}

TEST_F(DiskCacheTest, ProcessesKilledWhileTheyWriteHarmNoEntry) {
    const DiskCache cache(folder);
    const std::string a(300'000, 'a'), b(200'000, 'b');
    for (int round = 0; round < 5; ++round) {
        pid_t children[8];
        for (pid_t& child : children) {
            child = fork();
            ASSERT_NE(child, -1);
            if (child == 0)
                for (int i = 0;; ++i) cache.write(i % 3 ? "one" : "two", i % 2 ? a : b);
        }
        usleep(20'000);
        for (const pid_t child : children) kill(child, SIGKILL);
        for (const pid_t child : children) waitpid(child, nullptr, 0);
        for (const char* name : {"one", "two"}) {
            const auto found = cache.read(name);
            EXPECT_TRUE(!found || *found == a || *found == b) << name;
            EXPECT_EQ(bool(found), fs::exists(folder / name)) << "the entry was corrupt";
        }
    }
    // Nobody uses the files that they left. They are removed later, when no process can still be writing them.
    const std::string old = "pumice-0123456789abcdef.tmp", young = "pumice-00000000000000ff.tmp", foreign = "notes.tmp";
    for (const std::string& name : {old, young, foreign}) {
        overwrite(name, "bytes");
        if (name != young) fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(2));
    }
    cache.write("one", a);
    const DiskCache next(folder);
    EXPECT_FALSE(fs::exists(folder / old));
    EXPECT_TRUE(fs::exists(folder / young));
    EXPECT_TRUE(fs::exists(folder / foreign)) << "it is not the library's";
    EXPECT_EQ(next.read("one"), a);
}

/// As on a full disk: files grow to a limit and no further.
TEST_F(DiskCacheTest, EntriesThatDoNotFitOnTheDiskAreNotKept) {
    const DiskCache cache(folder);
    cache.write("entry", "it is small");
    const pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const rlimit few{10'000, 10'000};
        setrlimit(RLIMIT_FSIZE, &few);
        cache.write("entry", std::string(100'000, 'x'));
        cache.write("other", std::string(100'000, 'y'));
        _exit(cache.read("entry") == "it is small" && !cache.read("other") ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(files(), 1) << "a draft was left behind";
}

TEST_F(DiskCacheTest, TheFolderIsPrivateToTheUser) {
    const mode_t before = umask(0);
    const DiskCache cache(folder / "made" / "here");
    cache.write("entry", "bytes");
    umask(before);
    EXPECT_EQ(unsigned(fs::status(folder / "made" / "here").permissions()), 0700u);
    EXPECT_EQ(unsigned(fs::status(folder / "made" / "here" / "entry").permissions()), 0600u);
}

/// As in /tmp, or in a folder that a group shares: others may have put an entry there, and entries are executed.
TEST_F(DiskCacheTest, NothingIsTakenFromAFolderThatOthersCanWrite) {
    DiskCache(folder).write("entry", "code");
    for (const mode_t mode : {0777, 01777, 0775}) {
        chmod(folder.c_str(), mode);
        const std::string said = off(folder);
        EXPECT_NE(said.find(text("pumice: the disk cache ", folder, " is off: others can write it: its mode is ")), said.npos)
            << said;
        EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    }
    EXPECT_EQ(files(), 1);
    chmod(folder.c_str(), 0700);
    EXPECT_EQ(DiskCache(folder).read("entry"), "code");
}

/// Permissions are checked at each use: a folder that others can write from now on is no longer used.
TEST_F(DiskCacheTest, NothingIsTakenFromAFolderThatBecomesWritable) {
    const DiskCache cache(folder);
    cache.write("entry", "code");
    chmod(folder.c_str(), 0777);
    EXPECT_FALSE(cache.read("entry"));
    cache.write("new", "bytes");
    EXPECT_EQ(files(), 1);
    fs::remove_all(folder);
    cache.write("entry", "made again");
    EXPECT_EQ(cache.read("entry"), "made again");
}

TEST_F(DiskCacheTest, NothingIsTakenFromAnotherUser) {
    PUMICE_NEEDS_ROOT();
    const auto lay = [](const fs::path& where) { DiskCache(where).write("entry", "code"); };
    fs::create_directory(folder / "all");
    chmod((folder / "all").c_str(), 01777);
    // They have made the folder before.
    ASSERT_TRUE(as_another_user([&] { return lay(folder / "all" / "cache"), fs::exists(folder / "all" / "cache" / "entry"); }));
    EXPECT_NE(off(folder / "all" / "cache").find("it belongs to the user 65534, not to 0"), std::string::npos);
    // They have made a link to a folder of ours, which holds an entry that we took from them.
    lay(folder / "mine");
    ASSERT_TRUE(as_another_user([&] { return symlink((folder / "mine").c_str(), (folder / "all" / "link").c_str()) == 0; }));
    EXPECT_NE(off(folder / "all" / "link").find("is a symbolic link of another user"), std::string::npos);
    // The cache of root does not belong to them.
    chmod((folder / "mine").c_str(), 0755), chmod((folder / "mine" / "entry").c_str(), 0644);
    EXPECT_TRUE(as_another_user([&] { return !DiskCache(folder / "mine").on(); }));
    // An entry from before the folder was closed is not used either.
    ASSERT_EQ(chown((folder / "mine" / "entry").c_str(), another_user, another_user), 0);
    const DiskCache cache(folder / "mine");
    EXPECT_FALSE(cache.read("entry"));
    cache.write("entry", "ours");
    EXPECT_EQ(cache.read("entry"), "ours");
}

TEST_F(DiskCacheTest, EntriesThatAreNoFilesOfTheUsersOwn) {
    const DiskCache cache(folder / "cache");
    const fs::path entry = folder / "cache" / "entry";
    cache.write("entry", "code");
    fs::rename(entry, folder / "elsewhere");
    const std::string whole = bytes_of("elsewhere");
    const auto refused_and_made_anew = [&](const char* kind) {
        EXPECT_TRUE(in_child([&] { return !cache.read("entry"); })) << kind;
        cache.write("entry", "ours");
        EXPECT_EQ(cache.read("entry"), "ours") << kind;
        EXPECT_EQ(bytes_of("elsewhere"), whole) << kind;
        fs::remove(entry);
    };
    fs::create_symlink(folder / "elsewhere", entry);
    refused_and_made_anew("link");
    ASSERT_EQ(mkfifo(entry.c_str(), 0600), 0);
    refused_and_made_anew("pipe");
    fs::copy_file(folder / "elsewhere", entry);
    chmod(entry.c_str(), 0666);
    refused_and_made_anew("writable by others");
    for (const off_t size : {off_t(1) << 40, off_t(100) << 20}) {
        overwrite("cache/entry", whole);
        ASSERT_EQ(truncate(entry.c_str(), size), 0);
        refused_and_made_anew("sparse");
    }
}

/// The name of an unfinished file is one that nobody could have given to a link before.
TEST_F(DiskCacheTest, UnfinishedFilesAreNotWrittenThroughLinks) {
    overwrite("precious", "precious");
    const DiskCache cache(folder / "cache");
    for (int n = 0; n < 100; ++n) fs::create_symlink("../precious", folder / "cache" / text("entry.", getpid(), ".", n, ".tmp"));
    for (int n = 0; n < 20; ++n) cache.write("entry", "bytes");
    EXPECT_EQ(bytes_of("precious"), "precious");
    EXPECT_EQ(cache.read("entry"), "bytes");
}

/// Run by the next test, as a program that runs with another group than its caller.
TEST(DISABLED_Rights, NothingIsTakenFromTheEnvironment) {
    if (getauxval(AT_SECURE) == 0) GTEST_SKIP() << "SKIPPED: this process has no more rights than its user";
    int taken = 0;
    for (const debug::Switch& s : debug::switches()) taken += !debug::value(s.name).empty();
    EXPECT_EQ(taken, 0);
    EXPECT_EQ(debug::cache_folder(), "");
    EXPECT_FALSE(DiskCache(debug::cache_folder()).on());
    EXPECT_EQ(debug::variable("PUMICE_VULKAN_BARE"), nullptr);
}

TEST_F(DiskCacheTest, ProgramsWithOtherRightsTakeNothingFromTheEnvironment) {
    std::vector<gid_t> groups(256);
    groups.resize(size_t(std::max(0, getgroups(int(groups.size()), groups.data()))));
    if (is_root()) groups.push_back(gid_t(another_user));
    std::erase(groups, getegid());
    if (groups.empty()) GTEST_SKIP() << "SKIPPED: neither root nor a member of two groups can make a setgid program";
    const fs::path program = folder / "program";
    fs::copy_file("/proc/self/exe", program);
    ASSERT_EQ(chown(program.c_str(), uid_t(-1), groups.back()), 0);
    ASSERT_EQ(chmod(program.c_str(), 02755), 0);
    for (const debug::Switch& s : debug::switches()) setenv(s.name.data(), "1", 0);
    const std::string command =
        text("PUMICE_VULKAN_BARE=1 PUMICE_CACHE_DIR='", folder.string(), "' ASAN_OPTIONS=detect_leaks=0 '", program.string(),
             "' --gtest_also_run_disabled_tests --gtest_filter='DISABLED_Rights.*' > '", (folder / "output").string(), "' 2>&1");
    const int status = std::system(command.c_str());
    for (const debug::Switch& s : debug::switches())
        if (const char* set = getenv(s.name.data()); set && std::string(set) == "1") unsetenv(s.name.data());
    debug::reload();
    const std::string output = bytes_of("output");
    if (output.find("[  SKIPPED ]") != output.npos) GTEST_SKIP() << "SKIPPED: this machine gives setgid programs no rights here";
    EXPECT_EQ(status, 0) << output;
}

}  // namespace
}  // namespace pumice
