// The entries *.hardware (PUMICE_TEST_HARDWARE) need a device that is no software driver: if this test fails they do not run.
#include <gtest/gtest.h>

#include "vulkan/loader_devices.h"

TEST(Hardware, HasAUsableDevice) {
    const std::vector<pumice::vulkan::PhysicalDevice> all = pumice::vulkan::list();
    ASSERT_FALSE(all.empty()) << pumice::vulkan::unavailable_reason();
    const pumice::vulkan::PhysicalDevice& best = all[size_t(pumice::vulkan::best_first(all).front())];
    EXPECT_FALSE(best.software) << best.name << " is a software driver";
    EXPECT_TRUE(best.usable) << best.name << " cannot be used: " << best.reason;
}
