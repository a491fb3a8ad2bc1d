// Barrier regions, plan: which constructs contain barriers, the region of each instruction, and the context that a region saves.
//
// Why: the CPU runs a group's packets one after the other, so a packet cannot wait at a barrier. The kernel is split at its
// barriers into regions (emit_barrier_regions.cpp emits a loop over all packets for each), and values that cross from one region
// to another need a place.
//
//     %a = global_index 0        region 0: rematerialised in region 1 (at most 8 cheap instructions)
//     %b = load arg1[%a]         region 0: spilled, to an offset in the packet's part of the scratch memory
//     store local1[%l], %b       region 0
//     barrier
//     store arg2[%a], %b         region 1: reloads %b
//
// A value that is the same for the group and made of such values alone is `outer`: computed once, outside of the packets. A
// uniform value of a region that other code needs is `exported` to an alloca. Results and carried values of a construct around a
// barrier get a place each; the next carried value shares that of the current one if it is dead by then (no copy).
// A group reduction or scan ends its region, as a barrier does; the result of a reduction is outer (emit_group_operations.cpp).
// Cost: linear in the kernel, times its nesting. Limits: none of its own; barriers in control flow that may diverge within a
// group have been refused (core/lowering/barrier_divergence.cpp).
// Textbook: work-item loops with context arrays (Jaaskelainen et al., pocl, 2015; Karrenberg and Hack 2012); rematerialisation
// (Briggs, Cooper, Torczon 1992).
#include <algorithm>
#include <climits>

#include "cpu/arithmetic/pure_values.h"
#include "cpu/emit/plan_barrier_regions.h"
#include "cpu/packet/memory_layout.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_recomputed = 8;  ///< instructions to rematerialise a value instead of saving it
}

void RegionPlanner::plan_regions() {
    const Structure& where = packet.uniformity.structure();
    plan.regions.around_barrier.assign(k.insts.size(), false);
    plan.regions.inst_region.assign(k.insts.size(), -1);
    plan.regions.region_of.assign(k.values.size(), -1);
    plan.regions.context_saves.assign(k.values.size(), {});
    const auto mark_around = [&](InstId i) {
        for (InstId c = where.around(i); c.id != none; c = where.around(c)) plan.regions.around_barrier[c.id] = true;
    };
    for (const InstId i : where.order()) {
        const bool together =
            k[i].op == Op::return_ && where.around(i).id != none && packet.uniformity.control(i) <= Scope::group;
        if (is_barrier(k[i].op) || together) mark_around(i);
    }
    // A jump of a loop around a barrier ends an iteration of the whole group.
    for (const InstId i : where.order())
        if (plan.regions.around_barrier[i.id] && is_loop(k[i].op))
            for (const InstId jump : where.jumps_to(i)) mark_around(jump);
    for (const InstId i : where.order()) {
        const InstId around = where.around(i);
        if (k[i].op == Op::return_ && around.id != none && !plan.regions.around_barrier[around.id])
            plan.regions.packet_returns = true;
    }
    int region = 0;
    plan_block(BlockId{0}, region);
    for (const InstId i : where.order()) {
        const Inst& inst = k[i];
        if (plan.regions.around_barrier[i.id]) {
            plan_columns(i);
            for (uint32_t o = 0; o < leading_operands(inst.op); ++o)
                plan.regions.context_saves[k.operands(inst)[o].id].exported = true;
            plan_uses(k.operands(inst), -2);
        } else if (plan.regions.inst_region[i.id] >= 0) {
            plan_uses(k.operands(inst), plan.regions.inst_region[i.id]);
            if (inst.op == Op::test && plan.regions.around_barrier[where.around(i).id])
                plan.regions.context_saves[k.operands(inst)[0].id].exported = true;
        }
    }
    share_columns();
    for (size_t m = 0; m < plan.regions.context_saves.size(); ++m) {
        ContextSave& save = plan.regions.context_saves[m];
        const Value v{uint32_t(m)};
        if (save.outer) save.spilled = save.exported = false;
        // Uniform values go through a slot, others through the packet's memory.
        if (save.spilled && packet.kind_of(v) == ValueKind::uniform && packet.uniformity.of(v) <= Scope::group)
            save.spilled = false, save.exported = true;
        if (save.spilled && save.offset < 0) save.offset = spill_offset(v);
    }
    if (plan.regions.packet_returns) plan.regions.alive_offset = emit.memory.packet_bytes, emit.memory.packet_bytes += 64;
    emit.memory.packet_bytes = (emit.memory.packet_bytes + 63) / 64 * 64;
}

int64_t RegionPlanner::spill_offset(Value v) {
    const int64_t bytes = std::max(int64_t(size_of(k.type_of(v))) * width, int64_t(1));
    const int64_t align = std::min<int64_t>(bytes, 64);
    emit.memory.packet_bytes = (emit.memory.packet_bytes + align - 1) / align * align;
    const int64_t offset = emit.memory.packet_bytes;
    emit.memory.packet_bytes += bytes;
    return offset;
}

