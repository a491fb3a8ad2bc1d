// The reverse of a loop that runs forwards, and of a loop over all items.
#pragma once
#include <functional>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class ElsewhereEmitter;
struct KeptValues;

class PairwiseLoopEmitter : SweepContext {
public:
    PairwiseLoopEmitter(const SweepContext& context, const KeptValues& kept, ElsewhereEmitter& elsewhere)
        : SweepContext(context), kept(kept), elsewhere(elsewhere) {}
    /// Emits a loop that runs forwards. Its iteration j of item i reverses the item's own iteration j, by `own`. For a pairwise
    /// loop it also evaluates iteration i of item j, and sums the contributions to the elements of item i.
    void reverse_loop(ir::InstId loop, const std::function<void(ir::Value index)>& own);

private:
    const KeptValues& kept;
    ElsewhereEmitter& elsewhere;
};

}  // namespace pumice::derive
