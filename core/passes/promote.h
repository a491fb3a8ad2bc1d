// mem2reg: variables become SSA values.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Replaces variables by SSA values. Runs early, since the other passes see through values only.
Kernel promote(const Kernel& kernel);

}  // namespace pumice::ir
