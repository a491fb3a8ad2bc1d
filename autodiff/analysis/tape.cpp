// Rematerialisation versus taping: which values of the primal the reverse sweep needs, and how it gets each.
//
// Demand: an adjoint rule names the operands or the result that it uses (x of sin x, the condition of an if, the indices of a
// load); only these are needed. Supply, the first that applies (choose()):
//   rematerialised  constants, arguments and indices
//   live            defined in the body of the kernel, outside of loops and ifs; or the index of a reversed for
//   variable        defined in an if, outside of loops
//   rematerialised  in loops: pure instructions, and loads of memory that the kernel does not write. Their operands are needed
//                   then. Also an integer that a loop increments by a fixed step (induction), and loads of private memory that
//                   is not written any more afterwards, or that each iteration of a loop fills again (private_refills.cpp)
//   taped           the rest: loop-carried values, results of ifs and loops inside of loops, loads of memory that is written
//
//     %y = for %k = .. carry (%c = %x) {     reverse: for %k backwards {
//       %s = sin %c                            %c = pop
//       %p = mul %s, %s                        %s = sin %c              (again)
//       yield %p                               %dc = %dp * 2 * %s * cos %c
//     }                                      }
//
// Two exceptions save the tape of common loops: a running maximum (argmax_reduction.cpp), and tiles of local memory, which the
// reverse of the loop's body fills again (refilled()).
// Cost: one traversal from the active instructions; at run time a pure expression may be computed once more.
// Limits: the choice is a rule, not a cost model: a costly pure expression is computed again, however long it is. In a split
// derivative (`split_mode`) only the index of a reversed for is live, there are no variables, and no load from an array or from
// private memory is repeated: the arrays may have changed.
// See Griewank and Walther, "Evaluating Derivatives"; Hascoet, Naumann and Pascual, "'To be recorded' analysis in reverse-mode
// automatic differentiation", 2005.
#include "autodiff/analysis/tape.h"

#include <algorithm>

#include "autodiff/rules/derivative_rules.h"
#include "autodiff/rules/subgroup_rules.h"
#include "core/analysis/rematerialisation.h"
#include "core/ir/named.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

TapePlan::TapePlan(const Kernel& kernel, const Structure& structure, const Analysis& what, bool split)
    : k(kernel),
      where(structure),
      analysis(what),
      split_mode(split),
      effects(k),
      argmax_values(k.insts.size()),
      use_list(k),
      in_step_loops(k.insts.size()) {
    for (const InstId id : where.order()) argmax_values[id.id] = find_argmax_value(id);
    demand_all();
    // Each iteration pops what it has pushed, so a loop with taped values must be reversed iteration by iteration.
    bool refused = false;
    for (const InstId id : where.order())
        if (argmax_values[id.id] && pushes_inside(id)) argmax_values[id.id] = {}, refused = true;
    if (refused) demand_all();
    for (auto& values : by_block) std::ranges::sort(values, [](Value a, Value b) { return a.id < b.id; });
}

void TapePlan::demand_all() {
    sources.assign(k.values.size(), ValueSource::unneeded);
    count_sources.assign(k.insts.size(), ValueSource::unneeded);
    by_block.assign(k.blocks.size(), {});
    counts_by_block.assign(k.blocks.size(), {});
    refills_of.assign(k.blocks.size(), {});
    reread.assign(k.memories.size(), false);
    for (const InstId id : where.order())
        if (analysis.moves(id)) demand(id);
}

BlockId TapePlan::home(BlockId block) const {
    const InstId owner = where.owner_of(block);
    return owner.id != none && k[owner].op == Op::while_ ? k[owner].blocks[1] : block;
}

BlockId TapePlan::home(Value v) const { return home(where.block_of(v)); }

bool TapePlan::any_order(InstId id) const {
    const Inst& loop = k[id];
    if (loop.op != Op::for_ || in_step(id) || argmax_value(id) || pushes_inside(id)) return false;
    const BlockId contents = loop.blocks[0];
    const auto yielded = k.operands(last_inst(k, contents));
    for (uint32_t c = 0; c < loop.result_count; ++c) {
        const Value param = k[contents].params[1 + c];
        if (sources[param.id] == ValueSource::induction) return false;
        if (!analysis.active(param) || yielded[c] == param) continue;
        // A use of the sum inside the loop would get an adjoint that depends on the number of iterations after it.
        int uses = 0;
        if (!adds_to(param, yielded[c], uses) || uses != int(use_list.count(param))) return false;
    }
    return !any_inside(k, loop, [&](InstId inner) {
        const Op op = k[inner].op;
        if (!analysis.moves(inner)) return is_barrier(op);
        return !is_pure(op) && op != Op::load && op != Op::if_ && op != Op::for_ && op != Op::yield;
    });
}

