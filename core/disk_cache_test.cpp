#include "core/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
    int files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder / "made" / "on demand")) ++files;
    EXPECT_EQ(files, 2) << "a draft was left behind";
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
    int files = 0;
    for ([[maybe_unused]] const auto& file : fs::directory_iterator(folder)) ++files;
    EXPECT_EQ(files, 3) << "a draft was left behind";
}

}  // namespace
}  // namespace pumice
