// Precedence-aware expression printer: fills a template with operand texts, and adds the parentheses that the meaning needs, and
// those that readers expect.
//
//   fill("$0 * $1", {"a + b" (additive), "c"})   ->   (a + b) * c
//   fill("$0 + $1", {"a * b" (multiplicative), "c"})   ->   a * b + c
//   fill("pm_div($0, $1)", ...)   ->   no parentheses: the holes stand between commas
//
// A small tokenizer finds the operators beside each hole and their precedence in GLSL's table. An operand gets parentheses if the
// operator to its left binds at least as tightly as its own outermost operator, or the one to its right more tightly. For
// readability it gets them also beside shifts and bit operators, in comparisons of comparisons, and where && stands beside || or
// ^^. The result's precedence is that of the template's loosest operator outside of parentheses. The memories and variables that
// the operands read are united, so that the emitter knows what must not be written before the result.
// Cost: linear in the template.
// Limits: the templates of ops.def and the emitter: one expression, no literals in quotes.
// Textbook name: unparsing with precedence (Ramsey, "Unparsing Expressions with Prefix and Postfix Operators", 1998).
#include "codegen/glsl_text/expression.h"

#include <algorithm>

#include "core/support/ascii.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

struct Token {
    enum class Kind { operand, word, prefix, binary, open, close, comma, space } kind;
    std::string_view text;
    int depth = 0;  ///< parentheses and brackets around it
    int precedence = no_operator;
};

struct Operator {
    std::string_view text;
    int precedence;
};
// Two-character operators come first, so that the first match is the longest.
constexpr Operator operators[] = {
    {"<<", shift},     {">>", shift},         {"<=", relational},    {">=", relational},    {"==", equality},
    {"!=", equality},  {"&&", logical_and},   {"||", logical_or},    {"^^", logical_xor},   {"+", additive},
    {"-", additive},   {"*", multiplicative}, {"/", multiplicative}, {"%", multiplicative}, {"<", relational},
    {">", relational}, {"&", bit_and},        {"|", bit_or},         {"^", bit_xor},        {"?", ternary},
    {":", ternary},    {"~", unary},          {"!", unary},
};

bool is_word(char c) { return ascii::is_alphanumeric(c) || c == '_'; }

/// The token at the start of `rest`. `after_value`: an operator here has a left operand, so it is binary.
Token next_token(std::string_view rest, int depth, bool after_value) {
    using Kind = Token::Kind;
    const char c = rest[0];
    const auto take_while = [&](auto test) {
        size_t n = 1;
        while (n < rest.size() && test(rest[n])) ++n;
        return rest.substr(0, n);
    };
    if (c == ' ') return {Kind::space, take_while([](char d) { return d == ' '; }), depth};
    if (c == '$') return {Kind::operand, rest.substr(0, 2), depth};
    if (c == '.' && after_value) return {Kind::binary, rest.substr(0, 1), depth, postfix};
    if (is_word(c) || c == '.') return {Kind::word, take_while([](char d) { return is_word(d) || d == '.'; }), depth};
    if (c == '(' || c == '[') return {Kind::open, rest.substr(0, 1), depth};
    if (c == ')' || c == ']') return {Kind::close, rest.substr(0, 1), depth - 1};
    if (c == ',') return {Kind::comma, rest.substr(0, 1), depth};
    for (const Operator& op : operators)
        if (rest.substr(0, op.text.size()) == op.text) {
            if (after_value) return {Kind::binary, op.text, depth, op.precedence};
            return {Kind::prefix, op.text, depth, unary};
        }
    library_bug(text("the GLSL pattern has an unknown character at: ", rest));
}

std::vector<Token> tokens_of(std::string_view pattern) {
    std::vector<Token> out;
    int depth = 0;
    bool after_value = false;
    while (!pattern.empty()) {
        const Token t = next_token(pattern, depth, after_value);
        pattern.remove_prefix(t.text.size());
        if (t.kind == Token::Kind::open) ++depth;
        if (t.kind == Token::Kind::close) --depth;
        if (t.kind != Token::Kind::space)
            after_value = t.kind == Token::Kind::operand || t.kind == Token::Kind::word || t.kind == Token::Kind::close;
        out.push_back(t);
    }
    return out;
}

/// The nearest token that is not a space, going from `at` by `step`.
const Token* neighbour(const std::vector<Token>& tokens, size_t at, int step) {
    for (size_t i = at + size_t(step); i < tokens.size(); i += size_t(step))
        if (tokens[i].kind != Token::Kind::space) return &tokens[i];
    return nullptr;
}

/// True if the operand needs parentheses beside the operator. Shifts and bit operators want them around every operator,
/// comparisons around other comparisons.
bool binds_loosely(const Expression& e, const Token& op, bool op_is_left) {
    if (op.kind == Token::Kind::prefix) return e.precedence < unary || e.text[0] == op.text[0];
    const int p = op.precedence;
    if (p == shift || (p >= bit_or && p <= bit_and)) return e.precedence < unary;
    if (p == relational || p == equality || p == ternary)
        return e.precedence <= p || (p == equality && e.precedence <= relational);
    if (p == logical_and) return e.precedence < p;  // associative, and evaluated without effects
    if (p == logical_or || p == logical_xor) return e.precedence <= logical_and && e.precedence != p;
    return op_is_left ? e.precedence <= p : e.precedence < p;
}

void append_new(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
    for (const uint32_t id : from)
        if (std::ranges::find(to, id) == to.end()) to.push_back(id);
}

}  // namespace

Expression fill(std::string_view pattern, std::span<const Expression> operands) {
    const std::vector<Token> tokens = tokens_of(pattern);
    Expression out;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const Token& t = tokens[i];
        if (t.depth == 0 && (t.kind == Token::Kind::binary || t.kind == Token::Kind::prefix))
            out.precedence = std::min(out.precedence, t.precedence);
        if (t.kind == Token::Kind::open && t.depth == 0 && i > 0) out.precedence = std::min(out.precedence, int(postfix));
        if (t.kind != Token::Kind::operand) {
            out.text += t.text;
            continue;
        }
        const Expression& e = operands[size_t(t.text[1] - '0')];
        append_new(out.memories, e.memories);
        append_new(out.variables, e.variables);
        const Token* left = neighbour(tokens, i, -1);
        const Token* right = neighbour(tokens, i, 1);
        const bool after = left && (left->kind == Token::Kind::prefix || left->kind == Token::Kind::binary);
        const bool before = right && right->kind == Token::Kind::binary;
        const bool wrap = (after && binds_loosely(e, *left, true)) || (before && binds_loosely(e, *right, false));
        out.text += wrap ? "(" + e.text + ")" : e.text;
        if (t.depth == 0 && tokens.size() == 1) out.precedence = e.precedence;
    }
    return out;
}

int occurrences(std::string_view pattern, int operand) {
    int n = 0;
    for (size_t i = 0; i + 1 < pattern.size(); ++i) n += pattern[i] == '$' && pattern[i + 1] == char('0' + operand);
    return n;
}

}  // namespace pumice::codegen
