// The reverse of one launch on the tape of a program: the adjoint without the effects of the primal.
#pragma once
#include "autodiff/api/derivative_call.h"

namespace pumice::derive {

/// Runs the adjoint of a launch. The arrays hold their contents from before the launch, and do not change; shadows change. The
/// slots of duplicated arrays have shadows. Gives the adjoints of the active scalars as arrays of one element, one a direction.
TapeArrays reverse_step(Call call);
/// By parameter: true where the adjoint reads the contents of the array from before the launch.
std::vector<bool> needs_of(const KernelBase& kernel, const Signature& signature);
/// True if the kernel has no derivative (Kernel::inactive).
bool is_inactive(const KernelBase& kernel);

}  // namespace pumice::derive
