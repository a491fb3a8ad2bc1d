// Vectors of 2 to 4 scalars: host types, and the kernel operations that rearrange components. Their functions are in functions.h.
#pragma once
#include "core/language/composite.h"

// Host types: plain structs, packed as an array of their components.
#define PUMICE_VECTORS(scalar, name)                                        \
    namespace pumice {                                                      \
    struct name##2 {                                                        \
        scalar x{}, y{};                                                    \
        friend bool operator==(const name##2 &, const name##2 &) = default; \
    };                                                                      \
    struct name##3 {                                                        \
        scalar x{}, y{}, z{};                                               \
        friend bool operator==(const name##3 &, const name##3 &) = default; \
    };                                                                      \
    struct name##4 {                                                        \
        scalar x{}, y{}, z{}, w{};                                          \
        friend bool operator==(const name##4 &, const name##4 &) = default; \
    };                                                                      \
    }                                                                       \
    PUMICE_STRUCT_AS(pumice::name##2, true, scalar, x, y);                  \
    PUMICE_STRUCT_AS(pumice::name##3, true, scalar, x, y, z);               \
    PUMICE_STRUCT_AS(pumice::name##4, true, scalar, x, y, z, w);
PUMICE_VECTORS(float, float)
PUMICE_VECTORS(double, double)
PUMICE_VECTORS(int32_t, int)
PUMICE_VECTORS(uint32_t, uint)
#undef PUMICE_VECTORS

namespace pumice {
namespace detail {
/// The vector of n scalars S; for n = 1, S itself.
template <class S, int n> struct vector_of;
template <class S> struct vector_of<S, 1> {
    using type = S;
};
#define PUMICE_VECTORS_OF(scalar, name)       \
    template <> struct vector_of<scalar, 2> { \
        using type = name##2;                 \
    };                                        \
    template <> struct vector_of<scalar, 3> { \
        using type = name##3;                 \
    };                                        \
    template <> struct vector_of<scalar, 4> { \
        using type = name##4;                 \
    };
PUMICE_VECTORS_OF(float, float)
PUMICE_VECTORS_OF(double, double)
PUMICE_VECTORS_OF(int32_t, int)
PUMICE_VECTORS_OF(uint32_t, uint)
#undef PUMICE_VECTORS_OF

/// The letters of a swizzle, x y z w, as a template argument.
template <size_t N> struct Letters {
    char at[N];
    consteval Letters(const char (&text)[N]) {
        for (size_t n = 0; n < N; ++n) at[n] = text[n];
    }
    static constexpr size_t count = N - 1;
    constexpr int place(size_t n) const { return at[n] == 'w' ? 3 : at[n] >= 'x' && at[n] <= 'z' ? at[n] - 'x' : 4; }
    constexpr bool within(int components) const {
        for (size_t n = 0; n < count; ++n)
            if (place(n) >= components) return false;
        return count >= 1 && count <= 4;
    }
};
template <class T> concept Vector = Composite<T> && structure<T>::is_vector;
template <class A> concept VectorValue = Vector<device_type_t<A>>;
/// The vector type of an operation on A and B, one of which is a vector.
template <class A, class B> using vector_type_t = std::conditional_t<VectorValue<A>, device_type_t<A>, device_type_t<B>>;
template <class A, class B> concept VectorPair = (VectorValue<A> || VectorValue<B>) &&
                                                 CompositeOperandOf<A, vector_type_t<A, B>> &&
                                                 CompositeOperandOf<B, vector_type_t<A, B>>;
}  // namespace detail

/// Components of a vector in any order: swizzle<"zyx">(v) is a vector of v.z, v.y, v.x; one letter gives a scalar.
template <detail::Letters letters, detail::VectorValue A> auto swizzle(const A& v, PUMICE_AT) {
    using T = detail::device_type_t<A>;
    static_assert(letters.within(detail::leaf_count<T>()),
                  "pumice: a swizzle has 1 to 4 of the letters x y z w, of components that the vector has");
    const detail::Operand<T> all(v, pm_file, pm_line);
    std::array<detail::Handle, letters.count> picked;
    for (size_t n = 0; n < picked.size(); ++n) picked[n] = all.handles[size_t(letters.place(n))];
    detail::HandleSource source{picked.data()};
    return Val<typename detail::vector_of<typename structure<T>::component, int(letters.count)>::type>(source);
}

// A host vector with a device scalar, which stands for all components. The source line is that of the preceding operation.
// clang-format off
#define PUMICE_HOST_VECTOR(symbol)                                                                              \
    template <detail::Vector T, class B> requires internal::ScalarType<detail::device_type_t<B>>                          \
    auto operator symbol(const T& a, const B& b) {                                                              \
        static_assert(std::is_same_v<detail::device_type_t<B>, typename structure<T>::component>,                \
                      "pumice: a vector beside a device scalar of another type than its components: write cast<T>(x)"); \
        return Val<T>(a, "", 0) symbol b;                                                                       \
    }                                                                                                           \
    template <class A, detail::Vector T> requires internal::ScalarType<detail::device_type_t<A>>                          \
    auto operator symbol(const A& a, const T& b) {                                                              \
        static_assert(std::is_same_v<detail::device_type_t<A>, typename structure<T>::component>,                \
                      "pumice: a vector beside a device scalar of another type than its components: write cast<T>(x)"); \
        return a symbol Val<T>(b, "", 0);                                                                       \
    }
PUMICE_HOST_VECTOR(+) PUMICE_HOST_VECTOR(-) PUMICE_HOST_VECTOR(*) PUMICE_HOST_VECTOR(/)
PUMICE_HOST_VECTOR(%) PUMICE_HOST_VECTOR(&) PUMICE_HOST_VECTOR(|) PUMICE_HOST_VECTOR(^)
#undef PUMICE_HOST_VECTOR
// clang-format on

}  // namespace pumice
