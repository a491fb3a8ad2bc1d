// Subgroup operations as GLSL's KHR_shader_subgroup functions.
//
//   %p = subgroup reduce_add %x : f32       subgroupAdd(x)
//   %n = subgroup reduce_add 1 : i32        int(subgroupBallotBitCount(subgroupBallot(true)))
//   %s = subgroup shuffle_up %x, 1          v = subgroupShuffleUp(x, 1u); gl_SubgroupInvocationID >= 1u ? v : x
//
// Sums of a constant become bit counts of a ballot. Shuffles by a constant use the relative forms, which devices execute faster.
// Types of 8 and 16 bits are widened to 32 bits, as devices need not support narrow types in subgroups; 64-bit integers are
// shuffled as two words. An operation is emitted exactly where the IR has it, since elsewhere other items may be active. If the
// device lacks any capability that the kernel needs (Interface::subgroups), the whole kernel sees subgroups of one item. Cost:
// that of the device. Limits: the order of float reductions is the driver's.
#include "codegen/glsl_body/emit_subgroup_ops.h"

#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "core/ir/ops.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

/// The type in which GLSL combines a subgroup's values: 8- and 16-bit types are widened, as devices need not support them in
/// subgroups.
Scalar combined_in(Scalar type) {
    if (type == Scalar::boolean || size_of(type) >= 4) return type;
    return is_float(type) ? Scalar::f32 : is_signed_int(type) ? Scalar::i32 : Scalar::u32;
}

/// GLSL's function for a combining operation.
std::string combining_function(Subgroup what) {
    constexpr const char* words[] = {"Add", "Mul", "Min", "Max", "And", "Or", "Xor"};
    const std::string how = what < Subgroup::inclusive_add ? "" : what < Subgroup::exclusive_add ? "Inclusive" : "Exclusive";
    return "subgroup" + how + words[size_t(what) % std::size(words)];
}

}  // namespace

/// The operation's result in a subgroup of one item.
Expression SubgroupEmitter::alone(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    if (what == Subgroup::elect) return {"true", primary, {}, {}};
    const Expression x = values.use(k.operands(i)[0]);
    if (what == Subgroup::ballot) return i.leaf == 0 ? fill("uint($0)", {x}) : Expression{"0u", primary, {}, {}};
    if (what >= Subgroup::exclusive_add && is_scan(what)) {
        const uint64_t bits = neutral_element(*combines(what), i.type);
        return {is_pair(i.type) && options.pairs ? pair_constant(bits) : glsl_constant(i.type, bits), unary, {}, {}};
    }
    return x;
}

/// The text of `call`, which takes the value $0 from another lane: narrow types are widened, and 64-bit integers are packed from
/// two words.
Expression SubgroupEmitter::from_lane(const Inst& i, const std::string& call, const std::vector<Expression>& operands) {
    const Scalar type = i.type, wide = combined_in(type);
    if (is_pair(type) && !options.pairs) {
        const char* const whole = type == Scalar::i64 ? "Int2x32(" : "Uint2x32(";
        const std::string pack = text("pack", whole), unpack = text("unpack", whole, "$0)");
        return fill(pack + fill(call, {fill(unpack, {operands[0]}), operands.back()}).text + ")", std::span<const Expression>());
    }
    if (glsl_type(wide).value == glsl_type(type).value) return fill(call, operands);
    std::vector<Expression> widened = operands;
    if (type == Scalar::f16) {
        // As bits: lavapipe crashes on a float from another lane that is converted to a half.
        widened[0] = fill("packHalf2x16(vec2(float($0), 0.0))", {operands[0]});
        return fill("float16_t(unpackHalf2x16($0).x)", {fill(call, widened)});
    }
    widened[0] = fill(cast_text(type, wide), {operands[0]});
    return fill(cast_text(wide, type), {fill(call, widened)});
}

/// The sum or scan of a constant: the number of active items (all, up to this one, or before this one) times the constant, by
/// counting the bits of a ballot. Nothing if the operand is no constant, the type is not i32 or u32, the operation is no sum, or
/// the device has no ballots; `combined` then emits the general function.
std::optional<Expression> SubgroupEmitter::counted(const Inst& i) {
    uint64_t bits = 0;
    const bool whole = i.type == Scalar::i32 || i.type == Scalar::u32;
    if (!whole || !(options.subgroups & Subgroups::ballot) || !k.constant(k.operands(i)[0], bits)) return std::nullopt;
    const char* how = nullptr;
    switch (Subgroup(i.immediate)) {
        case Subgroup::reduce_add: how = "subgroupBallotBitCount"; break;
        case Subgroup::inclusive_add: how = "subgroupBallotInclusiveBitCount"; break;
        case Subgroup::exclusive_add: how = "subgroupBallotExclusiveBitCount"; break;
        default: return std::nullopt;
    }
    interface.need("GL_KHR_shader_subgroup_ballot");
    const Expression count{
        text(i.type == Scalar::i32 ? "int(" : "", how, "(subgroupBallot(true))", i.type == Scalar::i32 ? ")" : ""),
        postfix,
        {},
        {}};
    return bits == 1 ? count : fill(text("$0 * ", glsl_constant(i.type, bits)), {count});
}

