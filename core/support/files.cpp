#include "core/support/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include "core/support/error.h"

namespace pumice {
namespace {

namespace fs = std::filesystem;

/// A file descriptor, closed with the object.
class Descriptor {
public:
    explicit Descriptor(int of = -1) : number(of) {}
    Descriptor(Descriptor&& other) noexcept : number(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number, other.number);
        return *this;
    }
    ~Descriptor() {
        if (number >= 0) close(number);
    }
    explicit operator bool() const { return number >= 0; }
    int get() const { return number; }
    int release() { return std::exchange(number, -1); }

private:
    int number;
};

std::string reason(int error) { return std::generic_category().message(error); }

constexpr unsigned others_can_write = S_IWGRP | S_IWOTH;

/// True for owners whose links are followed: root, the user, and the owner of the root folder. The latter differs from root only
/// in a namespace that does not map root's id.
bool trusted(uid_t owner) {
    struct stat root{};
    return owner == 0 || owner == geteuid() || (stat("/", &root) == 0 && owner == root.st_uid);
}

/// Adds the steps of a path, the first one last. An absolute path begins with the step "/", which leads to the root from every
/// folder.
void put_before(std::vector<std::string>& steps, const fs::path& path) {
    const std::vector<fs::path> parts(path.begin(), path.end());
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
        if (!part->empty() && *part != ".") steps.push_back(part->string());
}

/// The target of the link; empty, with `problem` set, if it is no link or must not be followed.
fs::path target_of(int folder, const std::string& name, std::string& problem) {
    const Descriptor link(openat(folder, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat about{};
    if (!link || fstat(link.get(), &about) != 0) return problem = reason(errno), "";
    if (!S_ISLNK(about.st_mode)) return problem = reason(ENOTDIR), "";
    if (!trusted(about.st_uid)) return problem = text("\"", name, "\" on its path is a symbolic link of another user"), "";
    std::string target(4096, '\0');
    const ssize_t length = readlinkat(link.get(), "", target.data(), target.size());
    if (length <= 0 || size_t(length) == target.size()) return problem = reason(length < 0 ? errno : ENAMETOOLONG), "";
    return target.substr(0, size_t(length));
}

/// Parts of a unique name that only drafts have.
constexpr std::string_view draft_begin = "pumice-", draft_end = ".tmp";
constexpr size_t draft_digits = 16;

std::string draft_name() {
    uint64_t number = 0;
    if (getentropy(&number, sizeof number) != 0) number = uint64_t(getpid()) << 32 ^ uint64_t(clock());
    char digits[draft_digits + 1];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
    return text(draft_begin, digits, draft_end);
}

bool is_draft(std::string_view name) {
    if (name.size() != draft_begin.size() + draft_digits + draft_end.size() || !name.starts_with(draft_begin) ||
        !name.ends_with(draft_end))
        return false;
    return name.substr(draft_begin.size(), draft_digits).find_first_not_of("0123456789abcdef") == name.npos;
}

/// The reason why others than the user may have written the file, or why it is too large; or "".
std::string unfit(const struct stat& file, size_t limit) {
    // Compressing file systems store less than the size, and some virtual ones report 0 blocks: only files that are mostly holes
    // are refused.
    constexpr int64_t small = 1 << 20, block = 512;
    if (!S_ISREG(file.st_mode)) return "it is no regular file";
    if (file.st_uid != geteuid())
        return text("it belongs to the user ", std::to_string(file.st_uid), ", not to ", std::to_string(geteuid()));
    if (file.st_mode & others_can_write) return "others can write it";
    if (uint64_t(file.st_size) > limit)
        return text("it has ", std::to_string(file.st_size), " bytes; the limit is ", std::to_string(limit));
    if (file.st_size > small && file.st_blocks < file.st_size / 64 / block) return "it has holes";
    return "";
}

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(size_t(written));
    }
    return true;
}

}  // namespace

