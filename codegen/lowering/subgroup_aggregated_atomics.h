#pragma once
#include "core/ir/ir.h"

namespace pumice::codegen {

/// Replaces atomic additions to a subgroup-uniform address, whose old value is unused, by a subgroup reduction and one atomic of
/// an elected item: one atomic a subgroup instead of one an item. For devices whose subgroups do arithmetic.
ir::Kernel subgroup_aggregated_atomics(const ir::Kernel& kernel);

}  // namespace pumice::codegen
