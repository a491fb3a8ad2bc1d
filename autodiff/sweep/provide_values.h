// Makes the values of the primal that the reverse sweep needs.
#pragma once
#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

struct KeptValues;
class TapeEmitter;

class ValueProvider : SweepContext {
public:
    ValueProvider(const SweepContext& context, KeptValues& kept, TapeEmitter& tape)
        : SweepContext(context), kept(kept), tape(tape) {}
    /// Makes the values that the reverse of a block needs, at its start. `iteration` is the number of the iteration, if the block
    /// is the body of a loop.
    void provide(ir::BlockId block, ir::Value iteration);
    /// Emits a pure instruction or a load of the primal again.
    ir::Value rematerialise(const ir::Inst& i);

private:
    void refill(ir::InstId fill);

    KeptValues& kept;
    TapeEmitter& tape;
};

}  // namespace pumice::derive
