// Conversions between scalar types, with the language's semantics: integers wrap; float to integer truncates and saturates, with
// NaN to 0; to bool is `!= 0`; narrow floats go through f32.
//
//     cast f32 -> i32, vector:    select for NaN and the lower limit, fptosi, select for the upper limit, which no f32 equals
//     cast f32 -> i8, vector:     select for NaN and both limits, fptosi, trunc
//     cast bf16 -> f32:           zext to i32, shl 16, bitcast: the bits are the upper half of the float's
//     cast f32 -> bf16:           (bits + 0x7fff + bit 16) >> 16, the nearest with ties to even; a NaN stays one
//
// Why written out: LLVM scalarises its saturating intrinsics (llvm.fptosi.sat) for vectors, and LLVM 15 cannot convert its own
// bfloat on most processors.
// Cost: 3 to 6 vector instructions for a saturating conversion, about 10 to bf16. Limits: scalars use the intrinsics; f16 takes
// LLVM's fpext and fptrunc.
// Textbook name: saturating conversion; round to nearest, ties to even (IEEE 754).
#include <bit>
#include <cmath>

#include "core/support/error.h"
#include "cpu/packet/emit_casts.h"

namespace pumice::cpu {

std::string Casts::convert(const char* instruction, const std::string& from, const std::string& value, const std::string& to) {
    return from == to ? value : out.let(text(instruction, " ", from, " ", value, " to ", to));
}

/// Saturating conversion of a float vector to integers: values out of range become the nearest limit, NaN becomes 0. LLVM would
/// scalarise its intrinsic for vectors.
std::string Casts::saturated(Scalar from, Scalar to, const std::string& value) {
    const std::string type = out.vector_type(out.scalar_type(from)), whole = out.scalar_type(to);
    const bool is_signed = is_signed_int(to);
    const int bits = 8 * size_of(to), digits = from == Scalar::f32 ? 24 : 53;
    const double end = std::ldexp(1.0, is_signed ? bits - 1 : bits), first = is_signed ? -end : 0;
    const auto splat_of = [&](double number) {
        const uint64_t as_float = std::bit_cast<uint32_t>(float(number)), as_double = std::bit_cast<uint64_t>(number);
        return out.splat_constant(from, from == Scalar::f32 ? as_float : as_double, true);
    };
    const auto chosen = [&](const std::string& condition, const std::string& of, const std::string& a, const std::string& b) {
        return out.let(text("select ", out.vector_type("i1"), " ", condition, ", ", of, " ", a, ", ", of, " ", b));
    };
    const auto compared = [&](const char* how, const std::string& x, double limit) {
        return out.let(text("fcmp ", how, " ", type, " ", x, ", ", splat_of(limit)));
    };
    // Ordered comparisons with NaN are false.
    const auto at_least_first = [&](const std::string& x) { return chosen(compared("ogt", x, first), type, x, splat_of(first)); };
    const char* const instruction = is_signed || bits < 32 ? "fptosi" : "fptoui";
    if (bits <= digits) {  // the largest integer is exact as a float
        const std::string number = is_signed ? chosen(compared("ord", value, 0), type, value, splat_of(0)) : value;
        const std::string low = at_least_first(number),
                          inside = chosen(compared("olt", low, end - 1), type, low, splat_of(end - 1));
        if (bits >= 32) return convert(instruction, type, inside, out.vector_type(whole));
        return convert("trunc", out.vector_type("i32"), convert("fptosi", type, inside, out.vector_type("i32")),
                       out.vector_type(whole));
    }
    const std::string inside = at_least_first(chosen(compared("olt", value, end), type, value, splat_of(0)));
    const std::string last = text("splat (", whole, " ", is_signed ? std::to_string(~uint64_t(0) >> (65 - bits)) : "-1", ")");
    return chosen(compared("oge", value, end), out.vector_type(whole), last,
                  convert(instruction, type, inside, out.vector_type(whole)));
}

/// The float of a bfloat16's bits: they are its upper half.
std::string Casts::from_bf16(const std::string& bits, bool vector) {
    const std::string t = vector ? out.vector_type("i32") : "i32", f = vector ? out.vector_type("float") : "float";
    const std::string wide = convert("zext", vector ? out.vector_type("i16") : "i16", bits, t);
    return convert("bitcast", t, out.let(text("shl ", t, " ", wide, ", ", out.splat_constant(Scalar::u32, 16, vector))), f);
}

/// The bits of the nearest bfloat16, ties to even: the upper half, whose increment may carry into the exponent. A NaN stays one.
std::string Casts::to_bf16(const std::string& value, bool vector) {
    const std::string t = vector ? out.vector_type("i32") : "i32", f = vector ? out.vector_type("float") : "float";
    const auto word = [&](uint32_t bits) { return out.splat_constant(Scalar::u32, bits, vector); };
    const auto let_op = [&](const char* op, const std::string& a, const std::string& b) {
        return out.let(text(op, " ", t, " ", a, ", ", b));
    };
    const std::string bits = convert("bitcast", f, value, t);
    const std::string last = let_op("and", let_op("lshr", bits, word(16)), word(1));
    const std::string even = let_op("add", bits, let_op("add", last, word(0x7fff)));
    const std::string is_nan = out.let(text("fcmp uno ", f, " ", value, ", zeroinitializer")),
                      quiet = let_op("or", bits, word(0x400000));
    const std::string chosen =
        out.let(text("select ", vector ? out.vector_type("i1") : "i1", " ", is_nan, ", ", t, " ", quiet, ", ", t, " ", even));
    return convert("trunc", t, let_op("lshr", chosen, word(16)), vector ? out.vector_type("i16") : "i16");
}

/// By value: integers wrap; float to integer truncates and saturates, NaN gives 0; to bool is `!= 0`.
std::string Casts::cast(Scalar from, Scalar to, const std::string& value, bool vector) {
    const auto typed = [&](Scalar t) { return vector ? out.vector_type(out.scalar_type(t)) : out.scalar_type(t); };
    const std::string a = typed(from), b = typed(to);
    if (from == to) return value;
    // Narrow floats convert through f32.
    if (is_narrow_float(from) && to != Scalar::f32) return cast(Scalar::f32, to, cast(from, Scalar::f32, value, vector), vector);
    if (is_narrow_float(to) && from != Scalar::f32) return cast(Scalar::f32, to, cast(from, Scalar::f32, value, vector), vector);
    if (from == Scalar::bf16) return from_bf16(value, vector);
    if (to == Scalar::bf16) return to_bf16(value, vector);
    if (to == Scalar::boolean) {
        if (is_float(from)) return out.let(text("fcmp une ", a, " ", value, ", zeroinitializer"));
        return out.let(text("icmp ne ", a, " ", value, ", zeroinitializer"));
    }
    if (from == Scalar::boolean) {
        if (!is_float(to)) return convert("zext", a, value, b);
        return convert("uitofp", a, value, b);
    }
    if (is_float(from) && is_float(to)) return convert(size_of(to) > size_of(from) ? "fpext" : "fptrunc", a, value, b);
    if (is_float(from)) {
        if (vector) return saturated(from, to, value);
        const std::string which = is_signed_int(to) ? "fptosi" : "fptoui";
        const std::string function = text("@llvm.", which, ".sat.", out.intrinsic_suffix(out.scalar_type(to), false), ".",
                                          out.intrinsic_suffix(out.scalar_type(from), false));
        out.declare(text("declare ", b, " ", function, "(", a, ")"));
        return out.let(text("call ", b, " ", function, "(", a, " ", value, ")"));
    }
    if (is_float(to)) { return convert(is_signed_int(from) ? "sitofp" : "uitofp", a, value, b); }
    if (size_of(to) == size_of(from)) return value;
    if (size_of(to) < size_of(from)) return convert("trunc", a, value, b);
    return convert(is_signed_int(from) ? "sext" : "zext", a, value, b);
}

std::string Casts::from_memory(Scalar type, const std::string& value, bool vector) {
    if (type != Scalar::boolean) return value;
    return out.let(text("icmp ne ", vector ? out.vector_type("i8") : "i8", " ", value, ", zeroinitializer"));
}

std::string Casts::to_memory(Scalar type, const std::string& value, bool vector) {
    if (type != Scalar::boolean) return value;
    return out.let(
        text("zext ", vector ? out.vector_type("i1") : "i1", " ", value, " to ", vector ? out.vector_type("i8") : "i8"));
}

}  // namespace pumice::cpu
