// Files that survive the process. core/ir/cache_key.h names them.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace pumice {

/// A folder of entries, each a file with a checksum. File system errors never reach the caller: an unreadable entry counts as
/// missing, an unwritable one is dropped. Several processes may use one folder at once. Entries are code that is executed: only
/// the user (by effective id) may own or write the folder and its entries.
class DiskCache {
public:
    /// Makes the folder, for the user alone, if it is missing. The cache is off if the path is empty or names no folder of the
    /// user's own; PUMICE_LOG says so. Removes drafts that killed processes left.
    explicit DiskCache(std::filesystem::path folder);
    /// Returns the bytes of the entry. A corrupt entry is removed with one message on stderr; it and one that others may write
    /// count as missing.
    std::optional<std::string> read(const std::string& name) const;
    /// Atomic: writes a draft file, then renames it.
    void write(const std::string& name, const std::string& bytes) const;
    bool on() const { return !folder.empty(); }

private:
    std::filesystem::path folder;
};

/// Identifies the build of the library, so that no entry of an older code generator is used.
std::string build_stamp();

}  // namespace pumice
