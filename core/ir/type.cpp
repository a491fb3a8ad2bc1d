#include "core/ir/type.h"

#include <bit>

namespace pumice {

namespace {
/// value / 2^shift to the nearest whole number, ties to even; 1 <= shift <= 31.
uint32_t shift_right_even(uint32_t value, int shift) {
    const uint32_t half_way = 1u << (shift - 1), rest = value & ((half_way << 1) - 1);
    const uint32_t kept = value >> shift;
    return kept + (rest > half_way || (rest == half_way && (kept & 1)) ? 1 : 0);
}
}  // namespace

std::optional<internal::Scalar> internal::scalar_named(std::string_view name) {
    for (int i = 0; i < scalar_count; ++i)
        if (scalar_rows[i].text == name) return Scalar(i);
    return std::nullopt;
}

half::half(float value) {
    const uint32_t f = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (f >> 16) & 0x8000, magnitude = f & 0x7fffffff;
    constexpr uint32_t inf32 = 0x7f800000, rebias = (127 - 15) << 23;
    constexpr uint32_t smallest_normal = 113u << 23;  // 2^-14
    uint32_t h;
    if (magnitude > inf32)
        h = 0x7e00 | ((magnitude >> 13) & 0x3ff);  // a quiet NaN that keeps the payload's high bits
    else if (magnitude >= 0x47800000)
        h = 0x7c00;  // 2^16 and more
    else if (magnitude >= smallest_normal)
        h = shift_right_even(magnitude - rebias, 13);  // a carry may reach the exponent
    else {
        // Subnormal: the significand in units of 2^-24. Numbers below 2^-25 round to 0.
        const int exponent = int(magnitude >> 23), shift = 126 - exponent;
        h = shift > 24 ? 0 : shift_right_even((magnitude & 0x7fffff) | 0x800000, shift);
    }
    bits = uint16_t(sign | h);
}

half::operator float() const {
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = (bits >> 10) & 31, fraction = bits & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | (fraction << 13));
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
    const float magnitude = float(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
}

bfloat16::bfloat16(float value) {
    const uint32_t f = std::bit_cast<uint32_t>(value);
    const bool is_nan = (f & 0x7fffffff) > 0x7f800000;
    bits = uint16_t(is_nan ? f >> 16 | 0x40 : shift_right_even(f, 16));  // a carry may reach the exponent
}

bfloat16::operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

}  // namespace pumice
