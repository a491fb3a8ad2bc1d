// The kernel whose items each sum up one shadow element.
#pragma once
#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class AdjointReductions;
class ElsewhereEmitter;

class OwnerComputesEmitter : SweepContext {
public:
    OwnerComputesEmitter(const SweepContext& context, AdjointReductions& reductions, ElsewhereEmitter& elsewhere)
        : SweepContext(context), reductions(reductions), elsewhere(elsewhere) {}
    /// Emits the body of the kernel for the elements of one load.
    void sum_by_owner(const OwnerComputes::Load& owner);

private:
    AdjointReductions& reductions;
    ElsewhereEmitter& elsewhere;
};

}  // namespace pumice::derive
