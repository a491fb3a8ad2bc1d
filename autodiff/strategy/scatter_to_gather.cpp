// Scatter-to-gather: the adjoint of a stencil as a stencil (a pull instead of a push).
//
// A stencil reads x[i + c] for several constants c. Its plain adjoint scatters: item i adds to dx[i + c] for every c, with
// atomics, since neighbours add to the same elements. Turned around, item e computes for each c the contribution of item e - c
// and adds the sum to its own dx[e] once.
//
//     primal     y[i] = x[i - 1] * x[i + 1]
//     scatter    atomic dx[i - 1] += dy[i] * x[i + 1];   atomic dx[i + 1] += dy[i] * x[i - 1]
//     gather     dx[i] += dy[i + 1] * x[i + 2] + dy[i - 1] * x[i - 2]
//
// This file decides legality and parses the indices: global_index + constant, clamped by min and max, or modulo a period.
// emit_gather.cpp and emit_halo_gather.cpp emit the code, with conditions for the boundary of the range and for elements outside.
//
// Cost: each contribution is computed by the item that receives it, so subexpressions that several loads share are computed once
// per load. The sweep gives up above 6,000 instructions. A second launch clears the shadows of the stores (clear_shadows.cpp).
// Limits: no loops, calls, atomics or local memory; an index must have the rank of the range, each axis once, in i32; |shift| at
// most 2^20. In halves the contributions must not depend on loads.
// See Hueckelheim, Kukreja, Narayanan, Luporini, Gorman and Hovland,
// "Automatic Differentiation for Adjoint Stencil Loops", ICPP 2019.
#include "autodiff/strategy/scatter_to_gather.h"

#include <algorithm>
#include <cmath>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/rules/derivative_rules.h"
#include "core/analysis/rematerialisation.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// Values that another item cannot compute for this one.
bool of_the_group(Op op) {
    return op != Op::global_index && has_trait(op, traits::by_item | traits::by_subgroup | traits::by_group);
}

const Inst* made_by(const Kernel& k, Value v) { return k[v].inst.id == none ? nullptr : &k[k[v].inst]; }

/// Bounds of the partially parsed sum. A larger shift might wrap (GatherEmitter::few_meet).
bool stays_near(const Gather::Index& index) {
    return std::abs(index.shift) <= Gather::farthest && std::abs(index.wraps) <= Gather::most_wraps;
}

/// Parses an index as global_index(axis) + constant; with a base, multiples of the base may be added.
bool shifted_index(const Kernel& k, Value v, Gather::Index& index, Value base = {}) {
    const Inst* i = made_by(k, v);
    if (!i || k.type_of(v) != Scalar::i32) return false;
    if (i->op == Op::global_index) return index.axis = int(i->immediate), stays_near(index);
    if (i->op != Op::add && i->op != Op::sub) return false;
    const auto operands = k.operands(*i);
    for (size_t o = 0; o < 2; ++o) {
        uint64_t bits = 0;
        if (i->op == Op::sub && o == 0) continue;
        const int sign = i->op == Op::add ? 1 : -1;
        if (k.constant(operands[o], bits))
            index.shift += sign * int64_t(int32_t(bits));
        else if (base && operands[o] == base)
            index.wraps += sign;
        else
            continue;
        return stays_near(index) && shifted_index(k, operands[1 - o], index, base);
    }
    return false;
}

/// Parses an index with clamps, or modulo a period.
bool parse(const Kernel& k, Value v, Gather::Index& index) {
    const Inst* i = made_by(k, v);
    if (!i || k.type_of(v) != Scalar::i32) return false;
    const auto operands = k.operands(*i);
    if (i->op == Op::rem) {
        if (!same_for_all(k, operands[1])) return false;
        index.period = operands[1];
        return shifted_index(k, operands[0], index, index.period);
    }
    if (i->op != Op::min && i->op != Op::max) return shifted_index(k, v, index);
    const size_t bound = same_for_all(k, operands[1]) ? 1 : 0;
    Value& end = i->op == Op::min ? index.high : index.low;
    if (!same_for_all(k, operands[bound]) || end) return false;
    end = operands[bound];
    if (!index.high || !index.low) index.low_last = i->op == Op::max;
    return parse(k, operands[1 - bound], index) && !index.period;
}

}  // namespace

