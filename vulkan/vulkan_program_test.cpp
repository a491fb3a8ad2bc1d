#include "vulkan/vulkan_program.h"

#include <gtest/gtest.h>

#include <array>

namespace pumice::vulkan {
namespace {

VkPhysicalDeviceLimits limits(int64_t alignment, int64_t range) {
    VkPhysicalDeviceLimits l{};
    l.minStorageBufferOffsetAlignment = VkDeviceSize(alignment);
    l.maxStorageBufferRange = uint32_t(range);
    return l;
}

TEST(CommonBegin, IsTheLastAlignedOffsetFollowedByWholeElements) {
    EXPECT_EQ(common_begin(std::array{ArrayRange{512, 600, 4}}, limits(256, 1 << 20)), 512);
    EXPECT_EQ(common_begin(std::array{ArrayRange{516, 600, 4}}, limits(256, 1 << 20)), 512);
    // 12-byte elements: 524 - 512 = 12, and 528 is 16 past 512, 272 past 256, 528 past 0.
    EXPECT_EQ(common_begin(std::array{ArrayRange{524, 600, 12}}, limits(256, 1 << 20)), 512);
    EXPECT_EQ(common_begin(std::array{ArrayRange{528, 600, 12}}, limits(256, 1 << 20)), 0);
    EXPECT_EQ(common_begin(std::array{ArrayRange{517, 600, 4}}, limits(256, 1 << 20)), std::nullopt);
    EXPECT_EQ(common_begin(std::array{ArrayRange{520, 600, 12}}, limits(256, 1 << 20)), 256);
}

TEST(CommonBegin, IsBelowAllArraysAndReachesTheLast) {
    const std::array arrays{ArrayRange{1024, 2048, 4}, ArrayRange{520, 700, 8}, ArrayRange{4096, 8192, 12}};
    const auto begin = common_begin(arrays, limits(256, 1 << 20));
    ASSERT_TRUE(begin);
    EXPECT_EQ(*begin % 256, 0);
    EXPECT_LE(*begin, 520);
    for (const ArrayRange& array : arrays) EXPECT_EQ((array.begin - *begin) % array.element_bytes, 0);
    EXPECT_EQ(common_begin(arrays, limits(256, 8192 - *begin)), begin);
    EXPECT_EQ(common_begin(arrays, limits(256, 8192 - *begin - 1)), std::nullopt);
}

}  // namespace
}  // namespace pumice::vulkan
