// Shift invariance: values on which no result depends, as the maximum in log-sum-exp.
#pragma once
#include <vector>

#include "core/ir/structure.h"

namespace pumice::derive {

/// For each value, true where the kernel does the same whatever number is added to the value, as for m in m + log(sum(exp(x -
/// m))) and in exp(x - m) / sum(exp(x - m)). The derivative by such a value is 0. Candidates are the values that are subtracted
/// before an exp. Rounding and overflow are ignored.
std::vector<bool> shift_invariant_values(const ir::Kernel& kernel, const ir::Structure& where);

}  // namespace pumice::derive
