// Variables and values. Numbers in the names are those of shared/cases/kernels.md.
#include "tests/device/suite.h"

using namespace pumice;
using suite::device;

namespace {

const auto accumulate = kernel("accumulate", [](InOut<int, 2> in_place, InOut<int, 2> by_var, InOut<int, 2> input) {
    auto [i, j] = global_index<2>();
    in_place(i, j) = 0;
    Var sum = 0;
    $for (k, range(j, input.size(1))) {
        in_place(i, j) += i + k;
        sum += i + k;
    }
    by_var(i, j) = sum;
    input(i, j) = i + j;
});

TEST(Language, Case13_AccumulateInPlace) {
    Array<int, 2> a = device().zeros<int>({5, 8}), b = device().zeros<int>({5, 8}), input = device().zeros<int>({5, 8});
    accumulate(ndrange(5, 8), a, b, input);
    std::vector<int> want(40);
    for (int i = 0; i < 5; ++i) for (int j = 0; j < 8; ++j) for (int k = j; k < 8; ++k) want[i * 8 + j] += i + k;
    EXPECT_EQ(a.download(), want);
    EXPECT_EQ(b.download(), want);
}

const auto value_then = kernel("value_then", [](InOut<int> a) {
    auto before = a[0];
    a[0] = before + 5;
    auto after = a[0];
    a[1] = before;
    a[2] = after;
    Var x = before;
    Var y = x;  // a copy, not another name
    y += 1;
    a[3] = x * 10 + y;
});

TEST(Language, SubscriptsGiveTheValueAtThatPoint) {
    Array<int> a = device().upload(std::vector<int>{7, 0, 0, 0});
    value_then(ndrange(1), a);
    EXPECT_EQ(a.download(), (std::vector<int>{12, 7, 12, 78}));
}

}  // namespace
