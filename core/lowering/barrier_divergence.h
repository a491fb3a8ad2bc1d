// Check for barriers that some items of a group may not reach.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Throws Error for a barrier that some items of a group may not reach, according to Uniformity. For kernels as recorded, calls
/// included.
void refuse_divergent_barriers(const Kernel& kernel);

}  // namespace pumice::ir
