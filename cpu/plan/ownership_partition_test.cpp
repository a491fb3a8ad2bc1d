#include "cpu/plan/ownership_partition.h"

#include <gtest/gtest.h>

#include <set>

#include "core/host/array.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/indices.h"
#include "core/language/memory.h"

namespace pumice::cpu {
namespace {

TEST(OwnershipPartition, FindsTheAxisThatOwnsElements) {
    const auto k =
        kernel("owners", [](InOut<float, 2> rows, InOut<float, 2> columns, InOut<float, 2> shifted, InOut<float, 2> both_ways,
                            InOut<float, 2> two_rows, InOut<float, 2> flat, InOut<float, 2> modulo) {
            const auto at = global_index<2>();
            const auto i = at[0], j = at[1];
            for (int n = 0; n < 2; ++n) {
                atomic_add(rows(i, j / 2 + n), 1.0f);
                atomic_add(columns(i + n, j), 1.0f);
                atomic_add(shifted(j / 2 + n, i + 3), 1.0f);
                atomic_add(both_ways(n ? i : j, n ? j : i), 1.0f);
                atomic_add(two_rows(i + n, 0), 1.0f);
            }
            atomic_add(flat[i], 1.0f);
            atomic_add(modulo(i % 4, 0), 1.0f);
        });
    std::vector<int> axes;
    for (const ir::MemoryId m : {ir::MemoryId{0}, {1}, {2}, {3}, {4}, {5}, {6}}) axes.push_back(axis_of_owners(*k.recorded(), m));
    EXPECT_EQ(axes, (std::vector<int>{1, 0, 1, -1, -1, -1, -1}));
}

TEST(OwnershipPartition, FindsRangesBetweenBounds) {
    const auto ranges = [](const auto& k, uint32_t array) { return owned_ranges(*k.recorded(), {array}); };
    const auto sparse = kernel("sparse", [](InOut<float> d, InOut<float, 2> rows, InOut<float> beside, InOut<float> twice,
                                            InOut<float> twice_as_far, In<int> starts, InOut<int> changed) {
        auto i = global_index();
        $for(e, range(starts[i - 1], starts[i])) {
            atomic_add(d[e], 1.0f);
            atomic_add(rows(i % 3, e), 1.0f);
            atomic_add(beside[e + 1], 1.0f);
            atomic_add(twice[e], 1.0f);
        }
        $for(e, range(starts[i], starts[i + 1])) { atomic_add(twice[e], 1.0f); }
        $for(e, range(starts[i], starts[i + 2])) { atomic_add(twice_as_far[e], 1.0f); }
        $for(e, range(changed[i], changed[i + 1])) { atomic_add(changed[e], 1); }
    });
    EXPECT_EQ(ranges(sparse, 0), (OwnedRanges{5, -1}));
    EXPECT_EQ(ranges(sparse, 1), (OwnedRanges{5, -1}));
    for (const uint32_t other : {2u, 3u, 4u, 6u}) EXPECT_FALSE(ranges(sparse, other)) << other;
    const auto of_columns = kernel("of_columns", [](InOut<float> d, In<int> starts) {
        auto i = global_index<2>()[1];
        $for(e, range(starts[i], starts[i + 1])) { atomic_add(d[e], 1.0f); }
        $for(e, range(starts[i], starts[i + 1], 2)) { atomic_add(d[e], 1.0f); }
    });
    EXPECT_FALSE(ranges(of_columns, 0));
    const auto past_the_range = kernel("past_the_range", whole_groups, [](InOut<float> d, In<int> starts) {
        auto i = global_index();
        $for(e, range(starts[i], starts[i + 1])) { atomic_add(d[e], 1.0f); }
    });
    EXPECT_FALSE(ranges(past_the_range, 0));
    EXPECT_TRUE(never_decrease(std::vector{-1, 2, 2, 5}) && never_decrease({}));
    EXPECT_FALSE(never_decrease(std::vector{0, 1, 5, 4}));
    const OwnershipPartition partition({}, {{}, {2, 0}, {}}, {1, 1, 1}, 2);
    EXPECT_TRUE(partition.cover(1) && !partition.cover(0) && !partition.covers_rows(1) && !partition.any());
}

/// Each group belongs to one thread, and the parts of one wavefront have no strip in common.
TEST(OwnershipPartition, AssignsEachGroupToOneThread) {
    for (const int threads : {2, 3, 5})
        for (const std::vector<int>& owners : {std::vector{0}, {1, -1}, {1, 0}, {2, 2, 0}, {0, 1, 2}})
            for (const std::array<int64_t, 3>& groups :
                 {std::array<int64_t, 3>{20, 23, 31}, {40, 20, 21}, {20, 1, 1}, {1, 57, 3}}) {
                const OwnershipPartition partition(owners, {}, groups, threads);
                if (!partition.any()) continue;
                std::set<std::array<int64_t, 3>> seen;
                for (int64_t wavefront = 0; wavefront < partition.wavefronts(); ++wavefront) {
                    std::array<std::set<int64_t>, 3> taken;
                    for (int64_t n = 0; n < partition.parts_in_wavefront(); ++n) {
                        const OwnershipPartition::GroupRange range = partition.part(wavefront, n);
                        for (int64_t z = range.begin[2]; z < range.end[2]; ++z)
                            for (int64_t y = range.begin[1]; y < range.end[1]; ++y)
                                for (int64_t x = range.begin[0]; x < range.end[0]; ++x)
                                    EXPECT_TRUE(seen.insert({x, y, z}).second);
                        std::set<size_t> cut;
                        for (int a = 0; a < int(owners.size()); ++a)
                            if (partition.cover(a)) cut.insert(size_t(owners[size_t(a)]));
                        for (const size_t axis : cut)
                            for (int64_t g = range.begin[axis]; g < range.end[axis]; ++g)
                                EXPECT_TRUE(taken[axis].insert(g).second) << "axis " << axis;
                    }
                }
                EXPECT_EQ(int64_t(seen.size()), groups[0] * groups[1] * groups[2]);
            }
    EXPECT_FALSE(OwnershipPartition({-1, 1}, {}, {100, 7, 1}, 2).any());  // too few groups along the axis
    EXPECT_FALSE(OwnershipPartition({0}, {}, {100, 100, 1}, 1).any());    // one thread adds to the arrays in any case
    EXPECT_FALSE(OwnershipPartition({0, 1, 2}, {}, {100, 100, 100}, 2).cover(2));
}

}  // namespace
}  // namespace pumice::cpu
