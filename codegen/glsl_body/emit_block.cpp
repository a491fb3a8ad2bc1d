// Expression emission: rebuilds expression trees from SSA values, and writes a block's instructions as GLSL statements.
//
// A pure value with one use in its own block is kept pending, and becomes part of its user's expression (forward substitution).
// Every other value becomes a `const` variable. Constants, arguments and index instructions are written out at each use.
//
//   %3 = mul %0, %2 : f32
//   %4 = load arg1[%1] : f32              arg1[i] = arg1[i] + arg3 * arg2[i];
//   %5 = add %4, %3 : f32
//   store arg1[%1], %5 : f32
//
// Why: readable text, and less work for glslang than a variable for each value. Legality: a pending load is evaluated (flushed)
// before the next write to its memory, and before control flow; a strict float operation gets a `precise` variable of its own; an
// expression longer than 96 characters gets a name; an operand that the pattern repeats is named first. This file also selects
// the text of an instruction: shorter forms for constant operands (shift for a power of two), and replacements for what a driver
// does wrongly (Options). Cost: linear, apart from the search of the pending list. Limits: a value with uses in other blocks or
// with several uses is always a variable, constants, arguments and indices apart.
// Textbook name: forward substitution, tree building from SSA (the inverse of value numbering).
#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/glsl_body/glsl_emitter.h"
#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/ranges/float_range.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

constexpr const char* axis_names[3] = {"x", "y", "z"};
constexpr size_t longest_inline = 96;  ///< characters; longer expressions are given a name

std::string gl(const char* builtin, int axis) { return text("int(gl_", builtin, ".", axis_names[axis], ")"); }

/// True for constants, arguments and index instructions: they cost nothing, so every use writes them out.
bool is_leaf(Op op) { return op == Op::constant || is_given(op); }

}  // namespace

void GlslEmitter::line(const std::string& statement) {
    if (options.comments && loc.line != 0 && !(loc == said_loc)) {
        said_loc = loc;
        out += std::string(size_t(indent) * 4, ' ') + "// " + k.where(loc) + "\n";
    }
    if (lines) {
        const Loc at = loc.line ? loc : k.loc;
        const std::string file = at.file < k.files.size() ? k.files[at.file] : "?";
        // GLSL's strings have no escapes.
        if (file.find_first_of("\"\\\n") == file.npos) out += text("#line ", at.line, " \"", file, "\"\n");
    }
    out += std::string(size_t(indent) * 4, ' ') + statement + "\n";
}

std::string GlslEmitter::main_function() {
    out.clear();
    if (lines) interface.need("GL_GOOGLE_cpp_style_line_directive");
    for (const std::string& array : interface.private_arrays()) line(array);
    name_indices();
    const std::string start = std::move(out);
    out.clear();
    block(BlockId{0});
    const std::string body = std::move(out);
    out.clear();
    if (lines) loc = {};
    const bool loops = body.find("while (") != body.npos || body.find("for (") != body.npos || !own_functions.empty();
    if (options.idle_lanes && loops) {
        // Lanes without an item leave first. Subgroups lie along x; the first condition folds if the group's extent along x is 1.
        interface.need("GL_KHR_shader_subgroup_basic");
        line("if (gl_LocalInvocationID.x >= gl_WorkGroupSize.x || gl_SubgroupInvocationID >= gl_WorkGroupSize.x) return;");
    }
    for (const std::string& constant : interface.push_constants()) line(constant);
    return "void main() {\n" + out + start + body + "}\n";
}

std::string GlslEmitter::functions() const {
    std::string all;
    for (const std::string& name : function_order) all += own_functions.at(name) + "\n";
    return all;
}

