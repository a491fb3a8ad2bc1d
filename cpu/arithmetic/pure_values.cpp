// Pure instructions: indices, arguments, extents and operations; and the rematerialisation of values.
//
//     global_index 0     %v9 = add i32 %origin0, %x          affine: lane 0's index, step 1
//     extent arg1, 0     trunc i64 %f4 to i32                from the frame
//     add f32 %a, %b     the text of the op's row (emit_scalar_ops.cpp)
//
// Before that, pure_value() looks for what is already known of the value where it stands: conditions of guards in packets whose
// items all pass them, boundary indices in interior packets, and what the packets of a row share.
// Why rematerialise: an address or a bound is needed before the packet that computes it, or again after a barrier. A value that
// comes from indices and values of the launch by a few cheap instructions is computed there once more.
// Cost: the instructions, again. Limits: no loads, no divisions unless uniform, a budget of instructions from the caller.
// Textbook name: rematerialisation (Briggs, Cooper and Torczon 1992).
#include "cpu/arithmetic/pure_values.h"
#include "core/analysis/rematerialisation.h"
#include "core/interp/interp_program.h"
#include "core/support/error.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/frame_values.h"

namespace pumice::cpu {

using namespace ir;

/// True if a value is rematerialisable by cheap arithmetic, from the item's indices, from values of the launch and, unless
/// `anywhere`, from values that the group has outside packets; and from `given`.
bool PureValues::is_rematerialisable(Value v, int& steps, bool anywhere, Value given) const {
    // A uniform value costs little before the packets: LLVM computes it once for a row.
    const auto costly = [&](const Inst& i) {
        return packet.is_costly(i) && !(anywhere && packet.kind_of(k.result(i)) == ValueKind::uniform);
    };
    Rematerialisation cheaply(
        k, [&](const Inst& i) { return is_pure(i.op) && !costly(i); },
        [&](Value o) { return o == given || (!anywhere && packet.has_barriers && plan.regions.context_saves[o.id].outer); });
    return cheaply.within(v, steps);
}

/// Rematerialises such a value in this packet.
void PureValues::rematerialise(Value v) {
    if (packet.has_value[v.id]) return;
    const Inst& source = k[k[v].inst];
    for (const Value o : k.operands(source)) rematerialise(o);
    pure_value(source);
}

/// In an interior packet: if the value is affine there, although it is not in general, defines it as affine and returns true.
bool PureValues::interior_value(const Inst& i) {
    if (interior_values.empty() || i.type != Scalar::i32) return false;
    const Value r = k.result(i);
    const auto v = k.operands(i);
    const auto known = [&] {
        packet.has_value[r.id] = true;
        if (packet.when_defined) packet.when_defined(r);
        return true;
    };
    if (const auto boundary = interior_values.find(r.id); boundary != interior_values.end()) {
        const auto remainder = remainders.find(r.id);
        if (remainder == remainders.end()) rematerialise(boundary->second);
        packet.values[r.id] = remainder == remainders.end() ? packet.rep_of(boundary->second)
                                                            : ValueRep{ValueKind::affine, remainder->second, "", 1};
        return known();
    }
    if ((i.op != Op::add && i.op != Op::sub) || packet.kind_of(r) != ValueKind::vector) return false;
    const ValueRep a = packet.rep_of(v[0]), b = packet.rep_of(v[1]);
    if (a.kind == ValueKind::vector || b.kind == ValueKind::vector) return false;
    const bool adds = i.op == Op::add;
    packet.values[r.id] = {ValueKind::affine, out.let(text(adds ? "add" : "sub", " i32 ", a.scalar, ", ", b.scalar)), "",
                           adds ? a.step + b.step : a.step - b.step};
    return known();
}

void PureValues::pure_value(const Inst& i) {
    const Value r = k.result(i);
    const int axis = int(i.immediate);
    if (passed(r) || interior_value(i)) return;
    if (const auto known = row_values.find(r.id); known != row_values.end()) {
        packet.values[r.id] = known->second;
        packet.has_value[r.id] = true;
        return;
    }
    switch (i.op) {
        case Op::constant:
            if (packet.kind_of(r) == ValueKind::vector) return packet.define(r, out.splat_constant(i.type, i.immediate, true));
            return packet.define(r, out.constant(i.type, i.immediate));
        case Op::argument: return packet.define(r, emit.casts.from_memory(i.type, emit.frame.argument_text(axis, i.type), false));
        case Op::local_index:
            if (plan.main && axis == 0) return packet.define(r, out.let(text("sub i32 ", packet.local_at[0], ", ", most_peeled)));
            return packet.define(r, packet.local_at[size_t(axis)]);
        case Op::global_index:
            return packet.define(r, out.let(text("add i32 ", packet.origin[size_t(axis)], ", ", packet.local_at[size_t(axis)])));
        case Op::group_index: return packet.define(r, packet.group_at[size_t(axis)]);
        case Op::group_size: return packet.define(r, std::to_string(variant.group[size_t(axis)]));
        case Op::group_count: return packet.define(r, emit.frame.axis_text("count", axis));
        case Op::global_size: return packet.define(r, emit.frame.axis_text("extent", axis));
        case Op::subgroup_size: return packet.define(r, std::to_string(target.width));
        case Op::subgroup_lane: return packet.define(r, out.lanes("i32", 1));
        case Op::subgroup_count:
            return packet.define(r, std::to_string(packet.packets_a_row() * variant.group[1] * variant.group[2]));
        case Op::subgroup_index: return packet.define(r, packet.packet_number());
        case Op::extent: {
            const Memory& m = k[i.memory];
            if (m.kind == MemoryKind::array)
                return packet.define(r, out.let(text("trunc i64 ", emit.frame.extent_text(i.memory, axis), " to i32")));
            const int64_t elements =
                m.extents.empty() ? interp::local_elements(k, m, variant.group) : m.extents[m.extents.size() - 1 - size_t(axis)];
            return packet.define(r, std::to_string(elements));
        }
        case Op::in_range: return in_range(r);
        default: return emit.ops.pure(i);
    }
}

void PureValues::in_range(Value r) {
    if (all_in_range) {
        packet.values[r.id] = {ValueKind::uniform, "true", "", 0};
        packet.has_value[r.id] = true;
        return;
    }
    std::string all;
    for (int axis = 2; axis >= 0; --axis) {
        const size_t a = size_t(axis);
        if (axis > 0 && variant.group[a] == 1) continue;
        // Items from the group's first one to the end of the range.
        const std::string base = out.let(text("mul i32 ", packet.group_at[a], ", ", variant.group[a]));
        const std::string left = out.let(text("sub i32 ", emit.frame.axis_text("extent", axis), ", ", base));
        std::string inside;
        if (axis > 0 || width == 1) {
            inside = out.let(text("icmp slt i32 ", packet.local_at[a], ", ", left));
            if (axis > 0 && width > 1) inside = out.splat("i1", inside);
        } else {
            const std::string v = out.vector_type("i32");
            ValueRep here;
            here.kind = ValueKind::affine, here.scalar = packet.local_at[0], here.step = 1;
            const std::string limit = out.splat("i32", left), at = packet.vector_of(here, Scalar::i32);
            inside = out.let(text("icmp slt ", v, " ", at, ", ", limit));
        }
        all = all.empty() ? inside : out.let(text("and ", out.vector_type("i1"), " ", all, ", ", inside));
    }
    packet.define(r, all);
}

/// Defines a condition by its outcome in all lanes.
void PureValues::define_condition(Value v, bool holds) {
    packet.values[v.id] = {ValueKind::uniform, holds ? "true" : "false", "", 0};
    packet.has_value[v.id] = true;
}

/// Defines a condition whose outcome is known in this packet: of a guard that all items pass, or in the interior of a region.
/// False for other values.
bool PureValues::passed(Value v) {
    if (const auto known = known_conditions.find(v.id); known != known_conditions.end()) {
        define_condition(v, known->second);
        if (packet.when_defined) packet.when_defined(v);
        return true;
    }
    if (!all_pass) return false;
    const auto guard = std::ranges::find_if(plan.row_guards, [&](const RowGuard& g) { return g.condition == v; });
    if (guard == plan.row_guards.end()) return false;
    define_condition(v, guard->holds);
    return true;
}

}  // namespace pumice::cpu
