#include "cpu/sums.h"

#include <gtest/gtest.h>

#include "core/array.h"
#include "core/indices.h"
#include "core/kernel.h"
#include "core/memory.h"

namespace pumice::cpu {
namespace {

TEST(SumsOfLaunches, ArraysThatAreOnlyAddedTo) {
    const auto k = kernel("adds", [](InOut<float> plus, InOut<int> minus, InOut<int> both, InOut<int> asked, InOut<int> stored, In<int> read) {
        auto i = global_index();
        atomic_add(plus[i % 7], 1.0f);  // which names the element, as an expression that loads it would
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

}  // namespace
}  // namespace pumice::cpu
