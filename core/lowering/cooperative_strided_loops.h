// Loop interchange: the items of a group run a grid-stride loop together.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Rewrites a grid-stride loop so that the whole group executes one iteration per barrier; adjacent items then touch adjacent
/// elements at the same time, also where a device runs a group's items one part after another. After hoist; before
/// predicate_range_tail, which must see the barriers.
Kernel cooperative_strided_loops(const Kernel& kernel);

}  // namespace pumice::ir
