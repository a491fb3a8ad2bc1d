// GLSL to SPIR-V, and functions over a module.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace pumice::codegen {

/// GLSL to SPIR-V with OpLine for each `#line`.
std::vector<uint32_t> assemble_with_lines(const std::string& glsl, const std::string& name);

/// The names of the capabilities that a module declares, in its order.
std::vector<std::string> capabilities_of(const std::vector<uint32_t>& spirv);

/// True if the module's blocks are valid under scalar block layout only.
bool needs_scalar_layout(const std::vector<uint32_t>& spirv);

/// The module with its specialisation constants frozen: `values` has the id and the bits of a constant, other constants keep
/// their defaults. Arrays then have a fixed length and groups a fixed size, which translators to other languages need: MoltenVK
/// cannot declare an array whose length is a specialisation constant.
std::vector<uint32_t> with_constants(const std::vector<uint32_t>& spirv,
                                     const std::vector<std::pair<uint32_t, uint32_t>>& values);

}  // namespace pumice::codegen
