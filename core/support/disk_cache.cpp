#include "core/support/disk_cache.h"

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/files.h"
#include "core/support/hash.h"

namespace pumice {
namespace {

namespace fs = std::filesystem;

/// Stands before every entry. `size` counts the bytes that follow; `check` is a checksum of them and of the entry's name.
struct Header {
    char magic[8] = {'p', 'u', 'm', 'i', 'c', 'e', '0', '1'};
    uint64_t size = 0;
    char check[32] = {};
};

std::string checksum(const std::string& bytes, const std::string& name = "") {
    Hash hash;
    hash.add(name);
    hash.add(bytes);
    return hash.text();
}

}  // namespace

// The size and time of the file that holds this code.
std::string build_stamp() {
    Dl_info info{};
    std::error_code failed;
    if (dladdr(reinterpret_cast<const void*>(&build_stamp), &info) && info.dli_fname) {
        // dli_fname may be relative to a folder that the program has left.
        fs::path file = info.dli_fname;
        if (!fs::exists(file, failed)) file = "/proc/self/exe";
        const auto size = fs::file_size(file, failed);
        const auto time = fs::last_write_time(file, failed);
        if (!failed) return text(size, ".", time.time_since_epoch().count());
    }
    return __DATE__ " " __TIME__;
}

namespace {

constexpr size_t most_bytes = size_t(256) << 20;  // limit of an entry; a driver's pipeline cache may have some tens of megabytes

/// Opens the folder, or returns none with `problem`. Its entries are executed, so only this user may write it.
Folder open_own(const fs::path& path, bool make, std::string& problem) {
    const Folder folder = Folder::open(path, make ? 0700 : 0, problem);
    if (folder) problem = folder.shared();
    return problem.empty() ? folder : Folder();
}

}  // namespace

DiskCache::DiskCache(fs::path where) {
    if (where.empty()) return;
    std::error_code failed;
    where = fs::absolute(where, failed);  // absolute, since a program may change its folder
    std::string problem = failed ? failed.message() : "";
    const Folder found = failed ? Folder() : open_own(where, true, problem);
    if (!found) {
        debug::log_once(text("the disk cache ", where, " is off: ", problem));
        return;
    }
    folder = std::move(where);
    found.remove_drafts(std::chrono::hours(1));  // younger drafts may still be written by another process
}

std::optional<std::string> DiskCache::read(const std::string& name) const {
    if (!on()) return std::nullopt;
    std::string problem;
    const Folder at = open_own(folder, false, problem);
    if (!at) return std::nullopt;  // write() reports the problem
    const std::optional<std::string> file = at.read(name, most_bytes, problem);
    if (!problem.empty()) debug::log_once(text("the cache file ", folder / name, " is not taken: ", problem));
    if (!file) return std::nullopt;
    Header header;
    const Header expected;
    if (file->size() >= sizeof header) {
        std::memcpy(&header, file->data(), sizeof header);
        std::string bytes = file->substr(sizeof header);
        if (std::memcmp(header.magic, expected.magic, sizeof header.magic) == 0 && bytes.size() == header.size &&
            checksum(bytes, name) == std::string(header.check, sizeof header.check))
            return bytes;
    }
    static std::atomic<bool> said = false;
    if (!said.exchange(true))
        std::fprintf(stderr, "pumice: the cache file %s is corrupt; it is made anew\n", (folder / name).string().c_str());
    at.remove(name);
    return std::nullopt;
}

void DiskCache::write(const std::string& name, const std::string& bytes) const {
    if (!on()) return;
    std::string problem;
    const Folder at = open_own(folder, true, problem);
    Header header;
    header.size = bytes.size();
    checksum(bytes, name).copy(header.check, sizeof header.check);
    if (at) problem = at.write(name, std::string(reinterpret_cast<const char*>(&header), sizeof header) + bytes, 0600);
    if (!problem.empty()) debug::log_once(text("the disk cache ", folder, " is not written: ", problem));
}

}  // namespace pumice
