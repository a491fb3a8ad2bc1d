// One launch of a program's tape, backwards: the adjoint alone, without the primal's effect.
#pragma once
#include "autodiff/api/derived_kernels.h"

namespace pumice::derive {

/// The adjoint of a launch whose arrays are as they were before it. Shadows change, arrays do not. The slots of duplicated arrays
/// have shadows. Gives the adjoints of the active scalars as arrays of one element, in order and one a direction.
TapeArrays reverse_step(const Call& call);
/// Which arrays a call's adjoint reads as they were before the launch, by parameter.
std::vector<bool> needs_of(const KernelBase& kernel, const Signature& signature);
/// Whether the launch carries a derivative at all.
bool is_inactive(const KernelBase& kernel);

}  // namespace pumice::derive
