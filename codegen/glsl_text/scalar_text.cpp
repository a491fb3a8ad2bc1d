// Instruction selection for scalar ops: the GLSL pattern of an op on an operand type, with type legalization (integer and float
// promotion).
//
// The rows of ops.def give patterns for 32 bits. Other widths are derived:
//
//   min on i8:    int8_t(min(int($0), int($1)))               promoted to 32 bits, computed, wrapped
//   clz on u16:   uint16_t(pm_clz(uint(uint16_t($0))) - 16u)  without the leading zeros that the promotion adds
//   exp on f16:   float16_t(pm_exp(float($0)))                computed in f32, rounded
//   exp on bf16:  pm_exp($0)                                  values are floats; the emitter rounds the result
//   add on i64:   $0 + $1                                     operators are GLSL's on all types; functions need an overload
//
// The results equal the host column of ops.def, which also computes narrow integers in 32 bits and halves in float.
// Cost: a narrow operation takes one or two more conversions. Limits: "" for a 64-bit type without a function. With `pairs`,
// 64-bit integers take int64_emulation.cpp.
#include "codegen/glsl_text/scalar_text.h"

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/prelude.h"
#include "core/ir/builder.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::codegen {
namespace {

void replace(std::string& in, std::string_view what, std::string_view by) {
    for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + by.size())) in.replace(at, what.size(), by);
}

/// The row's text, with $m as the mask of the type's shift counts.
std::string row_text(ir::Op op, Scalar operand, bool strict) {
    if (op == ir::Op::fma && strict) return "pm_fma_strict($0, $1, $2)";
    std::string out(glsl_text(op, operand));
    replace(out, "$m", std::to_string(8 * size_of(operand) - 1));
    return out;
}

/// True if every pm_ function of the text has an overload on the type.
bool has_functions(std::string_view pattern, Scalar type) {
    for (size_t at = pattern.find("pm_"); at != pattern.npos; at = pattern.find("pm_", at + 1))
        if (!prelude_has(pattern.substr(at, pattern.find('(', at) - at), type)) return false;
    return true;
}

/// The patterns of the ops whose result depends on the integer's width; "" for other ops. The promotion to 32 bits adds leading
/// zeros, which the results must not count.
std::string narrow_bits_text(ir::Op op, Scalar type) {
    const int width = 8 * size_of(type);
    const std::string bits = text("uint(", glsl_type(bits_type(type)).value, "($0))");
    switch (op) {
        case ir::Op::popcount: return text("pm_popcount(", bits, ")");
        case ir::Op::clz: return text("pm_clz(", bits, ") - ", 32 - width, "u");
        case ir::Op::ctz: return text("pm_ctz(", bits, " | ", 1 << width, "u)");
        case ir::Op::reverse_bits: return text("pm_reverse_bits(", bits, ") >> ", 32 - width);
        case ir::Op::mul_high: return text("(uint($0) * uint($1)) >> ", width);
        default: return "";
    }
}

/// `pattern` on operands converted to a 32-bit type.
std::string computed_in(Scalar wide, ir::Op op, Scalar type, std::string pattern) {
    for (int n = 0; n < row(op).arity; ++n)
        if (const std::string operand = text("$", n); operand_type(op, n, type) == type)
            replace(pattern, operand, text(glsl_type(wide).value, "(", operand, ")"));
    return pattern;
}

}  // namespace

std::string op_text(ir::Op op, Scalar operand, bool strict, bool pairs) {
    if (pairs && is_pair(operand)) return pair_op_text(op, operand);
    const std::string pattern = row_text(op, operand, strict);
    const bool is_operator = pattern.find('(') == pattern.npos;
    if (operand == Scalar::boolean || size_of(operand) == 4 || is_operator) return pattern;
    if (operand == Scalar::bf16) return pattern;
    if (size_of(operand) == 8) return has_functions(pattern, operand) ? pattern : "";
    std::string computed = narrow_bits_text(op, operand);
    if (is_float(operand) || computed.empty()) {
        const Scalar wide = is_float(operand) ? Scalar::f32 : is_signed_int(operand) ? Scalar::i32 : Scalar::u32;
        computed = computed_in(wide, op, operand, pattern);
    }
    return ir::result_type(op, operand) == operand ? text(glsl_type(operand).value, "(", computed, ")") : computed;
}

std::string_view fast_text(ir::Op op) {
    switch (op) {
        case ir::Op::exp: return "exp($0)";
        case ir::Op::exp2: return "exp2($0)";
        case ir::Op::exp10: return "exp2($0 * 3.3219281)";
        case ir::Op::log: return "log($0)";
        case ir::Op::log2: return "log2($0)";
        case ir::Op::log10: return "log2($0) * 0.30103";
        case ir::Op::pow: return "pow($0, $1)";
        case ir::Op::sin: return "sin($0)";
        case ir::Op::cos: return "cos($0)";
        case ir::Op::tan: return "tan($0)";
        case ir::Op::asin: return "asin($0)";
        case ir::Op::acos: return "acos($0)";
        case ir::Op::atan: return "atan($0)";
        case ir::Op::atan2: return "atan($0, $1)";
        case ir::Op::sinh: return "sinh($0)";
        case ir::Op::cosh: return "cosh($0)";
        // GLSL's tanh may be a quotient of exponentials, which overflow.
        case ir::Op::tanh: return "tanh(clamp($0, -10.0, 10.0))";
        default: return "";
    }
}

std::string ordered_as_unsigned(std::string_view comparison) {
    std::string out(comparison);
    for (const std::string_view operand : {"$0", "$1"})
        replace(out, operand, text("(uint64_t(", operand, ") ^ 0x8000000000000000ul)"));
    return out;
}

}  // namespace pumice::codegen
