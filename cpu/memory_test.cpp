#include "cpu/memory.h"

#include <gtest/gtest.h>

namespace pumice::cpu {
namespace {

TEST(MemoryTest, ZeroAlignedAndCounted) {
    const InUse in_use = std::make_shared<std::atomic<int64_t>>(0);
    for (const int64_t bytes : {1, 100, 256 << 10, 5'000'001}) {
        Memory memory(in_use, bytes, true, "cpu");
        EXPECT_EQ(*in_use, bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data) % 64, 0u);
        for (int64_t i = 0; i < bytes; ++i) ASSERT_EQ(memory.data[i], std::byte(0));
        memory.data[bytes - 1] = std::byte(1);
    }
    EXPECT_EQ(*in_use, 0);
}

TEST(MemoryTest, MoreThanThereIsIsRefusedWithTheBytes) {
    const InUse in_use = std::make_shared<std::atomic<int64_t>>(0);
    const int64_t wanted = physical_memory() + 1;
    try {
        Memory memory(in_use, wanted, false, "cpu");
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.what(), text("cannot allocate ", wanted, " bytes on cpu: of the machine's ", physical_memory(), " bytes of memory its arrays take 0 already"));
    }
    EXPECT_EQ(*in_use, 0);
}

struct Conflicts : testing::Test {
    std::vector<uint64_t> of(const Stream* stream, bool write) {
        std::vector<Point> after;
        conflicts(*memory, stream, standard, write, after);
        std::vector<uint64_t> numbers;
        for (const Point& point : after) numbers.push_back(point.number);
        return numbers;
    }
    using Numbers = std::vector<uint64_t>;
    std::shared_ptr<Memory> memory = std::make_shared<Memory>(std::make_shared<std::atomic<int64_t>>(0), 64, false, "cpu");
    Stream standard, a, b;
};

TEST_F(Conflicts, TheHostWaitsForWritesOfEveryStreamAndToWriteForReadsToo) {
    note_use(*memory, {&standard, 1}, true);
    note_use(*memory, {&a, 2}, true);
    note_use(*memory, {&b, 3}, false);
    EXPECT_EQ(of(nullptr, false), (Numbers{1, 2}));
    EXPECT_EQ(of(nullptr, true), (Numbers{1, 2, 3}));
    a.completed = 2;
    EXPECT_EQ(of(nullptr, true), (Numbers{1, 3}));
}

TEST_F(Conflicts, TheDefaultStreamIsOrderedWithAllAndOthersOnlyWithIt) {
    note_use(*memory, {&standard, 1}, true);
    note_use(*memory, {&a, 2}, true);
    EXPECT_EQ(of(&b, true), (Numbers{1}));
    EXPECT_EQ(of(&standard, false), (Numbers{2}));
    EXPECT_EQ(of(&a, true), (Numbers{1}));
}

TEST_F(Conflicts, ReadersDoNotWaitForReaders) {
    note_use(*memory, {&standard, 1}, false);
    EXPECT_EQ(of(&a, false), Numbers{});
    EXPECT_EQ(of(&a, true), (Numbers{1}));
    note_use(*memory, {&standard, 5}, false);  // the later use of a stream stands for the earlier
    EXPECT_EQ(of(&a, true), (Numbers{5}));
}

}  // namespace
}  // namespace pumice::cpu
