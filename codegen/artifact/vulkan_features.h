// The features of Vulkan that a SPIR-V module needs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace pumice::codegen {

/// The features of Vulkan that the module needs, by the names that an application enables: "shaderFloat64",
/// "shaderSharedInt64Atomics", "subgroup:ballot", ... Throws Error for a capability that shaders of this library do not have.
std::vector<std::string> vulkan_features(const std::vector<uint32_t>& spirv);

}  // namespace pumice::codegen
