#include "vulkan/cache.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#ifndef _WIN32
#include <dlfcn.h>
#include <unistd.h>
#endif

#include "core/error.h"

namespace pumice::vulkan {
namespace {

namespace fs = std::filesystem;

/// In front of every entry. `size` and `check` are of the bytes that follow.
struct Header {
    char magic[8] = {'p', 'u', 'm', 'i', 'c', 'e', '0', '1'};
    uint64_t size = 0;
    uint64_t check = 0;
};

uint64_t checksum(const std::string& bytes) {
    Hash hash;
    hash.add(bytes.data(), bytes.size());
    return hash.low();
}

/// Changes with every build of the library: the size and time of the file that this code was loaded from. A cached shader of an
/// older code generator is thus never taken.
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

}  // namespace

void Hash::add(const void* data, size_t bytes) {
    // FNV-1a, and beside it the same with another multiplier, over the length too by way of Hash::add(string).
    const auto* byte = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i) {
        a = (a ^ byte[i]) * 0x100000001b3;
        b = (b ^ byte[i]) * 0x9e3779b97f4a7c15;
        b ^= b >> 29;
    }
}

void Hash::add(const std::string& string) {
    add(uint64_t(string.size()));
    add(string.data(), string.size());
}

std::string Hash::hex() const {
    char digits[33];
    std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(a), static_cast<unsigned long long>(b));
    return digits;
}

fs::path DiskCache::default_folder() {
    const auto variable = [](const char* name) { const char* value = std::getenv(name); return std::string(value ? value : ""); };
    if (std::getenv("PUMICE_CACHE_DIR")) return variable("PUMICE_CACHE_DIR");
    if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty()) return fs::path(base) / "pumice";
    if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "pumice";
    return {};
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
    good = good && bytes.size() == header.size && checksum(bytes) == header.check;
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
    header.check = checksum(bytes);
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

std::string device_key(const Snapshot& snapshot) {
    static const std::string build = build_stamp();
    Hash hash;
    hash.add(build);
    hash.add(snapshot.name);
    hash.add(snapshot.device_uuid.data(), snapshot.device_uuid.size());
    hash.add(snapshot.driver_uuid.data(), snapshot.driver_uuid.size());
    hash.add(snapshot.driver_version);
    hash.add(snapshot.driver);
    return hash.hex();
}

std::string shader_key(const std::string& device, const ir::Kernel& k, const codegen::Options& options) {
    Hash hash;
    hash.add(device);
    hash.add(options.comments);
    hash.add(options.float_atomics);
    hash.add(options.wide_offsets);
    hash.add(options.by_address.size());
    for (const bool by_address : options.by_address) hash.add(by_address);
    hash.add(k.name);
    hash.add(k.whole_groups);
    hash.add(k.math);
    hash.add(k.rank);
    for (const ir::Parameter& p : k.params) hash.add(p.is_array), hash.add(p.type), hash.add(p.memory.id);
    hash.add(k.memories.size());
    for (const ir::Memory& m : k.memories) {
        hash.add(m.kind), hash.add(m.name), hash.add(m.element.size), hash.add(m.element.leaves.size());
        for (const Leaf& leaf : m.element.leaves) hash.add(leaf.path), hash.add(leaf.type), hash.add(leaf.offset);
        hash.add(m.rank), hash.add(m.access), hash.add(m.argument), hash.add(m.size.id), hash.add(m.extents.size());
        for (const int64_t extent : m.extents) hash.add(extent);
    }
    hash.add(k.insts.size());
    for (const ir::Inst& i : k.insts) {
        hash.add(i.op), hash.add(i.type), hash.add(i.result_count), hash.add(i.first_operand), hash.add(i.operand_count);
        hash.add(i.first_result), hash.add(i.blocks[0].id), hash.add(i.blocks[1].id), hash.add(i.memory.id), hash.add(i.leaf);
        hash.add(i.immediate);
    }
    hash.add(k.pool.size());
    for (const ir::Value v : k.pool) hash.add(v.id);
    hash.add(k.values.size());
    for (const ir::ValueInfo& v : k.values) hash.add(v.type), hash.add(v.inst.id), hash.add(v.block.id), hash.add(v.index);
    hash.add(k.blocks.size());
    for (const ir::Block& b : k.blocks) {
        hash.add(b.params.size());
        for (const ir::Value v : b.params) hash.add(v.id);
        hash.add(b.insts.size());
        for (const ir::InstId i : b.insts) hash.add(i.id);
    }
    return hash.hex();
}

}  // namespace pumice::vulkan
