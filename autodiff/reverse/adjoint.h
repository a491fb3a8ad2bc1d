// Reverse mode in one kernel. transform.h declares the adjoint of several kernels.
#pragma once
#include "autodiff/analysis/transform.h"

namespace pumice::derive {

/// Reverse mode in one kernel, with no steps after it, for kernels that users launch themselves. Nothing is gathered, and items
/// add to a sum itself instead of to cells, which rounds large sums more.
Adjoint single_kernel_adjoint(const ir::Kernel& primal, const Signature& signature);

}  // namespace pumice::derive
