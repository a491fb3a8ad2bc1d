// Barrier regions, code: loop fission of the loop over a group's packets at the barriers.
//
// Why: one thread runs a group, and a barrier says that all items have done what stands before it. A loop over all packets for
// each region between two barriers gives this order without synchronisation.
//
//     store local1[%l], %x             for each packet { store <8 x float> x, ptr local1 + l;  save live-outs }
//     for %k ... {                     for k ... {                        once for the group: the loop contains a barrier
//       barrier
//       %y = load local1[%m]             for each packet { restore;  y = load <8 x float>, ptr local1 + m;  ... }
//     }                                }
//
// A construct around a barrier runs once for the group, with a condition that is uniform in the group
// (emit_region_constructs.cpp). The plan says what a region saves and restores (plan_barrier_regions.cpp). Groups that lie in the
// range have a version without the masks of in_range.
// Cost: one loop a region; loads and stores of the saved context. Limits: a region without live-outs whose effects have an upper
// bound runs over fewer packets (emit_iteration_space_narrowing.cpp); packets past the range run, too: predicate_range_tail has
// put their effects under `if in_range`.
// Textbook: loop fission, work-item loops (Stratton et al., MCUDA, 2008; Jaaskelainen et al., pocl, 2015).
#include <algorithm>

#include "core/support/error.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/emit/emit_barrier_regions.h"
#include "cpu/emit/emit_iteration_space_narrowing.h"
#include "cpu/emit/plan_barrier_regions.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/frame_values.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/reduction/emit_group_operations.h"
#include "cpu/rows/emit_packet_rows.h"
#include "cpu/rows/region_interiors.h"

