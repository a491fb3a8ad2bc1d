// Reverse mode, driver: the copy of the primal with the values that it keeps, and the kernels of an adjoint.
//
// The adjoint kernel runs the forward sweep (the primal, as far as it is live: adjoint_liveness.h), then the reverse sweep
// (reverse_sweep.cpp). The forward sweep stores values that the reverse sweep cannot compute again: in variables at the end of an
// arm, on the tape at the end of each iteration. In halves the two sweeps are two kernels that share only the tape.
//
//     primal                    adjoint                        (arg2 is the shadow of arg1)
//     %x = load arg1[%i]        %x = load arg1[%i]
//     %y = mul %x, %x           %y = mul %x, %x
//     store arg1[%i], %y        store arg1[%i], %y             end of the forward sweep
//                               %d = load arg2[%i]
//                               store arg2[%i], (%d + %d) * %x
//
// Kernels of other strategies stand beside it, and the host chooses at the launch: the halo-extended gather, pairwise loops,
// owner computes, and loop partial sums. Steps after it sum up cells and clear shadows; a counting kernel before it sizes counted
// tapes.
//
// Cost: a small multiple of the operations of the primal (the cheap-gradient principle); every strategy costs one more run of
// the AdjointEmitter at compile time.
// Limits: the kernel must be canonical (canonical_form.h). A strategy that gives up is left out.
// See Griewank and Walther, "Evaluating Derivatives", 2nd ed., 2008; for GPU kernels Moses et al., "Reverse-Mode Automatic
// Differentiation and Optimization of GPU Kernels via Enzyme", SC 2021.
#include "autodiff/reverse/adjoint.h"

#include <tuple>

#include "autodiff/analysis/canonical_form.h"
#include "autodiff/sweep/adjoint_emitter.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/dead.h"
#include "core/passes/inlining.h"
#include "core/passes/simplify.h"

