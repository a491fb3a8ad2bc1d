// Reassociation of sums of products, for contraction.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// In a sum of products and a constant, adds the constant first, so that every product contracts to an FMA. Leaves Math::strict
/// kernels alone. After simplify, which folds constants; before dead, which removes the old sums.
Kernel reassociate_for_fma(const Kernel& kernel);

}  // namespace pumice::ir
