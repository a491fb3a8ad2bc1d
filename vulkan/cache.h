// Files that survive the process: compiled shaders and the driver's pipeline cache.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "codegen/codegen.h"
#include "core/ir.h"
#include "vulkan/snapshot.h"

namespace pumice::vulkan {

/// 128 bits of a running hash over bytes, for names of cache entries; not for secrets.
class Hash {
public:
    void add(const void* data, size_t bytes);
    void add(const std::string& string);
    template <class T>
        requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
    void add(T value) { add(&value, sizeof value); }
    std::string hex() const;  ///< 32 digits
    uint64_t low() const { return a; }

private:
    uint64_t a = 0xcbf29ce484222325, b = 0x9ae16a3b2f90404f;
};

/// A folder of entries, each a file with a checksum. Failures of the file system never reach the caller: what cannot be read is
/// not there, what cannot be written is not kept.
class DiskCache {
public:
    /// An empty path switches the cache off.
    explicit DiskCache(std::filesystem::path folder) : folder(std::move(folder)) {}
    /// PUMICE_CACHE_DIR (empty: off), else $XDG_CACHE_HOME/pumice, else ~/.cache/pumice, else off.
    static std::filesystem::path default_folder();

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
