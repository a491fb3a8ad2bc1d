#include "vulkan/cache.h"

#include <atomic>
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

namespace pumice::vulkan {
namespace {

namespace fs = std::filesystem;

/// In front of every entry. `size` and `check` are of the bytes that follow.
struct Header {
    char magic[8] = {'p', 'u', 'm', 'i', 'c', 'e', '0', '1'};
    uint64_t size = 0;
    char check[32] = {};
};

std::string checksum(const std::string& bytes) {
    Hash hash;
    hash.add(bytes);
    return hash.text();
}

/// The bytes of many numbers in a row, to be hashed at once.
struct Bytes {
    std::string bytes;
    template <class... T>
        requires((std::is_arithmetic_v<T> || std::is_enum_v<T>) && ...)
    void add(const T&... values) { (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...); }
    void add(const std::string& string) {
        add(string.size());
        bytes += string;
    }
    std::string hash() const { return checksum(bytes); }
};

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
           checksum(bytes) == std::string(header.check, sizeof header.check);
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
    checksum(bytes).copy(header.check, sizeof header.check);
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
    Bytes b;
    b.add(build), b.add(snapshot.name), b.add(snapshot.driver), b.add(snapshot.driver_version);
    for (const uint8_t byte : snapshot.device_uuid) b.add(byte);
    for (const uint8_t byte : snapshot.driver_uuid) b.add(byte);
    return b.hash();
}

std::string shader_key(const std::string& device, const ir::Kernel& k, const codegen::Options& options) {
    Bytes b;
    b.add(device);
    b.add(options.comments, options.float_atomics, options.wide_offsets, options.by_address.size());
    for (const bool by_address : options.by_address) b.add(by_address);
    b.add(k.name);
    b.add(k.whole_groups, k.math, k.rank, k.params.size(), k.memories.size());
    for (const ir::Parameter& p : k.params) b.add(p.is_array, p.type, p.memory.id);
    for (const ir::Memory& m : k.memories) {
        b.add(m.name);
        b.add(m.kind, m.rank, m.access, m.argument, m.size.id, m.element.size, m.element.leaves.size(), m.extents.size());
        for (const int64_t extent : m.extents) b.add(extent);
        for (const Leaf& leaf : m.element.leaves) {
            b.add(leaf.path);
            b.add(leaf.type, leaf.offset);
        }
    }
    // Everything of an instruction but its source line.
    b.add(k.insts.size(), k.pool.size(), k.values.size(), k.blocks.size());
    for (const ir::Inst& i : k.insts)
        b.add(i.op, i.type, i.result_count, i.first_operand, i.operand_count, i.first_result, i.blocks[0].id, i.blocks[1].id,
              i.memory.id, i.leaf, i.immediate);
    for (const ir::Value v : k.pool) b.add(v.id);
    for (const ir::ValueInfo& v : k.values) b.add(v.type, v.inst.id, v.block.id, v.index);
    for (const ir::Block& block : k.blocks) {
        b.add(block.params.size(), block.insts.size());
        for (const ir::Value v : block.params) b.add(v.id);
        for (const ir::InstId i : block.insts) b.add(i.id);
    }
    return b.hash();
}

}  // namespace pumice::vulkan
