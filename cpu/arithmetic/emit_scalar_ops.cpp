// Scalar operations: instruction selection by text templates (the `llvm` column of core/ir/ops.def), and calls.
//
//     row:  add f32 "fadd $f$t $0, $1"        text, width 8:  %v9 = fadd contract arcp <8 x float> %v7, %v8
//     row:  "sleef u10"                        text:           call <8 x float> @Sleef_tanf8_u10avx2(<8 x float> %v7)
//     row:  "host"                             text:           call void @pumice_cpu_OP_TYPE(...), a loop of the interpreter
//
// The text is scalar or vector, depending on the result's kind (uniform, affine, vector). f16 is computed in f32.
// LLVM contracts sums and products to fma (`contract`). Vector division of 32-bit integers is done in doubles, as x86 has no
// vector integer division.
// Limits: SLEEF's double functions with a restricted range, and all functions without SLEEF, go lane by lane through the host's
// loop; in an object for another program, through the C library. Textbook: macro expansion / tree-pattern instruction selection.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/ir/ops.h"
#include "core/ranges/float_range.h"
#include "core/support/ascii.h"
#include "core/support/error.h"
#include "cpu/arithmetic/emit_math_functions.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/arithmetic/quiet_values.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

namespace {

/// The vector widths of SLEEF's functions, in 4-byte elements, and the suffixes of their names.
struct SleefIsa {
    Isa isa;
    int lanes;
    const char* suffix;
};
constexpr SleefIsa sleef_isas[] = {
    {Isa::sse2, 4, "sse2"},      {Isa::sse4, 4, "sse4"},   {Isa::avx2, 4, "avx2128"},    {Isa::avx2, 8, "avx2"},
    {Isa::avx512, 4, "avx2128"}, {Isa::avx512, 8, "avx2"}, {Isa::avx512, 16, "avx512f"}, {Isa::neon, 4, "advsimd"},
};

/// SLEEF's widest vectors with at most `lanes` lanes; null if there are none.
const SleefIsa* sleef_for(Isa isa, int lanes, int bytes) {
    const SleefIsa* best = nullptr;
    for (const SleefIsa& s : sleef_isas)
        if (s.isa == isa && s.lanes * 4 / bytes <= lanes && (!best || s.lanes > best->lanes)) best = &s;
    return best;
}

/// False for SLEEF's functions that return infinity or NaN for operands for which the operation has a finite value.
bool in_all_its_range(Op op, Scalar type) {
    constexpr Op short_ones[] = {Op::fmod, Op::remainder, Op::sinh, Op::cosh, Op::asinh, Op::acosh, Op::log1p};
    return type == Scalar::f32 ? op != Op::fmod && op != Op::remainder
                               : std::find(std::begin(short_ones), std::end(short_ones), op) == std::end(short_ones);
}

std::string integer_of_size(Scalar t) { return text("i", 8 * size_of(t)); }

}  // namespace

