// The device that the entries *.hardware open (PUMICE_TEST_HARDWARE) is no software driver: they do not run where this fails.
#include <gtest/gtest.h>

#include "vulkan/loader_devices.h"

TEST(Hardware, HasAUsableDevice) {
    const std::vector<pumice::vulkan::Found> all = pumice::vulkan::list();
    ASSERT_FALSE(all.empty()) << pumice::vulkan::unavailable_reason();
    const pumice::vulkan::Found& best = all[size_t(pumice::vulkan::best_first(all).front())];
    EXPECT_FALSE(best.software) << best.name << " is a software driver";
    EXPECT_TRUE(best.usable) << best.name << " cannot be used: " << best.reason;
}
