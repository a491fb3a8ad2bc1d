// Adjoint liveness: which instructions of the primal an adjoint kernel has to execute.
#pragma once
#include <functional>

#include "autodiff/analysis/tape.h"
#include "core/analysis/backward_slice.h"

namespace pumice::derive {

/// The instructions of the primal that have a visible effect, or that compute a value which the reverse sweep receives. An
/// instruction whose value the sweep rematerialises, or a store to local memory that the sweep repeats, is not live by that.
class AdjointLiveness : public ir::BackwardSlice {
public:
    /// `unseen`: true for an array whose contents nobody reads after the kernel.
    AdjointLiveness(const ir::Kernel& kernel, const ir::Structure& where, const TapePlan& plan,
                    const std::function<bool(ir::MemoryId)>& unseen);

private:
    bool follows(const ir::Inst& read) const override { return read.op == ir::Op::load || ir::is_atomic(read.op); }
};

}  // namespace pumice::derive
