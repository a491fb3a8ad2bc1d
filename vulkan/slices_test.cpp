#include "vulkan/slices.h"

#include <gtest/gtest.h>

namespace pumice::vulkan {
namespace {

using Extents = std::array<int64_t, 3>;

TEST(Slices, AreRowsThenPlanes) {
    const GroupRange range{{}, {8, 4, 2}};
    EXPECT_EQ(slice_extents(range, 1000), (Extents{8, 4, 2}));
    EXPECT_EQ(slice_extents(range, 64), (Extents{8, 4, 2}));
    EXPECT_EQ(slice_extents(range, 63), (Extents{8, 4, 1}));
    EXPECT_EQ(slice_extents(range, 31), (Extents{8, 3, 1}));
    EXPECT_EQ(slice_extents(range, 8), (Extents{8, 1, 1}));
    EXPECT_EQ(slice_extents(range, 7), (Extents{7, 1, 1}));
    EXPECT_EQ(slice_extents(range, 0), (Extents{1, 1, 1}));
    EXPECT_EQ(slice_extents(GroupRange{{0, 3, 0}, {8, 4, 2}}, 16), (Extents{8, 1, 2}));
}

TEST(Slices, AProbeIsOneIn64AlongTheSlowestAxis) {
    const auto parts = [](const Extents& groups) {
        const Probe p = probe(groups);
        EXPECT_EQ(p.first.groups() + p.others.groups(), groups[0] * groups[1] * groups[2]);
        return std::pair(p.first.groups(), p.others.begin);
    };
    EXPECT_EQ(parts({6400, 1, 1}), (std::pair(int64_t(100), Extents{100, 0, 0})));
    EXPECT_EQ(parts({10, 128, 1}), (std::pair(int64_t(20), Extents{0, 2, 0})));
    EXPECT_EQ(parts({10, 10, 10}), (std::pair(int64_t(100), Extents{0, 0, 1})));
}

}  // namespace
}  // namespace pumice::vulkan
