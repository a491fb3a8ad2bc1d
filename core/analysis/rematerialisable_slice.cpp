#include "core/analysis/rematerialisable_slice.h"

namespace pumice::ir {

bool RematerialisableSlice::add(Value v) {
    if (has(recomputed, v) || has(kept, v)) return true;
    const ValueInfo& info = k[v];
    if (v == k[k[loop].blocks[0]].params[0]) return index = true;
    const bool inside = info.inst.id != none && uniformity.structure().around(info.inst) == loop;
    if (!inside && uniformity.of(v) <= Scope::group) return true;
    if (info.inst.id == none) return false;
    const Inst& i = k[info.inst];
    if (i.op == Op::local_index) {
        axes[i.immediate] = true;
        recomputed.push_back(v);
        return true;
    }
    const RematerialisableSlice before = *this;
    if (recomputable(v, inside)) {
        recomputed.push_back(v);
        return true;
    }
    recomputed = before.recomputed, kept = before.kept, memories = before.memories, axes = before.axes, index = before.index;
    if (inside || uniformity.structure().block_of(info.inst) != BlockId{0} || size_of(info.type) != 4) return false;
    kept.push_back(v);
    return true;
}

bool RematerialisableSlice::recomputable(Value v, bool inside) {
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    if (is_pure(i.op)) {
        if (operands.empty() && uniformity.of(v) > Scope::group) return false;
    } else {
        if (!inside || i.op != Op::load || k[i.memory].kind != MemoryKind::local) return false;
        memories.push_back(i.memory);
    }
    return std::ranges::all_of(operands, [&](Value v) { return add(v); });
}

}  // namespace pumice::ir
