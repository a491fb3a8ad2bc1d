#include "cpu/runtime/sum_copies.h"

#include "cpu/plan/reduction_privatisation.h"

#include <gtest/gtest.h>

#include <thread>

#include "core/host/array.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/indices.h"
#include "core/language/memory.h"

namespace pumice::cpu {
namespace {

TEST(ReductionPrivatisation, FindsArraysThatAreOnlyAddedTo) {
    const auto k = kernel(
        "adds", [](InOut<float> plus, InOut<int> minus, InOut<int> both, InOut<int> asked, InOut<int> stored, In<int> read) {
            auto i = global_index();
            atomic_add(plus[i % 7], 1.0f);  // names the element, without a load
            atomic_sub(minus[i % plus.size()], 2);
            both[0] = read[i] + both[1];
            atomic_add(both[i], 1);
            asked[i] = 3;
            stored[atomic_add(asked[0], 1)] = 4;
        });
    std::vector<std::string> names;
    for (const ir::MemoryId m : only_added_to(*k.recorded())) names.push_back(std::to_string((*k.recorded())[m].argument));
    EXPECT_EQ(names, (std::vector<std::string>{"0", "1"}));
}

/// Conditions on data let few items add; guards, triangles and additions outside of loops do not count as such.
TEST(ReductionPrivatisation, FindsAddsUnderConditionsOnData) {
    const auto on_data = [](const auto& k) { return adds_on_data(*k.recorded(), only_added_to(*k.recorded())); };
    EXPECT_TRUE(on_data(kernel("matches", [](InOut<int> found, In<int> x) {
        auto i = global_index();
        $for(p, range(found.size(0))) {
            $if(x[i] == p) { atomic_add(found[p], 1); }
        }
    })));
    EXPECT_FALSE(on_data(kernel("triangle", [](InOut<int> found, In<int> x) {
        auto i = global_index();
        $for(p, range(found.size(0))) {
            $if(p <= i && in_range()) { atomic_add(found[p], x[i]); }
        }
    })));
    EXPECT_FALSE(on_data(kernel("also", [](InOut<int> found, In<int> x) {
        auto i = global_index();
        $for(p, range(found.size(0))) {
            $if(x[i] == p) { atomic_add(found[p], 1); }
            atomic_add(found[0], 1);
        }
    })));
    EXPECT_FALSE(on_data(kernel("once", [](InOut<int> found, In<int> x) {
        auto i = global_index();
        $if(x[i] == 3) { atomic_add(found[0], 1); }
    })));
}

/// Arrays whose copies would be large keep their atomics, beside smaller ones.
TEST(ReductionPrivatisation, LeavesLargeArraysToAtomics) {
    const auto k = kernel("two_sizes", [](InOut<float> large, InOut<float> small, InOut<float> owned, In<int> starts) {
        auto i = global_index();
        atomic_add(large[i * 7 % large.size()], 1.0f);
        atomic_add(small[i % 3], 1.0f);
        $for(e, range(starts[i], starts[i + 1])) { atomic_add(owned[e], 1.0f); }
    });
    const ir::Kernel& recorded = *k.recorded();
    Launch launch;
    launch.extent = {100, 1, 1};
    launch.arguments.resize(4);
    const auto chosen = [&](int64_t large, int64_t owned, bool ranges) {
        launch.arguments[0].array.extents[0] = large, launch.arguments[1].array.extents[0] = 3;
        launch.arguments[2].array.extents[0] = owned, launch.arguments[3].array.extents[0] = 101;
        const std::vector<OwnedRanges> items = {{}, {}, ranges ? OwnedRanges{3, 0} : OwnedRanges(), {}};
        Variant v;
        choose_privatisation(v, recorded, only_added_to(recorded), OwnershipPartition({}, items, {1, 1, 1}, 2), launch, 1, 2);
        return std::pair(v.sums, v.atomic_sums);
    };
    EXPECT_EQ(chosen(100, 100, false), std::pair(Privatisation::copies, uint64_t(0)));
    EXPECT_EQ(chosen(1000, 100, false), std::pair(Privatisation::copies, uint64_t(1)));
    EXPECT_EQ(chosen(1000, 2000, false), std::pair(Privatisation::copies, uint64_t(5)));
    EXPECT_EQ(chosen(100, 2000, true), std::pair(Privatisation::copies, uint64_t(0)));
    Variant v;
    v.sums = Privatisation::copies, v.atomic_sums = 5;
    EXPECT_FALSE(v.privatises(0) || v.privatises(2));
    EXPECT_TRUE(v.privatises(1) && v.privatises(70));
}

/// Each thread adds to its own copy; the first one to the array itself, unless another launch uses the array.
TEST(ReductionPrivatisation, EachThreadAddsToItsOwnCopy) {
    for (const bool alone : {false, true}) {
        std::vector<float> array(3, 1.0f);
        const std::vector<PrivatisedArray> sums{{0, Scalar::f32, 1}};
        const std::vector<FrameArgument> arguments{{uint64_t(reinterpret_cast<uintptr_t>(array.data())), nullptr}};
        const auto pool = std::make_shared<MemoryPool>(1 << 20);
        SumCopies copies(sums, arguments, {{3, false}}, alone, pool), other(sums, arguments, {{3, false}}, false, pool);
        const auto add = [&] {
            for (int n = 0; n < 10; ++n) {
                const FrameArgument* const own = copies.own();
                EXPECT_NE(own, other.own());
                EXPECT_EQ(own, copies.own());
                for (int e = 0; e < 3; ++e) reinterpret_cast<float*>(uintptr_t(own[0].bits))[e] += float(e);
            }
        };
        add();
        EXPECT_EQ(copies.own()[0].bits == arguments[0].bits, alone);
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; ++t) threads.emplace_back(add);
        for (std::thread& t : threads) t.join();
        ThreadPool thread_pool(1, false);
        Streams streams(thread_pool);
        copies.add_up({streams, streams[0]});
        EXPECT_EQ(array, (std::vector<float>{1, 51, 101}));
    }
}

}  // namespace
}  // namespace pumice::cpu