/// Gives the index values their names at the top of main, where every block sees them: i, j, k in the written order of the
/// range's axes (axis 0 is the last written).
void GlslEmitter::name_indices() {
    const int rank = k.rank ? k.rank : 3;
    const auto from_origin = [&](const std::string& field) { return text("(", interface.at_origin(), " ? 0 : ", field, ")"); };
    for (int axis = rank - 1; axis >= 0; --axis) {
        if (!usage.global_axis[axis]) continue;
        const std::string name(1, "ijk"[k.rank ? rank - 1 - axis : axis]);
        const std::string start = interface.field(Field::Kind::start, 0, axis, Scalar::i32);
        line(text("const int ", name, " = ", from_origin(start), " + ", gl("GlobalInvocationID", axis), ";"));
        for (const Inst& i : k.insts)
            if (i.op == Op::global_index && int(i.immediate) == axis) names[i.first_result] = name;
    }
    struct Named {
        Op op;
        const char* name;
    };
    for (const Named& n : {Named{Op::local_index, "l"}, Named{Op::group_index, "g"}, Named{Op::group_size, "group"}}) {
        bool used[3] = {};
        for (const InstId i : usage.structure.order())
            if (k[i].op == n.op && usage.evaluated[k[i].first_result]) used[k[i].immediate] = true;
        const bool only_x = !used[1] && !used[2];
        for (int axis = 0; axis < 3; ++axis) {
            if (!used[axis]) continue;
            const std::string name = only_x ? std::string(n.name) : text(n.name, "_", axis_names[axis]);
            std::string value = gl("LocalInvocationID", axis);
            if (n.op == Op::group_index)
                value =
                    from_origin(interface.field(Field::Kind::group_base, 0, axis, Scalar::i32)) + " + " + gl("WorkGroupID", axis);
            // Not const: drivers fold expressions of specialisation constants by rules of their own.
            if (n.op == Op::group_size) value = gl("WorkGroupSize", axis);
            line(text(n.op == Op::group_size ? "int " : "const int ", name, " = ", value, ";"));
            for (const Inst& i : k.insts)
                if (i.op == n.op && int(i.immediate) == axis) names[i.first_result] = name;
        }
    }
    if (usage.in_range_uses == 0) return;
    // Several axes are compared as vectors: && would make a branch for each axis.
    std::string at, end;
    for (int axis = rank - 1; axis >= 0; --axis) {
        const std::string comma = axis < rank - 1 ? ", " : "";
        at += comma + "ijk"[k.rank ? rank - 1 - axis : axis];
        end += comma + interface.field(Field::Kind::end, 0, axis, Scalar::i32);
    }
    const std::string inside =
        rank == 1 ? text(at, " < ", end) : text("all(lessThan(ivec", rank, "(", at, "), ivec", rank, "(", end, ")))");
    // Several guards cost time, most of all around barriers. The specialisation constant full_groups lets drivers fold them if
    // all groups are whole.
    if (usage.in_range_uses > 1) line("const bool inside = " + interface.full_groups() + " || " + inside + ";");
    for (const Inst& i : k.insts)
        if (i.op == Op::in_range) names[i.first_result] = usage.in_range_uses > 1 ? "inside" : inside;
}

void GlslEmitter::block(BlockId b) {
    ++depth;
    forget_texels();
    const size_t outside = texels.size();
    for (const InstId id : k[b].insts) {
        if (is_pure(k[id].op) && !usage.evaluated[k[id].first_result]) continue;
        loc = k[id].loc;
        instruction(k[id], id.id);
    }
    texels.resize(std::min(texels.size(), outside));
    forget_texels();
    --depth;
}

void GlslEmitter::instruction(const Inst& i, uint32_t id) {
    if (is_leaf(i.op)) return;  // written out at each use
    if (accesses_memory(i.op) && k[i.memory].image)
        return i.op == Op::store ? texel_store(i, id) : define(i, channel_of_texel(i));
    if (is_scalar_op(i.op)) return define(i, pure(i));
    if (is_atomic(i.op)) return atomic(i);
    switch (i.op) {
        case Op::select:
        case Op::cast:
        case Op::bitcast: return define(i, pure(i));
        case Op::uniform: return define(i, use(k.operands(i)[0]));
        case Op::load: return define(i, elements.loads[id] ? leaf_of_vector(i) : load(i));
        case Op::store: return store(i, id);
        case Op::barrier: return barrier();
        case Op::subgroup: return subgroup(i);
        case Op::print:
        case Op::require: return report(i);
        case Op::if_: return if_statement(i);
        case Op::for_: return for_statement(i);
        case Op::while_: return while_statement(i);
        case Op::yield:
        case Op::test:
        case Op::break_:
        case Op::continue_:
        case Op::return_: return terminator(i);
        default: library_bug(text("instruction ", name_of(i.op), " reached the GLSL emitter in kernel ", k.name));
    }
}

