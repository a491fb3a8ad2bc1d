#include "codegen/glsl_text/expression.h"

#include <gtest/gtest.h>

namespace pumice::codegen {
namespace {

const Expression a{"a", primary, {1}, {}}, b{"b", primary, {2}, {7}}, c{"c", primary, {1}, {}}, minus{"-1.0", unary, {}, {}};

std::string of(std::string_view pattern, std::initializer_list<Expression> operands) { return fill(pattern, operands).text; }

TEST(expression, has_the_fewest_parentheses) {
    const Expression sum = fill("$0 + $1", {a, b}), product = fill("$0 * $1", {a, b});
    EXPECT_EQ(of("$0 + $1", {sum, c}), "a + b + c");
    EXPECT_EQ(of("$0 + $1", {c, sum}), "c + (a + b)");  // floats do not associate
    EXPECT_EQ(of("$0 + $1", {c, product}), "c + a * b");
    EXPECT_EQ(of("$0 * $1", {sum, c}), "(a + b) * c");
    EXPECT_EQ(of("$0 / $1", {c, product}), "c / (a * b)");
    EXPECT_EQ(of("pm_div($0, $1)", {sum, product}), "pm_div(a + b, a * b)");
    EXPECT_EQ(of("-$0", {sum}), "-(a + b)");
    EXPECT_EQ(of("-$0", {fill("abs($0)", {sum})}), "-abs(a + b)");
    EXPECT_EQ(of("arg1[$0]", {sum}), "arg1[a + b]");
}

TEST(expression, signs_do_not_run_together) {
    EXPECT_EQ(of("-$0", {minus}), "-(-1.0)");
    EXPECT_EQ(of("$0 - $1", {a, minus}), "a - -1.0");
    EXPECT_EQ(of("-$0", {fill("-$0", {a})}), "-(-a)");
    EXPECT_EQ(of("!$0", {fill("!$0", {a})}), "!(!a)");
}

TEST(expression, bit_operators_and_comparisons_are_marked) {
    const Expression sum = fill("$0 + $1", {a, b}), less = fill("$0 < $1", {a, b});
    EXPECT_EQ(of("$0 & $1", {sum, c}), "(a + b) & c");
    EXPECT_EQ(of("$0 << ($1 & 31)", {c, sum}), "c << ((a + b) & 31)");
    EXPECT_EQ(of("$0 == $1", {less, c}), "(a < b) == c");
    EXPECT_EQ(of("$0 < $1", {sum, c}), "a + b < c");
    EXPECT_EQ(of("$0 && $1", {less, less}), "a < b && a < b");
    const Expression both = fill("$0 && $1", {a, b});
    EXPECT_EQ(of("$0 && $1", {c, both}), "c && a && b");
    EXPECT_EQ(of("$0 || $1", {c, both}), "c || (a && b)");
}

TEST(expression, ternaries_nest_in_parentheses) {
    const Expression pick = fill("$0 ? $1 : $2", {a, b, c});
    EXPECT_EQ(of("$0 ? $1 : $2", {fill("$0 < $1", {a, b}), fill("$0 + $1", {a, b}), c}), "a < b ? a + b : c");
    EXPECT_EQ(of("$0 ? $1 : $2", {a, pick, c}), "a ? (a ? b : c) : c");
    EXPECT_EQ(of("$0 + $1", {pick, c}), "(a ? b : c) + c");
    EXPECT_EQ(of("abs($0)", {pick}), "abs(a ? b : c)");
}

TEST(expression, member_access_binds_tightest) {
    EXPECT_EQ(of("$0.x", {a}), "a.x");
    EXPECT_EQ(of("$0.x", {fill("$0 + $1", {a, b})}), "(a + b).x");
    EXPECT_EQ(of("float16_t(unpackHalf2x16($0).x)", {a}), "float16_t(unpackHalf2x16(a).x)");
}

TEST(expression, remembers_what_it_reads) {
    const Expression e = fill("pm_fma($0, $1, $2)", {a, b, c});
    EXPECT_EQ(e.memories, (std::vector<uint32_t>{1, 2}));
    EXPECT_EQ(e.variables, std::vector<uint32_t>{7});
    EXPECT_EQ(e.precedence, postfix);
    EXPECT_EQ(occurrences("$0 < $1 ? $0 : $1", 0), 2);
}

}  // namespace
}  // namespace pumice::codegen
