#include "codegen/glsl_body/parallel_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace pumice::codegen {
namespace {

/// The value of a copy's expression: any function that depends on its place, and on each variable read and its position.
uint64_t evaluate(size_t copy, const std::vector<uint32_t>& reads, const std::vector<uint64_t>& variables) {
    uint64_t value = copy + 1;
    for (const uint32_t v : reads) value = value * 6364136223846793005u + variables[v];
    return value;
}

/// Executes the steps and compares with all copies at once. Gives the number of temporaries.
size_t check(const std::vector<Assignment>& copies, size_t variable_count) {
    std::vector<uint64_t> variables(variable_count);
    std::iota(variables.begin(), variables.end(), 1000u);
    std::vector<uint64_t> want = variables;
    for (size_t c = 0; c < copies.size(); ++c) want[copies[c].target] = evaluate(c, copies[c].reads, variables);

    std::vector<uint64_t> temporary(copies.size());
    std::vector<int> kept(copies.size()), assigned(copies.size());
    const std::vector<CopyStep> steps = sequence(copies);
    for (const CopyStep& step : steps) {
        const uint64_t value = kept[step.copy] ? temporary[step.copy] : evaluate(step.copy, copies[step.copy].reads, variables);
        if (step.keep) {
            ++kept[step.copy];
            temporary[step.copy] = value;
        } else {
            ++assigned[step.copy];
            variables[copies[step.copy].target] = value;
        }
    }
    EXPECT_EQ(variables, want);
    size_t temporaries = 0;
    for (size_t c = 0; c < copies.size(); ++c) {
        EXPECT_EQ(assigned[c], 1) << c;
        EXPECT_LE(kept[c], 1) << c;
        temporaries += size_t(kept[c]);
    }
    return temporaries;
}

TEST(ParallelCopy, EmptyCopiesAndChainsNeedNoTemporary) {
    EXPECT_EQ(check({}, 0), 0u);
    EXPECT_EQ(check({{0, {1}}, {1, {2}}, {2, {3}}}, 4), 0u);
    EXPECT_EQ(check({{2, {1}}, {1, {0}}, {0, {}}}, 3), 0u);
    EXPECT_EQ(check({{0, {0, 0}}, {1, {1, 0}}}, 2), 0u) << "an assignment may read what it overwrites";
}

TEST(ParallelCopy, ThreeValuesThatEachReadTheOtherTwo) {
    EXPECT_EQ(check({{0, {1, 2}}, {1, {2, 0}}, {2, {0, 1}}}, 3), 2u);
    EXPECT_EQ(check({{0, {0, 1, 2}}, {1, {0, 1, 2}}, {2, {0, 1, 2}}}, 3), 2u);
}

TEST(ParallelCopy, RandomPermutationsNeedOneTemporaryForEachCycle) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        const size_t n = 1 + random() % 12;
        std::vector<uint32_t> from(n);
        std::iota(from.begin(), from.end(), 0u);
        std::shuffle(from.begin(), from.end(), random);
        std::vector<Assignment> copies;
        size_t cycles = 0;
        std::vector<bool> seen(n);
        for (uint32_t v = 0; v < n; ++v) {
            copies.push_back({v, {from[v]}});
            if (from[v] != v && !seen[v]) ++cycles;
            for (uint32_t w = v; !seen[w]; w = from[w]) seen[w] = true;
        }
        std::shuffle(copies.begin(), copies.end(), random);
        ASSERT_EQ(check(copies, n), cycles);
    }
}

TEST(ParallelCopy, RandomFunctionalGraphsNeedAtMostOneTemporaryForEachCycle) {
    std::mt19937 random(2);
    for (int round = 0; round < 2000; ++round) {
        const uint32_t n = 1 + random() % 12, others = random() % 3;
        std::vector<Assignment> copies;
        for (uint32_t v = 0; v < n; ++v) copies.push_back({v, {uint32_t(random() % (n + others))}});
        std::shuffle(copies.begin(), copies.end(), random);
        ASSERT_LE(check(copies, n + others), n / 2);
    }
}

TEST(ParallelCopy, RandomExpressionsOfSeveralVariables) {
    std::mt19937 random(3);
    for (int round = 0; round < 5000; ++round) {
        const uint32_t n = 1 + random() % 9, others = random() % 3;
        std::vector<Assignment> copies;
        for (uint32_t v = 0; v < n; ++v) {
            if (random() % 8 == 0) continue;
            Assignment copy{v, {}};
            for (uint32_t reads = random() % 4; reads > 0; --reads) copy.reads.push_back(random() % (n + others));
            copies.push_back(copy);
        }
        std::shuffle(copies.begin(), copies.end(), random);
        check(copies, n + others);
        ASSERT_FALSE(testing::Test::HasFailure());
    }
}

}  // namespace
}  // namespace pumice::codegen
