// Values that nothing depends on.
#pragma once
#include <vector>

#include "core/ir/structure.h"

namespace pumice::derive {

/// For each value, whether what the kernel does is the same whatever is added to it, as it is for m in m + log(sum(exp(x - m))) and in
/// exp(x - m) / sum(exp(x - m)): its derivative is 0, in each iteration of the loops around it. Looked for among what is subtracted in
/// front of an exp; rounding and overflow, for whose sake such are subtracted, do not count.
std::vector<bool> shifts(const ir::Kernel& kernel, const ir::Structure& where);

}  // namespace pumice::derive
