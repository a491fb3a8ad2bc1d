#include "cpu/runtime/cpu_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace pumice::cpu {
namespace {

struct MemoryTest : testing::Test {
    std::shared_ptr<CpuMemory> memory(int64_t bytes) { return std::make_shared<CpuMemory>(in_use, pool, bytes, "cpu"); }
    const InUse in_use = std::make_shared<std::atomic<int64_t>>(0);
    const std::shared_ptr<MemoryPool> pool = std::make_shared<MemoryPool>(8 << 20);
};

TEST_F(MemoryTest, AlignedAndCounted) {
    for (const int64_t bytes : {1, 100, 256 << 10, 5'000'001}) {
        const auto made = memory(bytes);
        EXPECT_EQ(*in_use, bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(made->data) % 64, 0u);
        for (int64_t i = 0; i < bytes && made->zero(); ++i) ASSERT_EQ(made->data[i], std::byte(0));
        made->data[bytes - 1] = std::byte(1);
    }
    EXPECT_EQ(*in_use, 0);
}

TEST_F(MemoryTest, LargeMemoryIsUsedAgain) {
    auto first = memory(1'000'000);
    EXPECT_TRUE(first->zero());
    const std::byte* const place = first->data;
    EXPECT_EQ(pool->kept(), 0);
    first = nullptr;
    EXPECT_GE(pool->kept(), 1'000'000);
    EXPECT_LE(pool->kept(), 1'000'000 * 9 / 8);
    EXPECT_EQ(*in_use, 0);
    const auto much = memory(5'000'000), same = memory(999'000), more = memory(1'000'000);
    EXPECT_EQ(same->data, place);
    EXPECT_FALSE(same->zero());
    EXPECT_NE(more->data, place);
    EXPECT_TRUE(more->zero());
    EXPECT_EQ(pool->kept(), 0);
}

/// Each page then lies in the memory of the processor whose thread touches it first.
TEST_F(MemoryTest, NewPagesAreNotTouchedByTheAllocator) {
    const auto fresh = memory(16 << 20);
    const size_t page = size_t(sysconf(_SC_PAGESIZE));
    std::byte* const first = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(fresh->data) + page - 1) / page * page);
    std::vector<unsigned char> resident(size_t(8 << 20) / page);
    ASSERT_EQ(mincore(first, 8 << 20, resident.data()), 0);
    EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](unsigned char r) { return r & 1; }), 0);
}

TEST_F(MemoryTest, ThePoolKeepsItsLimit) {
    std::vector<std::shared_ptr<CpuMemory>> all;
    for (int n = 0; n < 6; ++n) all.push_back(memory(2 << 20));
    const std::byte* const last = all.back()->data;
    all.clear();
    EXPECT_EQ(pool->kept(), 8 << 20);
    EXPECT_EQ(memory(2 << 20)->data, last);
    memory(9 << 20);  // too large to be kept
    EXPECT_EQ(pool->kept(), 8 << 20);
    pool->trim();
    EXPECT_EQ(pool->kept(), 0);
}

TEST_F(MemoryTest, AllocationsPastTheMemoryAreRefusedWithTheBytes) {
    const int64_t wanted = physical_memory() + 1;
    try {
        memory(wanted);
        FAIL();
    } catch (const Error& e) {
        EXPECT_EQ(e.what(), text("cannot allocate ", wanted, " bytes on cpu: of the machine's ", physical_memory(),
                                 " bytes of memory its arrays take 0 already"));
    }
    EXPECT_EQ(*in_use, 0);
}

struct Conflicts : testing::Test {
    std::vector<uint64_t> of(const CpuStream* stream, bool write) {
        std::vector<StreamPoint> after;
        conflicts(*memory, stream, standard, write, after);
        std::vector<uint64_t> numbers;
        for (const StreamPoint& point : after) numbers.push_back(point.number);
        return numbers;
    }
    using Numbers = std::vector<uint64_t>;
    std::shared_ptr<CpuMemory> memory =
        std::make_shared<CpuMemory>(std::make_shared<std::atomic<int64_t>>(0), new_pool(), 64, "cpu");
    CpuStream standard, a, b;
};

TEST_F(Conflicts, HostReadsWaitForWritesAndHostWritesForReadsToo) {
    note_use(*memory, {&standard, 1}, true);
    note_use(*memory, {&a, 2}, true);
    note_use(*memory, {&b, 3}, false);
    EXPECT_EQ(of(nullptr, false), (Numbers{1, 2}));
    EXPECT_EQ(of(nullptr, true), (Numbers{1, 2, 3}));
    a.faulty = true;
    a.completed = 2;
    EXPECT_EQ(of(nullptr, true), (Numbers{1, 2, 3})) << "a wait has to report the fault";
    a.faulty = false;
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
    note_use(*memory, {&standard, 5}, false);  // only the latest use of a stream counts
    EXPECT_EQ(of(&a, true), (Numbers{5}));
}

}  // namespace
}  // namespace pumice::cpu
