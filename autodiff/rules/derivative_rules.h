// The derivative columns of core/ir/ops.def, recorded into a Builder: the one place where both modes take scalar rules from.
#pragma once
#include <span>

#include "core/ir/builder.h"

namespace pumice::derive {

/// What a derivative is computed from: bit 0 to 2 the operands, bit 3 the result.
inline constexpr unsigned uses_result = 8;

/// Whether the partial derivative of the op in operand `index` vanishes everywhere (so that nothing flows).
bool vanishes(ir::Op op, int index);
/// Whether the op has a row that says `none` for the operand: nothing can be differentiated through it.
bool has_none(ir::Op op, int index);
/// What the partial derivative in operand `index` is computed from.
unsigned uses(ir::Op op, int index);

/// Whether a partial derivative of the op is infinite or not a number at some point, or grows beyond what numbers can hold.
bool has_poles(ir::Op op);

/// The partial derivative in operand `index` at a point.
double partial(ir::Op op, int index, std::span<const double> operands, double result);
/// Emits the partial derivative in operand `index` of an op of this type; of operands, only those in uses() need to be values.
ir::Value emit_partial(ir::Builder& b, ir::Op op, int index, std::span<const ir::Value> operands, ir::Value result, Scalar type);
/// Emits `factor` times such a partial derivative, in the form that costs least.
ir::Value times(ir::Builder& b, const ir::Kernel& k, ir::Value factor, ir::Value partial);
/// Both at once.
ir::Value times_partial(ir::Builder& b, const ir::Kernel& k, ir::Op op, int index, std::span<const ir::Value> operands,
                        ir::Value result, ir::Value factor);

}  // namespace pumice::derive
