// The element types of random programs: every scalar, vectors, matrices, and structs with each kind of member, gaps and tails.
#pragma once
#include <pumice/pumice.h>

#include <tuple>

namespace fuzz {

struct Gap {
    float x{};
    uint8_t y{};
};  // ends in padding of 3 bytes
struct Tail {
    Gap in;
    uint8_t z{};
};  // a byte follows the padding
struct Wide {
    int a{}, b{};
    int64_t c{};
};  // a kernel may leave c untouched
struct Mixed {
    bool flag{};
    double d{};
    int16_t s{};
    uint8_t b{};
};
struct Whole {
    int8_t a{};
    uint8_t b{};
    int16_t c{};
    uint16_t d{};
    int e{};
    unsigned f{};
    int64_t g{};
    uint64_t h{};
};
struct Bytes {
    uint8_t r{}, g{}, b{};
};
struct Flags {
    bool a{}, b{}, c{};
};
struct Halves {
    pumice::half h;
    float f{};
    pumice::half g;
};
struct Weights {
    pumice::bfloat16 w;
    int n{};
    pumice::bfloat16 bias;
    bool used{};
};
struct Body {
    pumice::float3 v;
    bool alive{};
    uint16_t kind{};
    Gap n;
};
struct Deep {
    pumice::double2 p;
    Body q;
    int8_t t{};
};
struct Turn {
    pumice::float2x2 m;
    int16_t k{};
};

}  // namespace fuzz

PUMICE_STRUCT(fuzz::Gap, x, y);
PUMICE_STRUCT(fuzz::Tail, in, z);
PUMICE_STRUCT(fuzz::Wide, a, b, c);
PUMICE_STRUCT(fuzz::Mixed, flag, d, s, b);
PUMICE_STRUCT(fuzz::Whole, a, b, c, d, e, f, g, h);
PUMICE_STRUCT(fuzz::Bytes, r, g, b);
PUMICE_STRUCT(fuzz::Flags, a, b, c);
PUMICE_STRUCT(fuzz::Halves, h, f, g);
PUMICE_STRUCT(fuzz::Weights, w, n, bias, used);
PUMICE_STRUCT(fuzz::Body, v, alive, kind, n);
PUMICE_STRUCT(fuzz::Deep, p, q, t);
PUMICE_STRUCT(fuzz::Turn, m, k);

namespace fuzz {

/// Scalars come first, in the order of pumice::Scalar; programs name a type by its number here.
using Types = std::tuple<bool, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, pumice::half, float,
                         double, pumice::bfloat16, pumice::float2, pumice::float3, pumice::float4, pumice::double2,
                         pumice::double3, pumice::int2, pumice::int3, pumice::uint4, pumice::float2x2, pumice::float3x3,
                         pumice::double2x2, Gap, Tail, Wide, Mixed, Whole, Bytes, Flags, Halves, Weights, Body, Deep, Turn>;
inline constexpr int type_count = int(std::tuple_size_v<Types>);
static_assert([]<size_t... I>(std::index_sequence<I...>) {
    return ((pumice::internal::scalar_of<std::tuple_element_t<I, Types>>() == pumice::internal::Scalar(I)) && ...);
}(std::make_index_sequence<size_t(pumice::internal::scalar_count)>()));
constexpr bool is_composite(int type) { return type >= pumice::internal::scalar_count; }
constexpr int type_of(pumice::internal::Scalar s) { return int(s); }

/// The number of a type.
template <class T> constexpr int number_of() {
    return []<class... All>(std::type_identity<std::tuple<All...>>) {
        int n = 0;
        (void)((std::is_same_v<T, All> || (++n, false)) || ...);
        return n;
    }(std::type_identity<Types>());
}

/// f(std::type_identity<T>()) of type number `type`.
template <class F> void with_type(int type, F&& f) {
    [&]<size_t... I>(std::index_sequence<I...>) {
        (void)((type == int(I) && (f(std::type_identity<std::tuple_element_t<I, Types>>()), true)) || ...);
    }(std::make_index_sequence<size_t(type_count)>());
}
/// The same for a scalar type.
template <class F> void with_scalar(pumice::internal::Scalar type, F&& f) {
    [&]<size_t... I>(std::index_sequence<I...>) {
        (void)((int(type) == int(I) && (f(std::type_identity<std::tuple_element_t<I, Types>>()), true)) || ...);
    }(std::make_index_sequence<size_t(pumice::internal::scalar_count)>());
}

/// Layout of a type in memory.
const pumice::internal::Element& element(int type);

}  // namespace fuzz
