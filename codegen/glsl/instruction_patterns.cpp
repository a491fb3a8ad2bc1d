// The GLSL of a pure instruction, as a pattern over its operands.
//
// Selects the text of an instruction: its row in ops.def, shorter forms for constant operands (shift for a power of two), and
// replacements for what a driver does wrongly (Options).
//
//   %2 = div %1, 8 : i32                  $0 >> 3, if %1 is never negative
//   %4 = mul %3, 0 : f32                  pm_times_zero($0, $1)
//
// Cost: constant, apart from the chains of operands that intervals and signs are read from. Limits: an operand is looked at by
// the instruction that defines it, not by its uses.
// Textbook name: instruction selection, strength reduction.
#include "codegen/glsl/instruction_patterns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "codegen/glsl/foldable_values.h"
#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/ranges/float_range.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

bool is_strict(const Kernel& k, const Inst& i) {
    if (k.math != Math::strict || !is_float(i.type)) return false;
    return i.op == Op::add || i.op == Op::sub || i.op == Op::mul || i.op == Op::div || i.op == Op::neg || i.op == Op::sqrt ||
           i.op == Op::fma;
}

bool strict_by_call(const Options& options) {
    return std::ranges::any_of(options.by_address, [](bool address) { return address; });
}

namespace {

/// True for a constant zero of type `type`; `bits` tells its sign.
bool is_constant_zero(const Kernel& k, Value v, Scalar type, uint64_t& bits) {
    return k.constant(v, bits) && bits << (65 - 8 * size_of(type)) == 0;
}

}  // namespace

bool is_float_zero(const Kernel& k, Value v) {
    uint64_t bits = 0;
    return is_float(k.type_of(v)) && is_constant_zero(k, v, k.type_of(v), bits);
}

std::string hidden_zero(Scalar type, std::string_view zero) {
    return type == Scalar::f16 ? text("float16_t(pm_hidden(float(", zero, ")))") : text("pm_hidden(", zero, ")");
}

