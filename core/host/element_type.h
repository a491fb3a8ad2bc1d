// Host types that arrays hold, and the layout of their scalars in memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "core/ir/type.h"

namespace pumice {
template <class T, int N> class Array;
/// The members of a struct, as PUMICE_STRUCT lists them (see core/language/composite.h).
template <class T> struct structure;

namespace detail {

/// A struct or vector: several scalars, never one value of the IR.
template <class T> concept Composite = requires { typename structure<T>::described; };

template <class T> struct is_array : std::false_type {};
template <class T, int N> struct is_array<Array<T, N>> : std::true_type {};
template <class T> struct is_image : std::false_type {};

/// Number of scalars in a T, nested members included.
template <class T> constexpr int leaf_count() {
    if constexpr (ScalarType<T>)
        return 1;
    else {
        int n = 0;
        structure<T>::each_type([&]<class F>(const char*, size_t, F*) { n += leaf_count<F>(); });
        return n;
    }
}

/// The path of a member: "velocity.x", "a[2]".
inline std::string member_path(const std::string& path, const char* member) {
    return path.empty() ? member : path + (member[0] == '[' ? "" : ".") + member;
}

template <class T> void append_leaves(const std::string& path, uint32_t offset, std::vector<Leaf>& leaves) {
    if constexpr (ScalarType<T>)
        leaves.push_back({path, *scalar_of<T>(), offset});
    else
        structure<T>::each_type([&]<class F>(const char* name, size_t at, F*) {
            append_leaves<F>(member_path(path, name), offset + uint32_t(at), leaves);
        });
}
/// The layout of a T in memory. Never destroyed: destructors of the application's static objects may launch kernels.
template <class T> const Element& element_of() {
    static const Element& element = *[] {
        auto* const e = new Element;
        append_leaves<T>("", 0, e->leaves);
        e->size = sizeof(T);
        return e;
    }();
    return element;
}

}  // namespace detail
}  // namespace pumice
