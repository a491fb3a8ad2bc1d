// GLSL patterns of scalar ops, by operand type.
#pragma once
#include <string>
#include <string_view>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// The pattern over $0 $1 $2, or "" if there is none. The rows of ops.def have patterns for 32 bits. Others are derived:
/// - Patterns without parentheses are operators, which GLSL has on all types. 64-bit types also use GLSL's own functions.
/// - A pm_ function exists for a 64-bit type if shaders/ has an overload whose first parameter is of that type.
/// - 8- and 16-bit integers are computed in 32 bits and wrapped, halves in float and rounded, as the host column does. bf16 is
///   computed in float, and the caller rounds.
/// `strict`: an fma that rounds once. `pairs`: for a device without 64-bit integers.
std::string op_text(ir::Op op, Scalar operand, bool strict, bool pairs = false);

/// GLSL's own function for an op on f32, for Math::fast; its accuracy is the device's. "" if GLSL has none that is good enough.
std::string_view fast_text(ir::Op op);

/// A comparison of i64, such as `$0 < $1`, as a comparison of u64 with inverted sign bits.
std::string ordered_as_unsigned(std::string_view comparison);

/// The value of an integer constant's bits; negative for u64 from 2^63 on.
inline int64_t signed_value(Scalar type, uint64_t bits) {
    const int unused = 64 - 8 * size_of(type);
    return is_signed_int(type) ? int64_t(bits << unused) >> unused : int64_t(bits);
}

}  // namespace pumice::codegen
