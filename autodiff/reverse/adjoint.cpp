// Reverse mode, driver: the kernels of an adjoint.
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
// owner computes, the footprint gather, and loop partial sums. Steps after it sum up cells and clear shadows; a counting kernel
// before it sizes counted tapes.
//
// Cost: a small multiple of the operations of the primal (the cheap-gradient principle); every strategy costs one more run of
// the AdjointEmitter at compile time.
// Limits: the kernel must be canonical (canonical_form.h). A strategy that gives up is left out.
// See Griewank and Walther, "Evaluating Derivatives", 2nd ed., 2008; for GPU kernels Moses et al., "Reverse-Mode Automatic
// Differentiation and Optimization of GPU Kernels via Enzyme", SC 2021.
#include "autodiff/reverse/adjoint.h"

#include <tuple>

#include "autodiff/analysis/canonical_form.h"
#include "autodiff/reverse/adjoint_emitter.h"
#include "autodiff/sweep/clear_shadows.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/dead.h"
#include "core/passes/inlining.h"
#include "core/passes/simplify.h"

namespace pumice::derive {

using namespace ir;

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
    if (sweep.state.gave_up) return std::nullopt;
    if (primal.gather.always()) {
        AdjointEmitter by_rows(primal, part, SweepKind::halo_gather_by_rows);
        halo_gather.by_rows = cleaned_up(by_rows.run());
        if (by_rows.state.gave_up) halo_gather.by_rows.reset();
    }
    std::tie(halo_gather.before, halo_gather.after) = primal.gather.reach();
    return halo_gather;
}

/// Pairwise loops: the kernel in which each item takes the contributions of the others.
std::optional<PairwiseAdjoint> pairwise_adjoint(const Primal& primal, const Kernel& scattered) {
    AdjointEmitter sweep(primal, SweepPart::both, SweepKind::pairwise);
    PairwiseAdjoint made;
    made.kernel = cleaned_up(sweep.run());
    if (sweep.state.gave_up) return std::nullopt;
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
        AdjointEmitter owner(primal, load);
        Kernel kernel = cleaned_up(owner.run());
        const int instructions = instructions_in_loops(kernel);
        made.owners.push_back({std::move(kernel),
                               {load.axes, load.shifts, size_t(primal.kernel[primal.kernel[load.load].memory].argument),
                                load.array_axes, load.looped, primal.owners.iterations(load), primal.owners.trips(load)},
                               instructions});
        if (owner.state.gave_up) return std::nullopt;
    }
    AdjointEmitter rest(primal, SweepPart::both, SweepKind::beside_owners);
    made.rest = cleaned_up(rest.run());
    made.accumulated = rest.state.accumulated;
    return made;
}

/// Footprint gather: a kernel for each memory, or slice of it, whose elements gather, and the rest of the adjoint.
std::optional<FootprintGatherAdjoint> footprint_gather_adjoint(const Primal& primal) {
    FootprintGatherAdjoint made;
    for (const FootprintGather::Owner& owner : primal.footprints.owners) {
        AdjointEmitter gatherer(primal, owner);
        FootprintGatherAdjoint::Gatherer one{cleaned_up(gatherer.run()), {}, size_t(primal.kernel[owner.memory].argument), {}};
        if (gatherer.state.gave_up) return std::nullopt;
        const auto& dimensions = owner.groups[0].dimensions;
        for (size_t d = dimensions.size(); d-- > 0;)
            if (!dimensions[d].fixed) one.axes.push_back(int(dimensions.size() - 1 - d));
        for (const FootprintGather::Group& group : owner.groups) {
            std::vector<FootprintGatherAdjoint::Dimension> all;
            for (size_t d = 0; d < dimensions.size(); ++d)
                if (!dimensions[d].fixed) {
                    const AffineBase& base = group.dimensions[d].base;
                    all.push_back({base.axis, base.periodic, base.reflected, base.cut, primal.footprints.footprint(group, d)});
                }
            one.groups.push_back({std::move(all), int64_t(group.loads.size())});
        }
        made.gatherers.push_back(std::move(one));
    }
    AdjointEmitter rest(primal, SweepPart::both, SweepKind::beside_footprints);
    made.rest = cleaned_up(rest.run());
    made.accumulated = rest.state.accumulated;
    return made;
}

/// Loop partial sums: the kernels for a loop that adds to the same elements in all items.
std::optional<LoopPartialSumsAdjoint> loop_partial_sums_adjoint(const Primal& primal, bool interchanged) {
    if (interchanged && (primal.kernel.rank != 1 || primal.loop_partial_sums.rereads_private())) return std::nullopt;
    AdjointEmitter sums(primal, SweepPart::both, interchanged ? SweepKind::interchanged : SweepKind::partial_sums);
    LoopPartialSumsAdjoint made;
    made.kernel = cleaned_up(sums.run());
    if (sums.state.gave_up) return std::nullopt;
    made.total = cleaned_up(sums.partial_sums.total_of_cells(made.kernel));
    made.iterations = primal.loop_partial_sums.iterations();
    made.count = sums.partial_sums.cells_an_iteration();
    made.type = primal.kernel[ir::InstId{primal.loop_partial_sums.loads[0]}].type;
    if (!interchanged) return made;
    made.passed_values = sums.partial_sums.passed_values_by_item();
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
            again = sweep->state.gave_up;
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
    if (sweep.reductions.has_cells()) {
        made.after.push_back(sweep.reductions.sum_of_cells(kernel));
        made.after.back().kernel = cleaned_up(made.after.back().kernel);
    }
    if (primal.gather.any()) {
        made.after.push_back({cleaned_up(clear_shadows(primal, kernel))});
        made.after.back().row_by_row = row_by_row(made.after.back().kernel);
    }
    made.tapes = sweep.state.tapes;
    made.accumulated = sweep.state.accumulated;
    made.fits = fits_of(primal.kernel, sweep.state.limits);
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
    if (primal.footprints.any()) made.footprint_gather = {[shared] { return footprint_gather_adjoint(shared->primal); }};
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
