#include "vulkan/suballocator.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace pumice::vulkan {
namespace {

TEST(Suballocator, FillsABlockExactlyAndMergesItBack) {
    Suballocator block(1024);
    std::vector<int64_t> offsets;
    for (int i = 0; i < 4; ++i) offsets.push_back(block.allocate(256).value());
    EXPECT_EQ(offsets, (std::vector<int64_t>{0, 256, 512, 768}));
    EXPECT_FALSE(block.allocate(256));
    block.release(256, 256);
    block.release(768, 256);
    EXPECT_FALSE(block.allocate(512)) << "the free ranges do not adjoin";
    block.release(512, 256);
    EXPECT_EQ(block.largest(), 768);
    EXPECT_EQ(block.allocate(512), 256);
    block.release(256, 512);
    block.release(0, 256);
    EXPECT_TRUE(block.empty());
    EXPECT_EQ(block.allocate(1024), 0);
}

TEST(Suballocator, TakesTheSmallestRangeThatFits) {
    Suballocator block(4096);
    ASSERT_EQ(block.allocate(1024), 0);
    ASSERT_EQ(block.allocate(256), 1024);
    ASSERT_EQ(block.allocate(512), 1280);
    ASSERT_EQ(block.allocate(256), 1792);
    block.release(0, 1024);
    block.release(1280, 512);
    EXPECT_EQ(block.allocate(512), 1280);
    EXPECT_EQ(block.allocate(768), 0);
}

TEST(Suballocator, RandomUseNeverOverlapsAndLosesNothing) {
    std::mt19937 random(5);
    const int64_t size = 256 * 1000;
    Suballocator block(size);
    std::vector<char> taken(1000, 0);
    std::vector<std::pair<int64_t, int64_t>> live;
    int64_t in_use = 0;
    for (int step = 0; step < 20000; ++step) {
        if (live.empty() || random() % 2) {
            const int64_t bytes = 256 * int64_t(1 + random() % 40);
            const auto offset = block.allocate(bytes);
            if (!offset) {
                EXPECT_LT(block.largest(), bytes);
                continue;
            }
            ASSERT_EQ(*offset % 256, 0);
            ASSERT_LE(*offset + bytes, size);
            for (int64_t i = *offset / 256; i < (*offset + bytes) / 256; ++i) {
                ASSERT_FALSE(taken[size_t(i)]);
                taken[size_t(i)] = 1;
            }
            live.push_back({*offset, bytes});
            in_use += bytes;
        } else {
            std::swap(live[random() % live.size()], live.back());
            const auto [offset, bytes] = live.back();
            live.pop_back();
            for (int64_t i = offset / 256; i < (offset + bytes) / 256; ++i) taken[size_t(i)] = 0;
            block.release(offset, bytes);
            in_use -= bytes;
        }
        ASSERT_EQ(block.free(), size - in_use);
    }
    for (const auto& [offset, bytes] : live) block.release(offset, bytes);
    EXPECT_TRUE(block.empty());
    EXPECT_EQ(block.largest(), size);
}

TEST(SuballocatorDeathTest, ARangeGivenBackTwiceIsALibraryBug) {
    Suballocator block(1024);
    ASSERT_EQ(block.allocate(256), 0);
    block.release(0, 256);
    EXPECT_DEATH(block.release(0, 256), "given back twice");
}

}  // namespace
}  // namespace pumice::vulkan
