// Adjoint liveness: dead-code elimination of the primal's copy inside the adjoint kernel.
//
// The adjoint kernel starts with a copy of the primal. An instruction of the copy is live if its effect is visible (stores to
// arrays, atomics, calls, prints), or if the reverse sweep receives its value live, in a variable or from the tape (tape.h).
// Stores to private memory are live if the sweep reads what they leave. A value that the sweep rematerialises does not keep its
// definition alive, nor does local memory that the sweep fills again. The rest of the analysis is the usual backward closure:
// operands, enclosing constructs, sources of loop-carried values, and the stores to memory of which a live load reads.
//
//     primal, arg1 DuplicatedNoNeed      copy in the adjoint kernel
//     store local1[%l], %a               - (the sweep stores the tile again)
//     %s = for ... load local1[%k] ...   - (only arg1 needs the sum, and arg1 is not read afterwards)
//     store arg1[%i], %s                 -
//
// Cost: one pass over the instructions, and one over all stores for each memory with a live load.
// Limits: stores are not matched with loads by index: one live load of a memory keeps all stores to that memory.
// See Hascoet and Araya-Polo, "The Adjoint Data-Flow Analyses: Formalization, Properties, and Applications", AD 2004.
#include "autodiff/analysis/adjoint_liveness.h"

namespace pumice::derive {

using namespace ir;

namespace {
bool is_kept(ValueSource source) {
    return source == ValueSource::live || source == ValueSource::variable || source == ValueSource::taped;
}
}  // namespace

AdjointLiveness::AdjointLiveness(const Kernel& kernel, const Structure& structure, const TapePlan& plan,
                                 const std::function<bool(MemoryId)>& unseen)
    : k(kernel), where(structure), values(k.values.size()), insts(k.insts.size()), memories(k.memories.size()) {
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (is_atomic(i.op) || has_trait(i.op, traits::effect | traits::reports)) {
            need(id);
        } else if (i.op == Op::store) {
            if (k[i.memory].kind == MemoryKind::array ? !unseen(i.memory) : plan.rereads(i.memory)) need(id);
        } else if (i.op == Op::for_) {
            if (const Value attained = plan.argmax_value(id)) need(id), need(attained);
        } else if (i.op == Op::while_) {
            if (plan.count_source(id) != ValueSource::unneeded) need(id);
        }
    }
    for (uint32_t v = 0; v < k.values.size(); ++v) {
        if (!is_kept(plan.source_of({v}))) continue;
        // The reversed for computes its index itself.
        const ValueInfo& info = k.values[v];
        const InstId owner = info.inst.id == none ? where.owner_of(info.block) : InstId{};
        const bool index = owner.id != none && k[owner].op == Op::for_ && info.index == 0;
        if (!index) need(Value{v});
    }
}

void AdjointLiveness::need(Value v) {
    if (values[v.id]) return;
    values[v.id] = true;
    const ValueInfo& info = k[v];
    const InstId id = info.inst.id == none ? where.owner_of(info.block) : info.inst;
    if (id.id == none) return;
    need(id);
    const Inst& i = k[id];
    const uint32_t leading = info.inst.id == none ? leading_params(i.op) : 0;
    if (!is_control(i.op) || info.index < leading) return;
    const uint32_t column = info.index - leading;
    where.each_source(id, column, [&](Value source, InstId) { need(source); });
    if (is_loop(i.op)) need(k[i.blocks[0]].params[leading_params(i.op) + column]);
}

void AdjointLiveness::need(InstId id) {
    if (insts[id.id]) return;
    insts[id.id] = true;
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const size_t own = is_control(i.op) ? leading_operands(i.op) : v.size();
    for (size_t o = 0; o < own; ++o) need(v[o]);
    if (i.op == Op::while_) need(k.operands(last_inst(k, i.blocks[0]))[0]);
    if (const InstId around = where.around(id); around.id != none) need(around);
    if (i.op != Op::load || memories[i.memory.id]) return;
    memories[i.memory.id] = true;
    for (const InstId other : where.order())
        if (k[other].memory == i.memory && k[other].op == Op::store) need(other);
}

}  // namespace pumice::derive
