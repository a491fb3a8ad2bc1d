// The neutral element of a reduction.
#pragma once
#include <cstdint>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The bits of the neutral element of add, mul, min, max, and, or, xor for the type; an exclusive scan gives it to its first
/// item.
uint64_t neutral_element(Op op, Scalar type);

}  // namespace pumice::ir
