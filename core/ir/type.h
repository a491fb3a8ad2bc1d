// Scalar types of the IR, and the layout of the elements that memory holds.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace pumice {

/// The types of device values. Vectors, matrices and structs exist only in memory (see Element): values are scalars.
enum class Scalar : uint8_t { boolean, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64 };
inline constexpr int scalar_count = 12;

/// "bool", "i32", "f64", ...
std::string_view name_of(Scalar type);
/// The scalar with this name, if any.
std::optional<Scalar> scalar_named(std::string_view name);
/// Bytes of the type in host and device memory (bool: 1 on the host; see Element for devices).
constexpr int size_of(Scalar type) {
    constexpr int sizes[scalar_count] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
    return sizes[int(type)];
}
constexpr bool is_float(Scalar t) { return t >= Scalar::f16; }
constexpr bool is_signed_int(Scalar t) { return t >= Scalar::i8 && t <= Scalar::i64; }
constexpr bool is_unsigned_int(Scalar t) { return t >= Scalar::u8 && t <= Scalar::u64; }
constexpr bool is_int(Scalar t) { return t >= Scalar::i8 && t <= Scalar::u64; }

/// IEEE binary16 storage. Arithmetic happens on devices, or in float after conversion. Conversions from and to other types go
/// through float, as casts do.
struct half {
    uint16_t bits = 0;
    half() = default;
    explicit half(float value);
    template <class T>
        requires std::is_arithmetic_v<T>
    explicit half(T value) : half(float(value)) {}
    explicit operator float() const;
    template <class T>
        requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    explicit operator T() const {
        return T(float(*this));
    }
    friend bool operator==(half a, half b) { return float(a) == float(b); }
};

/// The Scalar of a C++ type; defined for bool, the fixed-width integers, half, float and double.
template <class T> constexpr std::optional<Scalar> scalar_of() {
    if constexpr (std::is_same_v<T, bool>)
        return Scalar::boolean;
    else if constexpr (std::is_same_v<T, half>)
        return Scalar::f16;
    else if constexpr (std::is_same_v<T, float>)
        return Scalar::f32;
    else if constexpr (std::is_same_v<T, double>)
        return Scalar::f64;
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, wchar_t>) {
        constexpr int log_size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return Scalar(int(std::is_signed_v<T> ? Scalar::i8 : Scalar::u8) + log_size);
    } else
        return std::nullopt;
}
template <class T> concept ScalarType = scalar_of<T>().has_value();

/// One scalar inside a memory element: its member path ("" if the element is the scalar itself), type and byte offset.
struct Leaf {
    std::string path;
    Scalar type = Scalar::f32;
    uint32_t offset = 0;
    bool operator==(const Leaf&) const = default;
};

/// The layout of one element of an array, local array or private array. Equals the host's.
struct Element {
    std::vector<Leaf> leaves;
    uint32_t size = 0;  ///< bytes from one element to the next
    static Element of(Scalar type) { return {{Leaf{"", type, 0}}, uint32_t(size_of(type))}; }
    bool is_scalar() const { return leaves.size() == 1 && leaves[0].path.empty(); }
    bool operator==(const Element&) const = default;
};

}  // namespace pumice
