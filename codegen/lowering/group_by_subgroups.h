#pragma once
#include <functional>

#include "codegen/glsl/codegen.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

/// A predicate over the kernel's group instructions: true for those that this pass lowers with these options. group_by_memory
/// lowers the others. A reduction needs subgroup arithmetic on the type; a scan also needs lanes and subgroups in the order of
/// the linear index.
std::function<bool(const ir::Inst&)> goes_by_subgroups(const ir::Kernel& recorded, const Options& options);

/// Replaces group instructions by a two-level reduction or scan: subgroup operations, and one value a subgroup in local memory.
/// Runs after predicate_range_tail, so that all items of a group take part.
ir::Kernel group_by_subgroups(const ir::Kernel& kernel, const Options& options);

}  // namespace pumice::codegen
