// Inlining: replaces calls by the bodies of the functions.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Replaces each call by the function's body, and leaves no function. Memory that only one function uses is copied for each
/// further call. Runs first: backends know no calls.
Kernel inlining(const Kernel& kernel);
/// The same, but keeps the calls of functions that have a rule for their derivative, these functions and their rules. For
/// transforms that obey the rules. All other passes but predicate_range_tail accept such kernels, too.
Kernel inlining_without_rules(const Kernel& kernel);

}  // namespace pumice::ir
