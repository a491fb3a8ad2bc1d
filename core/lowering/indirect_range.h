// Kernels that read the extents of their range from memory.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// The kernel with one more parameter, an array of three i32: the extents of its range, axis 0 first. Launched over any range
/// that starts at 0 and contains this one, in the same groups, it does what `kernel` does over these extents: items past them
/// have no effect, and groups past them do nothing. Needs a kernel without variables; with barriers, also without functions.
/// Throws Error where predicate_range_tail does.
Kernel indirect_range(const Kernel& kernel);

}  // namespace pumice::ir