Folder Folder::open(const fs::path& path, unsigned make, std::string& problem) {
    constexpr int folder_only = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;  // with O_DIRECTORY, automounts are mounted on use
    constexpr int most_links = 40;                                              // the limit of Linux
    std::vector<std::string> steps;
    put_before(steps, path);
    if (path.empty()) return problem = reason(ENOENT), Folder();
    Descriptor at(::open(".", folder_only));
    if (!at) at = Descriptor(::open("/", folder_only));  // the current folder may have been removed
    for (int links = 0; at && !steps.empty();) {
        const std::string step = std::move(steps.back());
        steps.pop_back();
        Descriptor next(openat(at.get(), step.c_str(), folder_only));
        if (!next && errno == ENOENT && make != 0 && (mkdirat(at.get(), step.c_str(), mode_t(make)) == 0 || errno == EEXIST))
            next = Descriptor(openat(at.get(), step.c_str(), folder_only));
        if (!next && (errno == ENOTDIR || errno == ELOOP)) {
            const fs::path target = target_of(at.get(), step, problem);
            if (target.empty()) return Folder();
            if (++links > most_links) return problem = reason(ELOOP), Folder();
            put_before(steps, target);
            continue;
        }
        if (!next) return problem = reason(errno), Folder();
        at = std::move(next);
    }
    if (!at) return problem = reason(errno), Folder();
    Folder folder;
    folder.descriptor = std::shared_ptr<const int>(new int(at.release()), [](const int* number) {
        close(*number);
        delete number;
    });
    return folder;
}

std::string Folder::shared() const {
    struct stat about{};
    if (fstat(*descriptor, &about) != 0) return reason(errno);
    if (about.st_uid != geteuid())
        return text("it belongs to the user ", std::to_string(about.st_uid), ", not to ", std::to_string(geteuid()));
    if (about.st_mode & others_can_write) {
        char mode[8];
        std::snprintf(mode, sizeof mode, "%04o", unsigned(about.st_mode & 07777));
        return text("others can write it: its mode is ", mode);
    }
    return "";
}

std::optional<std::string> Folder::read(const std::string& name, size_t limit, std::string& problem) const {
    // With O_NONBLOCK, opening a pipe does not block; it is refused below.
    const Descriptor file(openat(*descriptor, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    struct stat about{};
    if (!file || fstat(file.get(), &about) != 0) {
        if (errno != ENOENT) problem = errno == ELOOP ? "it is a symbolic link" : reason(errno);
        return std::nullopt;
    }
    problem = unfit(about, limit);
    if (!problem.empty()) return std::nullopt;
    std::string bytes(size_t(about.st_size), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return problem = reason(errno), std::nullopt;
        if (got == 0) break;
        done += size_t(got);
    }
    bytes.resize(done);
    return bytes;
}

std::string Folder::write(const std::string& name, std::string_view bytes, unsigned permissions) const {
    std::string draft;
    Descriptor file;
    for (int attempt = 0; !file && attempt < 100; ++attempt) {
        draft = draft_name();
        file = Descriptor(
            openat(*descriptor, draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode_t(permissions)));
        if (!file && errno != EEXIST) return reason(errno);
    }
    if (!file) return reason(EEXIST);
    int failed = write_all(file.get(), bytes) ? 0 : errno;
    if (close(file.release()) != 0 && failed == 0) failed = errno;  // network file systems report a full disk here
    if (failed == 0 && renameat(*descriptor, draft.c_str(), *descriptor, name.c_str()) != 0) failed = errno;
    if (failed == 0) return "";
    remove(draft);
    return reason(failed);
}

void Folder::remove(const std::string& name) const { unlinkat(*descriptor, name.c_str(), 0); }

void Folder::remove_drafts(std::chrono::seconds older_than) const {
    Descriptor listed(openat(*descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* const entries = listed ? fdopendir(listed.get()) : nullptr;
    if (!entries) return;
    listed.release();  // closedir closes it
    const time_t old = time(nullptr) - time_t(older_than.count());
    while (const dirent* entry = readdir(entries)) {
        struct stat about{};
        if (is_draft(entry->d_name) && fstatat(*descriptor, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode) && about.st_uid == geteuid() && about.st_mtime < old)
            remove(entry->d_name);
    }
    closedir(entries);
}

std::string file_name(std::string_view name) {
    std::string file(name);
    for (char& c : file)
        if (c == '/' || c == '\\' || c == ':' || static_cast<unsigned char>(c) < ' ') c = '_';
    return file.empty() || file[0] == '.' ? "kernel" + file : file;
}

}  // namespace pumice
