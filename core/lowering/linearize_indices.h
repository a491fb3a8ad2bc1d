// Array linearisation: one row-major offset an access.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Replaces the indices of an array by one row-major offset; neighbouring accesses share its arithmetic. Offsets are i32, so
/// not for arrays of 2^31 elements or more. After forward_stores, which tells places apart by their indices; before hoist,
/// which moves the products out of loops. Not for the interpreter, which checks each index against its extent.
Kernel linearize_indices(const Kernel& kernel);

}  // namespace pumice::ir