/// A pure operation. Uniform and affine results are computed as scalars (lane 0's), others as vectors.
void ScalarOps::pure(const Inst& i) {
    const auto v = k.operands(i);
    const Value r = k.result(i);
    const ValueKind kind = packet.kind_of(r);
    const bool vectors = kind == ValueKind::vector && width > 1;
    const Scalar from = k.type_of(v[i.op == Op::select ? 1 : 0]);
    if (i.op == Op::select) {
        const bool scalar_condition = packet.kind_of(v[0]) == ValueKind::uniform;
        const std::string condition = scalar_condition ? packet.scalar(v[0]) : packet.vector(v[0]),
                          type = out.type_of(i.type, kind);
        return packet.define(
            r, out.let(text("select ", scalar_condition ? "i1" : out.vector_type("i1"), " ", condition, ", ", type, " ",
                            packet.text_of(v[1], kind), ", ", type, " ", packet.text_of(v[2], kind))));
    }
    if (const Value other = vectors ? emit.math.partner(i) : Value{}) {
        const std::vector<std::string> both = emit.math.mathematics({i.op, k[k[other].inst].op}, packet.vector(v[0]));
        packet.define(r, both[0]);
        return packet.define(other, both[1]);
    }
    std::vector<std::string> operands;
    // A quotient that the packet shares, of a vector of indices: that of lane 0.
    const auto first_lane = [&](Value o) {
        return !vectors && packet.rep_of(o).kind == ValueKind::vector && packet.uniformity.shares_quotient(i);
    };
    for (const Value o : v)
        operands.push_back(first_lane(o) ? out.extract(out.scalar_type(k.type_of(o)), packet.vector(o), "0")
                                         : packet.text_of(o, kind));
    if (i.op == Op::cast && from == Scalar::f32 && i.type == Scalar::i32 && fits_i32(k, v[0]))
        return packet.define(r, emit.casts.convert("fptosi", vectors ? out.vector_type("float") : "float", operands[0],
                                                   vectors ? out.vector_type("i32") : "i32"));
    if (i.op == Op::cast) return packet.define(r, emit.casts.cast(from, i.type, operands[0], vectors));
    if (i.op == Op::bitcast) {
        const std::string a = out.type_of(from, kind), b = out.type_of(i.type, kind);
        return packet.define(r, a == b ? operands[0] : out.let(text("bitcast ", a, " ", operands[0], " to ", b)));
    }
    if (vectors && width >= 4 && is_extreme_of_quiet(i)) return packet.define(r, quiet_extreme(i.op, from, operands));
    uint64_t bits = 0;
    const bool constant_divisor = v.size() == 2 && k.constant(v[1], bits) && bits != 0 && bits >> (8 * size_of(from) - 1) == 0;
    packet.define(r, operation(i.op, from, std::move(operands), vectors, constant_divisor));
}

/// Emits an operation. Narrow floats are computed in f32 and rounded.
std::string ScalarOps::operation(Op op, Scalar type, std::vector<std::string> operands, bool vector, bool constant_divisor) {
    if (is_narrow_float(type)) {
        for (size_t o = 0; o < operands.size(); ++o)
            if (operand_type(op, int(o), type) == type) operands[o] = emit.casts.cast(type, Scalar::f32, operands[o], vector);
        // Without the fence LLVM narrows this to a minimum of halves, which LLVM 15 cannot select on x86-64 ("Cannot select").
        if (type == Scalar::f16 && (op == Op::min || op == Op::max)) {
            const std::string t = vector ? out.vector_type("float") : "float",
                              fence = text("@llvm.arithmetic.fence.", out.intrinsic_suffix("float", vector));
            out.declare(text("declare ", t, " ", fence, "(", t, ")"));
            operands[0] = out.let(text("call ", t, " ", fence, "(", t, " ", operands[0], ")"));
        }
        const std::string r = operation(op, Scalar::f32, operands, vector, constant_divisor);
        return row(op).result == Result::same ? emit.casts.cast(Scalar::f32, type, r, vector) : r;
    }
    const std::string_view cell = llvm_text(op, type);
    const auto word = [&](std::string_view w) {
        return cell.starts_with(w) && (cell.size() == w.size() || cell[w.size()] == ' ');
    };
    if (cell == "-") library_bug(text("op ", name_of(op), " has no LLVM text for ", name_of(type)));
    if (type == Scalar::f32 && vector && width >= 4 && k.math != Math::strict && target.rules.has(Rule::hardware_estimates)) {
        // Zen 4 divides as fast as it multiplies and corrects: srad 5.3 ms by divisions, 7.2 by estimates; particle push 3.9,
        // 5.6.
        const bool all = target.isa == Isa::avx512, slow_divisions = all && !target.splits_vectors;
        if (op == Op::rsqrt && (all || target.isa == Isa::avx2)) return emit.math.estimated_rsqrt(operands[0]);
        if (op == Op::sqrt && slow_divisions) return emit.math.estimated_sqrt(operands[0]);
        if (op == Op::div && slow_divisions) return emit.math.estimated_quotient(operands[0], operands[1]);
    }
    // Vectors of roundeven have no code on some targets, and C libraries have rint sooner. In C's default rounding it is the
    // same.
    if (op == Op::rint && target.use != CodeUse::launch) return expanded("call $t @llvm.rint.$s($t $0)", type, operands, vector);
    if ((op == Op::ctz || op == Op::clz) && !target.counts_zeros) return counted_zeros(op, type, operands[0], vector);
    if (word("host")) return host_call(op, type, operands, vector);
    if (word("sleef")) return maths(op, type, operands, vector);
    if (word("divide")) return divide(std::string(cell.substr(7)), type, operands, vector, constant_divisor);
    return expanded(cell, type, operands, vector);
}

