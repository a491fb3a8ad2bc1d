// Argmax reduction: the reverse of a running maximum (or minimum) is one iteration, not all of them (code: emit_argmax.cpp).
//
// A for carries m = max(m, x). Derivatives flow from the final m to the last x that attained it, and to nothing else. So no
// iteration's m has to be taped. The copy of the primal notes the number of that iteration, and the reverse of the loop runs
// this iteration alone. Where no x attained m, the initial value of m gets the adjoint.
//
//     primal                              copy of the primal             reverse
//     for %k = 0 to %n carry (%m = %a)    for ... {                      if %last >= 0 {
//       %x = load arg2[%k]                  ...                            d2[%last] += %dm
//       %q = max %m, %x                     %last = %q == %x ? %k : %last
//       yield %q                          }                              }
//
// Where derivatives flow through the loop by other values too, all iterations are reversed; each compares its rematerialised x
// with the final m. If x is computed by way of sums, the kernel is Math::strict, so that both are rounded alike
// (compares_rematerialised).
//
// Cost: a comparison and a select in each iteration. Limits: a for outside of other loops, not in halves; m is a float, the first
// operand of max, and has no other use in the loop; no barriers; no atomics or calls that move derivatives; no load whose shadow
// a group adds to; nothing in the loop is taped. Of several equal x the last gets the derivative: one element of the
// subdifferential.
// Textbook name: subgradient of a maximum, by the argmax that the forward sweep records.
#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/tape.h"

namespace pumice::derive {

using namespace ir;

Value TapePlan::final_min_max(const Inst& i) const {
    if (i.op != Op::min && i.op != Op::max) return {};
    const Value carried = k.operands(i)[0], next = k.result(i);
    const ValueInfo& info = k[carried];
    if (info.inst.id != none || !is_float(i.type) || k.operands(i)[1] == carried) return {};
    const InstId id = where.owner_of(info.block);
    if (id.id == none || k[id].op != Op::for_ || info.index == 0) return {};
    const uint32_t c = info.index - 1;
    const Value yielded = k.operands(last_inst(k, k[id].blocks[0]))[c];
    if (yielded != next || use_list.count(carried) != 1 || use_list.count(next) != 1) return {};
    return k.result(k[id], int(c));
}

Value TapePlan::find_argmax_value(InstId id) const {
    const Inst& loop = k[id];
    if (loop.op != Op::for_ || !analysis.moves(id) || split_mode || in_loop(where.block_of(id))) return {};
    const BlockId contents = loop.blocks[0];
    const auto yielded = k.operands(last_inst(k, contents));
    Value active;
    for (uint32_t c = 0; c < loop.result_count; ++c) {
        if (!analysis.active(k[contents].params[1 + c])) continue;
        if (active) return {};
        active = yielded[c];
    }
    if (!active || k[active].inst.id == none || !final_min_max(k[k[active].inst])) return {};
    // Other instructions that move derivatives must be pure or loads (or ifs).
    const bool misfits = any_inside(k, loop, [&](InstId inner) {
        const Op op = k[inner].op;
        if (!analysis.moves(inner)) return is_barrier(op);
        if (op == Op::load) return accumulation(k, where, analysis, inner) == Accumulation::group;
        return !is_pure(op) && op != Op::if_ && op != Op::yield;
    });
    return misfits ? Value{} : active;
}

bool TapePlan::compares_rematerialised() const {
    return std::ranges::any_of(where.order(), [&](InstId id) {
        const Inst& i = k[id];
        if ((i.op != Op::min && i.op != Op::max) || !is_float(i.type) || !analysis.active(k.result(i))) return false;
        const Value x = k.operands(i)[1];
        if (final_min_max(i)) return !argmax_value(where.owner_of(k[k.operands(i)[0]].block)) && rematerialises_sum(x);
        const ValueSource result = source_of(k.result(i));
        return result != ValueSource::rematerialised && result != ValueSource::unneeded && rematerialises_sum(x);
    });
}

/// True if the value is rematerialised through a sum.
bool TapePlan::rematerialises_sum(Value v) const {
    if (source_of(v) != ValueSource::rematerialised || k[v].inst.id == none) return false;
    const Inst& i = k[k[v].inst];
    if (is_float(i.type) && (i.op == Op::add || i.op == Op::sub || i.op == Op::fma)) return true;
    const auto operands = k.operands(i);
    return (is_scalar_op(i.op) || i.op == Op::select) &&
           std::ranges::any_of(operands, [&](Value o) { return rematerialises_sum(o); });
}

bool TapePlan::pushes_inside(InstId loop) const {
    for (uint32_t v = 0; v < k.values.size(); ++v)
        if (sources[v] == ValueSource::taped && where.defined_in(loop, Value{v})) return true;
    return any_inside(k, k[loop], [&](InstId inner) { return count_sources[inner.id] == ValueSource::taped; });
}

}  // namespace pumice::derive
