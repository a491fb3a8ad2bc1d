// Floats that are no signalling NaNs.
#pragma once
#include "core/ir/ir.h"
#include "core/ir/structure.h"

namespace pumice::cpu {

/// True if a float is the result of arithmetic that LLVM does not fold: NaNs that it gives are quiet.
bool is_quiet(const ir::Kernel& kernel, const ir::Structure& structure, ir::Value value);

}  // namespace pumice::cpu