namespace pumice::derive {

using namespace ir;

AdjointEmitter::AdjointEmitter(const Primal& p, SweepPart which, SweepKind chosen, const OwnerComputes::Load* owned)
    : Rewriter(p.kernel),
      primal(p),
      part(which),
      sweep_kind(chosen),
      owner(owned),
      signature(p.signature),
      width(p.signature.width),
      where(p.where),
      analysis(p.analysis),
      plan(p.plan),
      variables(from.values.size()),
      known(from.values.size()),
      accumulators(from.values.size() * size_t(width)),
      crosses(from.values.size()),
      active_in(from.blocks.size()) {
    for (const InstId id : where.order())
        for (const Value v : from.operands(from[id]))
            if (plan.home(v) != plan.home(where.block_of(id))) crosses[v.id] = true;
    for (uint32_t v = 0; v < from.values.size(); ++v) {
        if (where.block_of(Value{v}).id != none && analysis.active(Value{v}) && crosses[v])
            active_in[plan.home(Value{v}).id].push_back({v});
    }
}

void AdjointEmitter::body() {
    constexpr const char* suffixes[] = {".adjoint", ".augmented", ".reverse", ".count"};
    to.name = from.name + suffixes[int(part)];
    if (plan.compares_rematerialised()) to.math = Math::strict;
    b.loc = from.loc;
    if (part != SweepPart::count) shadows = std::make_unique<Shadows>(to, from, signature, analysis, true);
    if (!owner) members();
    add_stacks();
    if (!owner && (part == SweepPart::both || part == SweepPart::reverse)) zero_shadows();
    const bool halo_gather = sweep_kind == SweepKind::halo_gather || sweep_kind == SweepKind::halo_gather_by_rows,
               whole = !halo_gather && !owner && sweep_kind != SweepKind::interchanged;
    if (owner) {
        sum_by_owner();
    } else if (sweep_kind == SweepKind::interchanged) {
        sum_in_chunks();
    } else if (halo_gather) {
        gather_over_halo();
    } else if (part != SweepPart::reverse) {
        if (part != SweepPart::count)
            liveness = std::make_unique<AdjointLiveness>(from, where, plan, [this](MemoryId m) { return unneeded(m); });
        declare_variables();
        insts(BlockId{0});
        if (part == SweepPart::augmented || part == SweepPart::count) push(BlockId{0});
        if (part == SweepPart::augmented) save_cursors();
        if (part == SweepPart::count) count_pushes();
    } else {
        restore_cursors();
    }
    if (whole && (part == SweepPart::both || part == SweepPart::reverse)) reverse_body();
    if (part == SweepPart::augmented) find_sums();  // for the parameters that both halves take
    for (const Memory& m : to.memories) argument_of.push_back(m.argument);
    b.loc = from.loc;
    b.terminate(Op::return_);
    if (sweep_kind >= SweepKind::partial_sums) partial_sum_cells.swept = std::make_shared<const Kernel>(to);
}

void AdjointEmitter::declare_variables() {
    for (uint32_t v = 0; v < from.values.size(); ++v)
        if (plan.source_of(Value{v}) == ValueSource::variable) variables[v] = b.var(zero(from.values[v].type));
    for (const InstId id : where.order())
        if (plan.count_source(id) == ValueSource::variable) count_variables[id.id] = b.var(zero(Scalar::i32));
    for (const InstId id : where.order())
        if (plan.argmax_value(id)) last_attained[id.id] = b.var(b.constant_int(counter_of(id), -1));
}

void AdjointEmitter::inst(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    if (in_function) return copy(id);
    if (liveness && leaves_out(id)) return;
    switch (i.op) {
        case Op::argument:
            return map(from.result(i), b.argument(shadows ? shadows->param(size_t(i.immediate)) : int(i.immediate), i.type));
        case Op::store:
            if (unneeded(i.memory)) return;
            return copy(id);
        case Op::return_: return;  // the return of the body: the reverse sweep follows
        case Op::yield: {
            const BlockId block = where.block_of(id);
            end_of_block(block);
            return copy(id);
        }
        case Op::for_:
            if (plan.argmax_value(id)) count_iterations(id);
            return copy(id);
        case Op::while_:
            if (plan.count_source(id) == ValueSource::unneeded) return copy(id);
            counters[id.id] = b.var(zero(Scalar::i32));
            copy(id);
            counts[id.id] = b.get(counters[id.id]);
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
    if (from[m].kind != MemoryKind::array || signature.params[size_t(from[m].argument)] != Activity::duplicated_no_need)
        return false;
    return !MemoryEffects(from, from.body().insts).reads(m);
}

/// At the end of a block: keeps the values that the reverse sweep needs, in variables and on the tape.
void AdjointEmitter::end_of_block(BlockId block) {
    for (const Value v : plan.values_of(block))
        if (plan.source_of(v) == ValueSource::variable) b.set(variables[v.id], of(v));
    for (const InstId loop : plan.counts_of(block))
        if (plan.count_source(loop) == ValueSource::variable) b.set(count_variables.at(loop.id), counts.at(loop.id));
    push(block);
    const InstId owner = where.owner_of(block);
    if (owner.id != none && plan.argmax_value(owner)) return note_argmax(owner);
    if (owner.id == none || from[owner].op != Op::while_ || plan.count_source(owner) == ValueSource::unneeded) return;
    const Value counter = counters.at(owner.id);
    b.set(counter, b.op(Op::add, {b.get(counter), b.constant_int(Scalar::i32, 1)}));
}

const Members& AdjointEmitter::members() {
    if (group_members.rank) return group_members;
    // Axis 0 is the fastest one.
    const int axes = from.rank == 0 ? 3 : from.rank;
    Members& m = group_members;
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
        if (memory.kind == MemoryKind::array || shadows->of({m}, 0).id == none) continue;
        const bool shared = memory.kind == MemoryKind::local;
        local = local || shared;
        int64_t elements = 1;
        for (const int64_t e : memory.extents) elements *= e;
        const Value size = to.memories[m].size ? to.memories[m].size : b.constant_int(Scalar::i32, elements);
        const Value first = shared ? members().rank : zero(Scalar::i32);
        const Value step = shared ? members().count : b.constant_int(Scalar::i32, 1);
        emit_for(first, size, step, [&](Value e) {
            for (int w = 0; w < width; ++w)
                for (uint32_t leaf = 0; leaf < memory.element.leaves.size(); ++leaf)
                    if (analysis.active({m}, leaf))
                        b.store(shadows->of({m}, w), leaf, {&e, 1}, zero(memory.element.leaves[leaf].type));
        });
    }
    if (local) b.barrier();
}

namespace {

/// The clean-up passes of a generated kernel: inlining, load and store forwarding, and the numbering of the text.
Kernel cleaned_up(const Kernel& k) { return in_order(forwarded(inlining(k))); }

/// Removes the effects that a counting kernel does not need: prints, and stores to arrays of the primal, except arrays that it
/// reads.
class Effects : public Rewriter {
public:
    Effects(const Kernel& kernel, const std::vector<bool>& read) : Rewriter(kernel), read(read) {}
    bool writes = false;

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (is_report(i.op)) return;  // the adjoint kernel prints
        const bool effect = writes_memory(i.op);
        const bool of_primal =
            effect && from[i.memory].kind == MemoryKind::array && size_t(from[i.memory].argument) < read.size();
        if (of_primal && i.op == Op::store && !read[size_t(from[i.memory].argument)]) return;
        writes = writes || of_primal;
        copy(id);
    }
    const std::vector<bool>& read;
};

/// Keeps the instructions on which the counts depend. The set of arrays that are read, and so must be written as in the primal,
/// grows from none to a fixed point.
Kernel without_effects(const Kernel& k, size_t params, bool& writes) {
    std::vector<bool> read(params);
    for (;;) {
        Effects pass(k, read);
        const Kernel made = dead(simplify(pass.run()));
        writes = pass.writes;
        const std::vector<bool> before = read;
        for (const Block& block : made.blocks)
            for (const InstId id : block.insts)
                if (made[id].op == Op::load && made[made[id].memory].kind == MemoryKind::array &&
                    size_t(made[made[id].memory].argument) < params)
                    read[size_t(made[made[id].memory].argument)] = true;
        if (read == before) return made;
    }
}

std::optional<CountKernel> count_of(const Primal& primal, const std::vector<TapeParameter>& tapes) {
    bool counted = false;
    for (const TapeParameter& t : tapes) counted = counted || t.size == TapeParameter::Sizing::counted;
    if (!counted) return std::nullopt;
    AdjointEmitter sweep(primal, SweepPart::count);
    CountKernel count;
    count.kernel = in_order(without_effects(cleaned_up(sweep.run()), primal.kernel.params.size(), count.writes));
    return count;
}

/// The gathering kernel over a halo-extended range.
std::optional<HaloGather> halo_gather_adjoint(const Primal& primal, SweepPart part) {
    HaloGather halo_gather;
    AdjointEmitter sweep(primal, part, SweepKind::halo_gather);
    halo_gather.kernel = cleaned_up(sweep.run());
    if (sweep.gave_up) return std::nullopt;
    if (primal.gather.always()) {
        AdjointEmitter by_rows(primal, part, SweepKind::halo_gather_by_rows);
        halo_gather.by_rows = cleaned_up(by_rows.run());
        if (by_rows.gave_up) halo_gather.by_rows.reset();
    }
    std::tie(halo_gather.before, halo_gather.after) = primal.gather.reach();
    return halo_gather;
}

/// Pairwise loops: the kernel in which each item takes the contributions of the others.
std::optional<PairwiseAdjoint> pairwise_adjoint(const Primal& primal, const Kernel& scattered) {
    AdjointEmitter sweep(primal, SweepPart::both, SweepKind::pairwise);
    PairwiseAdjoint made;
    made.kernel = cleaned_up(sweep.run());
    if (sweep.gave_up) return std::nullopt;
    made.zero = cleaned_up(clear_shadows(primal, scattered));
    made.fits = primal.pairwise.fits();
    return made;
}

/// The floating-point instructions in the loops of a kernel.
int instructions_in_loops(const Kernel& k) {
    const Structure where(k);
    int all = 0;
    for (const InstId id : where.order())
        if (where.loop_around(id).id != none && is_pure(k[id].op) && is_float(k[id].type)) all += instructions_of(k[id]);
    return all;
}

/// Owner computes: a kernel for each load whose elements have owners, and the rest of the adjoint.
std::optional<OwnerComputesAdjoint> owner_computes_adjoint(const Primal& primal) {
    OwnerComputesAdjoint made;
    for (const OwnerComputes::Load& load : primal.owners.loads) {
        AdjointEmitter owner(primal, SweepPart::both, SweepKind::owner, &load);
        Kernel kernel = cleaned_up(owner.run());
        const int instructions = instructions_in_loops(kernel);
        made.owners.push_back({std::move(kernel),
                               {load.axes, load.shifts, load.looped, primal.owners.iterations(load), primal.owners.trips(load)},
                               instructions});
        if (owner.gave_up) return std::nullopt;
    }
    AdjointEmitter rest(primal, SweepPart::both, SweepKind::beside_owners);
    made.rest = cleaned_up(rest.run());
    made.accumulated = rest.accumulated;
    return made;
}

/// Loop partial sums: the kernels for a loop that adds to the same elements in all items.
std::optional<LoopPartialSumsAdjoint> loop_partial_sums_adjoint(const Primal& primal, bool interchanged) {
    if (interchanged && (primal.kernel.rank != 1 || primal.loop_partial_sums.rereads_private())) return std::nullopt;
    AdjointEmitter sums(primal, SweepPart::both, interchanged ? SweepKind::interchanged : SweepKind::partial_sums);
    LoopPartialSumsAdjoint made;
    made.kernel = cleaned_up(sums.run());
    if (sums.gave_up) return std::nullopt;
    made.total = cleaned_up(sums.total_of_cells(made.kernel));
    made.iterations = primal.loop_partial_sums.iterations();
    made.count = sums.cells_an_iteration();
    made.type = primal.kernel[ir::InstId{primal.loop_partial_sums.loads[0]}].type;
    if (!interchanged) return made;
    made.passed_values = sums.passed_values_by_item();
    made.interchanged = std::move(made.kernel);
    AdjointEmitter before(primal, SweepPart::both, SweepKind::before_interchanged);
    made.kernel = cleaned_up(before.run());
    return made;
}

/// A kernel, its signature, and what is known of them.
struct SharedPrimal {
    SharedPrimal(const Kernel& k, const Signature& s, bool split)
        : kernel(canonical(k)), signature(s), primal(kernel, signature, split) {}
    const Kernel kernel;
    const Signature signature;
    Primal primal;
};

/// Makes a kernel that may gather; if its code grows too long, makes it again without gathering.
struct Swept {
    std::unique_ptr<AdjointEmitter> sweep;
    Kernel kernel;
    Swept(Primal& primal, SweepPart part) {
        for (bool again = true; again;) {
            sweep = std::make_unique<AdjointEmitter>(primal, part);
            kernel = sweep->run();
            again = sweep->gave_up;
            if (again) primal.gather.loads.clear();
        }
        kernel = cleaned_up(kernel);
    }
};

/// Adds the other kernels that belong to the one with the reverse sweep.
template <class Made> void add_rest(Made& made, const std::shared_ptr<SharedPrimal>& shared, SweepPart part,
                                    const AdjointEmitter& sweep, const Kernel& kernel) {
    const Primal& primal = shared->primal;
    if (primal.gather.can_extend_range())
        made.halo_gather = {[shared, part] { return halo_gather_adjoint(shared->primal, part); }};
    if (sweep.has_cells()) {
        made.after.push_back(sweep.sum_of_cells(kernel));
        made.after.back().kernel = cleaned_up(made.after.back().kernel);
    }
    if (primal.gather.any()) {
        made.after.push_back({cleaned_up(clear_shadows(primal, kernel))});
        made.after.back().row_by_row = row_by_row(made.after.back().kernel);
    }
    made.tapes = sweep.tapes;
    made.accumulated = sweep.accumulated;
    made.fits = fits_of(primal.kernel, sweep.limits);
    made.count = count_of(primal, made.tapes);
}

Adjoint in_one_sweep(const Kernel& kernel, const Signature& signature, bool single_kernel) {
    check(kernel, signature, true);
    const auto shared = std::make_shared<SharedPrimal>(kernel, signature, false);
    Primal& primal = shared->primal;
    if (primal.single_kernel = single_kernel; single_kernel) primal.gather.loads.clear();
    Swept both(primal, SweepPart::both);
    Adjoint made;
    made.kernel = std::move(both.kernel);
    add_rest(made, shared, SweepPart::both, *both.sweep, made.kernel);
    if (single_kernel) return made;
    if (primal.pairwise.any())
        made.pairwise = {[shared, beside = made.kernel] { return pairwise_adjoint(shared->primal, beside); }};
    if (primal.owners.any()) made.owner_computes = {[shared] { return owner_computes_adjoint(shared->primal); }};
    if (primal.loop_partial_sums.any() && !primal.gather.any()) {
        made.loop_partial_sums = {[shared] { return loop_partial_sums_adjoint(shared->primal, false); }};
        made.interchanged = {[shared] { return loop_partial_sums_adjoint(shared->primal, true); }};
    }
    return made;
}

}  // namespace

Adjoint adjoint(const Kernel& kernel, const Signature& signature) { return in_one_sweep(kernel, signature, false); }
Adjoint single_kernel_adjoint(const Kernel& kernel, const Signature& signature) {
    Signature any = signature;
    any.any_range = true;
    return in_one_sweep(kernel, any, true);
}

SplitDerivative split(const Kernel& kernel, const Signature& signature) {
    check(kernel, signature, true);
    const auto shared = std::make_shared<SharedPrimal>(kernel, signature, true);
    Swept last(shared->primal, SweepPart::reverse);
    AdjointEmitter first(shared->primal, SweepPart::augmented);
    SplitDerivative made;
    made.augmented = cleaned_up(first.run());
    made.reverse = std::move(last.kernel);
    add_rest(made, shared, SweepPart::reverse, *last.sweep, made.reverse);
    return made;
}

}  // namespace pumice::derive