/// True for min and max of floats that vrangeps and vrangepd of AVX-512 compute (cpu/arithmetic/quiet_values.cpp). LLVM knows
/// which constants are no NaN, and needs one instruction for them, too. Not in strict kernels: of two zeros vrangeps takes the
/// one with the smaller or larger sign, and the interpreter the first.
bool ScalarOps::is_extreme_of_quiet(const Inst& i) const {
    if ((i.op != Op::min && i.op != Op::max) || (i.type != Scalar::f32 && i.type != Scalar::f64)) return false;
    if (target.isa != Isa::avx512 || k.math == Math::strict || !target.rules.has(Rule::quiet_extremes)) return false;
    const auto v = k.operands(i);
    const auto constant = [&](Value o) { return k[o].inst.id != ir::none && k[k[o].inst].op == Op::constant; };
    const Structure& structure = packet.uniformity.structure();
    return !constant(v[0]) && !constant(v[1]) && is_quiet(k, structure, v[0]) && is_quiet(k, structure, v[1]);
}

/// Emits the smaller or larger one of quiet values: the other operand where one is NaN.
std::string ScalarOps::quiet_extreme(Op op, Scalar type, const std::vector<std::string>& operands) {
    const int lanes = std::min(width, 64 / size_of(type)), bits = 8 * lanes * size_of(type);
    const std::string scalar = out.scalar_type(type), whole = text("<", lanes, " x ", scalar, ">"),
                      mask = text("i", std::max(lanes, 8)), rounding = bits == 512 ? ", i32 4" : "",
                      function = text("@llvm.x86.avx512.mask.range.", size_of(type) == 4 ? "ps." : "pd.", bits);
    out.declare(text("declare ", whole, " ", function, "(", whole, ", ", whole, ", i32, ", whole, ", ", mask,
                     bits == 512 ? ", i32" : "", ")"));
    return in_parts(lanes, scalar, operands, scalar, [&](const std::vector<std::string>& o) {
        return out.let(text("call ", whole, " ", function, "(", whole, " ", o[0], ", ", whole, " ", o[1], ", i32 ",
                            op == Op::min ? 4 : 5, ", ", whole, " zeroinitializer, ", mask, " -1", rounding, ")"));
    });
}

/// Expands a template: instructions separated by `; `; all but the last are named.
std::string ScalarOps::expanded(std::string_view cell, Scalar type, const std::vector<std::string>& operands, bool vector) {
    std::map<std::string, std::string> locals;
    while (true) {
        const size_t end = cell.find("; ");
        std::string_view one = cell.substr(0, end);
        if (end == cell.npos) return out.let(instruction_text(one, type, operands, vector, locals));
        cell.remove_prefix(end + 2);
        const size_t equals = one.find(" = ");
        const std::string local(one.substr(1, equals - 1));
        locals[local] = out.let(instruction_text(one.substr(equals + 3), type, operands, vector, locals));
    }
}

