// Cross-item dependences: through which arrays do the items of a group exchange data across barriers?
// Why: a barrier must make global memory visible to the group only for these arrays; for the others it orders local memory
// alone.
//
//   store arg1[%i], %n : i32       # arg1: written before the barrier, another item's element read after it: true
//   store arg3[%i], %n : i32
//   barrier
//   %b = load arg1[%j] : i32       # %j = %i + 1
//   %c = load arg3[%i] : i32       # arg3: each item accesses only its own element: false
//
// Method: barriers divide the text into phases. An array has a dependence unless it is never written, all its accesses are in one
// phase, or all its accesses have the same linear index, which differs between the items of a group at all times.
// Cost: Uniformity and the linear indices (if there is a barrier), then O(arrays * accesses).
// Limits: a loop that contains a barrier has no phases, so its accesses count as being in different ones. Own elements are
// recognised for kernels of rank 1, steps of at most 2^16 from item to item, and bases that do not change during the launch of
// a group.
// Related: A. Darte, R. Schreiber, "A linear-time algorithm for optimal barrier placement", PPoPP 2005.
#pragma once
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// By memory: true for an array that is written, and of which one item may access an element before a barrier and another item
/// after it. False if all accesses are between the same two barriers, or if each item accesses one element of its own. All
/// false in a kernel without barriers, and for local and private memory.
std::vector<bool> cross_item_dependent(const Kernel& kernel);

}  // namespace pumice::ir
