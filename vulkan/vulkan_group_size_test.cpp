#include "vulkan/vulkan_group_size.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/ir/builder.h"

namespace pumice::vulkan {

using namespace internal;
namespace {

using Extents = std::array<int64_t, 3>;

GroupLimits desktop() {
    GroupLimits with;
    with.limits.max_group_size = 1024;
    with.limits.max_group_extent = {1024, 1024, 64};
    with.limits.local_memory = 32768;
    return with;
}

int64_t items(const Extents& group) { return group[0] * group[1] * group[2]; }

TEST(ChooseGroup, FitsEveryRangeAndLimit) {
    const ir::Kernel kernel;
    for (const int64_t size : {1, 2, 100, 128, 256, 1024})
        for (int rank = 1; rank <= 3; ++rank)
            for (const int64_t a : {1, 3, 31, 32, 1000, 100000000})
                for (const int64_t b : {1, 5, 4000})
                    for (const int64_t c : {1, 7, 200}) {
                        GroupLimits with = desktop();
                        with.limits.max_group_size = size;
                        with.limits.max_group_extent = {size, size, std::min<int64_t>(size, 64)};
                        const Extents extent{a, rank > 1 ? b : 1, rank > 2 ? c : 1};
                        const Extents group = choose_group(kernel, extent, rank, with);
                        ASSERT_LE(items(group), size);
                        for (size_t axis = 0; axis < 3; ++axis) {
                            ASSERT_GE(group[axis], 1);
                            ASSERT_LE(group[axis], with.limits.max_group_extent[axis]);
                            ASSERT_TRUE(std::has_single_bit(uint64_t(group[axis])));
                            ASSERT_LT(group[axis], 2 * extent[axis]) << "more than half of the group idles along an axis";
                        }
                    }
}

TEST(ChooseGroup, LargeRangesGetWholeGroups) {
    const ir::Kernel kernel;
    const std::pair<Extents, int> ranges[] = {{{1 << 20, 1, 1}, 1}, {{2000, 1000, 1}, 2}, {{300, 200, 100}, 3}};
    for (const auto& [extent, rank] : ranges) {
        const Extents group = choose_group(kernel, extent, rank, desktop());
        EXPECT_EQ(items(group), 256) << rank;
        EXPECT_GE(group[0], 32) << "rows are read along axis 0";
    }
}

TEST(ChooseGroup, LongRowsWhereThePlanWantsThem) {
    GroupLimits with = desktop();
    with.rows = true;
    EXPECT_EQ(choose_group(ir::Kernel(), {2048, 1000, 1}, 2, with), (Extents{256, 1, 1}));
}

TEST(ChooseGroup, WastesFewItems) {
    const ir::Kernel kernel;
    for (const bool rows : {false, true})
        for (const int64_t a : {33, 100, 300, 1000, 1025})
            for (const int64_t b : {1, 3, 17, 1000}) {
                GroupLimits with = desktop();
                with.rows = rows;
                const Extents group = choose_group(kernel, {a, b, 1}, 2, with);
                const int64_t padded = (a + group[0] - 1) / group[0] * group[0] * ((b + group[1] - 1) / group[1] * group[1]);
                EXPECT_LE(padded, a * b * 25 / 16) << a << " x " << b << " in " << group[0] << " x " << group[1];
            }
}

TEST(ChooseGroup, GrowsWhereOneDispatchHasTooManyGroups) {
    EXPECT_EQ(choose_group(ir::Kernel(), {65536 * 256, 1, 1}, 1, desktop())[0], 512);
}

/// A kernel with local memory of 64 bytes an item.
ir::Kernel with_local_memory() {
    ir::Kernel k;
    k.blocks.resize(1);
    ir::Builder b(k);
    b.enter(ir::BlockId{0});
    ir::Memory memory;
    memory.kind = ir::MemoryKind::local;
    memory.element = Element::of(Scalar::f64);
    memory.size = b.op(ir::Op::mul, {b.index(ir::Op::group_size, 0), b.constant_int(Scalar::i32, 8)});
    k.memories.push_back(memory);
    ir::Memory fixed;
    fixed.kind = ir::MemoryKind::local;
    fixed.element = Element::of(Scalar::f32);
    fixed.extents = {4, 25};
    k.memories.push_back(fixed);
    return k;
}

TEST(LocalMemory, FollowsTheGroup) {
    const ir::Kernel kernel = with_local_memory();
    EXPECT_EQ(local_memory(kernel, {128, 1, 1}), 128 * 64 + 400);
}

TEST(LocalMemory, BoundsTheGroup) {
    GroupLimits with = desktop();
    with.limits.local_memory = 5000;
    EXPECT_EQ(choose_group(with_local_memory(), {1 << 20, 1, 1}, 1, with)[0], 64);
    with.limits.local_memory = 10;  // a group that cannot fit is no error here; the launch reports it
    EXPECT_EQ(choose_group(with_local_memory(), {1 << 20, 1, 1}, 1, with)[0], 1);
}

}  // namespace
}  // namespace pumice::vulkan
