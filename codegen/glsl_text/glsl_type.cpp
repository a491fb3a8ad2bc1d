#include "codegen/glsl_text/glsl_type.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "codegen/glsl_text/int64_emulation.h"
#include "core/support/ascii.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

constexpr std::string_view arithmetic8 = "GL_EXT_shader_explicit_arithmetic_types_int8";
constexpr std::string_view arithmetic16 = "GL_EXT_shader_explicit_arithmetic_types_int16";
constexpr std::string_view arithmetic64 = "GL_EXT_shader_explicit_arithmetic_types_int64";
constexpr std::string_view arithmetic_half = "GL_EXT_shader_explicit_arithmetic_types_float16";
constexpr std::string_view storage8 = "GL_EXT_shader_8bit_storage";
constexpr std::string_view storage16 = "GL_EXT_shader_16bit_storage";

// In the order of Scalar. GLSL 4 has double without an extension. A bool in a buffer is a byte without arithmetic
// (Options::byte_storage). Narrow floats are passed in the push-constant
// block as their bits.
constexpr GlslType types[scalar_count] = {
    {"bool", "uint8_t", "uint", Scalar::u32, "", storage8, std::nullopt},
    {"int8_t", "int8_t", "int", Scalar::i32, arithmetic8, storage8, Feature::int8},
    {"int16_t", "int16_t", "int", Scalar::i32, arithmetic16, storage16, Feature::int16},
    {"int", "int", "int", Scalar::i32, "", "", std::nullopt},
    {"int64_t", "int64_t", "int64_t", Scalar::i64, arithmetic64, "", Feature::int64},
    {"uint8_t", "uint8_t", "uint", Scalar::u32, arithmetic8, storage8, Feature::int8},
    {"uint16_t", "uint16_t", "uint", Scalar::u32, arithmetic16, storage16, Feature::int16},
    {"uint", "uint", "uint", Scalar::u32, "", "", std::nullopt},
    {"uint64_t", "uint64_t", "uint64_t", Scalar::u64, arithmetic64, "", Feature::int64},
    {"float16_t", "float16_t", "uint", Scalar::u32, arithmetic_half, storage16, Feature::float16},
    {"float", "float", "float", Scalar::f32, "", "", std::nullopt},
    {"double", "double", "double", Scalar::f64, "", "", Feature::float64},
    {"float", "uint16_t", "uint", Scalar::u32, "", storage16, std::nullopt},  // bf16: the float of the same value
};

template <class T> std::string digits(T value, int base = 10) {
    char buffer[64];
    if constexpr (std::is_floating_point_v<T>)
        return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
    else
        return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value, base).ptr};
}

/// The shortest decimal that reads back as the same float, with a point or exponent.
template <class F> std::string decimal(F value) {
    std::string out = digits(value);
    if (out.find_first_of(".e") == std::string::npos) out += ".0";
    return out;
}

std::string float_constant(Scalar type, uint64_t bits) {
    if (type == Scalar::f32) {
        const float value = std::bit_cast<float>(uint32_t(bits));
        // Infinities and NaN have no literal, and a compiler may flush a subnormal one.
        if (!std::isnormal(value) && value != 0) return "uintBitsToFloat(0x" + digits(uint32_t(bits), 16) + "u)";
        return decimal(value);
    }
    if (type == Scalar::f64) {
        const double value = std::bit_cast<double>(bits);
        if (!std::isnormal(value) && value != 0)
            // From two words: the device may lack 64-bit integers.
            return text("packDouble2x32(uvec2(0x", digits(uint32_t(bits), 16), "u, 0x", digits(uint32_t(bits >> 32), 16), "u))");
        return decimal(value) + "lf";
    }
    if (type == Scalar::bf16) return float_constant(Scalar::f32, bits << 16);
    half h;
    h.bits = uint16_t(bits);
    const float value = float(h);
    if (!std::isnormal(value) && value != 0) return text("float16_t(unpackHalf2x16(", bits, "u).x)");
    return "float16_t(" + decimal(value) + ")";
}

}  // namespace

const GlslType& glsl_type(Scalar type) { return types[int(type)]; }
const GlslType& glsl_type(Scalar type, bool pairs) { return pairs && is_pair(type) ? pair_type(type) : glsl_type(type); }