namespace pumice::cpu {

using namespace ir;

/// An i1: all items of the group are in the range.
std::string BarrierRegions::group_inside() {
    std::string inside = "true";
    for (size_t axis = 0; axis < 3 && !variant.full; ++axis) {
        if (axis > 0 && variant.group[axis] == 1) continue;
        const std::string base = out.let(text("mul i32 ", packet.group_at[axis], ", ", variant.group[axis]));
        const std::string left = out.let(text("sub i32 ", emit.frame.axis_text("extent", int(axis)), ", ", base));
        const std::string fits = out.let(text("icmp sge i32 ", left, ", ", variant.group[axis]));
        inside = inside == "true" ? fits : out.let(text("and i1 ", inside, ", ", fits));
    }
    return inside;
}

/// Writes a group in two versions if it asks which items are in the range: for groups that lie in it, and for the others.
void BarrierRegions::full_and_partial_groups(const Body& whole) {
    const auto& order = packet.uniformity.structure().order();
    const bool asks = !variant.full && std::any_of(order.begin(), order.end(), [&](InstId i) { return k[i].op == Op::in_range; });
    const std::string inside = asks ? group_inside() : "true";
    emit.pure.all_in_range = variant.full;
    if (inside == "true") return jammed_group ? jammed_group() : whole();
    const std::string end = packet.return_label, full = out.label("full"), partial = out.label("partial");
    out.branch(inside, full, partial);
    out.start(full);
    emit.pure.all_in_range = true;
    jammed_group ? jammed_group() : whole();
    if (out.open) out.jump(end);
    out.start(partial);
    emit.pure.all_in_range = variant.full;
    whole();
}

/// Allocates the slots of the plan: of constructs around barriers, and of exported values.
void BarrierRegions::open_slots() {
    const auto& saves = plan.regions.context_saves;
    slots.resize(saves.size());
    const auto open = [&](Value v, const char* stem) {
        if (saves[v.id].outer) slots[v.id] = packet.alloca_for(v, stem);
    };
    for (const InstId id : packet.uniformity.structure().order()) {
        const Inst& i = k[id];
        if (!plan.regions.around_barrier[id.id]) continue;
        for (uint32_t c = 0; c < i.result_count; ++c) {
            if (is_loop(i.op)) open(k[i.blocks[0]].params[leading_params(i.op) + c], "carried");
            open(k.result(i, int(c)), is_loop(i.op) ? "carried" : "if");
        }
    }
    for (uint32_t v = 0; v < saves.size(); ++v) {
        const Scalar type = k.type_of(Value{v});
        if (saves[v].exported) slots[v] = {out.alloca_of(out.scalar_type(type), "export"), ValueKind::uniform, type, 0};
    }
}

/// Stores which items of the packet have not returned.
void BarrierRegions::store_alive() {
    const std::string v = out.vector_type("i8");
    const std::string alive = out.let(text("zext ", out.vector_type("i1"), " ", packet.mask_text(packet.running), " to ", v));
    out.line(text("store ", v, " ", alive, ", ptr ",
                  out.let(text("getelementptr i8, ptr ", emit.memory.packet_area, ", i64 ", plan.regions.alive_offset))));
}

void BarrierRegions::group_with_barriers() {
    full_and_partial_groups([&] {
        const std::vector<ValueRep> before_values = packet.values;
        const std::vector<bool> before_has = packet.has_value;
        if (plan.regions.packet_returns) packets_of_group([&] { store_alive(); });
        region_block(BlockId{0});
        packet.values = before_values;
        packet.has_value = before_has;
    });
}

/// Emits a loop over all packets of the group, also past the range; with `row`, over the first `row` items of each row.
void BarrierRegions::packets_of_group(const Body& body, const std::string& row) {
    const std::array<std::string, 3> counts{row.empty() ? std::to_string(variant.group[0]) : row,
                                            std::to_string(variant.group[1] / packet.item_rows),
                                            std::to_string(variant.group[2])};
    emit.rows.rows(counts, !row.empty(), [&] {
        const std::string n = out.let(text("zext i32 ", packet.packet_number(), " to i64"));
        emit.memory.packet_area =
            out.let(text("getelementptr [", emit.memory.packet_bytes, " x i8], ptr %kept, i64 ", n), "area");
        emit.memory.keep_area();
        body();
    });
}

/// Emits a block that contains barriers: regions, the barriers between them, and the constructs around barriers.
void BarrierRegions::region_block(BlockId b) {
    std::vector<InstId> run;
    for (const InstId id : k[b].insts) {
        const Inst& i = k[id];
        if (is_pure(i.op) && plan.regions.context_saves[k.result(i).id].outer) {
            if (!packet.has_value[k.result(i).id]) emit.pure.pure_value(i);
        } else if (i.op == Op::barrier || plan.regions.around_barrier[id.id]) {
            region(run, {});
            run.clear();
            if (i.op == Op::if_)
                region_if(id);
            else if (is_loop(i.op))
                region_loop(id);
            if (!out.open) return;
        } else if (i.op == Op::group) {
            run.push_back(id);
            region(run, {});
            run.clear();
            emit.group_ops.close_group_operation(i);
        } else if (is_terminator(i.op)) {
            region(run, id);
            return outer_terminator(id);
        } else {
            run.push_back(id);
        }
    }
}

/// Emits a loop over the packets that runs `insts` and stores the operands of the terminator `end` that differ between items.
void BarrierRegions::region(std::span<const InstId> insts, InstId end) {
    std::vector<Value> given;
    if (end.id != none) {
        const auto v = k.operands(k[end]);
        given.assign(v.begin() + (k[end].op == Op::test), v.end());
    }
    const bool has_live_outs = end.id != none && k[end].op != Op::return_ && !given.empty();
    const bool condition = end.id != none && k[end].op == Op::test && !plan.regions.context_saves[k.operands(k[end])[0].id].outer;
    if (insts.empty() && !has_live_outs && !condition) return;
    const Value bound =
        width == 1 || has_live_outs || condition || plan.regions.packet_returns ? Value{} : emit.narrowing.bound_of(insts);
    const bool scans = std::any_of(insts.begin(), insts.end(),
                                   [&](InstId i) { return k[i].op == Op::group && is_scan(Subgroup(k[i].immediate)); });
    if (!plan.regions.packet_returns && !bound && !scans && packet.item_rows == 1)
        emit.transposed.transposed_loads = emit.transposed.find_transposed_loads(insts);
    emit.group_ops.open_group_operations(insts);
    const bool whole_rows = !plan.regions.packet_returns && !bound && !scans && emit.transposed.transposed_loads.empty();
    const RegionInterior interior = whole_rows ? emit.region_interiors.interior_of(insts) : RegionInterior();
    const auto packet_of_region = [&] {
        if (plan.regions.packet_returns) {
            const std::string v = out.vector_type("i8");
            const std::string address =
                out.let(text("getelementptr i8, ptr ", emit.memory.packet_area, ", i64 ", plan.regions.alive_offset));
            const std::string alive = out.let(text("load ", v, ", ptr ", address));
            packet.running = {out.let(text("icmp ne ", v, " ", alive, ", zeroinitializer"), "m")};
            const std::string go = out.label("go");
            out.branch(packet.any(packet.running), go, packet.return_label);
            out.start(go);
        }
        const auto restore_operands = [&](InstId i) {
            for (const Value v : k.operands(k[i]))
                if (plan.regions.inst_region[i.id] != plan.regions.region_of[v.id] || plan.regions.region_of[v.id] < 0)
                    restore(v);
        };
        for (const InstId i : insts) {
            restore_operands(i);
            each_inside(k, k[i], restore_operands);
        }
        for (const Value v : given) restore_operand(v, insts);
        if (condition) restore_operand(k.operands(k[end])[0], insts);
        if (bound) packet.values[bound.id] = {ValueKind::uniform, "true", "", 0}, packet.has_value[bound.id] = true;
        emit.control.sequence(insts);
        if (out.open && has_live_outs) save_live_outs(end, given, true);
        if (out.open && condition) {
            const Value c = k.operands(k[end])[0];
            if (packet.has_value[c.id]) save_if_live_out(c);
        }
        if (out.open && plan.regions.packet_returns) store_alive();
    };
    packets_of_group([&] { emit.region_interiors.versions(interior, packet_of_region); },
                     bound ? emit.narrowing.bounded_row(bound) : "");
    emit.transposed.transposed_loads.clear();
    if (has_live_outs) save_live_outs(end, given, false);
}

/// Restores an operand of the terminator, unless this region's instructions compute it.
void BarrierRegions::restore_operand(Value v, std::span<const InstId> insts) {
    const InstId source = k[v].inst;
    const bool here = source.id != none && std::find(insts.begin(), insts.end(), source) != insts.end();
    if (!here) restore(v);
}

/// Makes a value of another region available in this packet: reloads it or rematerialises it.
void BarrierRegions::restore(Value v) {
    if (packet.has_value[v.id] || plan.regions.context_saves[v.id].outer) return;
    const ContextSave& save = plan.regions.context_saves[v.id];
    const bool before = packet.restoring;
    packet.restoring = true;
    if (save.offset >= 0) {
        const std::string address = out.let(text("getelementptr i8, ptr ", emit.memory.packet_area, ", i64 ", save.offset));
        const bool vectors = packet.kind_of(v) == ValueKind::vector;
        const std::string t = out.memory_type(k.type_of(v));
        packet.define(v, emit.casts.from_memory(
                             k.type_of(v), out.let(text("load ", vectors ? out.vector_type(t) : t, ", ptr ", address)), vectors));
    } else if (emit.planner.recomputable(v)) {
        for (const Value o : k.operands(k[k[v].inst])) restore(o);
        if (!packet.has_value[v.id]) emit.pure.pure_value(k[k[v].inst]);
    } else if (save.exported) {
        packet.define(v, out.let(text("load ", out.scalar_type(k.type_of(v)), ", ptr ", slots[v.id].name)));
    }
    packet.restoring = before;
}

/// Saves a value that was computed in a packet, if other regions or the group's code need it.
void BarrierRegions::save_if_live_out(Value v) {
    if (!packet.has_barriers || !packet.in_packet || packet.restoring) return;
    const ContextSave& kept = plan.regions.context_saves[v.id];
    if (kept.spilled && kept.offset >= 0) save_value(v, packet.values[v.id], kept.offset);
    if (!kept.exported) return;
    const ValueRep h = packet.values[v.id];
    const std::string t = out.scalar_type(k.type_of(v));
    const std::string one = h.kind == ValueKind::vector ? out.extract(t, h.vector, packet.first_lane(packet.running)) : h.scalar;
    out.line(text("store ", t, " ", one, ", ptr ", slots[v.id].name));
}

void BarrierRegions::save_value(Value v, const ValueRep& h, int64_t at) {
    const std::string address = out.let(text("getelementptr i8, ptr ", emit.memory.packet_area, ", i64 ", at));
    const Scalar type = k.type_of(v);
    const bool vectors = packet.kind_of(v) == ValueKind::vector;
    const std::string given = emit.casts.to_memory(type, vectors ? packet.vector_of(h, type) : h.scalar, vectors);
    const std::string t = out.memory_type(type);
    out.line(text("store ", vectors ? out.vector_type(t) : t, " ", given, ", ptr ", address));
}

/// Assigns a terminator's operands to the columns of its construct: in each packet those that differ between items, else outside.
/// All are read before the first is written, since one column may be another's source.
void BarrierRegions::save_live_outs(InstId end, std::span<const Value> given, bool packets) {
    const Inst& i = k[end];
    const Structure& where = packet.uniformity.structure();
    const bool jumps = i.op == Op::break_ || i.op == Op::continue_;
    const Inst& owner = k[jumps ? where.loop_around(end) : where.around(end)];
    std::vector<Value> to;
    std::vector<ValueRep> taken;
    for (size_t c = 0; c < given.size(); ++c) {
        const bool next = is_loop(owner.op) && (i.op == Op::yield || i.op == Op::continue_);
        to.push_back(next ? k[owner.blocks[0]].params[leading_params(owner.op) + c] : k.result(owner, int(c)));
        // A for's result shares the place of the carried value.
        if (!next && owner.op == Op::for_ && plan.regions.context_saves[to.back().id].outer)
            to.back() = k[owner.blocks[0]].params[1 + c];
        if (packets) taken.push_back(packet.rep_of(given[c]));
    }
    for (size_t c = 0; c < given.size(); ++c) {
        const ContextSave& column = plan.regions.context_saves[to[c].id];
        const bool same_offset = column.offset >= 0 && plan.regions.context_saves[given[c].id].offset == column.offset;
        if (!column.outer) {
            if (packets && !same_offset) save_value(to[c], taken[c], column.offset);
        } else if (packets == !plan.regions.context_saves[given[c].id].outer) {
            const ValueRep h = packets ? taken[c] : packet.rep_of(given[c]);
            packet.write_rep(slots[to[c].id], h, {});
        }
    }
}

}  // namespace pumice::cpu
