// Barrier regions: ifs and loops that contain a barrier run once for the group, as scalar control flow around packet loops.
//
// Why: a barrier inside a loop splits its body into regions; each region is a loop over the group's packets, so the kernel's
// loop has to be outside of them. That is loop interchange of the item loop and the kernel's loop:
//
//     for %k { region A; barrier; region B }     =>    for %k (scalar) { for each packet: A;  for each packet: B }
//
// Condition and loop bounds are uniform in the group. They are `outer` (computed once, outside of the packets), or in an alloca
// to which each packet stores them, so that the last one's store stays (`exported`), or in packet 0's save area (its part of the
// scratch memory). Values that a loop carries are in allocas if uniform, else in the packets' save areas (see
// plan_barrier_regions.cpp). Cost: a loop over the packets before the kernel's loop, to initialise carried values that differ
// between items; and one where a for reaches its bound, if its results differ between items because of breaks. Limits: conditions
// must be uniform in the group; refuse_divergent_barriers (barrier_divergence.cpp) rejects others when a kernel is recorded.
// Textbook: deep fission / region formation around barriers (MCUDA: Stratton et al. 2008; pocl: Jaaskelainen et al. 2015).
#include "core/support/error.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/emit/emit_barrier_regions.h"
#include "cpu/packet/emit_casts.h"

