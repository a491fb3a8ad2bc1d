// NaN-safe adjoint of select: the double-where trick, applied by the compiler.
//
// The operand that a select, min or max discards gets the adjoint 0, and so must every value from which the operand was computed.
// Where a partial derivative on the way is infinite, 0 * inf would be NaN. The sweep then tests the adjoint first. The analysis
// finds the values for which that is necessary: they are discarded by some choice and computed with an op that has poles. A value
// that only branches or loops use, which may not run, is discarded, too.
//
//     y = select(x > 0, sqrt(x), 0) at x = 0:   the adjoint of sqrt(x) is 0, its partial derivative 0.5 / 0 = inf
//     before    %dx = %ds * %p                          0 * inf = NaN
//     after     %dx = select %ds != 0, %ds * %p, 0      0
//
//     %l = sqrt %s; if %l > 0 { %u = div %x, %l ... }   the same for %l: its only use with a derivative is in the branch
//
// Cost: a comparison and a select for each product on such a path.
// Limits: poles are those of the op's row (has_poles); an adjoint that is 0 by chance is masked as well on such a path. Field's
// name: the double-where trick. Users of other systems write it by hand: select(c, f(select(c, x, safe)), other), as the FAQ of
// JAX explains.
#include "autodiff/sweep/double_where.h"

#include <algorithm>

#include "autodiff/analysis/tape.h"
#include "autodiff/rules/derivative_rules.h"
#include "core/analysis/uses.h"

namespace pumice::derive {

using namespace ir;

namespace {
bool is_computed(const Inst& i) { return is_scalar_op(i.op) || i.op == Op::select || i.op == Op::cast; }

/// True if all uses that have a derivative lie in branches or loops that the value is computed in front of.
bool is_used_in_constructs_alone(const Kernel& k, const Structure& where, const Uses& uses, Value v) {
    const BlockId own = where.block_of(v);
    return std::ranges::all_of(uses.of(v), [&](InstId user) {
        return where.block_of(user).id != own.id || (is_computed(k[user]) && !is_float(k[user].type));
    });
}
}  // namespace

std::vector<bool> discardable_values(const Kernel& k, const Structure& where, const TapePlan& plan) {
    // Of an argmax loop only the chosen iteration is reversed, so nothing is discarded there.
    const auto chooses = [&](const Inst& i, size_t operand) {
        if (i.op == Op::select) return operand > 0;
        if (i.op != Op::min && i.op != Op::max) return false;
        return !plan.final_min_max(i) || !plan.argmax_value(where.owner_of(k[k.operands(i)[0]].block));
    };
    // A derivative may be infinite where an op has poles, and in products with the result of such an op.
    const auto& order = where.order();
    std::vector<bool> infinite(k.values.size()), chosen(k.values.size());
    for (const InstId id : order) {
        const Inst& i = k[id];
        if (!is_computed(i) || !is_float(i.type)) continue;
        bool any = is_scalar_op(i.op) && has_poles(i.op);
        for (const Value v : k.operands(i)) any = any || infinite[v.id];
        infinite[k.result(i).id] = any;
    }
    const Uses uses(k);
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
        const Inst& i = k[*id];
        if (!is_computed(i) || !is_float(i.type)) continue;
        const Value result = k.result(i);
        if (infinite[result.id] && is_used_in_constructs_alone(k, where, uses, result)) chosen[result.id] = true;
        const auto v = k.operands(i);
        for (size_t o = 0; o < v.size(); ++o)
            if (chooses(i, o) || chosen[result.id]) chosen[v[o].id] = true;
    }
    for (size_t v = 0; v < chosen.size(); ++v) chosen[v] = chosen[v] && infinite[v];
    return chosen;
}

Value unless_zero(Builder& b, const Kernel& to, Value adjoint, Value term) {
    const Value nothing = b.constant(to.type_of(term), 0);
    return b.select(b.op(Op::ne, {adjoint, nothing}), term, nothing);
}

}  // namespace pumice::derive
