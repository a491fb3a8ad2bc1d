// Files that survive the process: compiled shaders and the driver's pipeline cache.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "codegen/codegen.h"
#include "core/ir.h"
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// A folder of entries, each a file with a checksum. Failures of the file system never reach the caller: what cannot be read is
/// not there, what cannot be written is not kept.
class DiskCache {
public:
    /// An empty path switches the cache off.
    explicit DiskCache(std::filesystem::path folder) : folder(std::move(folder)) {}
    /// The entry's bytes. A corrupt entry is removed, said once on stderr, and not there.
    std::optional<std::string> read(const std::string& name) const;
    /// Written whole or not at all: into a file of its own, then renamed.
    void write(const std::string& name, const std::string& bytes) const;
    bool on() const { return !folder.empty(); }

private:
    std::filesystem::path folder;
};

/// What a device's entries depend on: device, driver and this build of the library.
std::string device_key(const Snapshot& snapshot);
/// The name of a kernel's shader: everything of the recorded kernel but its source lines, the options, and the device.
std::string shader_key(const std::string& device_key, const ir::Kernel& kernel, const codegen::Options& options);

/// A shader as bytes and back; nothing where the bytes are no shader.
std::string pack(const codegen::Shader& shader);
std::optional<codegen::Shader> unpack(const std::string& bytes);

}  // namespace pumice::vulkan
