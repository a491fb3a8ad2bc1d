#include "core/disk_cache.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#ifndef _WIN32
#include <dlfcn.h>
#include <unistd.h>
#endif

#include "core/error.h"
#include "core/hash.h"

namespace pumice {
namespace {

namespace fs = std::filesystem;

/// In front of every entry. `size` is of the bytes that follow, `check` of these and the entry's name: no entry is taken for another.
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

// The size and time of the file that this code was loaded from.
std::string build_stamp() {
#ifndef _WIN32
    Dl_info info{};
    std::error_code failed;
    if (dladdr(reinterpret_cast<const void*>(&build_stamp), &info) && info.dli_fname) {
        // A program's own name may be relative to a folder that it has left.
        fs::path file = info.dli_fname;
        if (!fs::exists(file, failed)) file = "/proc/self/exe";
        const auto size = fs::file_size(file, failed);
        const auto time = fs::last_write_time(file, failed);
        if (!failed) return text(size, ".", time.time_since_epoch().count());
    }
#endif
    return __DATE__ " " __TIME__;
}

DiskCache::DiskCache(fs::path where) : folder(std::move(where)) {
    if (!on()) return;
    std::error_code failed, ignored;
    const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);  // younger ones may be being written
    for (fs::directory_iterator file(folder, failed), end; !failed && file != end; file.increment(failed))
        if (file->path().extension() == ".tmp" && file->last_write_time(ignored) < old && !ignored) fs::remove(file->path(), ignored);
}

std::optional<std::string> DiskCache::read(const std::string& name) const {
    if (!on()) return std::nullopt;
    const fs::path path = folder / name;
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    Header header;
    const Header expected;
    std::string bytes;
    bool good = bool(file.read(reinterpret_cast<char*>(&header), sizeof header)) &&
                std::memcmp(header.magic, expected.magic, sizeof header.magic) == 0;
    if (good) bytes.assign(std::istreambuf_iterator<char>(file), {});
    good = good && bytes.size() == header.size &&
           checksum(bytes, name) == std::string(header.check, sizeof header.check);
    if (good) return bytes;
    static std::atomic<bool> said = false;
    if (!said.exchange(true))
        std::fprintf(stderr, "pumice: the cache file %s is corrupt; it is made anew\n", path.string().c_str());
    std::error_code ignored;
    fs::remove(path, ignored);
    return std::nullopt;
}

void DiskCache::write(const std::string& name, const std::string& bytes) const {
    if (!on()) return;
    std::error_code failed;
    fs::create_directories(folder, failed);
    static std::atomic<unsigned> counter = 0;
#ifdef _WIN32
    const unsigned process = 0;
#else
    const unsigned process = unsigned(getpid());
#endif
    const fs::path path = folder / name;
    const fs::path draft = folder / text(name, ".", process, ".", counter++, ".tmp");
    Header header;
    header.size = bytes.size();
    checksum(bytes, name).copy(header.check, sizeof header.check);
    {
        std::ofstream file(draft, std::ios::binary | std::ios::trunc);
        if (!file) return;
        file.write(reinterpret_cast<const char*>(&header), sizeof header);
        file.write(bytes.data(), std::streamsize(bytes.size()));
        file.close();
        if (!file) {
            fs::remove(draft, failed);
            return;
        }
    }
    fs::rename(draft, path, failed);
    if (failed) fs::remove(draft, failed);
}

void CacheKey::add(const ir::Kernel& k) {
    add(k.name);
    add(k.whole_groups, k.math, k.rank, k.params.size(), k.memories.size());
    add(k.strings.size());
    for (const std::string& string : k.strings) add(string);
    for (const ir::Parameter& p : k.params) add(p.is_array, p.type, p.memory.id);
    for (const ir::Memory& m : k.memories) {
        add(m.name);
        add(m.kind, m.rank, m.access, m.argument, m.size.id, m.element.size, m.element.leaves.size(), m.extents.size());
        for (const int64_t extent : m.extents) add(extent);
        for (const Leaf& leaf : m.element.leaves) {
            add(leaf.path);
            add(leaf.type, leaf.offset);
        }
    }
    // Everything of an instruction but its source line.
    add(k.insts.size(), k.pool.size(), k.values.size(), k.blocks.size());
    for (const ir::Inst& i : k.insts)
        add(i.op, i.type, i.result_count, i.first_operand, i.operand_count, i.first_result, i.blocks[0].id, i.blocks[1].id,
              i.memory.id, i.leaf, i.immediate);
    for (const ir::Value v : k.pool) add(v.id);
    for (const ir::ValueInfo& v : k.values) add(v.type, v.inst.id, v.block.id, v.index);
    for (const ir::Block& block : k.blocks) {
        add(block.params.size(), block.insts.size());
        for (const ir::Value v : block.params) add(v.id);
        for (const ir::InstId i : block.insts) add(i.id);
    }
}

std::string CacheKey::hash() const { return checksum(bytes); }

}  // namespace pumice
