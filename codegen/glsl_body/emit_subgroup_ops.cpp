// Subgroup operations as GLSL's KHR_shader_subgroup functions, and the records that print and require write to the host's ring.
//
//   %p = subgroup reduce_add %x : f32       subgroupAdd(x)
//   %n = subgroup reduce_add 1 : i32        int(subgroupBallotBitCount(subgroupBallot(true)))
//   %s = subgroup shuffle_up %x, 1          v = subgroupShuffleUp(x, 1u); gl_SubgroupInvocationID >= 1u ? v : x
//
// Sums of a constant become bit counts of a ballot. Shuffles by a constant use the relative forms, which devices execute faster.
// Types of 8 and 16 bits are widened to 32 bits, as devices need not support narrow types in subgroups; 64-bit integers are
// shuffled as two words. An operation is emitted exactly where the IR has it, since elsewhere other items may be active. If the
// device lacks any capability that the kernel needs (Interface::subgroups), the whole kernel sees subgroups of one item. A record
// of print or require takes its room in the ring with one atomicAdd; without room, it is counted as lost (core/host/ring.h).
// Cost: a failing require writes twice only for the first failure of all. Limits: the order of float reductions is the driver's.
#include "codegen/glsl_body/glsl_emitter.h"
#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/host/ring.h"
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
Expression GlslEmitter::alone(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    if (what == Subgroup::elect) return {"true", primary, {}, {}};
    const Expression x = use(k.operands(i)[0]);
    if (what == Subgroup::ballot) return i.leaf == 0 ? fill("uint($0)", {x}) : Expression{"0u", primary, {}, {}};
    if (what >= Subgroup::exclusive_add && is_scan(what)) {
        const uint64_t bits = neutral_element(*combines(what), i.type);
        return {is_pair(i.type) && options.pairs ? pair_constant(bits) : glsl_constant(i.type, bits), unary, {}, {}};
    }
    return x;
}

