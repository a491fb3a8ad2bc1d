// Store-to-load forwarding; dead-store elimination.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Store-to-load forwarding, redundant-load and dead-store elimination. After simplify: equal indices are recognised by value
/// number. Before hoist and dead: it leaves indices unused.
Kernel forward_stores(const Kernel& kernel);

}  // namespace pumice::ir
