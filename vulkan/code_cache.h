// Names and bytes of a Vulkan device's entries in the disk cache: compiled shaders and the driver's pipeline cache.
#pragma once
#include <optional>
#include <string>

#include "codegen/glsl/codegen.h"
#include "core/support/disk_cache.h"
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// The part of the name that identifies the device, its driver and this build of the library.
std::string device_key(const Snapshot& snapshot);
/// The name of a kernel's shader: a hash of the recorded kernel without source lines, the options, and the device.
std::string shader_key(const std::string& device_key, const ir::Kernel& kernel, const codegen::Options& options);

/// Converts a shader to bytes and back; none for bytes that are no shader.
std::string pack(const codegen::Shader& shader);
std::optional<codegen::Shader> unpack(const std::string& bytes);

}  // namespace pumice::vulkan