/// True if the value is `sum` plus other terms, also under conditions, and has no other use than the next sum. Counts the
/// uses of `sum` in it.
bool TapePlan::adds_to(Value sum, Value v, int& uses) const {
    if (v == sum) return ++uses > 0;
    if (k[v].inst.id == none || use_list.count(v) != 1) return false;
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    if (i.op == Op::if_) {
        return std::all_of(i.blocks, i.blocks + 2,
                           [&](BlockId arm) { return adds_to(sum, k.operands(last_inst(k, arm))[k[v].index], uses); });
    }
    if (i.op == Op::sub) return adds_to(sum, operands[0], uses);
    if (i.op != Op::add) return false;
    int first = uses;  // the first operand may have counted uses before it turned out to be no sum
    return adds_to(sum, operands[0], first) ? (uses = first) > 0 : adds_to(sum, operands[1], uses);
}

// ---- what is needed ----

void TapePlan::demand(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    if (accesses_memory(i.op)) return demand_access(i);
    switch (i.op) {
        case Op::if_: return need(v[0]);
        case Op::for_:
            for (int bound = 0; bound < 3; ++bound) need(v[size_t(bound)]);
            return;
        case Op::while_: return need_count(id);
        case Op::subgroup: return demand_subgroup(id);
        case Op::call:
            for (const Value operand : v) need(operand);
            for (const Value result : results_of(k, i)) need(result);
            return;
        default: return demand_operation(i);
    }
}

void TapePlan::demand_operation(const Inst& i) {
    const auto v = k.operands(i);
    if (i.op == Op::select) return need(v[0]);
    if (!is_scalar_op(i.op)) return;
    if (const Value final = final_min_max(i)) {
        if (!argmax_values[where.owner_of(k[v[0]].block).id]) need(final), need(v[1]);
        return;
    }
    for (size_t o = 0; o < v.size(); ++o) {
        if (!analysis.active(v[o]) || vanishes(i.op, int(o))) continue;
        if (has_none(i.op, int(o)))
            fail(named(k), " is differentiated through the op ", name_of(i.op), " on line ", i.loc.line,
                 ", which has no derivative");
        const unsigned from = uses(i.op, int(o));
        for (size_t n = 0; n < v.size(); ++n)
            if (from & (1u << n)) need(v[n]);
        if (from & uses_result) need(k.result(i));
    }
}

void TapePlan::demand_subgroup(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const Subgroup what = Subgroup(i.immediate);
    if (!uniformity) uniformity = std::make_unique<Uniformity>(k);
    for (InstId around = where.around(id); around.id != none; around = where.around(around))
        if (is_loop(k[around].op) && uniformity->parting(around) > Scope::subgroup) in_step_loops[around.id] = true;
    if (needs_operand(what)) need(v[0]);
    if (needs_lane(what)) need(v[1]);
}

void TapePlan::demand_access(const Inst& i) {
    const auto refuse = [&](std::string_view what) {
        fail(named(k), " is differentiated in reverse through an atomic ", what, " of differentiated memory on line ", i.loc.line,
             ", which has no reverse rule");
    };
    if (is_atomic(i.op) && i.op != Op::atomic) refuse(name_of(i.op));
    if (i.op == Op::atomic) {
        const Atomic what = Atomic(i.immediate);
        if (what == Atomic::min) refuse("min");
        if (what == Atomic::max) refuse("max");
        if (what == Atomic::exchange) refuse("exchange");
        if (analysis.active(k.result(i)))
            fail(named(k), " is differentiated in reverse through the old value of the atomic on line ", i.loc.line,
                 ", which depends on the order of the work-items and has no derivative");
        if (!analysis.active(k.operands(i).back())) return;
    }
    for (const Value index : indices_of(k, i)) need(index);
}

void TapePlan::need(Value v) {
    if (sources[v.id] != ValueSource::unneeded) return;
    sources[v.id] = ValueSource::live;  // while the operands are visited: a cycle passes through a taped value
    sources[v.id] = choose(v);
    by_block[home(v).id].push_back(v);
}

void TapePlan::need_count(InstId loop) {
    if (count_sources[loop.id] != ValueSource::unneeded) return;
    const BlockId block = home(where.block_of(loop));
    count_sources[loop.id] = block.id == 0 && !split_mode ? ValueSource::live : kept(block);
    counts_by_block[block.id].push_back(loop);
}

ValueSource TapePlan::kept(BlockId block) const {
    return split_mode || in_loop(block) ? ValueSource::taped : ValueSource::variable;
}

bool TapePlan::reloadable(const Inst& load) const { return !split_mode && !effects.writes(load.memory); }

