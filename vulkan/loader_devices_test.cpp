#include "vulkan/loader_devices.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pumice::vulkan {
namespace {

PhysicalDevice found(bool software, bool integrated, int64_t gibibytes) {
    PhysicalDevice one;
    one.software = software;
    one.integrated = integrated;
    one.limits.memory = gibibytes << 30;
    return one;
}

TEST(List, CardsComeFirstAndTheOneWithMoreMemoryBeforeTheOther) {
    EXPECT_EQ(best_first({}), std::vector<int>());
    EXPECT_EQ(best_first({found(true, false, 64), found(false, true, 32), found(false, false, 8), found(false, false, 24)}),
              (std::vector<int>{3, 2, 1, 0}));
    EXPECT_EQ(best_first({found(false, false, 8), found(false, false, 8), found(true, false, 8)}), (std::vector<int>{0, 1, 2}));
}

/// The list for users has every device of the machine, under the number that opens it.
TEST(List, AllAreListed) {
    const std::vector<PhysicalDevice> all = list();
    std::vector<int> order = best_first(all);
    ASSERT_EQ(order.size(), all.size());
    std::ranges::sort(order);
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(order[i], all[i].index);
}

}  // namespace
}  // namespace pumice::vulkan
