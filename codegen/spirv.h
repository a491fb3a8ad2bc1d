// Reading and changing SPIR-V modules.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pumice::codegen {

/// The names of the capabilities that a module declares, in its order.
std::vector<std::string> capabilities_of(const std::vector<uint32_t>& spirv);

/// The module, whose conversions from and to floats are decorated with NoContraction. The specification has that decoration on arithmetic
/// alone; Mesa keeps to it on conversions, too, and else takes float(double(x)) and int(float(i)) backwards, without their rounding, for x
/// and i.
std::vector<uint32_t> with_exact_conversions(const std::vector<uint32_t>& spirv);

}  // namespace pumice::codegen
