// Literals of kernel text. core/ir/ir.h declares the other direction, constant_text.
#pragma once
#include <string_view>

#include "core/ir/type.h"

namespace pumice::ir {

/// The bits of a literal; false if it is none of the type, or out of the type's range.
bool constant_bits(Scalar type, std::string_view literal, uint64_t& bits);

}  // namespace pumice::ir
