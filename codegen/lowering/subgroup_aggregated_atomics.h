#pragma once
#include "core/ir/ir.h"

namespace pumice::codegen {

/// Where the items of a subgroup add to one place together, and ask for no old value, their parts are added up by the subgroup, and one item
/// adds the sum: an atomic a subgroup, not an atomic an item. For devices whose subgroups do arithmetic.
ir::Kernel subgroup_aggregated_atomics(const ir::Kernel& kernel);

}  // namespace pumice::codegen
