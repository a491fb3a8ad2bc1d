// The values that the compiler of a driver may find to be constants.
#pragma once
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// By value: false if no compiler can know it, because it depends on a load from an array, an argument of the launch or an index
/// of the item. Constants themselves are true.
std::vector<bool> foldable_values(const ir::Kernel& k);

}  // namespace pumice::codegen