namespace {

/// The pattern of a strict sum, difference or fma that adds a constant zero; "" for any other instruction. Drivers fold such a
/// sum to its other operand, which is wrong for -0 + 0. The product of an fma is no operand: it is not rounded before the sum,
/// and one that is too small for the type keeps its sign.
std::string zero_addend_pattern(const Kernel& k, const Options& options, const Inst& i) {
    if (!is_strict(k, i) || (i.op != Op::add && i.op != Op::sub && i.op != Op::fma)) return "";
    const auto operands = k.operands(i);
    const bool half = i.type == Scalar::f16;
    const auto operand = [&](size_t n) { return half ? text("float($", n, ")") : text("$", n); };
    for (size_t o = i.op == Op::fma ? 2 : 0; o < operands.size(); ++o) {
        uint64_t bits = 0;
        if (!is_constant_zero(k, operands[o], i.type, bits)) continue;
        const bool minus = (bits != 0) != (i.op == Op::sub && o == 1);  // the zero that is added
        std::string sum;
        if (i.op == Op::fma) {
            const char* const function = minus ? "pm_precise_mul(" : "pm_product_plus_zero(";
            sum = minus && !strict_by_call(options) ? text("(", operand(0), " * ", operand(1), ")")
                                                    : text(function, operand(0), ", ", operand(1), ")");
        } else {
            const std::string other = i.op == Op::sub && o == 0 ? text("(-", operand(1), ")") : operand(1 - o);
            sum = minus ? text("(", other, ")") : text("pm_plus_zero(", other, ")");
        }
        return half ? text("float16_t(", sum, ")") : sum;
    }
    return "";
}

/// The pattern of a product, fma or quotient with a constant zero operand; "" for any other instruction. Drivers fold such
/// products and quotients to zero, which is wrong for NaN and infinity, so prelude functions compute them on the bits. A quotient
/// by a constant zero is undefined on lavapipe.
std::string zero_pattern(const Kernel& k, const Inst& i) {
    if (!is_float(i.type) || (i.op != Op::mul && i.op != Op::div && i.op != Op::fma)) return "";
    const auto operands = k.operands(i);
    for (size_t o = 0; o < 2; ++o) {
        uint64_t bits = 0;
        if (!is_constant_zero(k, operands[o], i.type, bits)) continue;
        const auto operand = [&](size_t n) { return i.type == Scalar::f16 ? text("float($", n, ")") : text("$", n); };
        const char* const function = i.op != Op::div ? "pm_times_zero(" : o == 0 ? "pm_zero_over(" : "pm_over_zero(";
        std::string made = text(function, operand(1 - o), ", ", operand(o), ")");
        // A strict sum, too: either zero may be one that drivers fold.
        const bool strict_sum = i.op == Op::fma && is_strict(k, i);
        if (strict_sum) made = text("pm_zero_plus(", made, ", ", operand(2), ")");
        if (i.type == Scalar::f16) made = text("float16_t(", made, ")");
        return i.op == Op::fma && !strict_sum ? made + " + $2" : made;
    }
    return "";
}

/// The pattern of ldexp by a constant whose power of two is a normal number: one product, exact or rounded once, as in
/// pm_ldexp. "" for any other instruction. Drivers may join the factors of products in a row to one that overflows, and may
/// contract a product and a sum: neither changes a result for small powers, unless the kernel's own factors overflow.
std::string power_of_two_pattern(const Kernel& k, const Inst& i) {
    constexpr int most_joined = 32;
    uint64_t bits = 0;
    if (i.op != Op::ldexp || !k.constant(k.operands(i)[1], bits)) return "";
    const Scalar type = i.type == Scalar::f64 ? Scalar::f64 : Scalar::f32;
    const int n = int32_t(uint32_t(bits)), bias = type == Scalar::f64 ? 1023 : 127;
    if (n <= -bias || n > bias) return "";
    const std::string power = glsl_constant(type, uint64_t(n + bias) << (type == Scalar::f64 ? 52 : 23));
    const std::string x = i.type == Scalar::f16 ? "float($0)" : "$0";
    const bool joined = k.math != Math::strict && std::abs(n) <= most_joined;
    const std::string product = joined ? text(x, " * ", power) : text("pm_precise_mul(", x, ", ", power, ")");
    return i.type == Scalar::f16 ? text("float16_t(", product, ")") : product;
}

/// Correctly rounded division and square root of f32 and f16, whatever the precision of the device's own. f16 is computed in f32
/// and rounded once more.
std::string rounded_pattern(const Kernel& k, const Options& options, const Inst& i) {
    const bool half = i.type == Scalar::f16;
    const char* const pattern = i.op == Op::sqrt ? (half ? "float16_t(pm_sqrt_strict(float($0)))" : "pm_sqrt_strict($0)")
                                : half           ? "float16_t(pm_div_strict(float($0), float($1)))"
                                                 : "pm_div_strict($0, $1)";
    uint64_t bits = 0;
    if (half || i.op == Op::sqrt || !k.constant(k.operands(i)[1], bits)) return pattern;
    // Strength reduction: division by a power of two is multiplication by its reciprocal, which is exact if the reciprocal is
    // normal.
    const uint64_t exponent = bits >> 23 & 0xff;
    if ((bits & 0x7fffff) != 0 || exponent < 1 || exponent > 253) return pattern;
    const std::string reciprocal = glsl_constant(Scalar::f32, (bits & 0x80000000) | (254 - exponent) << 23);
    return strict_by_call(options) ? text("pm_precise_mul($0, ", reciprocal, ")")
                                   : text("$0 * ", reciprocal[0] == '-' ? "(" + reciprocal + ")" : reciprocal);
}

/// GLSL's own function under Math::fast. GLSL's pow is undefined for a negative base, so constant integral exponents get a
/// pattern that takes the sign apart.
std::string fast_pattern(const Kernel& k, const Inst& i) {
    uint64_t bits = 0;
    if (i.op != Op::pow || !k.constant(k.operands(i)[1], bits)) return std::string(fast_text(i.op));
    const float exponent = from_bits<float>(bits);
    if (exponent != std::trunc(exponent) || std::fabs(exponent) >= 16777216.0f) return "pow($0, $1)";
    if (exponent == 0.0f) return "";
    if (exponent == 2.0f) return "$0 * $0";
    return std::fmod(exponent, 2.0f) == 0.0f ? "pow(abs($0), $1)" : "sign($0) * pow(abs($0), $1)";
}

/// True for an i32 that is known to be non-negative: sizes, indices within the range's groups, and operations that keep the sign
/// bit clear.
bool never_negative(const Kernel& k, const Options& options, Value v) {
    uint64_t bits = 0;
    if (k.constant(v, bits)) return int32_t(bits) >= 0;
    if (k[v].inst.id == none) return false;
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    switch (i.op) {
        case Op::local_index:
        case Op::group_index:
        case Op::group_size:
        case Op::global_size:
        case Op::subgroup_size:
        case Op::subgroup_lane:
        case Op::subgroup_index: return true;
        case Op::extent: return !options.wide_offsets;  // a 64-bit extent may not fit 31 bits
        case Op::max:
        case Op::and_:
            return i.type == Scalar::i32 && (never_negative(k, options, operands[0]) || never_negative(k, options, operands[1]));
        case Op::min:
            return i.type == Scalar::i32 && never_negative(k, options, operands[0]) && never_negative(k, options, operands[1]);
        case Op::div:
        case Op::rem:
        case Op::shr:
            return i.type == Scalar::i32 && never_negative(k, options, operands[0]) && k.constant(operands[1], bits) &&
                   int32_t(bits) > 0;
        default: return false;
    }
}

/// The largest extent of each memory: that of an array is at most the elements of a binding.
std::vector<int64_t> bounds_of_extents(const Kernel& k, const Options& options) {
    std::vector<int64_t> bounds;
    if (options.wide_offsets || options.long_extents) return bounds;  // an extent may be larger than an i32
    for (const Memory& m : k.memories)
        bounds.push_back(m.kind == MemoryKind::array ? std::min<int64_t>(most_bound_bytes / m.element.size, INT32_MAX)
                                                     : INT32_MAX);
    return bounds;
}

/// True for a bit-field merge `(a & M) | (b & ~M)` of 32 or 64 bits with a constant M; ^ and + in place of | are equivalent.
bool merges_under_masks(const Kernel& k, const Inst& i) {
    if (i.op != Op::or_ && i.op != Op::xor_ && i.op != Op::add) return false;
    if (!is_int(i.type) || size_of(i.type) < 4) return false;
    uint64_t masks[2] = {};
    for (size_t o = 0; o < 2; ++o) {
        const InstId made = k[k.operands(i)[o]].inst;
        if (made.id == none || k[made].op != Op::and_) return false;
        const auto of = k.operands(k[made]);
        if (!k.constant(of[0], masks[o]) && !k.constant(of[1], masks[o])) return false;
    }
    const int unused = 64 - 8 * size_of(i.type);
    return (masks[0] ^ masks[1]) << unused == ~uint64_t(0) << unused;
}

/// The pattern with halves that stay rounded where it widens them. NVIDIA's driver widens a half that was just rounded from a
/// float to that float, through selections and bit casts, too.
std::string with_rounded_halves(const Kernel& k, const Inst& i, std::string pattern) {
    if (i.op == Op::bitcast) return pattern;
    const auto operands = k.operands(i);
    for (size_t o = 0; o < operands.size(); ++o) {
        if (k.type_of(operands[o]) != Scalar::f16) continue;
        const InstId made = k[operands[o]].inst;
        if (made.id != none && (k[made].op == Op::load || is_leaf(k[made].op))) continue;  // nothing was rounded
        const std::string widened = text("float($", o, ")");
        for (size_t at = 0; (at = pattern.find(widened, at)) != std::string::npos;) {
            const std::string rounded = text("float(pm_rounded_half($", o, "))");
            pattern.replace(at, widened.size(), rounded);
            at += rounded.size();
        }
    }
    return pattern;
}

/// `$0 ? 0.0 : -1.0` with a zero that the driver cannot know; "" for any other instruction.
std::string hidden_zero_selection(const Kernel& k, const Inst& i, const std::vector<bool>& foldable) {
    if (i.op != Op::select) return "";
    const auto operands = k.operands(i);
    for (size_t o = 1; o < 3; ++o) {
        if (!foldable[operands[3 - o].id] || !is_float_zero(k, operands[o])) continue;
        const std::string hidden = hidden_zero(i.type, text("$", o));
        return o == 1 ? text("$0 ? ", hidden, " : $2") : text("$0 ? $1 : ", hidden);
    }
    return "";
}

/// The pattern of a product, quotient, fma, or strict sum, whose foldable operands are hidden from the driver.
std::string with_hidden_zeros(const Kernel& k, const Inst& i, const std::vector<bool>& foldable, std::string pattern) {
    const bool sums = (i.op == Op::add || i.op == Op::sub || i.op == Op::fma) && is_strict(k, i);
    const bool multiplies = i.op == Op::mul || i.op == Op::div || i.op == Op::fma;
    if (!is_float(i.type) || (!sums && !multiplies)) return pattern;
    const auto operands = k.operands(i);
    for (size_t o = 0; o < operands.size(); ++o) {
        uint64_t bits = 0;
        const bool is_used = o < 2 ? sums || multiplies : sums;
        if (!is_used || !foldable[operands[o].id] || k.constant(operands[o], bits)) continue;
        const std::string number = i.type == Scalar::f16 ? text("float($", o, ")") : text("$", o);
        const std::string hidden = text("pm_hidden(", number, ")");
        for (size_t at = 0; (at = pattern.find(number, at)) != std::string::npos; at += hidden.size())
            pattern.replace(at, number.size(), hidden);
    }
    return pattern;
}

}  // namespace