ValueSource TapePlan::choose(Value v) {
    const ValueInfo& info = k[v];
    const BlockId block = home(v);
    if (info.inst.id == none) {  // a parameter of a loop
        const Inst& loop = k[where.owner_of(info.block)];
        if (info.index < leading_params(loop.op)) return ValueSource::live;
        const Value grows = increment(v);
        if (!grows) return ValueSource::taped;
        need(grows);
        need(k.operands(loop)[leading_operands(loop.op) + info.index - leading_params(loop.op)]);
        return ValueSource::induction;
    }
    const Inst& i = k[info.inst];
    if (is_pure(i.op) && k.operands(i).empty()) return ValueSource::rematerialised;
    if (block.id == 0 && !split_mode) return ValueSource::live;
    const bool looped = in_loop(block);
    if (!looped && !split_mode) return ValueSource::variable;
    const auto repeated = [&](InstId load) {
        return reloadable(i) || refilled(load) || left_as_it_was(load) || refilled_privately(load);
    };
    if (is_pure(i.op) || (i.op == Op::load && repeated(info.inst))) {
        for (const Value operand : k.operands(i)) need(operand);
        return ValueSource::rematerialised;
    }
    return kept(block);
}

bool TapePlan::refilled(InstId load) {
    const MemoryId m = k[load].memory;
    if (k[m].kind != MemoryKind::local) return false;
    // All stores to the memory are in the body of one loop, at indices that are invariant in that loop.
    const std::vector<InstId> stores = stores_to(m);
    if (stores.empty()) return false;
    const BlockId block = where.block_of(stores[0]);
    if (!std::ranges::all_of(stores, [&](InstId store) { return where.block_of(store) == block; })) return false;
    const InstId loop = where.owner_of(block);
    if (loop.id == none || !is_loop(k[loop].op)) return false;
    Rematerialisation invariant(
        k, [](const Inst& i) { return is_pure(i.op); }, [&](Value v) { return !where.defined_in(loop, v); });
    for (const InstId store : stores)
        for (const Value index : indices_of(k, k[store]))
            if (!invariant.of(index)) return false;
    // Order in the block: stores, a barrier, loads inside of constructs, a barrier.
    bool barrier_after_stores = false, read = false, barrier_after_reads = false;
    for (const InstId id : k[block].insts) {
        if (k[id].op == Op::barrier) (read ? barrier_after_reads : barrier_after_stores) = true;
        if (k[id].op == Op::store && k[id].memory == m && (barrier_after_stores || read)) return false;
        if (k[id].op == Op::load && k[id].memory == m) return false;
        if (!any_inside(k, k[id], [&](InstId inner) { return k[inner].op == Op::load && k[inner].memory == m; })) continue;
        if (!barrier_after_stores || id == load) return false;
        read = true;
        barrier_after_reads = false;
    }
    if (!barrier_after_reads) return false;
    for (const InstId id : where.order())
        if (k[id].op == Op::load && k[id].memory == m && where.ancestor_in(block, id).id == none) return false;
    auto& again = refills_of[block.id];
    if (std::ranges::find(again, stores[0]) != again.end()) return true;
    again.insert(again.end(), stores.begin(), stores.end());
    for (const InstId store : stores)
        for (const Value operand : k.operands(k[store])) need(operand);
    return true;
}

Value TapePlan::increment(Value param) const {
    const ValueInfo& info = k[param];
    const InstId id = where.owner_of(info.block);
    const Inst& loop = k[id];
    if (!is_int(info.type)) return {};
    const uint32_t c = info.index - leading_params(loop.op);
    Value step;
    bool steady = true;
    where.each_source(id, c, [&](Value next, InstId by) {
        if (by == id || k[by].op == Op::test) return;
        const InstId source = k[next].inst;
        if (source.id == none || k[source].op != Op::add) return void(steady = false);
        const auto v = k.operands(k[source]);
        step = v[0] == param ? v[1] : v[1] == param ? v[0] : Value{};
        // The increment is a constant or is defined outside of the loop.
        uint64_t bits = 0;
        steady = steady && step && (k.constant(step, bits) || !where.defined_in(id, step));
    });
    return steady ? step : Value{};
}

// ---- how much is pushed ----

std::vector<Value> TapePlan::taped(BlockId block, Scalar type) const {
    std::vector<Value> found;
    for (const Value v : by_block[block.id])
        if (sources[v.id] == ValueSource::taped && stored_as(k.type_of(v)) == type) found.push_back(v);
    return found;
}

std::vector<InstId> TapePlan::taped_counts(BlockId block) const {
    std::vector<InstId> found;
    for (const InstId loop : counts_by_block[block.id])
        if (count_sources[loop.id] == ValueSource::taped) found.push_back(loop);
    return found;
}

}  // namespace pumice::derive