std::string ScalarOps::instruction_text(std::string_view one, Scalar type, const std::vector<std::string>& operands, bool vector,
                                        const std::map<std::string, std::string>& locals) {
    const auto typed = [&](const std::string& t) { return vector ? out.vector_type(t) : t; };
    const std::string t = typed(out.scalar_type(type));
    std::string filled;
    for (size_t at = 0; at < one.size(); ++at) {
        const char c = one[at];
        if (c == '%') {
            size_t end = at + 1;
            while (end < one.size() && ascii::is_alphanumeric(one[end])) ++end;
            filled += locals.at(std::string(one.substr(at + 1, end - at - 1)));
            at = end - 1;
        } else if (c != '$') {
            filled += c;
        } else {
            const char what = one[++at];
            if (what >= '0' && what <= '2')
                filled += operands[size_t(what - '0')];
            else if (what == 't')
                filled += t;
            else if (what == 'b')
                filled += typed("i1");
            else if (what == 'i')
                filled += typed(integer_of_size(type));
            else if (what == 's')
                filled += out.intrinsic_suffix(out.scalar_type(type), vector);
            else if (what == 'f')
                filled += k.math == Math::strict ? "" : "contract arcp ";
            else if (what == 'm')
                filled += k.math == Math::strict ? "fma" : "fmuladd";
            else if (what == 'w' && one[at + 1] != '(')
                filled += typed(text("i", 16 * size_of(type)));
            else {
                const bool wide = what == 'w';
                at += wide ? 1 : 0;
                const size_t end = one.find(')', at);
                const std::string_view constant = one.substr(at + 1, end - at - 1);
                if (wide) {
                    const std::string bits = std::to_string(8 * size_of(type));
                    filled += text(" ", vector && width > 1 ? text("splat (i", 16 * size_of(type), " ", bits, ")") : bits);
                } else
                    filled += named_constant(constant, type, vector);
                at = end;
            }
        }
    }
    // Declares the called intrinsic, from the operand types in the call.
    if (const size_t call = filled.find("@llvm."); call != filled.npos) {
        const size_t open_at = filled.find('(', call);
        std::string types, part;
        int depth = 0;
        const std::string arguments = filled.substr(open_at + 1, filled.size() - open_at - 2) + ",";
        for (const char c : arguments) {
            depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
            if (c == ',' && depth == 0) {
                const size_t first = part.find_first_not_of(' ');
                const size_t end = part[first] == '<' ? part.find('>') + 1 : part.find(' ', first);
                types += (types.empty() ? "" : ", ") + part.substr(first, end - first);
                part.clear();
            } else
                part += c;
        }
        const size_t result = filled.find("call ") + 5;
        out.declare(text("declare ", filled.substr(result, call - result), filled.substr(call, open_at - call), "(", types, ")"));
    }
    return filled;
}

std::string ScalarOps::named_constant(std::string_view what, Scalar type, bool vector) const {
    const int bits = 8 * size_of(type);
    if (what == "min") return out.splat_constant(type, uint64_t(1) << (bits - 1), vector);
    if (what == "bits") return out.splat_constant(type, uint64_t(bits - 1), vector);
    if (what == "inf") return out.splat_constant(type, type == Scalar::f32 ? 0x7f800000u : 0x7ff0000000000000u, vector);
    const int value = std::atoi(std::string(what).c_str());
    if (type == Scalar::boolean) return out.splat_constant(type, value != 0, vector);
    if (!is_float(type)) return out.splat_constant(type, uint64_t(int64_t(value)) & (~uint64_t(0) >> (64 - bits)), vector);
    uint64_t word = 0;
    const float f = float(value);
    const double d = value;
    if (type == Scalar::f32) {
        uint32_t w;
        std::memcpy(&w, &f, 4);
        word = w;
    } else
        std::memcpy(&word, &d, 8);
    return out.splat_constant(type, word, vector);
}

