// Scalar types of the IR, and the layout of the elements that memory holds.
#pragma once
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/support/namespaces.h"

namespace pumice {

/// IEEE binary16. Devices and the interpreter compute in f32 and round every result. Conversions from and to other types go
/// through float, as casts do.
struct half {
    static constexpr int digits = 11;           ///< bits of the significand, the hidden one included
    static constexpr double largest = 65504.0;  ///< finite number

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

/// The upper 16 bits of a float: f32's range with 8 significant bits. Rounded to nearest even, a NaN stays one. Computed and
/// converted like half. Every device has it, since no device computes in it.
struct bfloat16 {
    static constexpr int digits = 8;
    static constexpr double largest = 0x1.fep127;

    uint16_t bits = 0;
    bfloat16() = default;
    explicit bfloat16(float value);
    template <class T>
        requires std::is_arithmetic_v<T>
    explicit bfloat16(T value) : bfloat16(float(value)) {}
    explicit operator float() const;
    template <class T>
        requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
    explicit operator T() const {
        return T(float(*this));
    }
    friend bool operator==(bfloat16 a, bfloat16 b) { return float(a) == float(b); }
};

/// A float type without arithmetic of its own on the host.
template <class T> concept NarrowFloat = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
/// The C++ type in which a scalar is computed: float for a narrow float, else the type itself.
template <class T> using Computed = std::conditional_t<NarrowFloat<T>, float, T>;

namespace internal {

/// The types of device values. Vectors, matrices and structs exist only in memory (see Element): values are scalars.
enum class Scalar : uint8_t {
#define SCALAR(name, ...) name,
#include "core/ir/scalars.def"
#undef SCALAR
};

/// A row of scalars.def.
struct ScalarRow {
    enum class Kind : uint8_t { boolean, signed_int, unsigned_int, floating, narrow };
    std::string_view text;
    int size = 0;
    Kind kind = Kind::boolean;
};
inline constexpr ScalarRow scalar_rows[] = {
#define SCALAR(name, text, type, kind) {text, int(sizeof(type)), ScalarRow::Kind::kind},
#include "core/ir/scalars.def"
#undef SCALAR
};
inline constexpr int scalar_count = int(std::size(scalar_rows));

/// "bool", "i32", "f64", ...
constexpr std::string_view name_of(Scalar type) { return scalar_rows[int(type)].text; }
/// The scalar with this name, if any.
std::optional<Scalar> scalar_named(std::string_view name);
/// Bytes of the type in host and device memory (bool: 1 on the host; see Element for devices).
constexpr int size_of(Scalar type) { return scalar_rows[int(type)].size; }
constexpr bool is_narrow_float(Scalar t) { return scalar_rows[int(t)].kind == ScalarRow::Kind::narrow; }
constexpr bool is_float(Scalar t) { return scalar_rows[int(t)].kind >= ScalarRow::Kind::floating; }
constexpr bool is_signed_int(Scalar t) { return scalar_rows[int(t)].kind == ScalarRow::Kind::signed_int; }
constexpr bool is_unsigned_int(Scalar t) { return scalar_rows[int(t)].kind == ScalarRow::Kind::unsigned_int; }
constexpr bool is_int(Scalar t) { return is_signed_int(t) || is_unsigned_int(t); }
/// The type in which values of a type are computed: f32 for narrow floats, else the type itself.
constexpr Scalar computed_type(Scalar t) { return is_narrow_float(t) ? Scalar::f32 : t; }

/// The Scalar of a C++ type; defined for bool, the integers of 8 to 64 bits, half, bfloat16, float and double.
template <class T> constexpr std::optional<Scalar> scalar_of() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, wchar_t>) {
        // By size: long and long long are distinct types of one size.
        constexpr int log_size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
        return Scalar(int(std::is_signed_v<T> ? Scalar::i8 : Scalar::u8) + log_size);
    }
#define SCALAR(name, text, type, kind) \
    if (std::is_same_v<T, type>) return Scalar::name;
#include "core/ir/scalars.def"
#undef SCALAR
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

}  // namespace internal

}  // namespace pumice
