// Scalar derivative rules: the columns of core/ir/ops.def, as instructions and as numbers. Both modes take their rules from here.
#pragma once
#include <span>

#include "core/ir/builder.h"

namespace pumice::derive {

/// The mask of values that a partial derivative uses: bits 0 to 2 the operands, bit 3 the result.
inline constexpr unsigned uses_result = 8;

/// True if the partial derivative in operand `index` is zero everywhere, so that nothing flows.
bool vanishes(ir::Op op, int index);
/// True if the row says `none` for the operand: the op cannot be differentiated by it.
bool has_none(ir::Op op, int index);
/// The mask of values that the partial derivative in operand `index` uses.
unsigned uses(ir::Op op, int index);

/// True if a partial derivative of the op is infinite or not a number at some point, or overflows.
bool has_poles(ir::Op op);

/// The partial derivative in operand `index` at a point.
double partial(ir::Op op, int index, std::span<const double> operands, double result);
/// Emits the partial derivative in operand `index` of an op of this type. Only the operands in uses() need to be values.
ir::Value emit_partial(ir::Builder& b, ir::Op op, int index, std::span<const ir::Value> operands, ir::Value result, Scalar type);
/// Emits `factor` times such a partial derivative, in the cheapest form.
ir::Value times(ir::Builder& b, const ir::Kernel& k, ir::Value factor, ir::Value partial);
/// emit_partial and times together.
ir::Value times_partial(ir::Builder& b, const ir::Kernel& k, ir::Op op, int index, std::span<const ir::Value> operands,
                        ir::Value result, ir::Value factor);

}  // namespace pumice::derive
