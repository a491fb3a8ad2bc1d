// 64-bit integer emulation, for devices that have none: i64 and u64 values are GLSL's uvec2, the low word first, and
// shaders/pairs.glsl computes with them. Their layout in memory is the same as with native 64-bit integers.
#pragma once
#include <string>

#include "codegen/glsl_text/glsl_type.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

constexpr bool is_pair(Scalar type) { return type == Scalar::i64 || type == Scalar::u64; }

/// The GLSL spelling of i64 or u64.
const GlslType& pair_type(Scalar type);
std::string pair_constant(uint64_t bits);
/// The patterns of an op on pairs, and of casts and bitcasts from or to them. Every integer op has one.
std::string pair_op_text(ir::Op op, Scalar operand);
std::string pair_cast_text(Scalar from, Scalar to);
std::string pair_bitcast_text(Scalar from, Scalar to);

}  // namespace pumice::codegen
