// Sums of products whose common factors are taken out.
#pragma once
#include "core/ir/builder.h"

namespace pumice::derive {

/// The operand, where the value is a neg; none otherwise.
ir::Value negated(const ir::Kernel& k, ir::Value v);

/// Emits sum + term. Signs move outwards.
ir::Value plus(ir::Builder& b, const ir::Kernel& to, ir::Value sum, ir::Value term);

/// Emits 2 x y. Where x is a product with a constant, the constant is doubled.
ir::Value twice(ir::Builder& b, const ir::Kernel& to, ir::Value x, ir::Value y);

}  // namespace pumice::derive