std::string glsl_constant(Scalar type, uint64_t bits, bool pairs) {
    if (pairs && is_pair(type)) return pair_constant(bits);
    if (type == Scalar::boolean) return bits ? "true" : "false";
    if (is_float(type)) return float_constant(type, bits);
    const int unused = 64 - 8 * size_of(type);
    const int64_t value = int64_t(bits << unused) >> unused;
    const std::string spelling(glsl_type(type).value);
    switch (type) {
        case Scalar::i32: return value == INT32_MIN ? "int(0x80000000u)" : std::to_string(value);
        case Scalar::i64: return value == INT64_MIN ? "int64_t(0x8000000000000000ul)" : std::to_string(value) + "l";
        case Scalar::u32: return std::to_string(bits) + "u";
        case Scalar::u64: return std::to_string(bits) + "ul";
        case Scalar::u8:
        case Scalar::u16: return spelling + "(" + std::to_string(bits) + "u)";
        default: return spelling + "(" + std::to_string(value) + ")";
    }
}

std::string cast_text(Scalar from, Scalar to, bool pairs) {
    if (from == to) return "$0";
    if (from == Scalar::bf16) return cast_text(Scalar::f32, to, pairs);
    if (to == Scalar::bf16) return rounded_to_bf16(cast_text(from, Scalar::f32, pairs));
    if (pairs && (is_pair(from) || is_pair(to))) return pair_cast_text(from, to);
    if (to == Scalar::boolean) return "$0 != " + glsl_constant(from, 0);
    const std::string spelling(glsl_type(to).value);
    // Conversions to half go through float, as on the host; from double that rounds twice.
    if (to == Scalar::f16 && from != Scalar::f32) return spelling + "(float($0))";
    if (!is_float(from) || !is_int(to)) return spelling + "($0)";
    const std::string operand = from == Scalar::f16 ? "float($0)" : "$0", real = from == Scalar::f64 ? "f64" : "f32";
    if (size_of(to) >= 4) return text("pm_", real, "_to_", name_of(to), "(", operand, ")");
    const int width = 8 * size_of(to);
    if (is_unsigned_int(to)) return text(spelling, "(min(pm_", real, "_to_u32(", operand, "), ", (1 << width) - 1, "u))");
    const int limit = 1 << (width - 1);
    return text(spelling, "(clamp(pm_", real, "_to_i32(", operand, "), -", limit, ", ", limit - 1, "))");
}

std::string bitcast_text(Scalar from, Scalar to, bool pairs) {
    if (from == to) return "$0";
    if (pairs && size_of(from) == 8) return pair_bitcast_text(from, to);
    if (from == Scalar::bf16 || to == Scalar::bf16) {
        std::string whole = from_bits_text(to);
        return whole.replace(whole.find("$0"), 2, to_bits_text(from));
    }
    if (is_int(from) && is_int(to)) return std::string(glsl_type(to).value) + "($0)";
    // GLSL names these functions in three styles, by the type of the float.
    const Scalar number = is_float(from) ? from : to;
    const Scalar whole = is_float(from) ? to : from;
    const bool is_signed = is_signed_int(whole);
    std::string_view real, integer;
    switch (number) {
        case Scalar::f32: real = "float", integer = is_signed ? "int" : "uint"; break;
        case Scalar::f64: real = "double", integer = is_signed ? "int64" : "uint64"; break;
        case Scalar::f16: real = is_float(from) ? "float16" : "half", integer = is_signed ? "int16" : "uint16"; break;
        default: library_bug(text("a bitcast from ", name_of(from), " to ", name_of(to), " reached the GLSL emitter"));
    }
    if (!is_float(from)) return text(integer, "BitsTo", ascii::upper(real[0]), real.substr(1), "($0)");
    return text(real, "BitsTo", ascii::upper(integer[0]), integer.substr(1), "($0)");
}

std::string rounded_to_bf16(const std::string& value) { return text("pm_rounded_to_bf16(", value, ")"); }

std::string to_bits_text(Scalar type) {
    if (type == Scalar::f16) return "packHalf2x16(vec2(float($0), 0.0))";
    if (type == Scalar::bf16) return "(floatBitsToUint($0) >> 16)";
    const std::string bits = "uint($0)";
    return is_signed_int(type) ? text("(", bits, " & ", (1 << 8 * size_of(type)) - 1, "u)") : bits;
}

std::string from_bits_text(Scalar type) {
    if (type == Scalar::boolean) return "$0 != 0u";
    if (type == Scalar::f16) return "float16_t(unpackHalf2x16($0).x)";
    if (type == Scalar::bf16) return "uintBitsToFloat($0 << 16)";
    return text(glsl_type(type).value, "($0)");
}

Scalar bits_type(Scalar type) {
    switch (size_of(type)) {
        case 1: return Scalar::u8;
        case 2: return Scalar::u16;
        case 4: return Scalar::u32;
        default: return Scalar::u64;
    }
}

}  // namespace pumice::codegen
