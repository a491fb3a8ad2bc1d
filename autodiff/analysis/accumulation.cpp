// Race analysis of adjoint accumulation: which addition to a shadow element is the cheapest safe one.
//
// The adjoint of a load is an addition to the shadow, and two items may add to the same element. An atomic addition is always
// right, but slow. A plain addition is right where no other item touches the element in the same phase (between two barriers):
// the memory is private, or this item also stores to the same place (then a second item would be a race of the primal), or the
// indices of all active loads of the memory are disjoint between items (item_disjointness.h). An element whose index is the same
// for all items, in an array that the kernel does not write, gets a sum over the items (adjoint_reductions.cpp).
//
//     primal                      adjoint
//     %x = load arg2[%i]          %s = load d2[%i];  store d2[%i], %s + %dx        plain
//     %x = load arg2[%n]          a register, then an atomic add to a group cell   group   (%n an argument, arg2 not written)
//     %x = load arg2[%table]      atomic add d2[%table], %dx                       atomic  (%table = load arg3[%i])
//
// Cost: a pass over the kernel for each active load, and an affine form of each pair of indices.
// Limits: only affine indices with constant factors are proven disjoint. Local memory is atomic unless the item owns the element.
// Compare FormAD: Hueckelheim and Hascoet, "Automatic Differentiation of Parallel Loops with Formal Methods", ICPP 2022.
#include "autodiff/analysis/accumulation.h"

#include <algorithm>

#include "autodiff/analysis/item_disjointness.h"
#include "core/analysis/alias.h"
#include "core/analysis/rematerialisation.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// True if this item also stores to the place of the load, in the same phase: the element then belongs to the item.
bool owns(const Kernel& k, const Structure& where, InstId load) {
    const Inst& i = k[load];
    const auto barrier_between = [&](InstId a, InstId b, BlockId block) {
        const auto& insts = k[block].insts;
        auto first = std::ranges::find(insts, a), last = std::ranges::find(insts, b);
        if (last < first) std::swap(first, last);
        return std::any_of(first, last + 1, [&](InstId at) { return contains_barrier(k, k[at]); });
    };
    for (const InstId id : where.order()) {
        if (k[id].op != Op::store || k[id].memory != i.memory || !must_alias(location_of(k, k[id]), location_of(k, i))) continue;
        const BlockId block = where.block_of(id);
        const InstId at = where.ancestor_in(block, load);
        // The load may stand in a loop or an if of the block: all its iterations touch this one element.
        if (at.id != none && !barrier_between(at, id, block)) return true;
    }
    return false;
}

}  // namespace

bool knows_indices_only(const Kernel& k) {
    const auto asks = [](const Inst& i) {
        const bool by_launch = is_given(i.op) && i.op != Op::global_index && !is_launch_constant(i.op);
        return by_launch || i.op == Op::subgroup || i.op == Op::barrier;
    };
    return !k.whole_groups && std::ranges::none_of(k.insts, asks) &&
           std::ranges::none_of(k.memories, [](const Memory& m) { return m.kind == MemoryKind::local; }) &&
           std::ranges::all_of(k.params, [](const Parameter& p) { return p.origin == ParameterOrigin::argument; });
}

bool same_for_all(const Kernel& k, Value v) {
    return Rematerialisation(k, [](const Inst& i) { return is_launch_constant(i.op); }).of(v);
}

Accumulation accumulation(const Kernel& k, const Structure& where, const Analysis& analysis, InstId load,
                          std::vector<ItemLimit>* limits) {
    const Inst& i = k[load];
    const Memory& memory = k[i.memory];
    if (memory.kind == MemoryKind::private_) return Accumulation::plain;
    if (owns(k, where, load)) return Accumulation::plain;
    if (memory.kind == MemoryKind::local) return Accumulation::atomic;
    bool written = false, apart = true;
    std::vector<ItemLimit> found;
    for (const InstId id : where.order()) {
        const Inst& other = k[id];
        if (other.memory != i.memory) continue;
        written = written || writes_memory(other.op);
        if (other.op != Op::load || !analysis.active(k.result(other))) continue;
        apart = apart && items_apart(k, where, indices_of(k, i), indices_of(k, other), analysis.any_range(), found);
    }
    if (apart && limits) limits->insert(limits->end(), found.begin(), found.end());
    if (apart) return Accumulation::plain;
    const auto indices = indices_of(k, i);
    const bool uniform = std::ranges::all_of(indices, [&](Value v) { return same_for_all(k, v); });
    return uniform && !written ? Accumulation::group : Accumulation::atomic;
}

}  // namespace pumice::derive
