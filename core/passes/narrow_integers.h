// Narrowing of integer arithmetic to 16 bits.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Arithmetic of 32-bit integers that is made of bytes and 16-bit numbers, fits 16 bits, and is needed by nothing but such
/// numbers and comparisons becomes arithmetic of 16-bit integers. After simplify; before dead, which removes conversions that
/// lose their users.
Kernel narrow_integers(const Kernel& kernel);

}  // namespace pumice::ir