Gather::Gather(const Kernel& kernel, const Structure& structure, const Analysis& what, bool split_mode)
    : k(kernel), where(structure), analysis(what), users_of(k.values.size()) {
    for (const InstId id : where.order()) {
        const auto v = k.operands(k[id]);
        for (size_t o = 0; o < v.size(); ++o)
            if ((analysis.moves(id) || k[id].op == Op::yield) && analysis.active(v[o])) users_of[v[o].id].emplace_back(id, o);
    }
    of_kernel = why_not_straight_line();
    if (!of_kernel.condition && split_mode && stores_need_loads())
        of_kernel = {"in two kernels, contributions to stored elements may not depend on loads"};
    if (of_kernel.condition) return;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.op != Op::load || !analysis.active(k.result(i))) continue;
        Load load{id, {}, {}};
        Loads& list = loads[i.memory.id];
        const char* problem = find_index(i, load);
        if (!problem && !list.empty() && list[0].axes != load.axes)
            problem = "loads of the array name the axes of the range in different orders";
        if (problem) of_memories.try_emplace(i.memory.id, Refusal{problem});
        list.push_back(load);
    }
    for (const auto& [m, problem] : of_memories) loads.erase(m);
    // A memory with one offset needs no gather: the elements of different items are disjoint. In halves, the contribution of
    // another item must not depend on loads: the arrays may have changed, and the tape of an item holds only its own values.
    std::erase_if(loads, [&](const auto& entry) {
        const auto& list = entry.second;
        if (split_mode && std::ranges::any_of(list, [&](const Load& l) { return adjoint_needs_loads(k.result(k[l.load])); })) {
            of_memories[entry.first] = {"in two kernels, a contribution may not depend on loads"};
            return true;
        }
        return std::ranges::all_of(list, [&](const Load& l) { return l.simple() && l.offset() == list[0].offset(); });
    });
}

/// True if at most one of two instructions runs: they stand in different arms of an if.
bool Gather::exclusive(InstId a, InstId c) const {
    for (BlockId block = where.block_of(a);; block = where.block_of(where.owner_of(block))) {
        const InstId owner = where.owner_of(block);
        if (owner.id == none) return false;
        const BlockId other = k[owner].blocks[k[owner].blocks[0] == block ? 1 : 0];
        if (where.ancestor_in(other, c).id != none) return true;
    }
}

Gather::Refusal Gather::why_not(MemoryId m) const {
    if (of_kernel.condition) return of_kernel;
    const auto known = of_memories.find(m.id);
    return known == of_memories.end() ? Refusal() : known->second;
}

/// The condition of the kernel that does not hold, if there is one.
Gather::Refusal Gather::why_not_straight_line() const {
    if (k.whole_groups) return {"items past the range run"};
    if (k.rank == 0) return {"a function has no range"};
    const MemoryEffects effects(k, k.body().insts);
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (is_pure(i.op) && !of_the_group(i.op)) continue;
        if (i.op == Op::return_ || i.op == Op::yield || i.op == Op::if_) continue;
        if (is_loop(i.op)) return {"the kernel has a loop", id};
        if (is_barrier(i.op)) return {"the kernel has a barrier", id};
        if (i.memory.id != none && is_atomic(i.op)) return {"the kernel has an atomic", id};
        if (i.op != Op::load && i.op != Op::store) return {"an instruction has another result for another item", id};
        if (k[i.memory].kind != MemoryKind::array) return {"the kernel has memory of its own", id};
        if (effects.reads(i.memory) && effects.writes(i.memory)) return {"the kernel reads and writes", {}, i.memory};
    }
    // An item stores each scalar of an element at most once.
    for (const InstId a : where.order())
        for (const InstId c : where.order())
            if (a.id < c.id && k[a].op == Op::store && k[c].op == Op::store && k[a].memory == k[c].memory &&
                k[a].leaf == k[c].leaf && !exclusive(a, c))
                return {"an item may store to one element more than once", c};
    return {};
}

/// Parses the indices. Returns the condition that does not hold, if there is one.
const char* Gather::find_index(const Inst& inst, Load& load) const {
    if (k[inst.memory].rank != k.rank) return "the array has another number of dimensions than the range";
    size_t dimension = 0;
    for (const Value v : indices_of(k, inst)) {
        Index index;
        if (!parse(k, v, index)) return "an index is not the item's own plus a constant";
        if (index.axis >= k.rank || load.index[size_t(index.axis)].axis >= 0) return "two indices follow one axis of the range";
        load.index[size_t(index.axis)] = index;
        load.axes[dimension++] = index.axis;
    }
    return nullptr;
}

