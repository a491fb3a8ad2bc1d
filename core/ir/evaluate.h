// Constant evaluation: pure instructions, casts and conversions of scalars, for folding and the interpreter.
#pragma once
#include <bit>
#include <cmath>
#include <limits>

#include "core/ir/ir.h"

namespace pumice {

/// The language's cast: integers wrap; float to integer truncates and saturates, NaN gives 0; to bool is `!= 0`; to a narrower
/// float rounds to nearest even.
template <class To, class From> constexpr To cast_scalar(From a) {
    if constexpr (std::is_same_v<From, half>)
        return cast_scalar<To>(float(a));
    else if constexpr (std::is_same_v<To, half>)
        return half(float(a));
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
template <class F> decltype(auto) with_scalar(Scalar type, F&& f) {
    switch (type) {
        case Scalar::boolean: return f(bool());
        case Scalar::i8: return f(int8_t());
        case Scalar::i16: return f(int16_t());
        case Scalar::i32: return f(int32_t());
        case Scalar::i64: return f(int64_t());
        case Scalar::u8: return f(uint8_t());
        case Scalar::u16: return f(uint16_t());
        case Scalar::u32: return f(uint32_t());
        case Scalar::u64: return f(uint64_t());
        case Scalar::f16: return f(half());
        case Scalar::f32: return f(float());
        case Scalar::f64: break;
    }
    return f(double());
}

/// Converts a scalar from and to bits, in the low bytes of a word whose other bytes are zero.
template <class T> T from_bits(uint64_t bits) {
    if constexpr (std::is_same_v<T, bool>)
        return bits != 0;
    else if constexpr (std::is_same_v<T, half>) {
        half h;
        h.bits = uint16_t(bits);
        return h;
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
    else if constexpr (std::is_same_v<T, half>)
        return value.bits;
    else if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<uint64_t>(value);
    else
        return uint64_t(std::make_unsigned_t<T>(value));
}

inline uint64_t cast_bits(Scalar from, Scalar to, uint64_t bits) {
    return with_scalar(from, [&](auto f) {
        return with_scalar(to, [&](auto t) { return to_bits(cast_scalar<decltype(t)>(from_bits<decltype(f)>(bits))); });
    });
}

}  // namespace pumice

namespace pumice::ir {

/// Evaluates a pure instruction on constants, given as bits. Returns false if folding is not allowed.
bool evaluate(const Inst& inst, Scalar operand_type, std::span<const uint64_t> operands, uint64_t& result);

}  // namespace pumice::ir
