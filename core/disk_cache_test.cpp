#include "core/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"

namespace pumice {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
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
    int files(const char* below = "") {
        return int(std::distance(fs::directory_iterator(folder / below), fs::directory_iterator()));
    }
    void overwrite(const std::string& name, const std::string& bytes) {
        std::ofstream(folder / name, std::ios::binary | std::ios::trunc) << bytes;
    }
    fs::path folder;
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

TEST_F(DiskCacheTest, EveryDamageIsFoundAndTheEntryGoes) {
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
    overwrite("another", whole);  // a good one, under another's name
    EXPECT_FALSE(cache.read("another"));
    cache.write("entry", bytes);
    EXPECT_EQ(cache.read("entry"), bytes);
}

TEST_F(DiskCacheTest, AFolderThatCannotBeIsNoError) {
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
    // What an entry holds says who wrote it; it is whole where it is of one letter and that one's length.
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
    // What they left is used by nobody and goes later, when no process can still be writing it.
    overwrite("one.4711.0.tmp", "a draft of long ago");
    fs::last_write_time(folder / "one.4711.0.tmp", fs::file_time_type::clock::now() - std::chrono::hours(2));
    overwrite("one.4712.0.tmp", "a draft of now");
    cache.write("one", a);
    const DiskCache next(folder);
    EXPECT_FALSE(fs::exists(folder / "one.4711.0.tmp"));
    EXPECT_TRUE(fs::exists(folder / "one.4712.0.tmp"));
    EXPECT_EQ(next.read("one"), a);
}

/// As on a disk that is full: files grow to so many bytes and no further.
TEST_F(DiskCacheTest, WhatDoesNotFitIsNotKept) {
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

}  // namespace
}  // namespace pumice
