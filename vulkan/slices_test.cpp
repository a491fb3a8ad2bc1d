#include "vulkan/slices.h"

#include <gtest/gtest.h>

#include <map>

namespace pumice::vulkan {
namespace {

using Extents = std::array<int64_t, 3>;

Extents slice_extents(const GroupRange& range, int64_t most_groups) {
    Extents extents;
    pumice_rt::vulkan::slice_extents(range, most_groups, extents);
    return extents;
}

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

struct Probe {
    GroupRange first, others[3];
};

Probe probe(const Extents& groups) {
    Probe parts;
    parts.first = pumice_rt::vulkan::take_probe(GroupRange{{}, groups}, parts.others);
    return parts;
}

TEST(Slices, AProbeIsAtMostOneGroupIn64) {
    const auto probed = [](const Extents& groups) {
        const Probe parts = probe(groups);
        EXPECT_EQ(parts.first.begin, Extents{});
        EXPECT_LE(parts.first.groups() * 64, groups[0] * groups[1] * groups[2]);
        return parts.first.end;
    };
    EXPECT_EQ(probed({6400, 1, 1}), (Extents{100, 1, 1}));
    EXPECT_EQ(probed({10, 128, 1}), (Extents{10, 2, 1}));
    EXPECT_EQ(probed({10, 10, 10}), (Extents{10, 1, 1}));
    EXPECT_EQ(probed({10, 10, 128}), (Extents{10, 10, 2}));
    EXPECT_EQ(probed({1000, 1000, 2}), (Extents{1000, 31, 1}));  // not a plane, half of the groups
    EXPECT_EQ(probed({1000, 3, 1}), (Extents{46, 1, 1}));
    EXPECT_EQ(probed({1000, 1, 3}), (Extents{46, 1, 1}));
}

TEST(Slices, AProbeAndTheOthersAreEachGroupOnce) {
    for (const Extents& groups :
         {Extents{300, 1, 1}, {1, 300, 1}, {1, 1, 300}, {7, 40, 1}, {100, 3, 2}, {5, 9, 12}, {3, 2, 130}}) {
        const Probe parts = probe(groups);
        std::map<Extents, int> times;
        const auto count = [&](const GroupRange& slice) {
            Extents at;
            for (at[2] = slice.begin[2]; at[2] < slice.end[2]; ++at[2])
                for (at[1] = slice.begin[1]; at[1] < slice.end[1]; ++at[1])
                    for (at[0] = slice.begin[0]; at[0] < slice.end[0]; ++at[0]) ++times[at];
        };
        count(parts.first);
        for (const GroupRange& part : parts.others) for_each_slice(part, 10, count);
        EXPECT_EQ(int64_t(times.size()), groups[0] * groups[1] * groups[2]);
        for (const auto& [at, n] : times) EXPECT_EQ(n, 1) << at[0] << ", " << at[1] << ", " << at[2];
        EXPECT_EQ(parts.others[2].end, groups);
    }
}

}  // namespace
}  // namespace pumice::vulkan