/// True for + - * / neg sqrt and fma of floats under strict maths, where the kernel promises their bits. GLSL's `precise` applies
/// only to what is assigned to a precise variable in the same function, so each such operation gets a variable.
bool GlslEmitter::strict(const Inst& i) const {
    if (k.math != Math::strict || !is_float(i.type)) return false;
    return i.op == Op::add || i.op == Op::sub || i.op == Op::mul || i.op == Op::div || i.op == Op::neg || i.op == Op::sqrt ||
           i.op == Op::fma;
}

/// True if strict operations are emitted as calls of functions with precise variables. glslang propagates `precise` to the
/// operands of a precise variable, and that propagation does not terminate where arrays are reached by address; it stops at
/// calls.
bool GlslEmitter::strict_by_call() const {
    return std::ranges::any_of(options.by_address, [](bool address) { return address; });
}

void GlslEmitter::define(const Inst& i, Expression e) {
    const Value v = k.result(i);
    if (!usage.evaluated[v.id]) return;
    const bool local_use =
        usage.uses.count(v) == 1 && usage.structure.block_of(usage.uses.of(v)[0]) == usage.structure.block_of(v);
    if (local_use && !strict(i) && e.text.size() <= longest_inline)
        pending.emplace_back(v.id, std::move(e));
    else
        declare(v, e);
}

void GlslEmitter::declare(Value v, const Expression& e) {
    const ValueInfo& info = k[v];
    names[v.id] = text("v", next_name++);
    const bool precise = info.inst.id != none && strict(k[info.inst]) && !strict_by_call();
    line(text(precise ? "precise const " : "const ", glsl_type(info.type, options.pairs).value, " ", names[v.id], " = ", e.text,
              ";"));
}

Expression GlslEmitter::use(Value v) {
    const auto at = std::ranges::find_if(pending, [&](const auto& p) { return p.first == v.id; });
    if (at != pending.end()) {
        Expression e = std::move(at->second);
        pending.erase(at);
        return e;
    }
    const InstId d = k[v].inst;
    if (d.id != none && is_leaf(k[d].op)) return leaf(k[d]);
    if (names[v.id].empty()) library_bug(text("the GLSL emitter uses a value before it is defined in kernel ", k.name));
    Expression e{names[v.id], primary, {}, {}};
    if (variable[v.id] != none) e.variables.push_back(variable[v.id]);
    return e;
}

/// The value as a name or a constant, for uses that write or evaluate its text more than once.
Expression GlslEmitter::use_named(Value v) {
    Expression e = use(v);
    if (e.is_atom() || (k[v].inst.id != none && k[k[v].inst].op == Op::constant)) return e;
    declare(v, e);
    return use(v);
}

std::vector<Expression> GlslEmitter::use_all(std::span<const Value> values) {
    std::vector<Expression> all;
    for (const Value v : values) all.push_back(use(v));
    return all;
}

