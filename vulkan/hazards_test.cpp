#include "vulkan/hazards.h"

#include <gtest/gtest.h>

#include <random>

namespace pumice::vulkan {
namespace {

BufferAccess read(uint64_t buffer, int64_t begin, int64_t end) { return {buffer, begin, end, false}; }
BufferAccess write(uint64_t buffer, int64_t begin, int64_t end) { return {buffer, begin, end, true}; }

bool after(const BufferAccess& first, const BufferAccess& second) {
    Hazards hazards;
    hazards.add({&first, 1});
    return hazards.needs_barrier({&second, 1});
}

TEST(Hazards, OnlyOverlapWithAWriteNeedsABarrier) {
    EXPECT_TRUE(after(write(1, 0, 100), read(1, 50, 60)));    // read after write
    EXPECT_TRUE(after(read(1, 50, 60), write(1, 0, 100)));    // write after read
    EXPECT_TRUE(after(write(1, 0, 100), write(1, 99, 200)));  // write after write
    EXPECT_FALSE(after(read(1, 0, 100), read(1, 0, 100)));
    EXPECT_FALSE(after(write(1, 0, 100), write(1, 100, 200)));
    EXPECT_FALSE(after(write(1, 100, 200), read(1, 0, 100)));
    EXPECT_FALSE(after(write(1, 0, 100), read(2, 0, 100)));
    EXPECT_FALSE(after(write(1, 0, 100), write(1, 50, 50)));  // no bytes
    EXPECT_FALSE(after(write(1, 50, 50), write(1, 0, 100)));
}

TEST(Hazards, ABarrierForgetsWhatWasBefore) {
    Hazards hazards;
    const BufferAccess w = write(1, 0, 10);
    hazards.add({&w, 1});
    EXPECT_TRUE(hazards.needs_barrier({&w, 1}));
    hazards.ordered(false);
    EXPECT_FALSE(hazards.needs_barrier({&w, 1}));
}

TEST(Hazards, IndirectReadsNeedABarrierThatCoversThem) {
    Hazards hazards;
    const BufferAccess written = write(1, 0, 12), counts{1, 0, 12, false, true}, data = read(1, 0, 12);
    EXPECT_FALSE(hazards.needs_barrier({&counts, 1}));  // nothing was written
    hazards.add({&written, 1});
    EXPECT_TRUE(hazards.needs_barrier({&counts, 1}));
    hazards.ordered(false);
    hazards.ordered(false);
    EXPECT_FALSE(hazards.needs_barrier({&data, 1}));
    EXPECT_TRUE(hazards.needs_barrier({&counts, 1}));  // those barriers did not cover it
    hazards.ordered(true);
    EXPECT_FALSE(hazards.needs_barrier({&counts, 1}));
    hazards.add({&counts, 1});
    hazards.ordered(false);
    EXPECT_FALSE(hazards.needs_barrier({&counts, 1}));
    EXPECT_TRUE(after(counts, written));
}

TEST(Hazards, AWriteAfterAReadOfTheSameRangeIsRemembered) {
    Hazards hazards;
    const BufferAccess r = read(1, 0, 10), w = write(1, 0, 10);
    const BufferAccess both[] = {r, w};  // one command that reads and writes
    hazards.add(both);
    EXPECT_TRUE(hazards.needs_barrier({&r, 1}));
}

// Compares with an oracle that keeps all accesses: a barrier is needed exactly if a command since the last barrier shares a byte.
TEST(Hazards, RandomStreamsAgainstBytes) {
    std::mt19937 random(1);
    for (int round = 0; round < 50; ++round) {
        Hazards hazards;
        std::vector<int> written(3 * 64, 0), touched(3 * 64, 0);
        for (int command = 0; command < 200; ++command) {
            std::vector<BufferAccess> accesses;
            for (unsigned i = 0; i < 1 + random() % 3; ++i) {
                const int64_t begin = int64_t(random() % 64), end = begin + int64_t(random() % (65 - unsigned(begin)));
                accesses.push_back({random() % 3, begin, end, random() % 3 == 0});
            }
            bool expected = false;
            for (const BufferAccess& a : accesses)
                for (int64_t b = a.begin; b < a.end; ++b)
                    expected |= written[a.buffer * 64 + size_t(b)] || (a.write && touched[a.buffer * 64 + size_t(b)]);
            ASSERT_EQ(hazards.needs_barrier(accesses), expected);
            if (expected) {
                hazards.ordered(false);
                written.assign(written.size(), 0);
                touched.assign(touched.size(), 0);
            }
            hazards.add(accesses);
            for (const BufferAccess& a : accesses)
                for (int64_t b = a.begin; b < a.end; ++b) {
                    touched[a.buffer * 64 + size_t(b)] = 1;
                    written[a.buffer * 64 + size_t(b)] |= a.write;
                }
        }
    }
}

}  // namespace
}  // namespace pumice::vulkan