/// Integer division and remainder. x / 0 and INT_MIN / -1 divide by 1 instead, which gives the results that ops.def defines.
/// Vectors of at most 32 bits are divided as doubles, since x86-64 and NEON have no vector division of integers. LLVM divides by
/// constants, and vectors of 64-bit lanes one lane at a time.
std::string ScalarOps::divide(const std::string& op, Scalar type, const std::vector<std::string>& operands, bool vector,
                              bool constant_divisor) {
    const bool is_signed = op[0] == 's', quotient = op.ends_with("div");
    if (is_signed && !target.divides_signed) {
        // By the absolute values. The smallest integer / -1 wraps to itself, and x / 0 gets the sign of x, as ops.def defines.
        const char* const absolute = "%s = ashr $t $0, $(bits); %x = xor $t $0, %s; sub $t %x, %s";
        const std::string a = expanded(absolute, type, {operands[0]}, vector),
                          b = expanded(absolute, type, {operands[1]}, vector);
        const std::string r = divide(quotient ? "udiv" : "urem", type, {a, b}, vector, constant_divisor);
        return expanded(quotient ? "%x = xor $t $0, $1; %s = ashr $t %x, $(bits); %y = xor $t $2, %s; sub $t %y, %s"
                                 : "%s = ashr $t $0, $(bits); %y = xor $t $2, %s; sub $t %y, %s",
                        type, {operands[0], operands[1], r}, vector);
    }
    // LLVM divides 64-bit lanes one by one, by several instructions each.
    if (vector && width > 1 && size_of(type) > 4) out.block_lines += 8 * width;
    if (constant_divisor) return expanded(op + " $t $0, $1", type, operands, vector);
    const std::string guard_unsigned = "%z = icmp eq $t $1, $(0); select $b %z, $t $(1), $t $1";
    const std::string guard_signed =
        "%z = icmp eq $t $1, $(0); %m = icmp eq $t $0, $(min); %n = icmp eq $t $1, $(-1); %o = and $b %m, %n; "
        "%u = or $b %z, %o; select $b %u, $t $(1), $t $1";
    const std::string divisor = expanded(is_signed ? guard_signed : guard_unsigned, type, operands, vector);
    if (!vector || width == 1 || size_of(type) > 4) return expanded(op + " $t $0, $1", type, {operands[0], divisor}, vector);
    const std::string t = out.vector_type(out.scalar_type(type)), d = out.vector_type("double");
    const std::string to = is_signed ? "sitofp" : "uitofp", back = is_signed ? "fptosi" : "fptoui";
    const std::string a = emit.casts.convert(to.c_str(), t, operands[0], d), b = emit.casts.convert(to.c_str(), t, divisor, d);
    // Exact: the distance of a 32-bit quotient from the next integer exceeds the rounding error of a double.
    const std::string q = emit.casts.convert(back.c_str(), d, out.let(text("fdiv ", d, " ", a, ", ", b)), t);
    if (quotient) return q;
    return out.let(text("sub ", t, " ", operands[0], ", ", out.let(text("mul ", t, " ", q, ", ", divisor))));
}

/// Counts leading or trailing zeros by bisection: if the half of the bits at that end is zero, its size counts, and the other
/// half is looked at.
std::string ScalarOps::counted_zeros(Op op, Scalar type, const std::string& x, bool vector) {
    const int bits = 8 * size_of(type);
    const char* const away = op == Op::ctz ? "shl" : "lshr";    // moves the other half out
    const char* const closer = op == Op::ctz ? "lshr" : "shl";  // moves the other half to the end
    std::string rest = x, zeros = out.splat_constant(type, 0, vector);
    for (int half = bits / 2; half > 0; half /= 2) {
        const std::string is_zero = text("%l = ", away, " $t $0, $(", bits - half, "); %z = icmp eq $t %l, $(0); ");
        const std::string count = expanded(text(is_zero, "select $b %z, $t $(", half, "), $t $(0)"), type, {rest}, vector);
        rest = expanded(text(closer, " $t $0, $1"), type, {rest, count}, vector);
        zeros = expanded("add $t $0, $1", type, {zeros, count}, vector);
    }
    return expanded(text("%z = icmp eq $t $0, $(0); select $b %z, $t $(", bits, "), $t $1"), type, {x, zeros}, vector);
}

