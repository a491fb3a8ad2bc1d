// Casts, selections and copies.
#include <cstring>

#include "core/interp/interp_scalar.h"
#include "core/ir/evaluate.h"

namespace pumice::interp {
namespace {

template <class To, class From> void cast_items(Items items, void* result, const void* operand, const void*, const void*) {
    To* __restrict r = static_cast<To*>(result);
    const From* a = static_cast<const From*>(operand);
    each(items, [=](int i) { r[i] = cast_scalar<To>(a[i]); });
}

template <class T> void select_items(Items items, void* result, const void* condition, const void* first, const void* second) {
    T* __restrict r = static_cast<T*>(result);
    const bool* c = static_cast<const bool*>(condition);
    const T* a = static_cast<const T*>(first);
    const T* b = static_cast<const T*>(second);
    each(items, [=](int i) { r[i] = c[i] ? a[i] : b[i]; });
}

template <int size> void copy_items(Items items, void* result, const void* operand, const void*, const void*) {
    char* __restrict r = static_cast<char*>(result);
    const char* a = static_cast<const char*>(operand);
    each(items, [=](int i) { std::memcpy(r + i * size, a + i * size, size); });
}

}  // namespace

ItemLoop cast_loop(Scalar from, Scalar to) {
    return with_scalar(
        from, [&](auto f) { return with_scalar(to, [](auto t) -> ItemLoop { return cast_items<decltype(t), decltype(f)>; }); });
}

ItemLoop select_loop(Scalar type) {
    return with_scalar(type, [](auto t) -> ItemLoop { return select_items<decltype(t)>; });
}

ItemLoop copy_loop(Scalar type) {
    switch (size_of(type)) {
        case 1: return copy_items<1>;
        case 2: return copy_items<2>;
        case 4: return copy_items<4>;
        default: return copy_items<8>;
    }
}

}  // namespace pumice::interp
