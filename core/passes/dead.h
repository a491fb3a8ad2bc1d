// DCE: dead-code elimination.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Removes what no effect needs: values, loads, memory never read, carried values, control flow without effects. A loop is
/// taken to end. Last, and wherever a smaller kernel saves the next pass work.
Kernel dead(const Kernel& kernel);

}  // namespace pumice::ir
