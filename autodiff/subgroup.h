// Derivatives of operations among the lanes of a subgroup.
#pragma once
#include "core/builder.h"

namespace pumice::derive {

/// Whether the operation has a rule: sums, scans by sum, broadcasts, exchanges by xor; the reductions to a minimum or maximum, where
/// in a tie the highest lane takes all.
bool has_rule(ir::Subgroup what);
/// Whether a rule needs the operand and the result of the operation, and whether it needs its lane or mask.
bool needs_values(ir::Subgroup what);
bool needs_lane(ir::Subgroup what);

/// The operation's tangent. `v` are the operands and `result` the result, `tangent` that of the first operand.
ir::Value subgroup_tangent(ir::Builder& b, ir::Subgroup what, std::span<const ir::Value> v, ir::Value result, ir::Value tangent);
/// The adjoint of the first operand. Every lane that took part has an adjoint of its result (zero, where nothing flows).
ir::Value subgroup_adjoint(ir::Builder& b, ir::Subgroup what, std::span<const ir::Value> v, ir::Value result, ir::Value adjoint,
                           ir::Value zero);

}  // namespace pumice::derive
