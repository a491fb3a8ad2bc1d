// Files that survive the process. core/ir/cache_key.h names them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace pumice {

/// A folder of entries, each a file with a checksum. Failures of the file system never reach the caller: what cannot be read is
/// not there, what cannot be written is not kept. Several processes may use one folder at once. Entries are code that is run: the
/// folder and each entry belong to the user (by the effective id), and nobody else can write them.
class DiskCache {
public:
    /// Makes the folder, for the user alone, where it is missing. The cache is off where the path is empty, or names what is no folder
    /// of the user's own; PUMICE_LOG says so. What processes that were killed left in the folder half written goes.
    explicit DiskCache(std::filesystem::path folder);
    /// The entry's bytes. A corrupt entry is removed, said once on stderr, and not there. One that others may have written is not there.
    std::optional<std::string> read(const std::string& name) const;
    /// Written whole or not at all: into a file of its own, then renamed.
    void write(const std::string& name, const std::string& bytes) const;
    bool on() const { return !folder.empty(); }

private:
    std::filesystem::path folder;
};

/// Changes with every build of the library, so that no entry of an older code generator is ever taken.
std::string build_stamp();

}  // namespace pumice
