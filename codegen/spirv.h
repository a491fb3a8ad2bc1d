// Reading SPIR-V modules.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pumice::codegen {

/// The names of the capabilities that a module declares, in its order.
std::vector<std::string> capabilities_of(const std::vector<uint32_t>& spirv);

}  // namespace pumice::codegen
