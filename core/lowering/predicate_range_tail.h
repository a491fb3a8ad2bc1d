// Predication of the items past the range.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Predicates items past the range: instructions that have an effect or may fault run under `if in_range`; barriers, and the
/// values that decide the control flow around them, do not. The result has whole_groups set, so a second run changes nothing.
/// Needs a kernel without variables and functions. Throws Error for a return that leaves items waiting at a
/// barrier. Late: other passes do not see across the ifs.
Kernel predicate_range_tail(const Kernel& kernel);

}  // namespace pumice::ir
