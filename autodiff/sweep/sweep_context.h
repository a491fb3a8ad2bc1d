// The context of the parts that emit an adjoint kernel: the kernel, the primal with its analyses, and the state that all share.
#pragma once
#include <memory>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/shadows.h"
#include "autodiff/analysis/transform.h"
#include "autodiff/sweep/primal.h"
#include "core/ir/rewriter.h"

namespace pumice::derive {

/// The parts of the two sweeps that a kernel has.
enum class SweepPart { both, augmented, reverse, count };

/// The kind of a kernel, by its strategy.
enum class SweepKind {
    range,                ///< scatter: the range of the primal
    halo_gather,          ///< scatter-to-gather over a halo-extended range (HaloGather::kernel)
    halo_gather_by_rows,  ///< the same with items for rows (HaloGather::by_rows)
    pairwise,             ///< PairwiseAdjoint::kernel
    owner,                ///< OwnerComputesAdjoint: what an owner computes
    beside_owners,        ///< OwnerComputesAdjoint: the rest
    footprint,            ///< FootprintGatherAdjoint: the items that gather
    beside_footprints,    ///< FootprintGatherAdjoint: the rest
    partial_sums,         ///< LoopPartialSumsAdjoint: in place
    before_interchanged,  ///< LoopPartialSumsAdjoint: what comes before the interchanged loop
    interchanged          ///< LoopPartialSumsAdjoint: the interchanged loop alone
};

/// The items that share the work of their group: those in the range, or all items where the kernel has whole_groups.
struct Members {
    ir::Value rank, count;    ///< rank of this item in the group; number of items of the group
    ir::Value linear, items;  ///< linear index of this item in the launch; number of items
    ir::Value group;          ///< linear index of the group in the launch
};

/// The state that the parts share while they emit a kernel, and what they say of the finished one.
struct SweepState {
    std::unique_ptr<Shadows> shadows;
    Members members;  ///< none for SweepKind::owner and ::footprint
    std::vector<TapeParameter> tapes;
    std::vector<Accumulated> accumulated;
    std::vector<ItemLimit> limits;  ///< of the plain additions
    std::vector<int> argument_of;   ///< the parameter of each memory, in the finished kernel
    /// The strategy does not apply, or its code has grown too long: the kernel has to be made without it.
    bool gave_up = false;
};

/// A handle to the kernel that is emitted and to what its parts read. Each part has a copy as its base.
struct SweepContext {
    const Primal& primal;
    const SweepPart part;
    const SweepKind sweep_kind;
    ir::Kernel& to;
    ir::Builder& b;
    SweepState& state;
    const ir::Kernel& from = primal.kernel;
    const Signature& signature = primal.signature;
    const int width = primal.signature.width;
    const ir::Structure& where = primal.where;
    const Analysis& analysis = primal.analysis;
    const TapePlan& plan = primal.plan;

    ir::Value zero(Scalar type) const { return b.constant(type, 0); }
    template <class Emit> void emit_if(ir::Value condition, const Emit& fill) const {
        ir::emit_if(b, to, condition, fill, [] {});
    }
    template <class Emit> void emit_for(ir::Value first, ir::Value limit, ir::Value step, const Emit& fill) const {
        ir::emit_for(b, to, first, limit, step, fill);
    }
    /// Emits a pure instruction of the primal with other operands.
    ir::Value pure_of(const ir::Inst& i, std::span<const ir::Value> operands) const {
        if (i.op == ir::Op::argument) return b.argument(state.shadows->param(size_t(i.immediate)), i.type);
        return ir::emit_like(b, i, operands);
    }
    /// True if the array is long enough for the index along this dimension. A load under a condition may be of an element that
    /// does not exist.
    ir::Value has_index(ir::MemoryId memory, int dimension, ir::Value index) const {
        const Scalar type = to.type_of(index);
        const ir::Value extent = b.cast(type, b.extent(memory, from[memory].rank - 1 - dimension));
        return b.op(ir::Op::and_, {b.op(ir::Op::ge, {index, zero(type)}), b.op(ir::Op::lt, {index, extent})});
    }
    bool has_reverse() const { return part == SweepPart::both || part == SweepPart::reverse; }
    bool gathers() const { return primal.gather.any() && has_reverse(); }
};

}  // namespace pumice::derive
