// The GLSL spelling of the IR's types, constants, casts and bitcasts.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/host/backend.h"
#include "core/ir/type.h"

namespace pumice::codegen {

/// One scalar type in GLSL. Values and memory may have different spellings: a bool has no layout in a buffer, where it is a byte.
struct GlslType {
    std::string_view value;    ///< of a value, a variable, local and private memory
    std::string_view storage;  ///< of an element of a buffer
    std::string_view push;     ///< of a field of the push-constant block: at least 32 bits
    Scalar push_type;
    std::string_view extension;          ///< that values of the type need, or ""
    std::string_view storage_extension;  ///< that elements of a buffer need, or ""
    std::optional<Feature> feature;      ///< that values or elements need
};
const GlslType& glsl_type(Scalar type);
/// `pairs`, here and below: for a device without 64-bit integers (see codegen/glsl_text/int64_emulation.h).
const GlslType& glsl_type(Scalar type, bool pairs);

/// A constant whose text has exactly this type and these bits. Negative ones begin with '-'.
std::string glsl_constant(Scalar type, uint64_t bits, bool pairs = false);

/// The expression that casts $0, by value, as the IR defines it (float to integer saturates by a prelude function).
std::string cast_text(Scalar from, Scalar to, bool pairs = false);
/// The expression that reinterprets the bits of $0; the types have one size.
std::string bitcast_text(Scalar from, Scalar to, bool pairs = false);

/// bf16 values are floats of which only the upper 16 bits may be set. Rounds a float to one.
std::string rounded_to_bf16(const std::string& value);

/// The patterns that convert a value of at most 16 bits to the low bits of a uint, whose other bits are zero, and back.
std::string to_bits_text(Scalar type);
std::string from_bits_text(Scalar type);

/// The unsigned integer with as many bits.
Scalar bits_type(Scalar type);

}  // namespace pumice::codegen
