// NaN-safe adjoint of select, min and max.
#pragma once
#include <vector>

#include "core/ir/builder.h"
#include "core/ir/structure.h"

namespace pumice::derive {

class TapePlan;

/// Per value: true where some select, min or max may discard what is computed from the value, and a derivative on the way may
/// be infinite. 0 * inf must then be masked.
std::vector<bool> discardable_values(const ir::Kernel& k, const ir::Structure& where, const TapePlan& plan);

/// Emits the term, masked to zero where the adjoint is zero.
ir::Value unless_zero(ir::Builder& b, const ir::Kernel& to, ir::Value adjoint, ir::Value term);

}  // namespace pumice::derive
