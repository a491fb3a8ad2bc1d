// Subgroup operations, with the packet as subgroup: reductions and scans by shuffles in log2(width) steps; print and require.
//
//     subgroup reduce_add %x     x += shuffle(x, lane ^ 4);  x += shuffle(x, lane ^ 2);  x += shuffle(x, lane ^ 1)
//     subgroup inclusive_add %x  x += shift(x, 1);  x += shift(x, 2);  x += shift(x, 4)       shifted-in lanes: neutral element
//     subgroup shuffle %x, %l    store x to the stack; gather with index l
//
// Inactive lanes hold the neutral element. Cost: log2(width) shuffles and operations; each subgroup shuffle is a store and a
// gather.
// Reports (print, require) call the host once for each active lane.
// Limits: float scans and reductions are rounded in tree order. Textbook: butterfly reduction; Hillis-Steele scan (1986).
#include "cpu/reduction/emit_packet_subgroup.h"
#include "core/host/ring.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/native/frame.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/reduction/emit_atomics.h"
#include "cpu/reduction/emit_group_operations.h"

namespace pumice::cpu {

using namespace ir;

void PacketSubgroup::subgroup(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    const auto v = k.operands(i);
    const Value r = k.result(i);
    const Scalar type = v.empty() ? Scalar::boolean : k.type_of(v[0]);
    const std::string t = out.scalar_type(type), whole = out.vector_type(t), b = out.vector_type("i1");
    if (const auto op = combines(what)) return combine(i, *op, what);
    const auto one = [&](const std::string& scalar) {
        packet.define(r, packet.kind_of(r) == ValueKind::vector ? out.splat(out.scalar_type(i.type), scalar) : scalar);
    };
    switch (what) {
        case Subgroup::any: return one(packet.any(packet.narrowed(packet.running, packet.vector(v[0]))));
        case Subgroup::all: {
            const std::string not_all = packet.any(packet.narrowed(
                packet.running,
                out.let(text("xor ", b, " ", packet.vector(v[0]), ", ", out.splat_constant(Scalar::boolean, 1, true)))));
            return one(out.let(text("xor i1 ", not_all, ", true")));
        }
        case Subgroup::elect: {
            if (width == 1) return packet.define(r, "true");
            const std::string first = out.splat("i32", packet.first_lane(packet.running));
            return packet.define(r, out.let(text("icmp eq ", out.vector_type("i32"), " ", out.lanes("i32", 1), ", ", first)));
        }
        case Subgroup::ballot: {
            if (i.leaf > 0) return one("0");
            const Mask votes = packet.narrowed(packet.running, packet.vector(v[0]));
            if (width == 1) return one(out.let(text("zext i1 ", votes.text, " to i32")));
            const std::string bits = out.let(text("bitcast ", b, " ", votes.text, " to i", width));
            return one(out.let(text("zext i", width, " ", bits, " to i32")));
        }
        case Subgroup::broadcast_first: return one(out.extract(t, packet.vector(v[0]), packet.first_lane(packet.running)));
        case Subgroup::broadcast: {
            const ValueRep lane = packet.rep_of(v[1]);
            const std::string from = lane.kind == ValueKind::uniform
                                         ? lane.scalar
                                         : out.extract("i32", packet.vector(v[1]), packet.first_lane(packet.running));
            return one(out.extract(t, packet.vector(v[0]), from));
        }
        default: break;
    }
    if (width == 1) return packet.define(r, packet.scalar(v[0]));
    // A source lane outside the subgroup leaves the own value. The shuffle is a gather from the stack, which works for every
    // type.
    const std::string vi = out.vector_type("i32"), own = out.lanes("i32", 1), given = packet.vector(v[1]);
    std::string source = given;
    if (what == Subgroup::shuffle_xor) source = out.let(text("xor ", vi, " ", own, ", ", given));
    if (what == Subgroup::shuffle_up) source = out.let(text("sub ", vi, " ", own, ", ", given));
    if (what == Subgroup::shuffle_down) source = out.let(text("add ", vi, " ", own, ", ", given));
    const std::string inside = out.let(text("icmp ult ", vi, " ", source, ", ", out.splat("i32", std::to_string(width))));
    source = out.let(text("select ", b, " ", inside, ", ", vi, " ", source, ", ", vi, " ", own));
    const std::string memory = out.vector_type(out.memory_type(type)), array = out.alloca_of(memory, "lanes");
    out.line(text("store ", memory, " ", emit.casts.to_memory(type, packet.vector(v[0]), true), ", ptr ", array));
    const std::string addresses = out.let(text("getelementptr ", out.memory_type(type), ", ptr ", array, ", ", vi, " ", source));
    const Address from{Address::How::scattered, addresses, size_of(type)};
    packet.define(r, emit.casts.from_memory(type, emit.masked.masked_read(out.memory_type(type), from, "splat (i1 true)"), true));
}

/// Reductions and scans in log2(width) steps; inactive lanes hold the neutral element.
void PacketSubgroup::combine(const Inst& i, Op op, Subgroup what) {
    const Value given = k.operands(i)[0], r = k.result(i);
    const Scalar type = k.type_of(given);
    const std::string value = emit.group_ops.operand_or_neutral(given, op);
    if (!is_scan(what)) {
        const std::string t = out.scalar_type(type), all = out.extract(t, emit.group_ops.reduced(op, type, value), "0");
        return packet.define(r, packet.kind_of(r) == ValueKind::vector ? out.splat(t, all) : all);
    }
    const std::string inclusive = emit.group_ops.scanned(op, type, value);
    packet.define_lanes(r, what >= Subgroup::exclusive_add ? emit.group_ops.moved_up(op, type, inclusive, 1) : inclusive);
}

/// For each active lane in turn: writes a record with the item's index and values, and calls the host's report function.
void PacketSubgroup::report(const Inst& i) {
    const bool failure = i.op == Op::require;
    const auto v = k.operands(i).subspan(failure ? 1 : 0);
    const Mask outer = packet.running;
    const std::string end = out.label("reported"), go = out.label("report");
    if (failure) {
        const ValueRep c = packet.rep_of(k.operands(i)[0]);
        const std::string b = out.vector_type("i1");
        if (c.kind == ValueKind::uniform && width == 1) {
            out.branch(c.scalar, end, go);
        } else {
            packet.running = packet.narrowed(packet.running,
                                             out.let(text("xor ", b, " ", packet.vector(k.operands(i)[0]), ", splat (i1 true)")));
            out.branch(packet.any(packet.running), go, end);
        }
        out.start(go);
    }
    size_t words = 0;
    for (const Value o : v) words += ring::words_of(k.type_of(o));
    const std::string record = out.alloca_of(text("[", words + 3, " x i32]"), "record");
    out.functions.insert("pumice_cpu_report");
    out.declare("declare void @pumice_cpu_report(ptr, i32, i32, ptr, i32)");
    std::vector<std::string> vectors;
    for (const Value o : v) vectors.push_back(packet.vector(o));
    emit.atomics.each_lane({}, false, [&](const std::string& lane, const auto&) {
        const auto put = [&](size_t word, const std::string& type, const std::string& value) {
            out.line(text("store ", type, " ", value, ", ptr ", out.let(text("getelementptr i32, ptr ", record, ", i64 ", word)),
                          ", align 4"));
        };
        for (int axis = 0; axis < 3; ++axis) {
            const std::string here = out.let(text("add i32 ", packet.origin[size_t(axis)], ", ", packet.local_at[size_t(axis)]));
            put(size_t(axis), "i32", axis == 0 && width > 1 ? out.let(text("add i32 ", here, ", ", lane)) : here);
        }
        size_t at = 3;
        for (size_t n = 0; n < v.size(); ++n) {
            const Scalar type = k.type_of(v[n]);
            std::string one = out.extract(out.scalar_type(type), vectors[n], lane);
            if (type == Scalar::boolean)
                one = out.let(text("zext i1 ", one, " to i32")), put(at, "i32", one);
            else if (is_narrow_float(type))
                put(at, "float", emit.casts.cast(type, Scalar::f32, one, false));
            else if (size_of(type) < 4)
                put(at, "i32", emit.casts.cast(type, is_signed_int(type) ? Scalar::i32 : Scalar::u32, one, false));
            else
                put(at, out.scalar_type(type), one);
            at += ring::words_of(type);
        }
        out.line(text("call void @pumice_cpu_report(ptr %frame, i32 ", failure ? 1 : 0, ", i32 ", i.immediate, ", ptr ", record,
                      ", i32 ", words, ")"));
    });
    if (failure) out.start(end);
    packet.running = outer;
}

}  // namespace pumice::cpu
