// Adjoint kernel: the copy of the primal, with the values that it keeps, and then the reverse sweep or the code of a strategy.
//
// The copy leaves out what no live instruction needs (adjoint_liveness.h). At the end of each block it keeps the values that the
// reverse sweep gets from there: in variables, or on the tape (emit_tape.cpp). A counting kernel only counts the pushes.
//
//     %v = var 0
//     if %c { %x = ...;  %v = %x }            ValueSource::variable
//     for { %y = ...;  push %y }              ValueSource::taped
//     reverse sweep
//
// Cost: the live part of the primal. Limits: the kernel must be canonical (canonical_form.h).
#include "autodiff/reverse/adjoint_emitter.h"

#include "autodiff/reverse/elsewhere.h"
#include "autodiff/reverse/emit_footprint_gather.h"
#include "autodiff/reverse/emit_gather.h"
#include "autodiff/reverse/emit_halo_gather.h"
#include "autodiff/reverse/emit_owner_computes.h"
#include "autodiff/reverse/emit_pairwise_loops.h"
#include "autodiff/reverse/reverse_sweep.h"

namespace pumice::derive {

using namespace ir;

AdjointEmitter::AdjointEmitter(const Primal& primal, SweepPart part, SweepKind sweep_kind)
    : Rewriter(primal.kernel),
      context{primal, part, sweep_kind, to, b, state},
      kept{from, [this](Value v) { return of(v); }},
      tape(context, kept),
      provider(context, kept, tape),
      accumulators(context),
      reductions(context, accumulators),
      updates(context, kept, accumulators, reductions),
      partial_sums(context, kept, provider, accumulators, reductions, updates),
      argmax(context, kept) {}

AdjointEmitter::AdjointEmitter(const Primal& primal, const OwnerComputes::Load& load)
    : AdjointEmitter(primal, SweepPart::both, SweepKind::owner) {
    owner = &load;
}

AdjointEmitter::AdjointEmitter(const Primal& primal, const FootprintGather::Owner& gathering)
    : AdjointEmitter(primal, SweepPart::both, SweepKind::footprint) {
    gatherer = &gathering;
}

void AdjointEmitter::body() {
    constexpr const char* suffixes[] = {".adjoint", ".augmented", ".reverse", ".count"};
    const SweepPart part = context.part;
    const SweepKind sweep_kind = context.sweep_kind;
    to.name = from.name + suffixes[int(part)];
    if (context.plan.compares_rematerialised()) to.math = Math::strict;
    b.loc = from.loc;
    if (part != SweepPart::count) state.shadows = std::make_unique<Shadows>(to, from, context.signature, context.analysis, true);
    const bool owned = owner || gatherer;
    if (!owned) state.members = members();
    tape.add_stacks();
    if (!owned && context.has_reverse()) zero_shadows();
    ElsewhereEmitter elsewhere(context);
    GatherEmitter gather(context, elsewhere);
    PairwiseLoopEmitter pairwise(context, kept, elsewhere);
    ReverseSweep sweep(context, kept, provider, accumulators, reductions, updates, pairwise, partial_sums);
    const bool halo_gather = sweep_kind == SweepKind::halo_gather || sweep_kind == SweepKind::halo_gather_by_rows,
               whole = !halo_gather && !owned && sweep_kind != SweepKind::interchanged;
    if (owner) {
        OwnerComputesEmitter(context, reductions, elsewhere).sum_by_owner(*owner);
    } else if (gatherer) {
        FootprintGatherEmitter(context, reductions, elsewhere).gather(*gatherer);
    } else if (sweep_kind == SweepKind::interchanged) {
        partial_sums.sum_in_chunks([&] { sweep.reverse_contents(context.primal.loop_partial_sums.loop, {}); });
    } else if (halo_gather) {
        HaloGatherEmitter halo(context, elsewhere, gather);
        elsewhere.begin();
        const RangeItem at = gather.here();
        if (part == SweepPart::both) {
            begin_copy();
            const Value inside = halo.in_range(at);
            context.emit_if(inside, [&] { insts(BlockId{0}); });
        }
        halo.gather_all(at);
    } else if (part != SweepPart::reverse) {
        begin_copy();
        insts(BlockId{0});
        if (part == SweepPart::augmented || part == SweepPart::count) tape.push(BlockId{0});
        if (part == SweepPart::augmented) tape.save_cursors();
        if (part == SweepPart::count) tape.count_pushes();
    } else {
        tape.restore_cursors();
    }
    if (whole && context.has_reverse()) {
        sweep.reverse_body();
        if (context.gathers()) gather.gather_all();
        reductions.reduce_sums();
    }
    if (part == SweepPart::augmented) reductions.find_sums();  // for the parameters that both halves take
    for (const Memory& m : to.memories) state.argument_of.push_back(m.argument);
    b.loc = from.loc;
    b.terminate(Op::return_);
    if (sweep_kind >= SweepKind::partial_sums) partial_sums.keep_kernel();
}

/// Before the copy of the primal: the analysis of what it needs not compute, and the variables that it sets.
void AdjointEmitter::begin_copy() {
    const TapePlan& plan = context.plan;
    if (context.part != SweepPart::count)
        liveness = std::make_unique<AdjointLiveness>(from, context.where, plan, [this](MemoryId m) { return unneeded(m); });
    for (uint32_t v = 0; v < from.values.size(); ++v)
        if (plan.source_of(Value{v}) == ValueSource::variable) kept.variables[v] = b.var(zero(from.values[v].type));
    for (const InstId id : context.where.order())
        if (plan.count_source(id) == ValueSource::variable) kept.count_variables[id.id] = b.var(zero(Scalar::i32));
    argmax.declare_variables();
}

void AdjointEmitter::inst(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    if (in_function) return copy(id);
    if (liveness && leaves_out(id)) return;
    switch (i.op) {
        case Op::argument:
            return map(from.result(i),
                       b.argument(state.shadows ? state.shadows->param(size_t(i.immediate)) : int(i.immediate), i.type));
        case Op::store:
            if (unneeded(i.memory)) return;
            return copy(id);
        case Op::return_: return;  // the return of the body: the reverse sweep follows
        case Op::yield: {
            const BlockId block = context.where.block_of(id);
            end_of_block(block);
            return copy(id);
        }
        case Op::for_:
            if (context.plan.argmax_value(id)) argmax.count_iterations(id);
            return copy(id);
        case Op::while_:
            if (context.plan.count_source(id) == ValueSource::unneeded) return copy(id);
            counters[id.id] = b.var(zero(Scalar::i32));
            copy(id);
            kept.counts[id.id] = b.get(counters[id.id]);
            return;
        default: return copy(id);
    }
}

/// Leaves out a dead instruction: stores to local and private memory that no live instruction loads, constructs without live
/// instructions, and sums over the group. What contains barriers leaves one barrier.
bool AdjointEmitter::leaves_out(InstId id) {
    const Inst& i = from[id];
    if (liveness->has(id)) return false;
    if (i.op == Op::store) return from[i.memory].kind != MemoryKind::array;
    if (!is_control(i.op) && i.op != Op::group) return false;
    if (contains_barrier(from, i)) b.barrier();
    for (int r = 0; r < i.result_count; ++r) map(from.result(i, r), zero(from.type_of(from.result(i, r))));
    return true;
}

/// True if nobody reads the stores to the array: the kernel does not, and the caller has said DuplicatedNoNeed.
bool AdjointEmitter::unneeded(MemoryId m) const {
    if (from[m].kind != MemoryKind::array || context.signature.params[size_t(from[m].argument)] != Activity::duplicated_no_need)
        return false;
    return !MemoryEffects(from, from.body().insts).reads(m);
}

/// At the end of a block: keeps the values that the reverse sweep needs, in variables and on the tape.
void AdjointEmitter::end_of_block(BlockId block) {
    for (const Value v : context.plan.values_of(block))
        if (context.plan.source_of(v) == ValueSource::variable) b.set(kept.variables[v.id], of(v));
    for (const InstId loop : context.plan.counts_of(block))
        if (context.plan.count_source(loop) == ValueSource::variable)
            b.set(kept.count_variables.at(loop.id), kept.counts.at(loop.id));
    tape.push(block);
    const InstId owner = context.where.owner_of(block);
    if (owner.id != none && context.plan.argmax_value(owner)) return argmax.note_argmax(owner);
    if (owner.id == none || from[owner].op != Op::while_ || context.plan.count_source(owner) == ValueSource::unneeded) return;
    const Value counter = counters.at(owner.id);
    b.set(counter, b.op(Op::add, {b.get(counter), b.constant_int(Scalar::i32, 1)}));
}

Members AdjointEmitter::members() {
    // Axis 0 is the fastest one.
    const int axes = from.rank == 0 ? 3 : from.rank;
    Members m;
    for (int axis = axes - 1; axis >= 0; --axis) {
        const Value size = b.index(Op::group_size, axis), group = b.index(Op::group_index, axis),
                    local = b.index(Op::local_index, axis);
        const Value groups = b.index(Op::group_count, axis), first = b.op(Op::mul, {group, size});
        const Value extent = from.whole_groups ? b.op(Op::mul, {groups, size}) : b.index(Op::global_size, axis);
        const Value inside = members_along(axis);
        const auto next = [&](Value& sum, Value length, Value index) {
            sum = sum ? b.op(Op::add, {b.op(Op::mul, {sum, length}), index}) : index;
        };
        next(m.rank, inside, local);
        next(m.linear, extent, b.op(Op::add, {first, local}));
        next(m.group, groups, group);
        m.count = m.count ? b.op(Op::mul, {m.count, inside}) : inside;
        m.items = m.items ? b.op(Op::mul, {m.items, extent}) : extent;
    }
    return m;
}

/// Clears shadows of local memory by the whole group, shadows of private memory by each item.
void AdjointEmitter::zero_shadows() {
    bool local = false;
    for (uint32_t m = 0; m < from.memories.size(); ++m) {
        const Memory& memory = from.memories[m];
        if (memory.kind == MemoryKind::array || state.shadows->of({m}, 0).id == none) continue;
        const bool shared = memory.kind == MemoryKind::local;
        local = local || shared;
        int64_t elements = 1;
        for (const int64_t e : memory.extents) elements *= e;
        const Value size = to.memories[m].size ? to.memories[m].size : b.constant_int(Scalar::i32, elements);
        const Value first = shared ? state.members.rank : zero(Scalar::i32);
        const Value step = shared ? state.members.count : b.constant_int(Scalar::i32, 1);
        context.emit_for(first, size, step, [&](Value e) {
            for (int w = 0; w < context.width; ++w)
                for (uint32_t leaf = 0; leaf < memory.element.leaves.size(); ++leaf)
                    if (context.analysis.active({m}, leaf))
                        b.store(state.shadows->of({m}, w), leaf, {&e, 1}, zero(memory.element.leaves[leaf].type));
        });
    }
    if (local) b.barrier();
}

}  // namespace pumice::derive
