// Formats of print and require that do not match their values, and misplaced reports and group operations.
#include "tests/error/error_suite.h"

using namespace pumice;

namespace {

/// Expects that recording the lambda as kernel "k" fails with exactly this sentence.
#define EXPECT_MISUSE(sentence, ...) \
    EXPECT_ERROR(text(sentence, "\n  while recording kernel \"k\" (@)"), kernel("k", __VA_ARGS__).ir())

TEST(Reports, FormatsThatDoNotMatch) {
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: the format \"i={} v={}\" has 2 places for 1 value",
                  [](Val<int> i) { print("i={} v={}", i); });
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: the format \"i\" has 0 places for 1 value", [](Val<int> i) { print("i", i); });
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: the format \"{:x}\" shows value 1, which is f32, as x",
                  [](Val<float> x) { print("{:x}", x); });
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: the format \"{:.2f}\" shows value 1, which is i32, as f",
                  [](Val<float> x) { print("{} {:.2f}", x, 3); });
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: the format \"{ and on\" has a { that no } closes", [] { print("{ and on"); });
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: the format \"{:4}\" has the place {:4} for value 1, which is a string",
                  [] { print("{:4}", "word"); });
    EXPECT_MISUSE("require in kernel \"k\" (@) does not match: the format \"{}\" has 1 place for 0 values",
                  [](Val<int> i) { require(i < 3, "{}"); });
    EXPECT_MISUSE("print in kernel \"k\" (@) does not match: it has 28 values, the components of vectors counted; the limit is 24",
                  [](In<float4> x) { print("{}{}{}{}{}{}{}", x[0], x[1], x[2], x[3], x[4], x[5], x[6]); });
}

TEST(Reports, OutsideAKernel) {
    const std::string outside = " is used outside a kernel (@): device code stands in a lambda given to kernel() or function()";
    EXPECT_ERROR("print" + outside, print("nothing"));
    EXPECT_ERROR("an index" + outside, subgroup::lane());
    EXPECT_ERROR("a subgroup operation" + outside, subgroup::elect());
}

TEST(Reports, ASubgroupOperationDoesNotDecideABarrier) {
    EXPECT_ERROR("kernel \"votes\" (@) has a barrier at @ that some work-items of a group may not reach: what decides it at @ may differ among them; make it of values that are the same for the group, or promise that they are with uniform(x)\n  while recording kernel \"votes\" (@)", kernel("votes", [](InOut<int> a) { $while (subgroup::any(a[global_index()] > 0)) { synchronize(); } }).ir());
}

}  // namespace
