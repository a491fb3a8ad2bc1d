// The names of cached code: a hash of everything that the code depends on.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/ir/ir.h"

namespace pumice {

namespace ir {

// key_parts(x): the fields of x on which generated code may depend: all but source lines, and labels and names of parameters. The
// structured bindings name every field, so that a new field breaks the build until it is handled here.
inline auto key_parts(const Value& v) { return std::tie(v.id); }
inline auto key_parts(const InstId& i) { return std::tie(i.id); }
inline auto key_parts(const BlockId& b) { return std::tie(b.id); }
inline auto key_parts(const MemoryId& m) { return std::tie(m.id); }
inline auto key_parts(const Inst& i) {
    const auto& [op, type, result_count, unused, loc, first_operand, operand_count, first_result, blocks, memory, leaf,
                 immediate] = i;
    return std::tie(op, type, result_count, first_operand, operand_count, first_result, blocks[0], blocks[1], memory, leaf,
                    immediate);
}
inline auto key_parts(const ValueInfo& v) {
    const auto& [type, inst, block, index] = v;
    return std::tie(type, inst, block, index);
}
inline auto key_parts(const Block& b) {
    const auto& [params, insts] = b;
    return std::tie(params, insts);
}
inline auto key_parts(const Memory& m) {
    const auto& [kind, name, element, rank, access, argument, extents, size, loc, image] = m;
    return std::tie(kind, name, element, rank, access, argument, extents, size, image);
}
inline auto key_parts(const Parameter& p) {
    const auto& [is_array, type, memory, label, given, dimension, identity] = p;
    return std::tie(is_array, type, memory, given, dimension);
}
inline auto key_parts(const Function& f) {
    const auto& [name, loc, body, results, reverse, forward, inactive] = f;
    return std::tie(name, body, results, reverse, forward, inactive);
}
inline auto key_parts(const Kernel& k) {
    const auto& [name, files, strings, loc, whole_groups, math, rank, folded, group, range, params, memories, insts, pool, values,
                 blocks, functions] = k;
    return std::tie(name, strings, whole_groups, math, rank, folded, group, range, params, memories, insts, pool, values, blocks,
                    functions);
}

}  // namespace ir

inline auto key_parts(const internal::ImageInfo& i) {
    const auto& [kind, layout, dimensions, resolved, native, format, levels, filter, mip_filter, wrap, sampling, border] = i;
    return std::tie(kind, layout, dimensions, resolved, native, format, levels, filter, mip_filter, wrap, sampling, border[0],
                    border[1], border[2], border[3]);
}
inline auto key_parts(const internal::Leaf& l) {
    const auto& [path, type, offset] = l;
    return std::tie(path, type, offset);
}
inline auto key_parts(const internal::Element& e) {
    const auto& [leaves, size] = e;
    return std::tie(leaves, size);
}

/// The inputs of a cache entry, collected as bytes and hashed into its name. Sequences include their lengths.
struct CacheKey {
    std::string bytes;

    template <class... T>
        requires((std::is_arithmetic_v<T> || std::is_enum_v<T>) && ...)
    void add(const T&... values) {
        (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    }
    void add(std::string_view string) {
        add(string.size());
        bytes += string;
    }
    template <class T> void add(const std::vector<T>& items) {
        add(items.size());
        for (const auto& item : items) add_one(item);
    }
    template <class T, size_t N> void add(const std::array<T, N>& items) {
        for (const T& item : items) add_one(item);
    }
    /// A struct with key_parts.
    template <class T>
        requires requires(const T& one) { key_parts(one); }
    void add(const T& one) {
        std::apply([this](const auto&... part) { (this->add_one(part), ...); }, key_parts(one));
    }
    /// 32 hex digits.
    std::string hash() const;

private:
    template <class T> void add_one(const T& one) {
        if constexpr (std::is_convertible_v<const T&, std::string_view>)
            add(std::string_view(one));
        else
            add(one);
    }
};

}  // namespace pumice
