// Group reductions and scans as loops over local memory and barriers.
#pragma once
#include <functional>

#include "core/ir/ir.h"

namespace pumice::ir {

/// Replaces `group` instructions, in functions, too, by loops over local memory and barriers; those for which `keep` is true
/// stay. For devices whose subgroups do not reduce and scan.
Kernel group_by_memory(const Kernel& kernel, const std::function<bool(const Inst&)>& keep = {});

}  // namespace pumice::ir