std::string ScalarOps::maths(Op op, Scalar type, const std::vector<std::string>& operands, bool vector) {
    const bool written = type == Scalar::f32 && vector && width > 1 && emit.math.writes_out(op);
    return written ? emit.math.mathematics({op}, operands[0])[0] : called(op, type, operands, vector);
}

/// A library call: SLEEF's vector function on each part of a packet; for scalars the libm function that the host column also
/// calls.
std::string ScalarOps::called(Op op, Scalar type, const std::vector<std::string>& operands, bool vector) {
    const std::string name(row(op).name), scalar = out.scalar_type(type);
    const SleefIsa* sleef =
        target.sleef && vector && width > 1 && in_all_its_range(op, type) ? sleef_for(target.isa, width, size_of(type)) : nullptr;
    const bool f32 = type == Scalar::f32;
    if (target.use != CodeUse::launch) return library_call(op, type, operands, vector);
    if (!sleef) {
        // The host column's loop for vectors, and where glibc has no function of this name or one that writes to a global
        // (lgamma).
        if (vector && width > 1) return host_call(op, type, operands, vector);
        if (op == Op::lgamma || op == Op::exp10) return host_call(op, type, operands, vector);
        // glibc's double cbrt errs by several units in the last place.
        const bool own = op == Op::cbrt && target.sleef;
        const std::string function = text(own ? "Sleef_" : "", name, f32 ? "f" : "", own ? "_u10" : "");
        std::string arguments, types;
        for (const std::string& o : operands) {
            arguments += text(arguments.empty() ? "" : ", ", scalar, " ", o);
            types += text(types.empty() ? "" : ", ", scalar);
        }
        out.functions.insert(function);
        out.declare(text("declare ", scalar, " @", function, "(", types, ") nounwind memory(none)"));
        return out.let(text("call ", scalar, " @", function, "(", arguments, ")"));
    }
    const int lanes = sleef->lanes * 4 / size_of(type);
    const std::string part = text("<", lanes, " x ", scalar, ">");
    const std::string_view cell = llvm_text(op, type), suffix = cell.substr(std::min(cell.size(), std::strlen("sleef ")));
    const std::string function = text("Sleef_", name, f32 ? "f" : "d", lanes, "_", suffix, sleef->suffix);
    out.functions.insert(function);
    return in_parts(lanes, scalar, operands, scalar, [&](const std::vector<std::string>& pieces) {
        std::string arguments, types;
        for (const std::string& piece : pieces) {
            arguments += text(arguments.empty() ? "" : ", ", part, " ", piece);
            types += text(types.empty() ? "" : ", ", part);
        }
        out.declare(text("declare ", part, " @", function, "(", types, ") nounwind memory(none)"));
        return out.let(text("call ", part, " @", function, "(", arguments, ")"));
    });
}

/// Applies a function of vectors of `lanes` scalars to the parts of the packet's vectors, and concatenates the results.
std::string ScalarOps::in_parts(int lanes, const std::string& scalar, const std::vector<std::string>& operands,
                                const std::string& result,
                                const std::function<std::string(const std::vector<std::string>&)>& function) {
    if (lanes == width) return function(operands);
    const auto together = [&](const std::string& t, const std::string& a, const std::string& b, int count) {
        std::string indices;
        for (int l = 0; l < count; ++l) indices += text(l > 0 ? ", " : "", "i32 ", l);
        return out.let(text("shufflevector ", t, " ", a, ", ", t, " ", b, ", <", count, " x i32> <", indices, ">"));
    };
    std::vector<std::string> results;
    for (int first = 0; first < width; first += lanes) {
        std::vector<std::string> pieces;
        for (const std::string& o : operands) pieces.push_back(emit.shuffles.vector_part(scalar, o, first, lanes));
        results.push_back(function(pieces));
    }
    for (int size = lanes; size < width; size *= 2) {
        std::vector<std::string> joined;
        for (size_t r = 0; r < results.size(); r += 2)
            joined.push_back(together(text("<", size, " x ", result, ">"), results[r], results[r + 1], 2 * size));
        results = joined;
    }
    return results[0];
}

