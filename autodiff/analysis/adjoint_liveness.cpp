// Adjoint liveness: dead-code elimination of the primal's copy inside the adjoint kernel.
//
// The adjoint kernel starts with a copy of the primal. An instruction of the copy is live if its effect is visible (stores to
// arrays, atomics, calls, prints), or if the reverse sweep receives its value live, in a variable or from the tape (tape.h).
// Stores to private memory are live if the sweep reads what they leave. A value that the sweep rematerialises does not keep its
// definition alive, nor does local memory that the sweep fills again. The rest is the backward slice of these instructions
// (core/analysis/backward_slice.h), in which a load needs the stores to its memory.
//
//     primal, arg1 DuplicatedNoNeed      copy in the adjoint kernel
//     store local1[%l], %a               - (the sweep stores the tile again)
//     %s = for ... load local1[%k] ...   - (only arg1 needs the sum, and arg1 is not read afterwards)
//     store arg1[%i], %s                 -
//
// Cost: one pass over the instructions, and that of the slice.
// Limits: stores are not matched with loads by index: one live load of a memory, or one atomic, whose old value may be needed,
// keeps all stores to that memory.
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
    : BackwardSlice(kernel, structure) {
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (is_atomic(i.op) || has_trait(i.op, traits::effect | traits::reports)) {
            add(id);
        } else if (i.op == Op::store) {
            if (k[i.memory].kind == MemoryKind::array ? !unseen(i.memory) : plan.rereads(i.memory)) add(id);
        } else if (i.op == Op::for_) {
            if (const Value attained = plan.argmax_value(id)) add(id), add(attained);
        } else if (i.op == Op::while_) {
            if (plan.count_source(id) != ValueSource::unneeded) add(id);
        }
    }
    for (uint32_t v = 0; v < k.values.size(); ++v) {
        if (!is_kept(plan.source_of({v}))) continue;
        // The reversed for computes its index itself.
        const ValueInfo& info = k.values[v];
        const InstId owner = info.inst.id == none ? where.owner_of(info.block) : InstId{};
        const bool index = owner.id != none && k[owner].op == Op::for_ && info.index == 0;
        if (!index) add(Value{v});
    }
    close();
}

}  // namespace pumice::derive
