// Conversion of texels on the host. The lowering of images (core/lowering/images_as_words.cpp) emits the same arithmetic, to
// the bit.
#include "core/format/texel_conversion.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace pumice {

using namespace internal;
namespace {

using Kind = FormatRow::Kind;

float half_value(uint32_t h) {
    const uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 0) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(fraction) * 0x1p-24f));
    const uint32_t widened = exponent == 31 ? 0x7f800000u : (exponent + 112) << 23;
    return std::bit_cast<float>(sign | widened | fraction << 13);
}

/// Rounded to nearest even; past 65504 infinite.
uint32_t half_bits(uint32_t bits) {
    const uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return sign | 0x7e00u;
    if (size >= 0x47800000u) return sign | 0x7c00u;
    if (size < 0x38800000u) return sign | uint32_t(std::nearbyint(std::bit_cast<float>(size) * 0x1p24f));
    return sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13);
}

float srgb_value(float s) {
    const float x = (s + 0.055f) * float(1 / 1.055);
    float root = x * 0.4f + 0.6f;
    for (int step = 0; step < 3; ++step) {
        const float square = root * root;
        root = (root * 4.0f + x / (square * square)) * 0.2f;
    }
    return s <= 0.04045f ? s * float(1 / 12.92) : (x * x) * (root * root);
}

/// The reciprocal of the largest value of a normalised format: texels are multiplied by it.
float unit(Kind kind, int bits) { return float(1.0 / double((1u << (bits - (kind == Kind::snorm))) - 1)); }

uint32_t normalised(Kind kind, int bits, float value) {
    const float largest = float((1u << (bits - (kind == Kind::snorm))) - 1), lowest = kind == Kind::snorm ? -1.0f : 0.0f;
    const float clamped = value > lowest ? (value < 1.0f ? value : 1.0f) : value <= lowest ? lowest : 0.0f;
    return uint32_t(int32_t(std::nearbyint(clamped * largest)));
}

int stored_position(Format format, int channel) { return format == Format::bgra8_unorm && channel < 3 ? 2 - channel : channel; }

}  // namespace

uint32_t decode_channel(Format format, int channel, uint32_t stored) {
    const FormatRow& row = row_of(format);
    const auto as_float = [](float f) { return std::bit_cast<uint32_t>(f); };
    const int32_t wide = row.bits == 32 ? int32_t(stored) : int32_t(stored << (32 - row.bits)) >> (32 - row.bits);
    switch (row.kind) {
        case Kind::srgb:
            if (channel < 3) return as_float(srgb_value(float(stored) * unit(Kind::unorm, 8)));
            [[fallthrough]];
        case Kind::unorm: return as_float(float(stored) * unit(Kind::unorm, row.bits));
        case Kind::snorm: {
            const float value = float(wide) * unit(Kind::snorm, row.bits);
            return as_float(value < -1.0f ? -1.0f : value);
        }
        case Kind::real: return row.bits == 32 ? stored : as_float(half_value(stored));
        case Kind::sint: return uint32_t(wide);
        case Kind::uint: return stored;
    }
    return 0;
}

uint32_t encode_channel(Format format, int channel, uint32_t value) {
    const FormatRow& row = row_of(format);
    const uint32_t mask = row.bits == 32 ? ~0u : (1u << row.bits) - 1;
    switch (row.kind) {
        case Kind::srgb:
            if (channel < 3) {
                const float linear = std::bit_cast<float>(value);
                const double s =
                    linear <= 0.0031308f ? double(linear) * 12.92 : 1.055 * std::pow(double(linear), 1 / 2.4) - 0.055;
                return normalised(Kind::unorm, 8, float(s)) & mask;
            }
            [[fallthrough]];
        case Kind::unorm: return normalised(Kind::unorm, row.bits, std::bit_cast<float>(value)) & mask;
        case Kind::snorm: return normalised(Kind::snorm, row.bits, std::bit_cast<float>(value)) & mask;
        case Kind::real: return row.bits == 32 ? value : half_bits(value);
        default: return value & mask;
    }
}

void decode_texels(Format format, const void* pixels, int64_t texels, uint32_t* words) {
    const FormatRow& row = row_of(format);
    const size_t bytes = size_t(row.bits / 8);
    const auto* from = static_cast<const unsigned char*>(pixels);
    for (int64_t t = 0; t < texels; ++t, from += row.bytes())
        for (int c = 0; c < row.channels; ++c) {
            uint32_t stored = 0;
            std::memcpy(&stored, from + size_t(stored_position(format, c)) * bytes, bytes);
            *words++ = decode_channel(format, c, stored);
        }
}

void encode_texels(Format format, const uint32_t* words, int64_t texels, void* pixels) {
    const FormatRow& row = row_of(format);
    const size_t bytes = size_t(row.bits / 8);
    auto* to = static_cast<unsigned char*>(pixels);
    for (int64_t t = 0; t < texels; ++t, to += row.bytes())
        for (int c = 0; c < row.channels; ++c) {
            const uint32_t stored = encode_channel(format, c, *words++);
            std::memcpy(to + size_t(stored_position(format, c)) * bytes, &stored, bytes);
        }
}

}  // namespace pumice
