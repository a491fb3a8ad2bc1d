// Folders for code that a program will run, or for files that it overwrites by name. All operations are relative to an open
// folder, so that nobody can exchange a folder or file between check and use, and no link of another user is followed.
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
    /// Walks the path from its beginning. Symbolic links are followed if the user or root owns them. Missing folders are made
    /// with the permissions `make` (0: none is made). On failure the result is empty, and `problem` is the reason.
    static Folder open(const std::filesystem::path& path, unsigned make, std::string& problem);
    explicit operator bool() const { return descriptor != nullptr; }

    /// The reason why others may have written into the folder; "" if only the user (by the effective id) can.
    std::string shared() const;

    /// Reads a regular file that only the user can have written. Returns none if it is missing or, with the reason in `problem`,
    /// if it is something else: a link, a pipe, a device, another user's, writable by others, larger than the limit, or mostly
    /// holes.
    std::optional<std::string> read(const std::string& name, size_t limit, std::string& problem) const;
    /// Writes a uniquely named draft, then renames it. Readers see the whole file or the previous one; an existing link, pipe or
    /// hard link of the name is replaced, never written through. Returns "" or the reason of a failure.
    std::string write(const std::string& name, std::string_view bytes, unsigned permissions) const;
    void remove(const std::string& name) const;
    /// Removes this user's drafts that ended processes left; no other file.
    void remove_drafts(std::chrono::seconds older_than) const;

private:
    std::shared_ptr<const int> descriptor;
};

/// A kernel's name as the beginning of a file name: path separators and control characters become '_'.
std::string file_name(std::string_view name);

}  // namespace pumice
