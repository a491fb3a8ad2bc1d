// Which arrays the items of a group exchange data through, so that barriers have to order them.
#pragma once
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// By memory: true for an array that is written and of which some item may touch an element before a barrier, and another item after
/// it. False where all accesses stand between the same two barriers, or where each item keeps to one element of its own. All false in
/// a kernel without barriers.
std::vector<bool> exchanged(const ir::Kernel& kernel);

}  // namespace pumice::codegen
