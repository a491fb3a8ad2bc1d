// Scalar derivative rules: the partial derivatives in the columns of core/ir/ops.def, evaluated in three ways.
//
// A column is an expression in the operands a, b, c, the result r and constants, such as `cos(a)` in the row of sin. It is
// instantiated with three types, so that the rule is written once:
//   RecordedExpression   records instructions: what an adjoint or a tangent is multiplied by
//   OperandSet           collects which operands and whether the result occur in it: what the reverse sweep needs
//   Number               computes with doubles: derivatives on the host, and the search for poles
//
//     row of div, column of b:  -r / b
//     uses(div, 1)              operand 1 and the result
//     emit_partial              %n = neg %r;  %p = div %n, %b
//
// `times` multiplies an adjoint by a partial derivative in the cheapest form: signs move outwards, a quotient is divided first
// (so that x / y and 1 / y share a division), a select of 1 and 0 stays a select.
// Cost: none at run time. Limits: poles are found by sampling five points an operand, which finds the poles of the ops there are.
// Textbook name: elemental partial derivatives.
#include "autodiff/rules/derivative_rules.h"

#include <cmath>
#include <limits>
#include <vector>

#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::derive {
namespace {

using ir::Builder;
using ir::Op;
using ir::Value;

/// The keywords of the columns that are no expressions.
struct Zero {};
struct None {};
constexpr Zero zero;
constexpr None none;

/// A recorded expression: the type with which the columns are instantiated to emit them.
struct RecordedExpression {
    Builder* b = nullptr;
    Value value{};
    RecordedExpression(Builder* builder, Value v) : b(builder), value(v) {}
    RecordedExpression(Zero) {}
    RecordedExpression(None) {}
};

RecordedExpression emit(Op op, std::initializer_list<RecordedExpression> operands) {
    Value v[3];
    size_t n = 0;
    for (const RecordedExpression& e : operands) v[n++] = e.value;
    return {operands.begin()->b, operands.begin()->b->op(op, std::span<const Value>(v, n))};
}
RecordedExpression emit_select(const RecordedExpression& c, const RecordedExpression& x, const RecordedExpression& y) {
    return {c.b, c.b->select(c.value, x.value, y.value)};
}

/// The operands that an expression uses: the type with which the columns are instantiated to find them.
struct OperandSet {
    unsigned mask = 0;
    bool zero = false, none = false;
    OperandSet(unsigned m) : mask(m) {}
    OperandSet(Zero) : zero(true) {}
    OperandSet(None) : none(true) {}
};

OperandSet emit(Op, std::initializer_list<OperandSet> operands) {
    unsigned mask = 0;
    for (const OperandSet& s : operands) mask |= s.mask;
    return mask;
}
OperandSet emit_select(const OperandSet& c, const OperandSet& x, const OperandSet& y) { return c.mask | x.mask | y.mask; }

/// A number on the host, a bool as 0 or 1: the type with which the columns are instantiated to compute them.
struct Number {
    double value = 0;
    Number(double v) : value(v) {}
    Number(Zero) {}
    Number(None) : value(std::numeric_limits<double>::quiet_NaN()) {}
};

/// The bits of an operand of the op, whose first operand is a double.
uint64_t bits_of(Op op, int operand, double value) {
    return cast_bits(Scalar::f64, operand_type(op, operand, Scalar::f64), to_bits(value));
}
Number emit(Op op, std::initializer_list<Number> operands) {
    uint64_t bits[3], result = 0;
    size_t n = 0;
    for (const Number& o : operands) bits[n] = bits_of(op, int(n), o.value), ++n;
    if (!evaluate_scalar(op, Scalar::f64, bits, result))
        library_bug(text("a derivative column uses ", ir::name_of(op), " of f64"));
    return ir::result_type(op, Scalar::f64) == Scalar::boolean ? double(result != 0) : from_bits<double>(result);
}
Number emit_select(const Number& c, const Number& x, const Number& y) { return c.value != 0 ? x : y; }

template <class E> E operator+(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::add, {x, y});
}
template <class E> E operator-(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::sub, {x, y});
}
template <class E> E operator*(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::mul, {x, y});
}
template <class E> E operator/(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::div, {x, y});
}
template <class E> E operator-(const E& x)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::neg, {x});
}
template <class E> E operator==(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::eq, {x, y});
}
template <class E> E operator>(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::gt, {x, y});
}
template <class E> E operator<(const E& x, const E& y)
    requires requires { emit(Op::add, {x}); }
{
    return emit(Op::lt, {x, y});
}
template <class E> E select(const E& c, const E& x, const E& y) { return emit_select(c, x, y); }

// A function for each row. Infix rows have none: columns use the operators.
#define INFIX1(...)
#define INFIX2(...)
#define OP1(name, ...) \
    template <class E> [[maybe_unused]] E name(const E& x) { return emit(Op::name, {x}); }
#define OP2(name, ...) \
    template <class E> [[maybe_unused]] E name(const E& x, const E& y) { return emit(Op::name, {x, y}); }
#define OP3(name, ...) \
    template <class E> [[maybe_unused]] E name(const E& x, const E& y, const E& z) { return emit(Op::name, {x, y, z}); }
#include "core/ir/ops.def"

