// 64-bit integers on devices that have none: values of i64 and u64 are GLSL's uvec2, the low word first, and shaders/pairs.glsl
// computes with them. In memory they lie as they do anywhere else.
#pragma once
#include <string>

#include "codegen/glsl_text/glsl_type.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

constexpr bool is_pair(Scalar type) { return type == Scalar::i64 || type == Scalar::u64; }

/// How the type is spelt; for i64 and u64.
const GlslType& pair_type(Scalar type);
std::string pair_constant(uint64_t bits);
/// The patterns of an op on pairs, and of casts and bitcasts from or to them. No op lacks one.
std::string pair_op_text(ir::Op op, Scalar operand);
std::string pair_cast_text(Scalar from, Scalar to);
std::string pair_bitcast_text(Scalar from, Scalar to);

}  // namespace pumice::codegen
