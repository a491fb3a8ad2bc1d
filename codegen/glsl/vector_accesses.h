// Loads and stores of several leaves of one element, as accesses of a vector.
#pragma once
#include <unordered_map>
#include <vector>

#include "codegen/glsl/kernel_usage.h"
#include "core/ir/ir.h"

namespace pumice::codegen {

struct VectorAccesses {
    std::vector<bool> loads;   ///< by id of the instruction: of an element of which other leaves are loaded, too
    std::vector<bool> merged;  ///< stores that a later one contains
    std::unordered_map<uint32_t, std::vector<ir::Value>> stores;  ///< by id of the last store of an element: its values, by leaf
};
/// `is_vector`: by memory.
VectorAccesses vector_accesses(const ir::Kernel& kernel, const Usage& usage, const std::vector<bool>& is_vector);

/// True for an element of 2 or 4 leaves of one 32-bit type, without gaps: a vector of GLSL has the same layout.
bool has_vector_layout(const Element& element);

}  // namespace pumice::codegen
