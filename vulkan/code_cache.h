// The names and bytes of what a Vulkan device keeps in the disk cache: compiled shaders and the driver's pipeline cache.
#pragma once
#include <optional>
#include <string>

#include "codegen/glsl/codegen.h"
#include "core/host/disk_cache.h"
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// What a device's entries depend on: device, driver and this build of the library.
std::string device_key(const Snapshot& snapshot);
/// The name of a kernel's shader: everything of the recorded kernel but its source lines, the options, and the device.
std::string shader_key(const std::string& device_key, const ir::Kernel& kernel, const codegen::Options& options);

/// A shader as bytes and back; nothing where the bytes are no shader.
std::string pack(const codegen::Shader& shader);
std::optional<codegen::Shader> unpack(const std::string& bytes);

}  // namespace pumice::vulkan