namespace pumice::cpu {

using namespace ir;

/// A group-uniform value outside of packets: exported by the packet that ran last, or read from the save area of packet 0.
std::string BarrierRegions::outer_scalar(Value v) {
    if (plan.regions.context_saves[v.id].outer) return packet.scalar(v);
    const Scalar type = k.type_of(v);
    if (plan.regions.context_saves[v.id].offset >= 0) {
        const std::string address = out.let(text("getelementptr i8, ptr %kept, i64 ", plan.regions.context_saves[v.id].offset));
        return emit.casts.from_memory(type, out.let(text("load ", out.memory_type(type), ", ptr ", address)), false);
    }
    return out.let(text("load ", out.scalar_type(type), ", ptr ", slots[v.id].name));
}

void BarrierRegions::region_if(InstId id) {
    const Inst& i = k[id];
    const std::string condition = outer_scalar(k.operands(i)[0]), then = out.label("then"), otherwise = out.label("else"),
                      end = out.label("end");
    out.branch(condition, then, otherwise);
    bool reached = false;
    for (int arm = 0; arm < 2; ++arm) {
        out.start(arm == 0 ? then : otherwise);
        region_block(i.blocks[arm]);
        reached = reached || out.open;
        if (out.open) out.jump(end);
    }
    if (!reached) return;
    out.start(end);
    for (int r = 0; r < i.result_count; ++r)
        if (plan.regions.context_saves[k.result(i, r).id].outer) packet.read(k.result(i, r), slots[k.result(i, r).id]);
}

void BarrierRegions::region_loop(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const uint32_t leading = leading_operands(i.op), params = leading_params(i.op);
    const auto& carried = k[i.blocks[0]].params;
    BarrierRegionLoop l{&i, out.label("latch"), out.label("exit"), out.label("body"), {}, {}, {}};
    const std::string header = out.label("loop");
    std::string to, step;
    Alloca index;
    if (i.op == Op::for_) {
        index = {out.alloca_of(out.scalar_type(k.type_of(carried[0])), "index"), ValueKind::uniform, k.type_of(carried[0]), 0};
        const std::string from = outer_scalar(v[0]);
        out.line(text("store ", out.scalar_type(index.type), " ", from, ", ptr ", index.name));
        to = outer_scalar(v[1]), step = outer_scalar(v[2]);
        l.from = from, l.to = to, l.step = step;
    }
    std::vector<size_t> spilled;
    for (size_t c = 0; c < i.result_count; ++c) {
        const Value p = carried[params + c];
        if (!plan.regions.context_saves[p.id].outer)
            spilled.push_back(c);
        else
            out.line(text("store ", out.type_of(k.type_of(p), slots[p.id].kind), " ", outer_scalar(v[leading + c]), ", ptr ",
                          slots[p.id].name));
    }
    if (!spilled.empty())
        packets_of_group([&] {
            for (const size_t c : spilled) restore(v[leading + c]);
            std::vector<ValueRep> taken;
            for (const size_t c : spilled) taken.push_back(packet.rep_of(v[leading + c]));
            for (size_t n = 0; n < spilled.size(); ++n)
                save_value(carried[params + spilled[n]], taken[n],
                           plan.regions.context_saves[carried[params + spilled[n]].id].offset);
        });
    out.start(header);
    for (size_t c = 0; c < i.result_count; ++c)
        if (plan.regions.context_saves[carried[params + c].id].outer)
            packet.read(carried[params + c], slots[carried[params + c].id]);
    packet.region_loops.push_back(l);
    const std::string t = i.op == Op::for_ ? out.scalar_type(index.type) : "";
    if (i.op == Op::for_) {
        const std::string now = out.let(text("load ", t, ", ptr ", index.name));
        packet.values[carried[0].id] = {ValueKind::uniform, now, "", 0};
        packet.has_value[carried[0].id] = true;
        // Results that differ between items, because breaks give them: leaving at `to`, they are the carried values.
        const std::string leave = out.label("leave");
        out.branch(emit.control.runs_on(i, index.type, now, to, step, false), l.body, leave);
        out.start(leave);
        std::vector<size_t> parted;
        for (size_t c = 0; c < i.result_count; ++c)
            if (plan.regions.context_saves[carried[1 + c].id].outer && !plan.regions.context_saves[k.result(i, int(c)).id].outer)
                parted.push_back(c);
        if (!parted.empty())
            packets_of_group([&] {
                for (const size_t c : parted)
                    save_value(k.result(i, int(c)), packet.rep_of(carried[1 + c]),
                               plan.regions.context_saves[k.result(i, int(c)).id].offset);
            });
        out.jump(l.exit);
    } else {
        region_block(i.blocks[0]);
    }
    out.start(l.body);
    region_block(i.blocks[i.op == Op::for_ ? 0 : 1]);
    if (out.open) out.jump(l.latch);
    out.start(l.latch);
    if (i.op == Op::for_) region_latch(i, l, index, step);
    if (out.open) out.jump(header);
    out.start(l.exit);
    packet.region_loops.pop_back();
    for (size_t c = 0; c < i.result_count; ++c) {
        const Value r = k.result(i, int(c));
        if (plan.regions.context_saves[r.id].outer)
            packet.read(r, i.op == Op::for_ ? slots[carried[params + c].id] : slots[r.id]);
    }
}

/// The index increment. If it overflows, the loop ends as it does at `to`.
void BarrierRegions::region_latch(const Inst& i, const BarrierRegionLoop& l, const Alloca& index, const std::string& step) {
    const std::string t = out.scalar_type(index.type), old = out.let(text("load ", t, ", ptr ", index.name));
    uint64_t bits = 0;
    if (k.constant(k.operands(i)[2], bits) && bits == 1) {
        out.line(text("store ", t, " ", out.let(text("add ", t, " ", old, ", 1")), ", ptr ", index.name));
        return;
    }
    const std::string function = text("@llvm.", is_unsigned_int(index.type) ? "u" : "s", "add.with.overflow.", t);
    out.declare(text("declare { ", t, ", i1 } ", function, "(", t, ", ", t, ")"));
    const std::string both = out.let(text("call { ", t, ", i1 } ", function, "(", t, " ", old, ", ", t, " ", step, ")"));
    out.line(text("store ", t, " ", out.let(text("extractvalue { ", t, ", i1 } ", both, ", 0")), ", ptr ", index.name));
    const std::string on = out.label("on");
    out.branch(out.let(text("extractvalue { ", t, ", i1 } ", both, ", 1")), l.exit, on);
    out.start(on);
}

void BarrierRegions::outer_terminator(InstId id) {
    const Inst& i = k[id];
    if (i.op == Op::return_) return out.jump(packet.return_label);
    if (i.op == Op::yield) return;  // falls through to the end of its block
    const BarrierRegionLoop& l = packet.region_loops.back();
    if (i.op == Op::test) return out.branch(outer_scalar(k.operands(i)[0]), l.body, l.exit);
    out.jump(i.op == Op::break_ ? l.exit : l.latch);
}

}  // namespace pumice::cpu
