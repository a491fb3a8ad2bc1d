// Constant folding, identities, value numbering (CSE), and control flow that constants decide.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Constant folding, value numbering and identities; ifs with a constant condition, loops without iterations, results that are
/// the same on every path. After promote, which exposes constants; before dead, which removes the values that become unused.
Kernel simplify(const Kernel& kernel);

}  // namespace pumice::ir
