// Private memory in the reverse sweep: read again, instead of taped element by element, where its contents can be had again.
//
//     Left as it was: nothing writes the memory after the read.
//         for k { store p[%k], %t }                 the sweep reads p[%k] as the primal has left it
//         for k { %u = load p[%k] ... }
//
//     Filled again: each iteration of a loop fills the memory before it reads it.
//         for k {                                   reverse:  for k backwards {
//           for d { store p[%d], %a - %b[%k, %d] }              for d { store p[%d], %a - %b[%k, %d] }     (again)
//           for d { %u = load p[%d] ... }                       for d backwards { %u = load p[%d] ... }
//         }                                                   }
//
// Why: a mixture of Gaussians reads each element of a vector in 20 sums; the tape held a copy for each read.
// Filled again means: all stores are in one store or nest of for loops, in the body of a loop and before the read; their indices
// and bounds are the same in all iterations of all loops around, so that an element that is read was written in the same
// iteration or never; their values follow from what the sweep can have.
// Cost: the fill runs once more for each iteration. Limits: fills under conditions, in while loops or with other effects are
// taped, and so is everything in a split derivative, whose sweep has no private memory of the primal.
// Textbook name: checkpointing by recomputation of a live array section; "to be recorded" analysis (Hascoet, Naumann, Pascual
// 2005).
#include <algorithm>

#include "autodiff/analysis/tape.h"
#include "core/analysis/rematerialisation.h"

namespace pumice::derive {

using namespace ir;

/// The stores to a memory; none if something else writes it.
std::vector<InstId> TapePlan::stores_to(MemoryId m) const {
    std::vector<InstId> stores;
    for (const InstId id : where.order()) {
        if (k[id].memory != m || k[id].op == Op::load || k[id].op == Op::extent) continue;
        if (k[id].op != Op::store) return {};
        stores.push_back(id);
    }
    return stores;
}

/// True if all stores to the private memory stand before what contains the load, in the kernel's body.
bool TapePlan::left_as_it_was(InstId load) {
    const MemoryId m = k[load].memory;
    if (split_mode || k[m].kind != MemoryKind::private_) return false;
    const std::vector<InstId> stores = stores_to(m);
    const InstId read = where.ancestor_in(BlockId{0}, load);
    if (stores.empty() || read.id == none) return false;
    const auto& body = k[BlockId{0}].insts;
    const auto place = [&](InstId id) { return std::ranges::find(body, where.ancestor_in(BlockId{0}, id)); };
    const bool before = std::ranges::all_of(stores, [&](InstId s) { return place(s) < place(load); });
    if (before) reread[m.id] = true;
    return before;
}

/// True if a store to the memory, or a nest of for loops with such stores, can run again, with the same indices each time.
/// `indices` marks the indices of its loops.
bool TapePlan::repeats_fill(InstId fill, MemoryId m, std::vector<bool>& indices) const {
    const auto same_each_time = [&](Value v) {
        return Rematerialisation(
                   k, [](const Inst& i) { return is_pure(i.op); },
                   [&](Value o) { return indices[o.id] || !in_loop(where.block_of(o)); })
            .of(v);
    };
    const Inst& i = k[fill];
    if (i.op == Op::store) {
        const auto places = indices_of(k, i);
        return i.memory == m && std::ranges::all_of(places, same_each_time);
    }
    if (i.op != Op::for_ || i.result_count > 0 || !where.jumps_to(fill).empty()) return false;
    const auto bounds = k.operands(i);
    if (!std::ranges::all_of(bounds, same_each_time)) return false;
    const BlockId body = i.blocks[0];
    indices[k[body].params[0].id] = true;
    return std::ranges::all_of(k[body].insts, [&](InstId inner) {
        const Inst& e = k[inner];
        if (e.op == Op::yield || is_pure(e.op)) return true;
        return e.op == Op::load ? reloadable(e) : repeats_fill(inner, m, indices);
    });
}

/// Needs what the fill takes from outside of it.
void TapePlan::need_fill(InstId fill) {
    const auto need_operands = [&](InstId id) {
        for (const Value v : k.operands(k[id]))
            if (!where.defined_in(fill, v)) need(v);
    };
    need_operands(fill);
    each_inside(k, k[fill], need_operands);
}

/// True if each iteration of a loop around the load fills the private memory before, and the reverse of the body can do so again.
bool TapePlan::refilled_privately(InstId load) {
    const MemoryId m = k[load].memory;
    if (split_mode || k[m].kind != MemoryKind::private_) return false;
    const std::vector<InstId> stores = stores_to(m);
    if (stores.empty()) return false;
    for (InstId loop = where.loop_around(load); loop.id != none; loop = where.loop_around(loop)) {
        if (k[loop].op != Op::for_) continue;
        const BlockId body = k[loop].blocks[0];
        const InstId fill = where.ancestor_in(body, stores[0]), read = where.ancestor_in(body, load);
        const bool one = std::ranges::all_of(stores, [&](InstId s) { return where.ancestor_in(body, s) == fill; });
        if (fill.id == none || !one || fill == read) continue;
        const auto& insts = k[body].insts;
        if (std::ranges::find(insts, fill) > std::ranges::find(insts, read)) return false;
        std::vector<bool> indices(k.values.size());
        if (!repeats_fill(fill, m, indices)) return false;
        auto& again = refills_of[body.id];
        if (std::ranges::find(again, fill) != again.end()) return true;
        again.push_back(fill);
        need_fill(fill);
        return true;
    }
    return false;
}

}  // namespace pumice::derive