/// Calls the interpreter's loop for the operation over the packet's lanes; operands and result go through the stack.
std::string ScalarOps::host_call(Op op, Scalar type, const std::vector<std::string>& operands, bool vector) {
    if (target.use != CodeUse::launch) return library_call(op, type, operands, vector);
    const std::string function = text("pumice_cpu_", row(op).name, "_", name_of(type));
    out.functions.insert(function);
    out.declare(text("declare void @", function, "(ptr, i32, ptr, ptr, ptr, ptr)"));
    out.declare(
        text("@lane_numbers", width, " = private constant <", width, " x i16> ", width == 1 ? "<i16 0>" : out.lanes("i16", 1)));
    const auto typed = [&](Scalar t) { return vector ? out.vector_type(out.memory_type(t)) : out.memory_type(t); };
    std::string pointers[3] = {"null", "null", "null"};
    for (size_t o = 0; o < operands.size(); ++o) {
        const std::string t = typed(operand_type(op, int(o), type));
        pointers[o] = out.alloca_of(t, "x");
        out.line(text("store ", t, " ", operands[o], ", ptr ", pointers[o]));
    }
    const Scalar result = row(op).result == Result::same ? type : row(op).result == Result::i32 ? Scalar::i32 : Scalar::boolean;
    const std::string r = out.alloca_of(typed(result), "r");
    out.line(text("call void @", function, "(ptr @lane_numbers", width, ", i32 ", vector ? width : 1, ", ptr ", r, ", ptr ",
                  pointers[0], ", ptr ", pointers[1], ", ptr ", pointers[2], ")"));
    return emit.casts.from_memory(result, out.let(text("load ", typed(result), ", ptr ", r)), vector);
}

/// Calls the function of the C library for each lane. Its name is the op's, with C's suffix f for float.
std::string ScalarOps::library_call(Op op, Scalar type, const std::vector<std::string>& operands, bool vector) {
    const std::string function = text(row(op).name, type == Scalar::f32 ? "f" : "");
    const Scalar result = row(op).result == Result::i32 ? Scalar::i32 : type;
    const std::string r = out.scalar_type(result);
    std::string types;
    for (size_t o = 0; o < operands.size(); ++o)
        types += text(o == 0 ? "" : ", ", out.scalar_type(operand_type(op, int(o), type)));
    out.functions.insert(function);
    out.declare(text("declare ", r, " @", function, "(", types, ") nounwind memory(none)"));
    const bool vectors = vector && width > 1;
    std::string all = "poison";
    for (int lane = 0; lane < (vectors ? width : 1); ++lane) {
        std::vector<std::string> given;
        std::string arguments;
        for (size_t o = 0; o < operands.size(); ++o) {
            const std::string t = out.scalar_type(operand_type(op, int(o), type));
            given.push_back(vectors ? out.extract(t, operands[o], std::to_string(lane)) : operands[o]);
            arguments += text(o == 0 ? "" : ", ", t, " ", given[o]);
        }
        std::string one = out.let(text("call ", r, " @", function, "(", arguments, ")"));
        // C leaves open which integers stand for 0 and NaN.
        if (op == Op::ilogb)
            one = expanded(
                "%z = fcmp oeq $t $0, $(0); %n = fcmp uno $t $0, $0; %m = select i1 %z, i32 -2147483648, i32 $1; "
                "select i1 %n, i32 2147483647, i32 %m",
                type, {given[0], one}, false);
        all = vectors ? out.let(text("insertelement ", out.vector_type(r), " ", all, ", ", r, " ", one, ", i32 ", lane)) : one;
    }
    return all;
}

}  // namespace pumice::cpu