InstructionPatterns::InstructionPatterns(const Kernel& kernel, const Options& options)
    : k(kernel),
      options(options),
      most_extents(bounds_of_extents(kernel, options)),
      foldable(options.folded_zeros ? foldable_values(kernel) : std::vector<bool>()) {}

std::string InstructionPatterns::pattern_of(const Inst& i) const {
    if (options.folded_zeros)
        if (std::string selection = hidden_zero_selection(k, i, foldable); !selection.empty()) return selection;
    std::string pattern = exact_pattern(i);
    if (options.exact_conversions) pattern = with_rounded_halves(k, i, std::move(pattern));
    if (options.folded_zeros) pattern = with_hidden_zeros(k, i, foldable, std::move(pattern));
    // The sign of a bf16 needs no rounding.
    const bool rounds = i.type == Scalar::bf16 && is_scalar_op(i.op) && i.op != Op::neg;
    return rounds ? rounded_to_bf16(pattern) : pattern;
}

/// The same, but a bf16 result is not yet rounded: a float.
std::string InstructionPatterns::exact_pattern(const Inst& i) const {
    const auto operands = k.operands(i);
    const Scalar from = k.type_of(operands[0]);
    if (const std::string zero = zero_pattern(k, i); !zero.empty()) return zero;
    if (const std::string sum = zero_addend_pattern(k, options, i); !sum.empty()) return sum;
    if (const std::string product = power_of_two_pattern(k, i); !product.empty()) return product;
    if (i.op == Op::select) return "$0 ? $1 : $2";
    if (i.op == Op::cast && options.unsigned_rounds_twice && from == Scalar::u32 && i.type == Scalar::f32)
        return "pm_float_of_unsigned($0)";
    if (i.op == Op::cast && from == Scalar::f32 && i.type == Scalar::i32 && fits_i32(k, operands[0], most_extents))
        return "int($0)";
    if (i.op == Op::cast) return cast_text(from, i.type, options.pairs);
    if (i.op == Op::bitcast) return bitcast_text(from, i.type, options.pairs);
    if ((i.op == Op::min || i.op == Op::max) && from == Scalar::f32) {
        if (!float_range(k, operands[1], most_extents).nan)
            return i.op == Op::min ? "pm_min_of_number($0, $1)" : "pm_max_of_number($0, $1)";
        if (!float_range(k, operands[0], most_extents).nan)
            return i.op == Op::min ? "pm_number_or_less($0, $1)" : "pm_number_or_more($0, $1)";
    }
    uint64_t bits = 0;
    const bool pair = options.pairs && is_pair(from);
    if (is_int(from) && !pair && operands.size() == 2 && k.constant(operands[1], bits) && bits != 0 &&
        bits >> (8 * size_of(from) - 1) == 0) {
        const bool whole_shift = bits < uint64_t(8 * size_of(from));
        // Signed division rounds towards zero, which costs drivers extra instructions; a non-negative dividend needs only a
        // shift.
        const bool power = std::has_single_bit(bits),
                   simple = i.type == Scalar::i32 && power && never_negative(k, options, operands[0]);
        if (i.op == Op::div && simple) return text("$0 >> ", std::countr_zero(bits));
        if (i.op == Op::rem && simple) return text("$0 & ", bits - 1);
        if (i.op == Op::div) return "$0 / $1";
        if (i.op == Op::rem && is_unsigned_int(from)) return "$0 % $1";
        if (i.op == Op::shl && whole_shift) return "$0 << $1";
        if (i.op == Op::shr && whole_shift) return "$0 >> $1";
    }
    if (is_strict(k, i) && !options.rounded_division && (i.op == Op::div || i.op == Op::sqrt) && size_of(from) <= 4)
        return rounded_pattern(k, options, i);
    if (options.parted_merges && !pair && merges_under_masks(k, i)) {
        const char* const zero = i.type == Scalar::i32   ? "int(pm_zero())"
                                 : i.type == Scalar::u32 ? "pm_zero()"
                                 : i.type == Scalar::i64 ? "int64_t(pm_zero())"
                                                         : "uint64_t(pm_zero())";
        return text("($0 | $1) + ", zero);
    }
    if (k.math == Math::fast && from == Scalar::f32)
        if (const std::string fast = fast_pattern(k, i); !fast.empty()) return fast;
    if (is_strict(k, i) && strict_by_call(options) && i.op != Op::neg && i.op != Op::sqrt && i.op != Op::fma)
        return text("pm_precise_", name_of(i.op), "($0, $1)");
    const std::string pattern = op_text(i.op, from, is_strict(k, i), options.pairs);
    if (pattern.empty())
        fail("kernel \"", k.name, "\" (", k.where(i.loc), ") uses ", name_of(i.op), " on ", name_of(from),
             is_strict(k, i) ? " under strict maths" : "", ", for which shaders/ has no function");
    if (options.ordered_as_unsigned && !pair && from == Scalar::i64)
        for (const Op op : {Op::lt, Op::le, Op::gt, Op::ge})
            if (i.op == op) return ordered_as_unsigned(pattern);
    return pattern;
}

}  // namespace pumice::codegen