Expression GlslEmitter::leaf(const Inst& i) {
    const int n = int(i.immediate);
    switch (i.op) {
        case Op::constant: {
            const std::string constant = glsl_constant(i.type, i.immediate, options.pairs);
            return {constant, constant[0] == '-' ? unary : constant.find('(') != constant.npos ? postfix : primary, {}, {}};
        }
        case Op::argument: {
            const Scalar push = glsl_type(i.type).push_type;
            Expression e{interface.field(Field::Kind::argument, n, 0, push), primary, {}, {}};
            if (push == i.type) return e;
            return fill(is_narrow_float(i.type) ? from_bits_text(i.type) : cast_text(push, i.type), {e});
        }
        case Op::global_size: return {interface.field(Field::Kind::size, 0, n, Scalar::i32), primary, {}, {}};
        case Op::group_count: return {interface.field(Field::Kind::group_count, 0, n, Scalar::i32), primary, {}, {}};
        case Op::subgroup_size:
        case Op::subgroup_lane:
        case Op::subgroup_index:
        case Op::subgroup_count: return subgroup_index_value(i);
        case Op::extent: {
            const Memory& m = k[i.memory];
            if (m.kind != MemoryKind::array && !m.extents.empty())
                return {std::to_string(m.extents[m.extents.size() - 1 - size_t(n)]), primary, {}, {}};
            const std::string name =
                interface.field(Field::Kind::extent, m.argument, n, options.wide_offsets ? Scalar::i64 : Scalar::i32);
            return options.wide_offsets ? Expression{"int(" + name + ")", postfix, {}, {}} : Expression{name, primary, {}, {}};
        }
        case Op::in_range: {
            const std::string& name = names[i.first_result];
            return {name, name.find(' ') == name.npos ? primary : name.back() == ')' ? postfix : relational, {}, {}};
        }
        default: return {names[i.first_result], primary, {}, {}};
    }
}

/// The pattern of a strict sum, difference or fma that adds a constant zero; "" for any other instruction. Drivers fold such a
/// sum to its other operand, which is wrong for -0 + 0.
std::string GlslEmitter::zero_addend_pattern(const Inst& i) const {
    if (!strict(i) || (i.op != Op::add && i.op != Op::sub && i.op != Op::fma) || i.type == Scalar::bf16) return "";
    const auto operands = k.operands(i);
    const bool half = i.type == Scalar::f16;
    const auto operand = [&](size_t n) { return half ? text("float($", n, ")") : text("$", n); };
    for (size_t o = i.op == Op::fma ? 2 : 0; o < operands.size(); ++o) {
        uint64_t bits = 0;
        if (!k.constant(operands[o], bits) || bits << (65 - 8 * size_of(i.type)) != 0) continue;
        const bool minus = (bits != 0) != (i.op == Op::sub && o == 1);  // the zero that is added
        const std::string other = i.op == Op::fma             ? text("(", operand(0), " * ", operand(1), ")")
                                  : i.op == Op::sub && o == 0 ? text("(-", operand(1), ")")
                                                              : operand(1 - o);
        const std::string sum = minus ? text("(", other, ")") : text("pm_plus_zero(", other, ")");
        return half ? text("float16_t(", sum, ")") : sum;
    }
    return "";
}

/// The pattern of a product, fma or quotient with a constant zero operand; "" for any other instruction. Drivers fold such
/// products and quotients to zero, which is wrong for NaN and infinity, so prelude functions compute them on the bits. A quotient
/// by a constant zero is undefined on lavapipe.
std::string GlslEmitter::zero_pattern(const Inst& i) const {
    if (!is_float(i.type) || (i.op != Op::mul && i.op != Op::div && i.op != Op::fma)) return "";
    const auto operands = k.operands(i);
    for (size_t o = 0; o < 2; ++o) {
        uint64_t bits = 0;
        if (!k.constant(operands[o], bits) || bits << (65 - 8 * size_of(i.type)) != 0) continue;
        const auto operand = [&](size_t n) { return i.type == Scalar::f16 ? text("float($", n, ")") : text("$", n); };
        const char* const function = i.op != Op::div ? "pm_times_zero(" : o == 0 ? "pm_zero_over(" : "pm_over_zero(";
        const std::string zero = text(function, operand(1 - o), ", ", operand(o), ")");
        const std::string made = i.type == Scalar::f16 ? "float16_t(" + zero + ")" : zero;
        return i.op == Op::fma ? made + " + $2" : made;
    }
    return "";
}

/// Correctly rounded division and square root of f32 and f16, whatever the precision of the device's own. f16 is computed in f32
/// and rounded once more.
std::string GlslEmitter::rounded_pattern(const Inst& i) const {
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
    return strict_by_call() ? text("pm_precise_mul($0, ", reciprocal, ")")
                            : text("$0 * ", reciprocal[0] == '-' ? "(" + reciprocal + ")" : reciprocal);
}

