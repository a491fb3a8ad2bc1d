// Shadow memory in the reverse sweep: the adjoints of loads, stores and atomics.
//
// The adjoint of a load is added to the shadow of its element: plainly, atomically, or as a part of a sum over all items
// (accumulation.h). A store consumes the shadow of its element: its adjoint is read from the shadow, which is then set to zero.
// The store of this zero is delayed until another access may meet the element, and at the latest until the next barrier,
// construct or end of a block. For a[i] = f(a[i]) the addition that follows replaces the zero, and one load and one store remain.
//
//     %x = load a[%i]          %d = load da[%i]
//     %y = sin %x              store da[%i], %d * (cos %x)         one store: no zero, no addition
//     store a[%i], %y
//
// Cost: a load and a store, or an atomic, for each access. Limits: atomics other than add and sub have no rule (tape.cpp).
#include "autodiff/sweep/shadow_updates.h"

#include "autodiff/sweep/adjoint_accumulators.h"
#include "autodiff/sweep/adjoint_reductions.h"
#include "autodiff/sweep/kept_values.h"
#include "core/analysis/alias.h"

namespace pumice::derive {

using namespace ir;

void ShadowUpdates::reverse_load(InstId id) {
    const Inst& i = from[id];
    if (!analysis.active(i.memory, i.leaf)) return;
    for (int w = 0; w < width; ++w)
        if (const Value adjoint = accumulators.take(from.result(i), w)) accumulate(id, w, adjoint);
}

void ShadowUpdates::reverse_store(const Inst& i) {
    const std::vector<Value> indices = kept.provided(indices_of(from, i));
    for (int w = 0; w < width; ++w) {
        const MemoryId shadow = state.shadows->of(i.memory, w);
        const MemoryLocation location{shadow, i.leaf, indices};
        bool overwritten = false;  // a later store to the same element has consumed the shadow
        for (const PendingZero& p : pending) overwritten = overwritten || must_alias({p.memory, p.leaf, p.indices}, location);
        if (overwritten) continue;
        flush(shadow, i.leaf, indices, false);
        const Value adjoint = b.load(shadow, i.leaf, indices);
        if (!gathers() && sweep_kind != SweepKind::pairwise) pending.push_back({shadow, i.leaf, indices, adjoint});
        accumulators.add(from.operands(i).back(), w, adjoint);
    }
}

void ShadowUpdates::reverse_atomic(const Inst& i) {
    const Value value = from.operands(i).back();
    if (!analysis.active(value)) return;
    const std::vector<Value> indices = kept.provided(indices_of(from, i));
    for (int w = 0; w < width; ++w) {
        const MemoryId shadow = state.shadows->of(i.memory, w);
        flush(shadow, i.leaf, indices, true);
        const Value adjoint = b.load(shadow, i.leaf, indices);
        accumulators.add(value, w, Atomic(i.immediate) == Atomic::sub ? b.op(Op::neg, {adjoint}) : adjoint);
    }
}

/// True if other items, or owners, add what this load gives.
bool ShadowUpdates::taken_by_others(InstId load) const {
    return (gathers() && primal.gather.has(from[load].memory)) ||
           (sweep_kind == SweepKind::pairwise && primal.pairwise.has(load)) ||
           (sweep_kind == SweepKind::beside_owners && primal.owners.has(load)) ||
           (sweep_kind == SweepKind::beside_footprints && primal.footprints.has(load));
}

void ShadowUpdates::accumulate(InstId load, int w, Value term) {
    const Inst& i = from[load];
    if (taken_by_others(load)) return;
    const MemoryId shadow = state.shadows->of(i.memory, w);
    const Accumulation how = accumulation(from, where, analysis, load, &state.limits);
    const Accumulated note{i.loc, from[i.memory].name, how};
    if (w == 0) state.accumulated.push_back(note);
    if (how == Accumulation::group) return accumulators.add(reductions.sum(shadow, i.leaf, indices_of(from, i), i.type), term);
    const std::vector<Value> indices = kept.provided(indices_of(from, i));
    if (diverted && primal.loop_partial_sums.has(load)) return diverted->push_back({shadow, i.leaf, indices, term, b.loc});
    // Items of several iterations add to one element.
    if (sweep_kind == SweepKind::interchanged && how == Accumulation::plain) state.gave_up = true;
    const MemoryLocation location{shadow, i.leaf, indices};
    for (size_t p = 0; p < pending.size(); ++p) {
        if (!must_alias({pending[p].memory, pending[p].leaf, pending[p].indices}, location)) continue;
        // The held-back zero of this element and the addition become one store of the term. If the term is the value that was
        // loaded, nothing has to be stored.
        const bool unchanged = pending[p].loaded == term;
        pending.erase(pending.begin() + long(p));
        if (!unchanged) b.store(shadow, i.leaf, indices, term);
        return;
    }
    flush(shadow, i.leaf, indices, true);
    if (how == Accumulation::atomic)
        b.atomic(shadow, i.leaf, Atomic::add, indices, term);
    else
        b.store(shadow, i.leaf, indices, b.op(Op::add, {b.load(shadow, i.leaf, indices), term}));
}

void ShadowUpdates::flush() {
    for (const PendingZero& p : pending) b.store(p.memory, p.leaf, p.indices, zero(to[p.memory].element.leaves[p.leaf].type));
    pending.clear();
}

/// Emits the zeros of elements that an access to this element may alias.
void ShadowUpdates::flush(MemoryId memory, uint32_t leaf, std::span<const Value> indices, bool also_same) {
    const MemoryLocation location{memory, leaf, indices};
    std::erase_if(pending, [&](const PendingZero& p) {
        const MemoryLocation held{p.memory, p.leaf, p.indices};
        if (!may_alias(to, held, location) || (!also_same && must_alias(held, location))) return false;
        b.store(p.memory, p.leaf, p.indices, zero(to[p.memory].element.leaves[p.leaf].type));
        return true;
    });
}

}  // namespace pumice::derive