/// Numbers the regions of a block that contains barriers, and finds the values computed once for the group.
void RegionPlanner::plan_block(BlockId b, int& region) {
    const auto assign = [&](InstId i) {
        plan.regions.inst_region[i.id] = region;
        for (int r = 0; r < k[i].result_count; ++r) plan.regions.region_of[k.result(k[i], r).id] = region;
        for (const BlockId inner : k[i].owned())
            for (const Value p : k[inner].params) plan.regions.region_of[p.id] = region;
    };
    for (const InstId id : k[b].insts) {
        const Inst& i = k[id];
        if (i.op == Op::barrier) {
            ++region;
        } else if (i.op == Op::group) {
            assign(id);
            if (!is_scan(Subgroup(i.immediate)))
                plan.regions.context_saves[k.result(i).id].outer = true, plan.regions.region_of[k.result(i).id] = -1;
            ++region;
        } else if (plan.regions.around_barrier[id.id]) {
            ++region;
            for (int r = 0; r < i.result_count; ++r)
                if (packet.uniformity.of(k.result(i, r)) <= Scope::group)
                    plan.regions.context_saves[k.result(i, r).id].outer = true;
            for (const BlockId inner : i.owned()) {
                for (const Value p : k[inner].params)
                    if (packet.uniformity.of(p) <= Scope::group || (i.op == Op::for_ && p == k[inner].params[0]))
                        plan.regions.context_saves[p.id].outer = true;
                plan_block(inner, region);
                ++region;
            }
        } else {
            const auto v = k.operands(i);
            const bool outer = is_pure(i.op) && packet.uniformity.of(k.result(i)) <= Scope::group &&
                               std::all_of(v.begin(), v.end(), [&](Value o) { return plan.regions.context_saves[o.id].outer; });
            assign(id);
            each_inside(k, i, assign);
            if (outer) plan.regions.context_saves[k.result(i).id].outer = true, plan.regions.region_of[k.result(i).id] = -1;
        }
    }
}

/// Marks values that a region (-2: the code outside of packets) uses but does not compute.
void RegionPlanner::plan_uses(std::span<const Value> v, int region) {
    for (const Value o : v) {
        ContextSave& save = plan.regions.context_saves[o.id];
        if (save.outer || plan.regions.region_of[o.id] == region) continue;
        if (recomputable(o)) {
            // Rematerialisation needs the operands, which may be from other regions themselves.
            if (k[o].inst.id != none) plan_uses(k.operands(k[k[o].inst]), region);
            continue;
        }
        save.spilled = true;
    }
}

/// True if the value can be rematerialised by a few instructions instead of being saved.
bool RegionPlanner::recomputable(Value v) const {
    int budget = target.rules.has(Rule::rematerialised_values) ? most_recomputed : 1;  // an index or a constant is never kept
    return emit.pure.is_rematerialisable(v, budget);
}

/// Places the results and carried values of a construct around a barrier: in slots if uniform in the group, else in the packets'
/// memory.
void RegionPlanner::plan_columns(InstId id) {
    const Inst& i = k[id];
    for (uint32_t c = 0; c < i.result_count; ++c) {
        const Value result = k.result(i, int(c));
        if (!is_loop(i.op)) {
            if (!plan.regions.context_saves[result.id].outer)
                plan.regions.context_saves[result.id].spilled = true,
                plan.regions.context_saves[result.id].offset = spill_offset(result);
            continue;
        }
        const Value param = k[i.blocks[0]].params[leading_params(i.op) + c];
        // The result is the carried value at the end: of a for, and of a while whose test passes it on unchanged.
        const bool one = i.op == Op::for_ || k.operands(last_inst(k, i.blocks[0]))[1 + c] == param;
        for (const Value v : {param, result}) {
            ContextSave& save = plan.regions.context_saves[v.id];
            if (save.outer) continue;
            save.spilled = true;
            save.offset = v == result && one && !plan.regions.context_saves[param.id].outer
                              ? plan.regions.context_saves[param.id].offset
                              : spill_offset(v);
        }
    }
}

/// Gives the next carried value the place of the current one, if that is dead by then, which saves the copy.
void RegionPlanner::share_columns() {
    const Structure& where = packet.uniformity.structure();
    std::vector<int> last(k.values.size(), -1);  // the region of each value's last use
    for (const InstId i : where.order())
        for (const Value v : k.operands(k[i]))
            last[v.id] = std::max(last[v.id], plan.regions.around_barrier[i.id] ? INT_MAX : plan.regions.inst_region[i.id]);
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (!plan.regions.around_barrier[id.id] || !is_loop(i.op)) continue;
        const BlockId body = i.blocks[i.op == Op::for_ ? 0 : 1];
        if (last_inst(k, body).op != Op::yield) continue;
        const auto given = k.operands(last_inst(k, body));
        for (size_t c = 0; c < given.size(); ++c) {
            const Value now = k[i.blocks[0]].params[leading_params(i.op) + c], next = given[c];
            const ContextSave& column = plan.regions.context_saves[now.id];
            ContextSave& save = plan.regions.context_saves[next.id];
            const bool vectors = packet.kind_of(now) == ValueKind::vector && packet.kind_of(next) == ValueKind::vector;
            const bool own = k[next].inst.id != none && where.block_of(k[next].inst) == body;
            if (column.outer || save.outer || !save.spilled || save.offset >= 0 || !vectors || !own) continue;
            if (last[now.id] <= plan.regions.region_of[next.id] && std::count(given.begin(), given.end(), next) == 1)
                save.offset = column.offset;
        }
    }
}

}  // namespace pumice::cpu