/// The column for operand `index` of a row, over operands a, b, c, the result r, and constants X(0.5).
template <class E, class Constant> E column(Op op, int index, const E& a, const E& b, const E& c, const E& r, Constant X) {
    (void)a, (void)b, (void)c, (void)r, (void)X;
    switch (op) {
#define OP1(name, types, result, cost, glsl, llvm, host, da, ...) \
    case Op::name: return E(da);
#define OP2(name, types, result, cost, glsl, llvm, host, da, db, ...) \
    case Op::name: return index == 0 ? E(da) : E(db);
#define OP3(name, types, result, cost, glsl, llvm, host, da, db, dc, ...) \
    case Op::name: return index == 0 ? E(da) : index == 1 ? E(db) : E(dc);
#include "core/ir/ops.def"
        default: library_bug(text("op ", ir::name_of(op), " has no derivative columns"));
    }
}

OperandSet source(Op op, int index) {
    return column<OperandSet>(op, index, 1u, 2u, 4u, uses_result, [](double) { return OperandSet(0u); });
}

}  // namespace

bool vanishes(Op op, int index) { return source(op, index).zero; }
bool has_none(Op op, int index) { return source(op, index).none; }
double partial(Op op, int index, std::span<const double> operands, double result) {
    const auto operand = [&](size_t n) { return Number(n < operands.size() ? operands[n] : 0); };
    return column<Number>(op, index, operand(0), operand(1), operand(2), result, [](double x) { return Number(x); }).value;
}
unsigned uses(Op op, int index) { return source(op, index).mask; }

namespace {
bool finite_everywhere(Op op) {
    const OpRow& row = pumice::internal::row(op);
    constexpr double points[] = {-1e5, -1, 0, 1, 1e5};  // poles are at 0, at 1, below 0, and where exp is too large
    constexpr size_t count = std::size(points);
    for (size_t at = 0; row.differentiable && at < count * count * count; ++at) {
        const double operands[] = {points[at % count], points[at / count % count], points[at / count / count]};
        uint64_t bits[3], result = 0;
        for (int o = 0; o < 3; ++o) bits[o] = bits_of(op, o, operands[o]);
        evaluate_scalar(op, Scalar::f64, bits, result);
        for (int o = 0; o < row.arity; ++o)
            if (!std::isfinite(partial(op, o, operands, from_bits<double>(result)))) return false;
    }
    return true;
}
}  // namespace

bool has_poles(Op op) {
    static const std::vector<bool> known = [] {
        std::vector<bool> all;
        for (int op = 0; op < ir::scalar_op_count; ++op) all.push_back(!finite_everywhere(Op(op)));
        return all;
    }();
    return known[size_t(op)];
}

Value emit_partial(Builder& b, Op op, int index, std::span<const Value> operands, Value result, Scalar type) {
    const auto operand = [&](size_t n) { return RecordedExpression(&b, n < operands.size() ? operands[n] : Value{}); };
    return column<RecordedExpression>(op, index, operand(0), operand(1), operand(2), RecordedExpression(&b, result),
                                      [&](double x) { return RecordedExpression(&b, b.constant_float(type, x)); })
        .value;
}

/// A quotient is split: 1 / x costs one division, and x / y shares the division with others.
Value times(Builder& b, const ir::Kernel& k, Value factor, Value partial) {
    const Scalar type = k.type_of(factor);
    uint64_t bits = 0;
    // A sign moves outwards, where it turns a sum into a difference.
    if (const ir::InstId made = k[factor].inst; made.id != ir::none && k[made].op == Op::neg)
        return b.op(Op::neg, {times(b, k, k.operands(k[made])[0], partial)});
    if (k.constant(partial, bits) && partial == b.constant_float(type, -1)) return b.op(Op::neg, {factor});
    const ir::InstId source = k[partial].inst;
    if (source.id != ir::none && k[source].op == Op::div) {
        const Value numerator = k.operands(k[source])[0], denominator = k.operands(k[source])[1];
        return b.op(Op::mul, {b.op(Op::div, {factor, denominator}), numerator});
    }
    // A select between one and zero becomes a select of the factor: no product, and 0 stays 0 where the factor is infinite.
    if (source.id != ir::none && k[source].op == Op::select) {
        const Value c = k.operands(k[source])[0], x = k.operands(k[source])[1], y = k.operands(k[source])[2];
        const Value one = b.constant_float(type, 1), nothing = b.constant_float(type, 0);
        if (x == one && y == nothing) return b.select(c, factor, nothing);
        if (x == nothing && y == one) return b.select(c, nothing, factor);
    }
    if (source.id != ir::none && k[source].op == Op::neg) {
        const Value inner = k.operands(k[source])[0];
        return b.op(Op::neg, {b.op(Op::mul, {factor, inner})});
    }
    // A constant comes last, where other constants may be combined with it.
    if (source.id != ir::none && k[source].op == Op::mul && k.constant(k.operands(k[source])[0], bits)) {
        const Value constant = k.operands(k[source])[0], inner = k.operands(k[source])[1];
        return b.op(Op::mul, {b.op(Op::mul, {factor, inner}), constant});
    }
    return b.op(Op::mul, {factor, partial});
}

Value times_partial(Builder& b, const ir::Kernel& k, Op op, int index, std::span<const Value> operands, Value result,
                    Value factor) {
    return times(b, k, factor, emit_partial(b, op, index, operands, result, k.type_of(factor)));
}

}  // namespace pumice::derive
