// 64-bit integer emulation by double-word arithmetic: i64 and u64 are uvec2 pairs, low word first; shaders/pairs.glsl computes
// with them.
//
//   %7 = mul %6, %5 : i64       pm_pair_add(pm_pair_mul(v1, v2), arg2[v2.x].total)
//   %10 = add %7, %9 : i64
//   %2 = constant 2 : i64       uvec2(2u, 0u)
//
// Bitwise operators, == and != are GLSL's own on uvec2. Additions carry, multiplications are sums of word products, divisions are
// loops: see shaders/pairs.glsl. In memory a pair has the layout of a 64-bit integer. Devices with 64-bit integers do not use
// this. Cost: an addition is a few instructions, a division a function. Limits: every integer op has a text, else a library bug;
// 64-bit atomics need locks (codegen/glsl_body/emit_locks.cpp); not together with 64-bit offsets.
// Textbook name: multiple-precision arithmetic (Knuth, TAOCP 2, section 4.3.1).
#include "codegen/glsl_text/int64_emulation.h"

#include "core/support/error.h"

namespace pumice::codegen {

using ir::Op;

const GlslType& pair_type(Scalar type) {
    static constexpr GlslType i64{"uvec2", "uvec2", "uvec2", Scalar::i64, "", "", std::nullopt};
    static constexpr GlslType u64{"uvec2", "uvec2", "uvec2", Scalar::u64, "", "", std::nullopt};
    return type == Scalar::i64 ? i64 : u64;
}

std::string pair_constant(uint64_t bits) { return text("uvec2(", uint32_t(bits), "u, ", uint32_t(bits >> 32), "u)"); }

std::string pair_op_text(Op op, Scalar operand) {
    const std::string kind = operand == Scalar::i64 ? "pm_i64_" : "pm_u64_", name(ir::name_of(op));
    switch (op) {
        // GLSL's operators on uvec2: & | ^ ~ act on each word, == and != compare both.
        case Op::and_: return "$0 & $1";
        case Op::or_: return "$0 | $1";
        case Op::xor_: return "$0 ^ $1";
        case Op::not_: return "~$0";
        case Op::eq: return "$0 == $1";
        case Op::ne: return "$0 != $1";
        case Op::lt: return kind + "lt($0, $1)";
        case Op::gt: return kind + "lt($1, $0)";
        case Op::le: return "!" + kind + "lt($1, $0)";
        case Op::ge: return "!" + kind + "lt($0, $1)";
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::shl: return "pm_pair_" + name + "($0, $1)";
        case Op::neg:
        case Op::popcount:
        case Op::clz:
        case Op::ctz:
        case Op::reverse_bits: return "pm_pair_" + name + "($0)";
        case Op::abs:
        case Op::sign: return kind + name + "($0)";
        case Op::div:
        case Op::rem:
        case Op::min:
        case Op::max:
        case Op::shr:
        case Op::mul_high: return kind + name + "($0, $1)";
        default: library_bug(text(name, " on ", name_of(operand), " has no text for devices without 64-bit integers"));
    }
}

std::string pair_cast_text(Scalar from, Scalar to) {
    if (is_pair(from) && is_pair(to)) return "$0";
    if (is_pair(to)) {
        if (is_float(from)) return text("pm_to_", name_of(to), from == Scalar::f16 ? "(float($0))" : "($0)");
        return is_signed_int(from) ? "pm_pair_of_int(int($0))" : "uvec2(uint($0), 0u)";
    }
    const std::string real = text("pm_", name_of(from), "_to_");
    switch (to) {
        case Scalar::boolean: return "$0 != uvec2(0u)";
        case Scalar::f16: return "float16_t(" + real + "f32($0))";
        case Scalar::f32: return real + "f32($0)";
        case Scalar::f64: return real + "f64($0)";
        default: return text(glsl_type(to).value, "($0.x)");
    }
}

std::string pair_bitcast_text(Scalar from, Scalar to) {
    if (from == Scalar::f64) return "unpackDouble2x32($0)";
    return to == Scalar::f64 ? "packDouble2x32($0)" : "$0";
}

}  // namespace pumice::codegen
