// Functions that compiled code calls for ops that neither LLVM nor SLEEF has.
#pragma once
#include <string_view>

namespace pumice::cpu {

/// The address of `pumice_cpu_OP_TYPE`: an op's host column over the lanes of a packet. Null for other names (SLEEF's, libm's).
void* host_function(std::string_view name);

}  // namespace pumice::cpu