/// GLSL's own function under Math::fast. GLSL's pow is undefined for a negative base, so constant integral exponents get a
/// pattern that takes the sign apart.
std::string GlslEmitter::fast_pattern(const Inst& i) const {
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
bool GlslEmitter::never_negative(Value v) const {
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
        case Op::and_: return i.type == Scalar::i32 && (never_negative(operands[0]) || never_negative(operands[1]));
        case Op::min: return i.type == Scalar::i32 && never_negative(operands[0]) && never_negative(operands[1]);
        case Op::div:
        case Op::rem:
        case Op::shr:
            return i.type == Scalar::i32 && never_negative(operands[0]) && k.constant(operands[1], bits) && int32_t(bits) > 0;
        default: return false;
    }
}

/// The largest extent of each memory: that of an array is at most the elements of a binding.
std::vector<int64_t> GlslEmitter::bounds_of_extents() const {
    std::vector<int64_t> bounds;
    if (options.wide_offsets || options.long_extents) return bounds;  // an extent may be larger than an i32
    for (const Memory& m : k.memories)
        bounds.push_back(m.kind == MemoryKind::array ? std::min<int64_t>(most_bound_bytes / m.element.size, INT32_MAX)
                                                     : INT32_MAX);
    return bounds;
}

/// True for a bit-field merge `(a & M) | (b & ~M)` of 32 or 64 bits with a constant M; ^ and + in place of | are equivalent.
bool GlslEmitter::merges_under_masks(const Inst& i) const {
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
std::string GlslEmitter::with_rounded_halves(const Inst& i, std::string pattern) const {
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

/// The GLSL pattern of a pure instruction: the one of its row in ops.def, or a plain GLSL operator if a constant operand rules
/// out the cases that the row guards against (division by zero, shift counts past the width).
std::string GlslEmitter::pattern_of(const Inst& i) const {
    const std::string pattern = options.exact_conversions ? with_rounded_halves(i, exact_pattern(i)) : exact_pattern(i);
    // The sign of a bf16 needs no rounding.
    const bool rounds = i.type == Scalar::bf16 && is_scalar_op(i.op) && i.op != Op::neg;
    return rounds ? rounded_to_bf16(pattern) : pattern;
}

/// The same, but a bf16 result is not yet rounded: a float.
std::string GlslEmitter::exact_pattern(const Inst& i) const {
    const auto operands = k.operands(i);
    const Scalar from = k.type_of(operands[0]);
    if (const std::string zero = zero_pattern(i); !zero.empty()) return zero;
    if (const std::string sum = zero_addend_pattern(i); !sum.empty()) return sum;
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
        const bool power = std::has_single_bit(bits), simple = i.type == Scalar::i32 && power && never_negative(operands[0]);
        if (i.op == Op::div && simple) return text("$0 >> ", std::countr_zero(bits));
        if (i.op == Op::rem && simple) return text("$0 & ", bits - 1);
        if (i.op == Op::div) return "$0 / $1";
        if (i.op == Op::rem && is_unsigned_int(from)) return "$0 % $1";
        if (i.op == Op::shl && whole_shift) return "$0 << $1";
        if (i.op == Op::shr && whole_shift) return "$0 >> $1";
    }
    if (strict(i) && !options.rounded_division && (i.op == Op::div || i.op == Op::sqrt) && size_of(from) <= 4)
        return rounded_pattern(i);
    if (options.parted_merges && !pair && merges_under_masks(i)) {
        const char* const zero = i.type == Scalar::i32   ? "int(pm_zero())"
                                 : i.type == Scalar::u32 ? "pm_zero()"
                                 : i.type == Scalar::i64 ? "int64_t(pm_zero())"
                                                         : "uint64_t(pm_zero())";
        return text("($0 | $1) + ", zero);
    }
    if (k.math == Math::fast && from == Scalar::f32)
        if (const std::string fast = fast_pattern(i); !fast.empty()) return fast;
    if (strict(i) && strict_by_call() && i.op != Op::neg && i.op != Op::sqrt && i.op != Op::fma)
        return text("pm_precise_", name_of(i.op), "($0, $1)");
    const std::string pattern = op_text(i.op, from, strict(i), options.pairs);
    if (pattern.empty())
        fail("kernel \"", k.name, "\" (", k.where(i.loc), ") uses ", name_of(i.op), " on ", name_of(from),
             strict(i) ? " under strict maths" : "", ", for which shaders/ has no function");
    if (options.ordered_as_unsigned && !pair && from == Scalar::i64)
        for (const Op op : {Op::lt, Op::le, Op::gt, Op::ge})
            if (i.op == op) return ordered_as_unsigned(pattern);
    return pattern;
}

/// True for the number of the range's items that a group has along an axis, as Rewriter::members_along and group operations
/// compute it: min(group_size, global_size - group_index * group_size).
bool GlslEmitter::counts_members(const Inst& i) const {
    const auto is = [&](Value v, Op op) { return k[v].inst.id != none && k[k[v].inst].op == op; };
    if (i.op != Op::min || !is(k.operands(i)[0], Op::group_size) || !is(k.operands(i)[1], Op::sub)) return false;
    const Value size = k.operands(i)[0];
    const uint64_t axis = k[k[size].inst].immediate;
    const auto left = k.operands(k[k[k.operands(i)[1]].inst]);
    if (!is(left[0], Op::global_size) || k[k[left[0]].inst].immediate != axis || !is(left[1], Op::mul)) return false;
    const auto first = k.operands(k[k[left[1]].inst]);
    return is(first[0], Op::group_index) && k[k[first[0]].inst].immediate == axis && first[1] == size;
}

/// x + -2 as x - 2. (The lowest integer, which has no positive counterpart, is not spelt with a sign in GLSL.)
std::optional<Expression> GlslEmitter::less(const Inst& i) {
    uint64_t bits = 0;
    if (i.op != Op::add || pattern_of(i) != "$0 + $1" || !k.constant(k.operands(i)[1], bits)) return std::nullopt;
    const std::string constant = glsl_constant(i.type, bits, options.pairs);
    if (constant[0] != '-') return std::nullopt;
    return fill("$0 - $1", {use(k.operands(i)[0]), Expression{constant.substr(1), primary, {}, {}}});
}

/// True if GLSL evaluates the operands after the first one lazily (?:, &&, ||), that is in a branch. Loads in these operands are
/// therefore named before the expression: they are then issued together, not each in a branch.
bool GlslEmitter::may_skip(const Inst& i) const {
    return i.op == Op::select || (i.type == Scalar::boolean && (i.op == Op::and_ || i.op == Op::or_));
}

Expression GlslEmitter::pure(const Inst& i) {
    const auto operands = k.operands(i);
    if (const std::optional<Expression> difference = less(i)) return *difference;
    // With full_groups, drivers know the trip counts of loops over the group's items, and unroll them.
    std::string pattern;
    if (counts_members(i)) pattern.append(interface.full_groups()).append(" ? $0 : ");
    pattern += pattern_of(i);
    std::vector<Expression> texts;
    for (size_t o = 0; o < operands.size(); ++o) {
        Expression e = occurrences(pattern, int(o)) > 1 ? use_named(operands[o]) : use(operands[o]);
        if (o > 0 && may_skip(i) && !e.memories.empty()) {
            declare(operands[o], e);
            e = use(operands[o]);
        }
        texts.push_back(std::move(e));
    }
    return fill(pattern, texts);
}

/// Declares the pending values that load from this memory (`none`: from any memory), because a write to it comes next.
void GlslEmitter::flush(uint32_t memory) {
    forget_elements(memory);
    const auto reads = [&](const Expression& e) {
        return memory == none ? !e.memories.empty() : std::ranges::find(e.memories, memory) != e.memories.end();
    };
    std::vector<std::pair<uint32_t, Expression>> kept;
    for (auto& [v, e] : pending) {
        if (reads(e))
            declare(Value{v}, e);
        else
            kept.emplace_back(v, std::move(e));
    }
    pending = std::move(kept);
}

}  // namespace pumice::codegen
