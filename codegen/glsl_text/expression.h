// Precedence-aware printer of GLSL expressions: templates are filled with as few parentheses as the meaning needs.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pumice::codegen {

/// Precedence of an expression's outermost operator: GLSL's table, higher binds tighter.
enum Precedence : int {
    no_operator = 0,
    ternary = 2,
    logical_or = 3,
    logical_xor = 4,
    logical_and = 5,
    bit_or = 6,
    bit_xor = 7,
    bit_and = 8,
    equality = 9,
    relational = 10,
    shift = 11,
    additive = 12,
    multiplicative = 13,
    unary = 14,
    postfix = 15,
    primary = 16,
};

/// An expression's text, its outermost operator, and the memories and variables that must not change before it is evaluated.
struct Expression {
    std::string text;
    int precedence = primary;
    std::vector<uint32_t> memories;   ///< memories it loads from: a write to one must not come before it is evaluated
    std::vector<uint32_t> variables;  ///< variables it reads: an assignment to one must not, either

    bool is_atom() const { return precedence == primary && memories.empty(); }
};

/// Fills $0 $1 $2 of `pattern` ("$0 + $1", "pm_div($0, $1)", "$0 ? $1 : $2") with operands. An operand gets parentheses if the
/// operator to the left of the hole binds at least as tightly as the operand's own, or the one to the right more tightly; chains
/// of one logical operator need none. For readability also any operator beside a shift or a bit operator, comparisons beside
/// comparisons, and mixed logical operators.
Expression fill(std::string_view pattern, std::span<const Expression> operands);
inline Expression fill(std::string_view pattern, std::initializer_list<Expression> operands) {
    return fill(pattern, std::span(operands.begin(), operands.size()));
}

/// Number of times that the pattern contains $operand.
int occurrences(std::string_view pattern, int operand);

}  // namespace pumice::codegen
