// LICM: loop-invariant code motion.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Moves loop-invariant values and loads in front of the loop. After forward_stores, so that loads of the same place are one;
/// before predicate_range_tail, whose ifs would keep loads from moving.
Kernel hoist(const Kernel& kernel);

}  // namespace pumice::ir
