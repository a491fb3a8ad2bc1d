// Adjoint terms: the term that an instruction without effects gives to the adjoint of one of its operands.
//
// The rule of y = f(x) adds dy * df/dx to the adjoint of x; df/dx comes from the columns of ops.def (derivative_rules.h). Some
// terms have a shorter form. A term that may be 0 * inf is masked (double_where.cpp).
//
//     %y = sin %x          %dx += %dy * (cos %x)
//     %y = mul %x, %x      %dx += 2 * %dy * %x              one term, not one an operand
//     %y = mul %q, %x      %dx += 3 * %dy * %q              where %q = mul %x, %x: the cube
//                          %dq += nothing               the term of %x has its share
//     %y = select %c ...   %dx += select %c, %dy, 0
//
// The term is returned as factor and partial, which the caller multiplies; short forms and masked terms are one value.
// Cost: one or two operations a term. Limits: operations of ops.def, casts and selects.
#include "autodiff/sweep/adjoint_term.h"

#include "autodiff/rules/derivative_rules.h"
#include "autodiff/sweep/factored_sums.h"
#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// The value x x, where the instruction is x x x; none otherwise.
Value square_in_cube(const Kernel& k, const Inst& i) {
    if (i.op != Op::mul) return {};
    const auto v = k.operands(i);
    for (size_t o = 0; o < 2; ++o) {
        const InstId made = k[v[o]].inst;
        if (made.id != none && k[made].op == Op::mul && k.operands(k[made])[0] == v[1 - o] && k.operands(k[made])[1] == v[1 - o])
            return v[o];
    }
    return {};
}

}  // namespace

AdjointTerm term_of(const SweepContext& context, const Inst& i, size_t o, Value adjoint, const std::function<Value(Value)>& get) {
    const Kernel &from = context.from, &to = context.to;
    Builder& b = context.b;
    const auto v = from.operands(i);
    if (is_scalar_op(i.op) && vanishes(i.op, int(o))) return {};
    if (i.op == Op::cast) return {b.cast(from.type_of(v[0]), adjoint)};
    if (i.op == Op::select) {
        const Value condition = get(v[0]), nothing = context.zero(i.type);
        return {o == 1 ? b.select(condition, adjoint, nothing) : b.select(condition, nothing, adjoint)};
    }
    const bool careful = context.primal.discardable[from.result(i).id];
    if (i.op == Op::mul && v[0] == v[1]) {
        if (o == 1) return {};
        const Value term = twice(b, to, adjoint, get(v[0]));
        return {careful ? unless_zero(b, to, adjoint, term) : term};
    }
    if (const Value square = square_in_cube(from, i)) {
        if (v[o] == square) return {};
        const Value term = b.op(Op::mul, {b.op(Op::mul, {adjoint, b.constant_float(i.type, 3)}), get(square)});
        return {careful ? unless_zero(b, to, adjoint, term) : term};
    }
    Value operands[3];
    const unsigned what = uses(i.op, int(o));
    for (size_t n = 0; n < v.size(); ++n)
        if (what & (1u << n)) operands[n] = get(v[n]);
    const Value result = what & uses_result ? get(from.result(i)) : Value{};
    const Value partial = emit_partial(b, i.op, int(o), std::span<const Value>(operands, v.size()), result, to.type_of(adjoint));
    if (careful && what) return {unless_zero(b, to, adjoint, times(b, to, adjoint, partial))};
    return {adjoint, partial};
}

}  // namespace pumice::derive
