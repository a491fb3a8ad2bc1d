// What a select, min or max does not choose gets the adjoint 0, and so must all that it was computed from, also where a derivative on
// the way is infinite or not a number: of select(x > 0, sqrt(x), 0) at 0. There 0 times that is not 0, and the sweep asks first.
#include "autodiff/reverse/sweep.h"
#include "autodiff/rules/derivative_rules.h"

namespace pumice::derive {

using namespace ir;

namespace {
bool is_computed(const Inst& i) { return is_scalar_op(i.op) || i.op == Op::select || i.op == Op::cast; }
}  // namespace

std::vector<bool> behind_choices(const Kernel& k, const Structure& where, const Plan& plan) {
    // Of a running extreme that is not walked back, only the iteration that was chosen is reversed.
    const auto chooses = [&](const Inst& i, size_t operand) {
        if (i.op == Op::select) return operand > 0;
        if (i.op != Op::min && i.op != Op::max) return false;
        return !plan.final_extreme(i) || !plan.extreme(where.owner_of(k[k.operands(i)[0]].block));
    };
    // Derivatives may be infinite where an op has poles, and in products with what such an op gives.
    const auto& order = where.order();
    std::vector<bool> infinite(k.values.size()), chosen(k.values.size());
    for (const InstId id : order) {
        const Inst& i = k[id];
        if (!is_computed(i) || !is_float(i.type)) continue;
        bool any = is_scalar_op(i.op) && has_poles(i.op);
        for (const Value v : k.operands(i)) any = any || infinite[v.id];
        infinite[k.result(i).id] = any;
    }
    for (auto id = order.rbegin(); id != order.rend(); ++id) {
        const Inst& i = k[*id];
        if (!is_computed(i) || !is_float(i.type)) continue;
        const auto v = k.operands(i);
        for (size_t o = 0; o < v.size(); ++o)
            if (chooses(i, o) || chosen[k.result(i).id]) chosen[v[o].id] = true;
    }
    for (size_t v = 0; v < chosen.size(); ++v) chosen[v] = chosen[v] && infinite[v];
    return chosen;
}

Value Sweep::unless_zero(Value adjoint, Value term) {
    const Value nothing = zero(to.type_of(term));
    return b.select(b.op(Op::ne, {adjoint, nothing}), term, nothing);
}

}  // namespace pumice::derive