/// The text of `call`, which takes the value $0 from another lane: narrow types are widened, and 64-bit integers are packed from
/// two words.
Expression GlslEmitter::from_lane(const Inst& i, const std::string& call, const std::vector<Expression>& operands) {
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
/// counting the bits of a ballot.
std::optional<Expression> GlslEmitter::counted(const Inst& i) {
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

Expression GlslEmitter::combined(const Inst& i) {
    if (const auto count = counted(i)) return *count;
    interface.need("GL_KHR_shader_subgroup_arithmetic");
    if (i.type == Scalar::i64 || i.type == Scalar::u64) interface.need("GL_EXT_shader_subgroup_extended_types_int64");
    const Subgroup what = Subgroup(i.immediate);
    const Scalar wide = combined_in(i.type);
    const std::string call = combining_function(what) + "($0)";
    const Expression x = use(k.operands(i)[0]);
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

void GlslEmitter::subgroup(const Inst& i) {
    if (!usage.uses.any(k.result(i))) return;
    // Declared here, never pending: at another place other items may be active.
    declare(k.result(i), interface.subgroups() ? together(i) : alone(i));
}

/// A relative shuffle by a constant, which devices execute faster than a shuffle from a computed lane. In GLSL the value of a
/// lane that does not exist is undefined, so an item keeps its own value there. All items execute the shuffle; the choice comes
/// after it.
std::optional<Expression> GlslEmitter::shuffled_by_constant(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    const auto v = k.operands(i);
    uint64_t distance = 0;
    const bool up = what == Subgroup::shuffle_up, down = what == Subgroup::shuffle_down;
    if (!up && !down && what != Subgroup::shuffle_xor) return std::nullopt;
    if (!k.constant(v[1], distance) || distance > 127 || ((up || down) && !(options.subgroups & Subgroups::relative)))
        return std::nullopt;
    if (up || down) interface.need("GL_KHR_shader_subgroup_shuffle_relative");
    const Expression x = use_named(v[0]);
    const std::string by = text(distance, "u"), name = text("moved", next_name++);
    const char* const call = up ? "subgroupShuffleUp($0, " : down ? "subgroupShuffleDown($0, " : "subgroupShuffleXor($0, ";
    const Expression moved = from_lane(i, call + by + ")", {x, Expression{by, primary, {}, {}}});
    line(text("const ", glsl_type(i.type, options.pairs).value, " ", name, " = ", moved.text, ";"));
    const std::string there = up     ? "gl_SubgroupInvocationID >= " + by
                              : down ? "gl_SubgroupInvocationID + " + by + " < gl_SubgroupSize"
                                     : "(gl_SubgroupInvocationID ^ " + by + ") < gl_SubgroupSize";
    return fill(there + " ? $0 : $1", {Expression{name, primary, {}, {}}, x});
}

Expression GlslEmitter::together(const Inst& i) {
    interface.need("GL_KHR_shader_subgroup_basic");
    const Subgroup what = Subgroup(i.immediate);
    const auto v = k.operands(i);
    if (combines(what)) return combined(i);
    uint64_t lane = 0;
    switch (what) {
        case Subgroup::any:
        case Subgroup::all:
            interface.need("GL_KHR_shader_subgroup_vote");
            return fill(what == Subgroup::any ? "subgroupAny($0)" : "subgroupAll($0)", {use(v[0])});
        case Subgroup::elect: return {"subgroupElect()", postfix, {}, {}};
        case Subgroup::ballot:
            interface.need("GL_KHR_shader_subgroup_ballot");
            return fill(text("subgroupBallot($0).", "xyzw"[i.leaf]), {use(v[0])});
        case Subgroup::broadcast_first:
            interface.need("GL_KHR_shader_subgroup_ballot");
            return from_lane(i, "subgroupBroadcastFirst($0)", {use(v[0])});
        case Subgroup::broadcast:
            if (!k.constant(v[1], lane)) break;
            interface.need("GL_KHR_shader_subgroup_ballot");
            return from_lane(i, text("subgroupBroadcast($0, ", lane, "u)"), {use(v[0])});
        default: break;
    }
    interface.need("GL_KHR_shader_subgroup_shuffle");
    if (const auto moved = shuffled_by_constant(i)) return *moved;
    const Expression x = use(v[0]);
    const Expression named = fill("uint($0)", {use(v[1])});
    if (what == Subgroup::broadcast || what == Subgroup::shuffle) return from_lane(i, "subgroupShuffle($0, $1)", {x, named});
    if (!own_functions.count("lane_or_own")) {
        own_functions["lane_or_own"] =
            "uint lane_or_own(uint lane) {\n    return lane < gl_SubgroupSize ? lane : gl_SubgroupInvocationID;\n}\n";
        function_order.push_back("lane_or_own");
    }
    const char* lanes = what == Subgroup::shuffle_xor  ? "lane_or_own(gl_SubgroupInvocationID ^ $0)"
                        : what == Subgroup::shuffle_up ? "lane_or_own(gl_SubgroupInvocationID - $0)"
                                                       : "lane_or_own(gl_SubgroupInvocationID + $0)";
    return from_lane(i, "subgroupShuffle($0, $1)", {x, fill(lanes, {named})});
}

/// subgroup_size, subgroup_lane, subgroup_index, subgroup_count.
Expression GlslEmitter::subgroup_index_value(const Inst& i) {
    const bool real = interface.subgroups();
    if (real) interface.need("GL_KHR_shader_subgroup_basic");
    // Mesa 22's gallivm numbers and counts subgroups as if there were no idle lanes, so they are computed here.
    const char* const row = "((gl_WorkGroupSize.x + gl_SubgroupSize - 1u) / gl_SubgroupSize)";
    if (real && options.idle_lanes && i.op == Op::subgroup_count)
        return {text("int(gl_WorkGroupSize.y * gl_WorkGroupSize.z * ", row, ")"), postfix, {}, {}};
    if (real && options.idle_lanes && i.op == Op::subgroup_index)
        return {text("int((gl_LocalInvocationID.z * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * ", row,
                     " + gl_LocalInvocationID.x / gl_SubgroupSize)"),
                postfix,
                {},
                {}};
    switch (i.op) {
        case Op::subgroup_size:
            return real ? Expression{"int(gl_SubgroupSize)", postfix, {}, {}} : Expression{"1", primary, {}, {}};
        case Op::subgroup_lane:
            return real ? Expression{"int(gl_SubgroupInvocationID)", postfix, {}, {}} : Expression{"0", primary, {}, {}};
        case Op::subgroup_index: return {real ? "int(gl_SubgroupID)" : "int(gl_LocalInvocationIndex)", postfix, {}, {}};
        default:
            return {real ? "int(gl_NumSubgroups)" : "int(gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z)",
                    postfix,
                    {},
                    {}};
    }
}

// ---- print and require ---------------------------------------------------------------------------------------------

namespace {

/// Appends the words of a record's value in the layout of core/host/ring.h.
void append_words(std::vector<std::string>& words, Scalar type, const std::string& value, bool pairs) {
    const std::string in = "(" + value + ")";
    switch (type) {
        case Scalar::i64:
        case Scalar::u64: {
            if (pairs) return words.push_back(in + ".x"), words.push_back(in + ".y");
            const char* unpack = type == Scalar::i64 ? "unpackInt2x32" : "unpackUint2x32";
            for (const char* half : {".x", ".y"}) words.push_back(text("uint(", unpack, in, half, ")"));
            return;
        }
        case Scalar::f64:
            for (const char* half : {".x", ".y"}) words.push_back("unpackDouble2x32" + in + half);
            return;
        case Scalar::f16:
        case Scalar::bf16: words.push_back("floatBitsToUint(float" + in + ")"); return;
        case Scalar::f32: words.push_back("floatBitsToUint" + in); return;
        case Scalar::i8:
        case Scalar::i16: words.push_back("uint(int" + in + ")"); return;
        default: words.push_back("uint" + in); return;
    }
}

/// Allocates a record in the ring: returns the index of its first word, or 0 if there is no room.
constexpr const char* take_room = R"(uint room_for(uint count) {
    uint at = ring[0];
    if (at <= ring[3]) at = atomicAdd(ring[0], count);
    if (at + count <= ring[3]) return 64u + at;
    atomicAdd(ring[1], 1u);
    if (at < ring[3]) ring[64u + at] = 0u;
    return 0u;
}
)";
static_assert(ring::used == 0 && ring::lost == 1 && ring::failed == 2 && ring::capacity == 3 && ring::first_failure == 4 &&
              ring::records == 64);

}  // namespace

void GlslEmitter::report(const Inst& i) {
    const bool requirement = i.op == Op::require;
    const auto operands = k.operands(i).subspan(requirement);
    std::vector<std::string> words{interface.field(Field::Kind::launch, 0, 0, Scalar::u32), text(i.immediate, "u")};
    for (int axis = 0; axis < 3; ++axis) {
        const int rank = k.rank ? k.rank : 3;  // the names that name_indices gives
        words.push_back(axis < rank ? text("uint(", "ijk"[k.rank ? rank - 1 - axis : axis], ")") : "0u");
    }
    const std::string broken = requirement ? fill("!$0", {use(k.operands(i)[0])}).text : "";
    for (const Value v : operands) append_words(words, k.type_of(v), use_named(v).text, options.pairs);
    if (!own_functions.count("room_for")) {
        own_functions["room_for"] = take_room;
        function_order.push_back("room_for");
    }
    const auto statements = [&] {
        const std::string at = text("at", next_name++), room = text("room_for(", words.size(), "u)");
        const auto record = [&](const std::string& place) {
            line(text("const uint ", at, " = ", place, ";"));
            braced("if (" + at + " != 0u)", captured([&] {
                       for (size_t w = 0; w < words.size(); ++w) line(text("ring[", at, " + ", w, "u] = ", words[w], ";"));
                   }));
        };
        if (!requirement) return record(room);
        interface.need("GL_EXT_control_flow_attributes");
        // The first requirement that fails is recorded twice: in the slot for the first failure, and in the ring. A loop writes
        // both, so that the stores are in the code once: some drivers make a loop over the lanes of each store.
        const std::string copy = text("copy", next_name++);
        braced(text("[[dont_unroll]] for (int ", copy, " = 0; ", copy, " < 2; ++", copy, ")"),
               captured([&] { record(text(copy, " == 0 ? (atomicAdd(ring[2], 1u) == 0u ? 4u : 0u) : ", room)); }));
    };
    if (requirement)
        braced("if (" + broken + ")", captured(statements));
    else
        statements();
}

}  // namespace pumice::codegen
