// Reading and changing SPIR-V modules.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pumice::codegen {

/// The names of the capabilities that a module declares, in its order.
std::vector<std::string> capabilities_of(const std::vector<uint32_t>& spirv);

/// The module, whose conversions from and to floats are decorated with NoContraction. The specification has that decoration on arithmetic
/// alone; Mesa keeps to it on conversions, too, and else takes float(double(x)) and int(float(i)) backwards, without their rounding, for x
/// and i.
std::vector<uint32_t> with_exact_conversions(const std::vector<uint32_t>& spirv);

/// The module with its specialisation constants fixed: of each id the bits of its value, the others at their defaults. Arrays have a fixed
/// length and groups a fixed size then, which translators to other languages need: MoltenVK cannot make an array whose length a
/// specialisation constant says.
std::vector<uint32_t> with_constants(const std::vector<uint32_t>& spirv, const std::vector<std::pair<uint32_t, uint32_t>>& values);

}  // namespace pumice::codegen
