// One kernel of reverse mode: the copy of the primal, and then the reverse sweep or the code of a strategy.
#pragma once
#include "autodiff/analysis/adjoint_liveness.h"
#include "autodiff/reverse/emit_argmax.h"
#include "autodiff/reverse/emit_loop_partial_sums.h"
#include "autodiff/sweep/adjoint_accumulators.h"
#include "autodiff/sweep/adjoint_reductions.h"
#include "autodiff/sweep/emit_tape.h"
#include "autodiff/sweep/kept_values.h"
#include "autodiff/sweep/provide_values.h"

namespace pumice::derive {

class AdjointEmitter : public ir::Rewriter {
public:
    AdjointEmitter(const Primal& primal, SweepPart part, SweepKind sweep_kind = SweepKind::range);
    /// The kernel of the items that own elements: for SweepKind::owner those that the load reads, or for SweepKind::footprint.
    AdjointEmitter(const Primal& primal, const OwnerComputes::Load& load);
    AdjointEmitter(const Primal& primal, const FootprintGather::Owner& gatherer);

    // The parts. The kernels that follow this one come from `reductions` and `partial_sums`.
    SweepState state;
    const SweepContext context;
    KeptValues kept;
    TapeEmitter tape;
    ValueProvider provider;
    Accumulators accumulators;
    AdjointReductions reductions;
    ShadowUpdates updates;
    LoopPartialSumsEmitter partial_sums;

private:
    void body() override;
    void inst(ir::InstId id) override;
    bool unneeded(ir::MemoryId m) const;
    bool leaves_out(ir::InstId id);
    void begin_copy();
    void end_of_block(ir::BlockId block);
    void zero_shadows();
    Members members();

    ArgmaxEmitter argmax;
    const OwnerComputes::Load* owner = nullptr;
    const FootprintGather::Owner* gatherer = nullptr;
    std::unique_ptr<AdjointLiveness> liveness;         ///< of the copy of the primal, where a reverse sweep follows it
    std::unordered_map<uint32_t, ir::Value> counters;  ///< of whiles
};

}  // namespace pumice::derive
