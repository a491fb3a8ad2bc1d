// The value that changes nothing in a reduction.
#pragma once
#include <cstdint>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The bits of the identity of add, mul, min, max, and, or, xor over the type: what an exclusive scan gives its first item.
uint64_t identity(Op op, Scalar type);

}  // namespace pumice::ir