Expression SubgroupEmitter::combined(const Inst& i) {
    if (const auto count = counted(i)) return *count;
    interface.need("GL_KHR_shader_subgroup_arithmetic");
    if (i.type == Scalar::i64 || i.type == Scalar::u64) interface.need("GL_EXT_shader_subgroup_extended_types_int64");
    const Subgroup what = Subgroup(i.immediate);
    const Scalar wide = combined_in(i.type);
    const std::string call = combining_function(what) + "($0)";
    const Expression x = values.use(k.operands(i)[0]);
    if (wide == i.type) return fill(call, {x});
    Expression e = fill(call, {fill(cast_text(i.type, wide), {x})});
    // An exclusive min or max of no items is the wide type's neutral element, which the narrow type cannot represent.
    const bool of_wide = what == Subgroup::exclusive_min || what == Subgroup::exclusive_max;
    if (of_wide && is_int(i.type)) {
        const auto limit = [&](Op op) {
            const uint64_t bits = neutral_element(op, i.type);
            const int unused = 64 - 8 * size_of(i.type);
            const uint64_t value = is_signed_int(i.type) ? uint64_t(int64_t(bits << unused) >> unused) : bits;
            return glsl_constant(wide, value & 0xffffffffu);
        };
        e = fill(text("clamp($0, ", limit(Op::max), ", ", limit(Op::min), ")"), {e});
    }
    return fill(cast_text(wide, i.type), {e});
}

void SubgroupEmitter::operation(const Inst& i) {
    if (!usage.uses.any(k.result(i))) return;
    // Declared here, never pending: at another place other items may be active.
    values.declare(k.result(i), interface.subgroups() ? together(i) : alone(i));
}

/// A relative shuffle by a constant, which devices execute faster than a shuffle from a computed lane. In GLSL the value of a
/// lane that does not exist is undefined, so an item keeps its own value there. All items execute the shuffle; the choice comes
/// after it.
std::optional<Expression> SubgroupEmitter::shuffled_by_constant(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    const auto v = k.operands(i);
    uint64_t distance = 0;
    const bool up = what == Subgroup::shuffle_up, down = what == Subgroup::shuffle_down;
    if (!up && !down && what != Subgroup::shuffle_xor) return std::nullopt;
    if (!k.constant(v[1], distance) || distance > 127 || ((up || down) && !(options.subgroups & Subgroups::relative)))
        return std::nullopt;
    if (up || down) interface.need("GL_KHR_shader_subgroup_shuffle_relative");
    const Expression x = values.use_named(v[0]);
    const std::string by = text(distance, "u"), name = out.new_name("moved");
    const char* const call = up ? "subgroupShuffleUp($0, " : down ? "subgroupShuffleDown($0, " : "subgroupShuffleXor($0, ";
    const Expression moved = from_lane(i, call + by + ")", {x, Expression{by, primary, {}, {}}});
    out.line(text("const ", glsl_type(i.type, options.pairs).value, " ", name, " = ", moved.text, ";"));
    const std::string there = up     ? "gl_SubgroupInvocationID >= " + by
                              : down ? "gl_SubgroupInvocationID + " + by + " < gl_SubgroupSize"
                                     : "(gl_SubgroupInvocationID ^ " + by + ") < gl_SubgroupSize";
    return fill(there + " ? $0 : $1", {Expression{name, primary, {}, {}}, x});
}

Expression SubgroupEmitter::together(const Inst& i) {
    interface.need("GL_KHR_shader_subgroup_basic");
    const Subgroup what = Subgroup(i.immediate);
    const auto v = k.operands(i);
    if (combines(what)) return combined(i);
    uint64_t lane = 0;
    switch (what) {
        case Subgroup::any:
        case Subgroup::all:
            interface.need("GL_KHR_shader_subgroup_vote");
            return fill(what == Subgroup::any ? "subgroupAny($0)" : "subgroupAll($0)", {values.use(v[0])});
        case Subgroup::elect: return {"subgroupElect()", postfix, {}, {}};
        case Subgroup::ballot:
            interface.need("GL_KHR_shader_subgroup_ballot");
            return fill(text("subgroupBallot($0).", "xyzw"[i.leaf]), {values.use(v[0])});
        case Subgroup::broadcast_first:
            interface.need("GL_KHR_shader_subgroup_ballot");
            return from_lane(i, "subgroupBroadcastFirst($0)", {values.use(v[0])});
        case Subgroup::broadcast:
            if (!k.constant(v[1], lane)) break;
            interface.need("GL_KHR_shader_subgroup_ballot");
            return from_lane(i, text("subgroupBroadcast($0, ", lane, "u)"), {values.use(v[0])});
        default: break;
    }
    interface.need("GL_KHR_shader_subgroup_shuffle");
    if (const auto moved = shuffled_by_constant(i)) return *moved;
    const Expression x = values.use(v[0]);
    const Expression named = fill("uint($0)", {values.use(v[1])});
    if (what == Subgroup::broadcast || what == Subgroup::shuffle) return from_lane(i, "subgroupShuffle($0, $1)", {x, named});
    if (!out.has_function("lane_or_own")) {
        out.define_function(
            "lane_or_own",
            "uint lane_or_own(uint lane) {\n    return lane < gl_SubgroupSize ? lane : gl_SubgroupInvocationID;\n}\n");
    }
    const char* lanes = what == Subgroup::shuffle_xor  ? "lane_or_own(gl_SubgroupInvocationID ^ $0)"
                        : what == Subgroup::shuffle_up ? "lane_or_own(gl_SubgroupInvocationID - $0)"
                                                       : "lane_or_own(gl_SubgroupInvocationID + $0)";
    return from_lane(i, "subgroupShuffle($0, $1)", {x, fill(lanes, {named})});
}

}  // namespace pumice::codegen
