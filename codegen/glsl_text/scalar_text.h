// Which GLSL computes a scalar op on operands of a type.
#pragma once
#include <string>
#include <string_view>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// The pattern over $0 $1 $2, or "" where there is none. The rows' texts are for 32 bits. Others are made of them:
/// - Operators, which stand in no parentheses, are GLSL's on all types. So are GLSL's own functions on 64-bit types.
/// - A pm_ function exists for a 64-bit type where shaders/ has an overload whose first parameter is of that type.
/// - 8- and 16-bit integers are computed in 32 bits and wrapped, halves in float and rounded, as the host column does.
/// `strict` asks for the fma that rounds once, `pairs` for what a device without 64-bit integers can do.
std::string op_text(ir::Op op, Scalar operand, bool strict, bool pairs = false);

/// GLSL's own function for an op on f32, as accurate as the device makes it: under Math::fast. "" where there is none as good.
std::string_view fast_text(ir::Op op);

/// A comparison of i64, `$0 < $1` or the like, as one of u64 with the sign bits turned round.
std::string ordered_as_unsigned(std::string_view comparison);

/// The number that the bits of an integer constant are; of u64 past 2^63 it is negative.
inline int64_t signed_value(Scalar type, uint64_t bits) {
    const int unused = 64 - 8 * size_of(type);
    return is_signed_int(type) ? int64_t(bits << unused) >> unused : int64_t(bits);
}

}  // namespace pumice::codegen
