// Folders in which a program keeps code that it will run, or overwrites files by name. Everything is done relative to an open folder, so
// that nobody can exchange a folder or a file between a check and what follows it, and no link of another user is followed.
#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace pumice {

/// An open folder. Copies share it.
class Folder {
public:
    /// Walks the path from its beginning. Symbolic links on it are followed where the user or root owns them. Missing folders are made
    /// with the permissions `make` (0: none is made). Where there is no such folder, the result is empty and `problem` says why.
    static Folder open(const std::filesystem::path& path, unsigned make, std::string& problem);
    explicit operator bool() const { return descriptor != nullptr; }

    /// Why others than the user may have put something into it; "" where only the user (by the effective id) can.
    std::string shared() const;

    /// A regular file that only the user can have written. Nothing where it is missing; and where it is something else (a link, a pipe, a
    /// device, another user's, writable by others, larger than the limit, or mostly holes), which `problem` says.
    std::optional<std::string> read(const std::string& name, size_t limit, std::string& problem) const;
    /// Writes a draft of a name that nobody else uses, then renames it: readers see the whole file or the one before, and what has the
    /// name already (a link, a pipe, another name of some file) is replaced, never written through. "" or why not.
    std::string write(const std::string& name, std::string_view bytes, unsigned permissions) const;
    void remove(const std::string& name) const;
    /// Removes the drafts of this user that were left by processes that ended while they wrote; no other file.
    void remove_drafts(std::chrono::seconds older_than) const;

private:
    std::shared_ptr<const int> descriptor;
};

/// A kernel's name as the beginning of a file's: separators of paths and control characters become '_'.
std::string file_name(std::string_view name);

}  // namespace pumice
