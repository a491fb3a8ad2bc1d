// Functions for the host column of ops.def where C++ is undefined or lacks one.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace pumice::scalar {

/// An unsigned type of at least 32 bits: neither overflow nor promotion to int makes wrapping undefined.
template <class T> using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <class T> inline constexpr int bit_width = int(sizeof(T)) * 8;

template <class T> constexpr T add(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return T(Wrapping<T>(a) + Wrapping<T>(b));
    else
        return a + b;
}
template <class T> constexpr T sub(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return T(Wrapping<T>(a) - Wrapping<T>(b));
    else
        return a - b;
}
template <class T> constexpr T mul(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return T(Wrapping<T>(a) * Wrapping<T>(b));
    else
        return a * b;
}
/// The upper half of the product, for unsigned types.
template <class T> constexpr T mul_high(T a, T b) {
    if constexpr (sizeof(T) < 8)
        return T(uint64_t(a) * b >> bit_width<T>);
    else {
        // Four products of halves; the carries of the middle ones go into the upper half.
        const uint64_t low = uint64_t(uint32_t(a)) * uint32_t(b), mid = uint64_t(a >> 32) * uint32_t(b) + (low >> 32);
        const uint64_t other = uint64_t(uint32_t(a)) * uint32_t(b >> 32) + uint32_t(mid);
        return uint64_t(a >> 32) * uint32_t(b >> 32) + (mid >> 32) + (other >> 32);
    }
}
template <class T> constexpr T neg(T a) {
    if constexpr (std::is_integral_v<T>)
        return T(Wrapping<T>(0) - Wrapping<T>(a));
    else
        return -a;
}

/// True if C++ does not define a / b.
template <class T> constexpr bool division_undefined(T a, T b) {
    if constexpr (std::is_signed_v<T>)
        if (b == T(-1) && a == std::numeric_limits<T>::min()) return true;
    return b == T(0);
}
template <class T> constexpr T div(T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return division_undefined(a, b) ? a : T(a / b);
    else
        return a / b;
}
template <class T> constexpr T rem(T a, T b) { return division_undefined(a, b) ? T(0) : T(a % b); }

template <class T> T abs(T a) {
    if constexpr (std::is_integral_v<T>)
        return a < T(0) ? neg(a) : a;
    else
        return std::fabs(a);
}
/// `a != a` is false for integers and true for NaN.
template <class T> constexpr T min(T a, T b) { return b < a || a != a ? b : a; }
template <class T> constexpr T max(T a, T b) { return b > a || a != a ? b : a; }
template <class T> constexpr T sign(T a) { return a > T(0) ? T(1) : a < T(0) ? T(-1) : a; }

template <class T> constexpr T bit_and(T a, T b) { return T(a & b); }
template <class T> constexpr T bit_or(T a, T b) { return T(a | b); }
template <class T> constexpr T bit_xor(T a, T b) { return T(a ^ b); }
template <class T> constexpr T bit_not(T a) {
    if constexpr (std::is_same_v<T, bool>)
        return !a;
    else
        return T(~a);
}
template <class T> constexpr T shl(T a, T b) { return T(Wrapping<T>(a) << (Wrapping<T>(b) & (bit_width<T> - 1))); }
template <class T> constexpr T shr(T a, T b) { return T(a >> (Wrapping<T>(b) & (bit_width<T> - 1))); }
template <class T> constexpr T popcount(T a) { return T(std::popcount(std::make_unsigned_t<T>(a))); }
template <class T> constexpr T clz(T a) { return T(std::countl_zero(std::make_unsigned_t<T>(a))); }
template <class T> constexpr T ctz(T a) { return T(std::countr_zero(std::make_unsigned_t<T>(a))); }
template <class T> constexpr T reverse_bits(T a) {
    Wrapping<T> from = Wrapping<T>(std::make_unsigned_t<T>(a)), to = 0;
    for (int i = 0; i < bit_width<T>; ++i, from >>= 1) to = (to << 1) | (from & 1);
    return T(to);
}

/// Computed in double, for a single rounding.
template <class T> T rsqrt(T a) { return T(1.0 / std::sqrt(double(a))); }
template <class T> T exp10(T a) { return T(std::pow(10.0, double(a))); }
/// The C library's cbrt of doubles errs by 3 ulps and more.
template <class T> T cbrt(T a) { return T(std::cbrt(static_cast<std::conditional_t<sizeof(T) == 8, long double, T>>(a))); }
/// Rounds halves to even in every rounding mode; from 1.5 / eps on a float has no fraction.
template <class T> T rint(T a) {
    const T below = std::floor(a), fraction = a - below;
    const bool up = fraction > T(0.5) || (fraction == T(0.5) && std::fmod(below, T(2)) != T(0));
    return std::copysign(up ? below + T(1) : below, a);
}
/// C leaves the results for 0 and NaN to the implementation.
template <class T> int32_t ilogb(T a) {
    if (a == T(0)) return std::numeric_limits<int32_t>::min();
    return std::isfinite(a) ? int32_t(std::ilogb(a)) : std::numeric_limits<int32_t>::max();
}
/// Unlike std::lgamma, it does not write to a global, which would be a race between threads.
double lgamma(double a);
float lgamma(float a);
/// The first and the second derivative of lgamma.
double digamma(double a);
double trigamma(double a);
inline float digamma(float a) { return float(digamma(double(a))); }
inline float trigamma(float a) { return float(trigamma(double(a))); }

}  // namespace pumice::scalar
