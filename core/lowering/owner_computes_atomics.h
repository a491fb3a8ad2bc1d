// Owner-computes rewrite of contended atomic additions to local memory.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Rewrites a loop in which the items along one axis of the group add to the same places of local memory. Afterwards each of
/// these items owns some of the places, recomputes the addends of all items along the axis, and adds their sum at once. Values
/// that other items need for this are kept in local memory. For loops with constant bounds between two barriers, whose addends
/// are cheap to recompute. After hoist; before predicate_range_tail, which must see the barriers.
Kernel owner_computes_atomics(const Kernel& kernel);

}  // namespace pumice::ir
