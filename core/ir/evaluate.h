// Constant evaluation: pure instructions, casts and conversions of scalars, for folding and the interpreter.
#pragma once
#include <bit>
#include <limits>

#include "core/ir/ir.h"

namespace pumice {

/// The language's cast: integers wrap; float to integer truncates and saturates, NaN gives 0; to bool is `!= 0`; to a narrower
/// float rounds to nearest even.
template <class To, class From> constexpr To cast_scalar(From a) {
    if constexpr (NarrowFloat<From>)
        return cast_scalar<To>(float(a));
    else if constexpr (NarrowFloat<To>)
        return To(float(a));
    else if constexpr (std::is_same_v<To, bool>)
        return a != From(0);
    else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        // The limits as floats: the lower one is exact, the upper one is max + 1 for every integer width.
        constexpr From low = From(std::numeric_limits<To>::min());
        constexpr From high = From(2) * From(To(1) << (std::numeric_limits<To>::digits - 1));
        if (a != a) return To(0);
        if (a <= low) return std::numeric_limits<To>::min();
        if (a >= high) return std::numeric_limits<To>::max();
        return To(a);
    } else
        return static_cast<To>(a);
}

/// Calls f with a zero of the C++ type of `type`: turns a run-time Scalar into a template argument.
template <class F> decltype(auto) with_scalar(internal::Scalar type, F&& f) {
    switch (type) {
#define SCALAR(name, text, type, kind) \
    case internal::Scalar::name: return f(type());
#include "core/ir/scalars.def"
#undef SCALAR
    }
    __builtin_unreachable();
}

/// Converts a scalar from and to bits, in the low bytes of a word whose other bytes are zero.
template <class T> T from_bits(uint64_t bits) {
    if constexpr (std::is_same_v<T, bool>)
        return bits != 0;
    else if constexpr (NarrowFloat<T>) {
        T narrow;
        narrow.bits = uint16_t(bits);
        return narrow;
    } else if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<float>(uint32_t(bits));
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<double>(bits);
    else
        return T(bits);
}
template <class T> uint64_t to_bits(T value) {
    if constexpr (std::is_same_v<T, bool>)
        return value;
    else if constexpr (NarrowFloat<T>)
        return value.bits;
    else if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<uint64_t>(value);
    else
        return uint64_t(std::make_unsigned_t<T>(value));
}

inline uint64_t cast_bits(internal::Scalar from, internal::Scalar to, uint64_t bits) {
    return with_scalar(from, [&](auto f) {
        return with_scalar(to, [&](auto t) { return to_bits(cast_scalar<decltype(t)>(from_bits<decltype(f)>(bits))); });
    });
}

/// A float of any type from and to double. From double to a narrow float rounds to f32 first, as casts do.
inline double real_of(internal::Scalar type, uint64_t bits) {
    return from_bits<double>(cast_bits(type, internal::Scalar::f64, bits));
}
inline uint64_t real_bits(internal::Scalar type, double value) { return cast_bits(internal::Scalar::f64, type, to_bits(value)); }

/// The largest finite number of a float type.
inline double largest_real(internal::Scalar type) {
    return with_scalar(type, [](auto zero) {
        using T = decltype(zero);
        if constexpr (NarrowFloat<T>)
            return T::largest;
        else
            return double(std::numeric_limits<T>::max());
    });
}

}  // namespace pumice

namespace pumice::ir {

/// Evaluates a pure instruction on constants, given as bits. Returns false if folding is not allowed.
bool evaluate(const Inst& inst, Scalar operand_type, std::span<const uint64_t> operands, uint64_t& result);

}  // namespace pumice::ir
