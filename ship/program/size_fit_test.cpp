// The forms of numbers that are found from captures, and those that are not.
#include "ship/program/size_fit.h"

#include <gtest/gtest.h>

#include <functional>

namespace pumice::ship {
namespace {

using Numbers = std::vector<int64_t>;

/// The value of an expression for given sizes.
int64_t value_of(const std::vector<pumice_rt::ExpressionRecord>& list, uint32_t at, const Numbers& sizes) {
    using pumice_rt::ExpressionOp;
    const auto& e = list[at];
    const auto operand = [&](int o) { return value_of(list, e.operands[o], sizes); };
    switch (ExpressionOp(e.op)) {
        case ExpressionOp::constant: return int64_t(e.bits);
        case ExpressionOp::size: return sizes[e.index];
        case ExpressionOp::int_add: return operand(0) + operand(1);
        case ExpressionOp::int_mul: return operand(0) * operand(1);
        case ExpressionOp::int_floor_div: {
            const int64_t a = operand(0), b = operand(1);
            return a / b - (a % b < 0);
        }
        default: ADD_FAILURE(); return 0;
    }
}

const std::vector<Numbers> captures = {{64, 10},  {65, 13},  {67, 12},  {128, 11}, {71, 27},    {197, 15}, {139, 23},
                                       {321, 53}, {269, 41}, {456, 74}, {209, 33}, {1028, 164}, {16, 3}};

/// Finds the form of f, and compares it with f for sizes that are no captures.
bool found(const std::function<int64_t(int64_t, int64_t)>& f) {
    std::vector<pumice_rt::ExpressionRecord> list;
    SizeFit fit(captures, 2, list);
    Numbers column;
    for (const Numbers& c : captures) column.push_back(f(c[0], c[1]));
    const auto made = fit.of(column);
    if (!made) return false;
    for (const auto& [n, m] : {std::pair<int64_t, int64_t>{100, 100}, {63, 7}, {1, 1}, {5000, 2}, {777, 333}})
        EXPECT_EQ(value_of(list, *made, {n, m}), f(n, m)) << n << " " << m;
    return true;
}

TEST(SizeFit, FindsTheFormsOfPrograms) {
    EXPECT_TRUE(found([](int64_t, int64_t) { return 7; }));
    EXPECT_TRUE(found([](int64_t n, int64_t) { return 4 * n; }));
    EXPECT_TRUE(found([](int64_t n, int64_t) { return n - 1; }));
    EXPECT_TRUE(found([](int64_t n, int64_t m) { return 8 * n * m + 8; }));
    EXPECT_TRUE(found([](int64_t n, int64_t m) { return (n + 1) * (m - 2); }));
    EXPECT_TRUE(found([](int64_t n, int64_t m) { return 4 * n * n * m; }));
    EXPECT_TRUE(found([](int64_t n, int64_t m) { return 3 * n + 5 * m; }));
    EXPECT_TRUE(found([](int64_t n, int64_t) { return (n + 63) / 64; }));
    EXPECT_TRUE(found([](int64_t n, int64_t) { return 4 * ((n + 63) / 64); }));
    EXPECT_TRUE(found([](int64_t n, int64_t) { return n / 2; }));
    EXPECT_TRUE(found([](int64_t n, int64_t m) { return (n * m + 255) / 256 * 256; }));
    EXPECT_TRUE(found([](int64_t n, int64_t) { return n / 3 + 5; }));
}

TEST(SizeFit, FindsNoFormOfOtherFunctions) {
    EXPECT_FALSE(found([](int64_t n, int64_t m) { return std::min(n, 5 * m); }));
    EXPECT_FALSE(found([](int64_t n, int64_t) { return std::min<int64_t>(n, 300); }));
    EXPECT_FALSE(found([](int64_t n, int64_t) { return int64_t(63 - __builtin_clzll(uint64_t(n))); }));
    EXPECT_FALSE(found([](int64_t n, int64_t) { return n % 7; }));
    EXPECT_FALSE(found([](int64_t n, int64_t m) { return n / m; }));
}

}  // namespace
}  // namespace pumice::ship
