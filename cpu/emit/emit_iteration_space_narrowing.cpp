// Iteration-space narrowing: a region under `if local_index < limit` loops over the packets below the limit only.
//
// Why: the levels of a tree reduction in local memory halve the active items. Without narrowing each level visits all packets of
// the group and finds an empty mask in most.
//
//     before:  for x = 0 to 64 step 8 { %m = x + lane < 16; masked code }
//     after:   for x = 0 to 16 step 8 { code without mask }               a partial last packet keeps its mask
//
// Cost: one smin a region, where the limit is no constant. Limits: kernels with barriers. The region consists of pure
// instructions, loads, and one if without else and results. Neither arm leaves early, and no value of the region is used behind
// it. The condition is `local_index 0 < limit` or `== 0` (or an `and` with that), the limit being a constant or uniform in the
// group.
// Textbook: iteration-space splitting, loop bound reduction by guard conditions (index-set splitting, Banerjee 1993).
#include <algorithm>

#include "core/support/error.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/emit/emit_iteration_space_narrowing.h"

namespace pumice::cpu {

using namespace ir;

/// The comparison `local_index(0) < limit`, or `== 0`, that guards everything that a region does; empty if there is none.
Value IterationSpaceNarrowing::bound_of(std::span<const InstId> insts) const {
    if (!target.rules.has(Rule::narrowed_regions)) return {};
    const Inst* only = nullptr;
    for (const InstId id : insts) {
        const Inst& i = k[id];
        if (is_pure(i.op) || i.op == Op::load) {
            const ContextSave& kept = plan.regions.context_saves[k.result(i).id];
            if (kept.spilled || kept.exported) return {};
        } else if (i.op == Op::if_ && !only && i.result_count == 0 && k[i.blocks[1]].insts.size() == 1) {
            only = &i;
        } else if (i.op != Op::yield) {
            return {};
        }
    }
    if (!only || last_inst(k, only->blocks[0]).op != Op::yield || last_inst(k, only->blocks[1]).op != Op::yield) return {};
    const Value condition = k.operands(*only)[0];
    const InstId source = k[condition].inst;
    if (emit.pure.all_in_range && source.id != none && k[source].op == Op::in_range) return bound_of(k[only->blocks[0]].insts);
    return bound_in(condition);
}

Value IterationSpaceNarrowing::bound_in(Value condition) const {
    const InstId source = k[condition].inst;
    if (source.id == none) return {};
    const Inst& i = k[source];
    const auto v = k.operands(i);
    if (i.op == Op::and_) {
        const Value first = bound_in(v[0]);
        return first ? first : bound_in(v[1]);
    }
    if (i.op != Op::lt && i.op != Op::eq) return {};
    const InstId item = k[v[0]].inst;
    if (item.id == none || k[item].op != Op::local_index || k[item].immediate != 0) return {};
    uint64_t limit = 0;
    const bool constant = k.constant(v[1], limit);
    return (i.op == Op::lt ? constant || plan.regions.context_saves[v[1].id].outer : constant && limit == 0) ? condition
                                                                                                             : Value{};
}

/// The number of items of each row below the bound.
std::string IterationSpaceNarrowing::bounded_row(Value bound) {
    const Inst& i = k[k[bound].inst];
    const Value limit = k.operands(i)[1];
    uint64_t bits = 0;
    if (k.constant(limit, bits))
        return std::to_string(std::clamp<int64_t>(i.op == Op::eq ? 1 : int32_t(bits), 0, variant.group[0]));
    out.declare("declare i32 @llvm.smin.i32(i32, i32)");
    return out.let(text("call i32 @llvm.smin.i32(i32 ", packet.scalar(limit), ", i32 ", variant.group[0], ")"));
}

}  // namespace pumice::cpu
