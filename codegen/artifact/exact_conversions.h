// Conversions from and to floats that round on Mesa, too.
#pragma once
#include <cstdint>
#include <vector>

namespace pumice::codegen {

/// The module with NoContraction on its conversions from and to floats. The specification allows that decoration on arithmetic
/// only; Mesa honours it on conversions, too. Without it Mesa folds float(double(x)) and int(float(i)), which round, to x and i.
std::vector<uint32_t> with_exact_conversions(const std::vector<uint32_t>& spirv);

}  // namespace pumice::codegen
