// A shader as bytes and back, for the disk cache.
#include <cstring>

#include "vulkan/code_cache.h"

namespace pumice::vulkan {
namespace {

// Must change with the layout below.
constexpr uint32_t layout_version = 7;

struct ShaderWriter {
    std::string bytes;
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void operator()(const T& value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void operator()(const std::string& string) {
        (*this)(uint64_t(string.size()));
        bytes += string;
    }
    template <class T> void operator()(const std::vector<T>& items) {
        (*this)(uint64_t(items.size()));
        for (const T& item : items) (*this)(item);
    }
};

/// Reads the output of ShaderWriter. Past the end, `good` is false and everything reads as zero or empty.
struct ShaderReader {
    const std::string& bytes;
    size_t at = 0;
    bool good = true;

    const char* take(uint64_t count) {
        if (!good || count > bytes.size() - at) return good = false, nullptr;
        at += count;
        return bytes.data() + at - count;
    }
    template <class T>
        requires std::is_trivially_copyable_v<T>
    void operator()(T& value) {
        if (const char* data = take(sizeof value)) std::memcpy(&value, data, sizeof value);
    }
    void operator()(std::string& string) {
        uint64_t size = 0;
        (*this)(size);
        if (const char* data = take(size)) string.assign(data, size);
    }
    template <class T> void operator()(std::vector<T>& items) {
        uint64_t size = 0;
        (*this)(size);
        for (uint64_t i = 0; i < size && good; ++i) (*this)(items.emplace_back());
    }
};

/// Lists the stored fields, for both directions.
template <class Archive, class Shader> void visit(Archive&& archive, Shader& shader) {
    archive(shader.name);
    archive(shader.glsl);
    archive(shader.spirv);
    archive(shader.bindings);
    archive(shader.push);
    archive(shader.push_bytes);
    archive(shader.block);
    archive(shader.block_bytes);
    archive(shader.local_bytes);
    archive(shader.private_bytes);
    archive(shader.sized_locals);
    archive(shader.size_steps);
    archive(shader.asks_full_groups);
    archive(shader.asks_at_origin);
    archive(shader.features);
    archive(shader.capabilities);
    archive(shader.hash);
}

}  // namespace

std::string pack(const codegen::Shader& shader) {
    ShaderWriter writer;
    writer(layout_version);
    visit(writer, shader);
    return std::move(writer.bytes);
}

std::optional<codegen::Shader> unpack(const std::string& bytes) {
    ShaderReader reader{bytes};
    uint32_t version = 0;
    reader(version);
    codegen::Shader shader;
    if (version == layout_version) visit(reader, shader);
    const bool whole = version == layout_version && reader.good && reader.at == bytes.size() && shader.spirv.size() > 5;
    return whole ? std::optional(std::move(shader)) : std::nullopt;
}

}  // namespace pumice::vulkan
