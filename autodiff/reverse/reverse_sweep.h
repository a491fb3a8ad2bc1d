// The reverse sweep: instructions backwards, each moving adjoints from its results to its operands.
#pragma once
#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class Accumulators;
class AdjointReductions;
struct KeptValues;
class LoopPartialSumsEmitter;
class PairwiseLoopEmitter;
class ShadowUpdates;
class ValueProvider;

class ReverseSweep : SweepContext {
public:
    ReverseSweep(const SweepContext& context, KeptValues& kept, ValueProvider& provider, Accumulators& accumulators,
                 AdjointReductions& reductions, ShadowUpdates& updates, PairwiseLoopEmitter& pairwise,
                 LoopPartialSumsEmitter& partial_sums)
        : SweepContext(context),
          kept(kept),
          provider(provider),
          accumulators(accumulators),
          reductions(reductions),
          updates(updates),
          pairwise(pairwise),
          partial_sums(partial_sums) {}
    void reverse_body();
    /// Reverses one iteration of the loop. The index of a for is known.
    void reverse_contents(ir::InstId loop, ir::Value iteration);

private:
    void reverse_block(ir::BlockId block);
    void reverse(ir::InstId id);
    void reverse_operation(const ir::Inst& i);
    void reverse_subgroup(const ir::Inst& i);
    void reverse_group(const ir::Inst& i);
    void reverse_call(const ir::Inst& i);
    void reverse_argument(const ir::Inst& i);
    void reverse_if(const ir::Inst& i);
    void reverse_loop(ir::InstId id);

    KeptValues& kept;
    ValueProvider& provider;
    Accumulators& accumulators;
    AdjointReductions& reductions;
    ShadowUpdates& updates;
    PairwiseLoopEmitter& pairwise;
    LoopPartialSumsEmitter& partial_sums;
};

}  // namespace pumice::derive