bool Gather::Load::simple() const {
    return std::ranges::none_of(index, [](const Index& i) { return i.low || i.high || i.period; });
}

Gather::Offset Gather::Load::offset() const { return {index[0].shift, index[1].shift, index[2].shift}; }

bool Gather::alone_beyond(const Loads& list) {
    for (const Load& l : list)
        if (!l.simple()) return false;
    for (size_t a = 0; a < list.size(); ++a)
        for (size_t c = a + 1; c < list.size(); ++c)
            for (size_t axis = 0; axis < 3; ++axis)
                if (list[a].index[axis].shift * list[c].index[axis].shift > 0) return false;
    return true;
}

bool Gather::can_extend_range() const {
    if (loads.empty() || !knows_indices_only(k)) return false;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (analysis.moves(id) && (i.op == Op::argument || (i.op == Op::load && !has(i.memory)))) return false;
    }
    return std::ranges::all_of(
        loads, [](const auto& entry) { return std::ranges::all_of(entry.second, [](const Load& l) { return l.simple(); }); });
}

bool Gather::always() const {
    return std::ranges::all_of(loads, [&](const auto& entry) {
        return std::ranges::all_of(entry.second, [&](const Load& l) { return where.block_of(l.load).id == 0; });
    });
}

std::pair<Gather::Offset, Gather::Offset> Gather::reach(const Loads& list) {
    std::pair<Offset, Offset> all{};
    for (const Load& l : list)
        for (size_t axis = 0; axis < 3; ++axis) {
            all.first[axis] = std::max(all.first[axis], -l.index[axis].shift);
            all.second[axis] = std::max(all.second[axis], l.index[axis].shift);
        }
    return all;
}

std::pair<Gather::Offset, Gather::Offset> Gather::reach() const {
    Loads all;
    for (const auto& entry : loads) all.insert(all.end(), entry.second.begin(), entry.second.end());
    return reach(all);
}

bool Gather::around(const Loads& list) {
    for (size_t axis = 0; axis < 3; ++axis) {
        const auto on_side = [&](int64_t sign) {
            return std::ranges::any_of(list, [&](const Load& l) { return sign * l.index[axis].shift >= 0; });
        };
        if (!on_side(1) || !on_side(-1)) return false;
    }
    return true;
}

// ---- dependence on loads ----

bool Gather::needs_loads(Value v) const { return !Rematerialisation(k).of(v); }

/// The conditions around the block count too: another item has to evaluate them.
bool Gather::path_needs_loads(BlockId block) const {
    for (InstId owner = where.owner_of(block); owner.id != none; owner = where.around(owner))
        if (needs_loads(k.operands(k[owner])[0])) return true;
    return false;
}

bool Gather::stores_need_loads() const {
    for (const InstId id : where.order()) {
        if (k[id].op != Op::store) continue;
        for (const Value v : indices_of(k, k[id]))
            if (needs_loads(v)) return true;
        if (path_needs_loads(where.block_of(id))) return true;
    }
    return false;
}

bool Gather::adjoint_needs_loads(Value v) const {
    if (path_needs_loads(where.block_of(k[v].inst))) return true;
    for (const auto& [id, o] : users_of[v.id]) {
        const Inst& i = k[id];
        const auto operands = k.operands(i);
        if (path_needs_loads(where.block_of(id))) return true;
        if (i.op == Op::store) continue;  // its indices are checked in stores_need_loads
        if (is_scalar_op(i.op) && vanishes(i.op, int(o))) continue;
        const Value result = i.op == Op::yield ? k.result(k[where.around(id)], int(o)) : k.result(i);
        if (!analysis.active(result)) continue;
        if (i.op == Op::select && needs_loads(operands[0])) return true;
        if (is_scalar_op(i.op)) {
            const unsigned what = uses(i.op, int(o));
            for (size_t n = 0; n < operands.size(); ++n)
                if ((what & (1u << n)) && needs_loads(operands[n])) return true;
            if ((what & uses_result) && needs_loads(result)) return true;
        }
        if (adjoint_needs_loads(result)) return true;
    }
    return false;
}

}  // namespace pumice::derive
