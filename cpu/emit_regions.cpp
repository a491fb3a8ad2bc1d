// Barriers, by fission. A construct with a barrier inside is open: it runs once for the group, its condition being the same for
// all items. What stands between barriers and open constructs is a region: a loop over the group's packets. A value of one region
// that another needs is computed again where that is cheap, else kept in the packet's part of the scratch memory.
#include <algorithm>
#include <climits>

#include "core/error.h"
#include "cpu/emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_recomputed = 8;      ///< instructions that a region computes again rather than keep their result
constexpr int64_t most_unrolled = 2048;  ///< instructions of all the packets that are written one after the other
constexpr int least_operands = 8;        ///< loads of local memory in a region that is worth it
}

// ---- the plan ----

void Emitter::plan_regions() {
    const Structure& where = uniformity.structure();
    open_inst.assign(k.insts.size(), false);
    inst_region.assign(k.insts.size(), -1);
    region_of.assign(k.values.size(), -1);
    keeps.assign(k.values.size(), {});
    const auto open_around = [&](InstId i) {
        for (InstId c = where.around(i); c.id != none; c = where.around(c)) open_inst[c.id] = true;
    };
    for (const InstId i : where.order()) {
        const bool together = k[i].op == Op::return_ && where.around(i).id != none && uniformity.control(i) <= Scope::group;
        if (k[i].op == Op::barrier || together) open_around(i);
    }
    // A jump of an open loop ends the group's iteration.
    for (const InstId i : where.order())
        if (open_inst[i.id] && is_loop(k[i].op))
            for (const InstId jump : where.jumps_to(i)) open_around(jump);
    for (const InstId i : where.order()) {
        const InstId around = where.around(i);
        if (k[i].op == Op::return_ && around.id != none && !open_inst[around.id]) packet_returns = true;
    }
    int region = 0;
    plan_block(BlockId{0}, region);
    for (const InstId i : where.order()) {
        const Inst& inst = k[i];
        if (open_inst[i.id]) {
            plan_columns(i);
            for (uint32_t o = 0; o < leading_operands(inst.op); ++o) keeps[k.operands(inst)[o].id].exported = true;
            plan_uses(k.operands(inst), -2);
        } else if (inst_region[i.id] >= 0) {
            plan_uses(k.operands(inst), inst_region[i.id]);
            if (inst.op == Op::test && open_inst[where.around(i).id]) keeps[k.operands(inst)[0].id].exported = true;
        }
    }
    share_columns();
    for (size_t m = 0; m < keeps.size(); ++m) {
        Keep& keep = keeps[m];
        const Value v{uint32_t(m)};
        if (keep.outer) keep.spilled = keep.exported = false;
        // What is uniform goes by a slot, the rest to its packet's memory.
        if (keep.spilled && kind_of(v) == Kind::uniform && uniformity.of(v) <= Scope::group)
            keep.spilled = false, keep.exported = true;
        if (keep.spilled && keep.place < 0) keep.place = spill_place(v);
        if (keep.exported && keep.slot.name.empty())
            keep.slot = {alloca_of(scalar_type(k.type_of(v)), "export"), Kind::uniform, k.type_of(v), 0};
    }
    if (packet_returns) alive_place = packet_bytes, packet_bytes += 64;
    packet_bytes = (packet_bytes + 63) / 64 * 64;
}

int64_t Emitter::spill_place(Value v) {
    const int64_t bytes = std::max(int64_t(size_of(k.type_of(v))) * width, int64_t(1));
    const int64_t align = std::min<int64_t>(bytes, 64);
    packet_bytes = (packet_bytes + align - 1) / align * align;
    const int64_t place = packet_bytes;
    packet_bytes += bytes;
    return place;
}

/// Numbers the regions of an open block, and finds what is computed once for the group.
void Emitter::plan_block(BlockId b, int& region) {
    const auto assign = [&](InstId i) {
        inst_region[i.id] = region;
        for (int r = 0; r < k[i].result_count; ++r) region_of[k.result(k[i], r).id] = region;
        for (const BlockId inner : k[i].blocks)
            if (inner.id != none)
                for (const Value p : k[inner].params) region_of[p.id] = region;
    };
    for (const InstId id : k[b].insts) {
        const Inst& i = k[id];
        if (i.op == Op::barrier) {
            ++region;
        } else if (open_inst[id.id]) {
            ++region;
            for (int r = 0; r < i.result_count; ++r)
                if (uniformity.of(k.result(i, r)) <= Scope::group) keeps[k.result(i, r).id].outer = true;
            for (const BlockId inner : i.blocks) {
                if (inner.id == none) continue;
                for (const Value p : k[inner].params)
                    if (uniformity.of(p) <= Scope::group || (i.op == Op::for_ && p == k[inner].params[0]))
                        keeps[p.id].outer = true;
                plan_block(inner, region);
                ++region;
            }
        } else {
            const auto v = k.operands(i);
            const bool outer = is_pure(i.op) && uniformity.of(k.result(i)) <= Scope::group &&
                               std::all_of(v.begin(), v.end(), [&](Value o) { return keeps[o.id].outer; });
            assign(id);
            each_inside(k, i, assign);
            if (outer) keeps[k.result(i).id].outer = true, region_of[k.result(i).id] = -1;
        }
    }
}

/// Values that a region uses (-2: the code outside of packets) and does not compute.
void Emitter::plan_uses(std::span<const Value> v, int region) {
    for (const Value o : v) {
        Keep& keep = keeps[o.id];
        if (keep.outer || region_of[o.id] == region) continue;
        int budget = most_recomputed;
        if (computable_again(o, budget)) {
            // Its operands are needed where it is computed again, and those that it has may be too far.
            if (k[o].inst.id != none) plan_uses(k.operands(k[k[o].inst]), region);
            continue;
        }
        keep.spilled = true;
    }
}

/// Cheap and without effect, down to the indices and to what is there for the whole group.
bool Emitter::computable_again(Value v, int& budget) const {
    if (keeps[v.id].outer) return true;
    const InstId source = k[v].inst;
    if (source.id == none || !is_pure(k[source].op) || is_costly(k[source]) || --budget < 0) return false;
    for (const Value o : k.operands(k[source]))
        if (!computable_again(o, budget)) return false;
    return true;
}

/// Where an open construct's results and carried values are: in slots what the group shares, else in the packets' memory.
void Emitter::plan_columns(InstId id) {
    const Inst& i = k[id];
    for (uint32_t c = 0; c < i.result_count; ++c) {
        const Value result = k.result(i, int(c));
        if (!is_loop(i.op)) {
            if (keeps[result.id].outer)
                keeps[result.id].slot = slot_for(result, "if");
            else
                keeps[result.id].spilled = true, keeps[result.id].place = spill_place(result);
            continue;
        }
        const Value param = k[i.blocks[0]].params[leading_params(i.op) + c];
        // A for's results are what it carries when it ends, and so are a while's that its test hands through.
        const bool one = i.op == Op::for_ || k.operands(last_inst(k, i.blocks[0]))[1 + c] == param;
        for (const Value v : {param, result}) {
            Keep& keep = keeps[v.id];
            if (keep.outer) {
                keep.slot = slot_for(v, "carried");
            } else {
                keep.spilled = true;
                keep.place = v == result && one && !keeps[param.id].outer ? keeps[param.id].place : spill_place(v);
            }
        }
    }
}

/// What an iteration carries on lies where the carried value does, once that is not needed any more: nothing is copied then.
void Emitter::share_columns() {
    const Structure& where = uniformity.structure();
    std::vector<int> last(k.values.size(), -1);  // the regions that need the values last
    for (const InstId i : where.order())
        for (const Value v : k.operands(k[i])) last[v.id] = std::max(last[v.id], open_inst[i.id] ? INT_MAX : inst_region[i.id]);
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (!open_inst[id.id] || !is_loop(i.op)) continue;
        const BlockId body = i.blocks[i.op == Op::for_ ? 0 : 1];
        if (last_inst(k, body).op != Op::yield) continue;
        const auto given = k.operands(last_inst(k, body));
        for (size_t c = 0; c < given.size(); ++c) {
            const Value now = k[i.blocks[0]].params[leading_params(i.op) + c], next = given[c];
            const Keep& column = keeps[now.id];
            Keep& keep = keeps[next.id];
            const bool vectors = kind_of(now) == Kind::vector && kind_of(next) == Kind::vector;
            const bool own = k[next].inst.id != none && where.block_of(k[next].inst) == body;
            if (column.outer || keep.outer || !keep.spilled || keep.place >= 0 || !vectors || !own) continue;
            if (last[now.id] <= region_of[next.id] && std::count(given.begin(), given.end(), next) == 1) keep.place = column.place;
        }
    }
}

// ---- the group ----

void Emitter::group_with_barriers() {
    with_and_without_guards([&] {
        const std::vector<Held> before_values = values;
        const std::vector<bool> before_has = has_value;
        if (packet_returns)
            packets_of_group([&] {
                const std::string v = vector_type("i8");
                const std::string all = let(text("zext ", vector_type("i1"), " ", mask_text(running), " to ", v));
                line(text("store ", v, " ", all, ", ptr ",
                          let(text("getelementptr i8, ptr ", packet_area, ", i64 ", alive_place))));
            });
        region_block(BlockId{0});
        values = before_values;
        has_value = before_has;
    });
}

/// Calls `body` in a loop over all packets of the group, those past the range included; where `row` says how many, over the first
/// items of each row.
void Emitter::packets_of_group(const Body& body, const std::string& row) {
    const std::array<std::string, 3> counts{row.empty() ? std::to_string(variant.group[0]) : row, std::to_string(variant.group[1]),
                                            std::to_string(variant.group[2])};
    rows(counts, !row.empty(), [&] {
        const std::string n = let(text("zext i32 ", packet_number(), " to i64"));
        packet_area = let(text("getelementptr [", packet_bytes, " x i8], ptr %kept, i64 ", n), "area");
        body();
    });
}

/// An open block: regions, barriers between them, open constructs.
void Emitter::region_block(BlockId b) {
    std::vector<InstId> run;
    for (const InstId id : k[b].insts) {
        const Inst& i = k[id];
        if (is_pure(i.op) && keeps[k.result(i).id].outer) {
            if (!has_value[k.result(i).id]) pure_value(i);
        } else if (i.op == Op::barrier || open_inst[id.id]) {
            region(run, {});
            run.clear();
            if (i.op == Op::if_)
                open_if(id);
            else if (is_loop(i.op))
                open_loop(id);
            if (!open) return;
        } else if (is_terminator(i.op)) {
            region(run, id);
            return outer_terminator(id);
        } else {
            run.push_back(id);
        }
    }
}

/// A loop over the packets that runs `insts`, and hands on what the terminator `end` gives where items differ.
void Emitter::region(std::span<const InstId> insts, InstId end) {
    std::vector<Value> given;
    if (end.id != none) {
        const auto v = k.operands(k[end]);
        given.assign(v.begin() + (k[end].op == Op::test), v.end());
    }
    const bool hands = end.id != none && k[end].op != Op::return_ && !given.empty();
    const bool condition = end.id != none && k[end].op == Op::test && !keeps[k.operands(k[end])[0].id].outer;
    if (insts.empty() && !hands && !condition) return;
    unrolled = unrolls(insts);
    transpose_products(insts);
    const Value bound = width == 1 || hands || condition || packet_returns ? Value{} : bound_of(insts);
    if (!packet_returns && !bound) row_insts = insts, turned = turned_loads(insts);
    packets_of_group([&] {
        if (packet_returns) {
            const std::string v = vector_type("i8");
            const std::string place = let(text("getelementptr i8, ptr ", packet_area, ", i64 ", alive_place));
            const std::string alive = let(text("load ", v, ", ptr ", place));
            running = {let(text("icmp ne ", v, " ", alive, ", zeroinitializer"), "m")};
            const std::string go = label("go");
            branch(any(running), go, return_label);
            start(go);
        }
        const auto bring = [&](InstId i) {
            for (const Value v : k.operands(k[i]))
                if (inst_region[i.id] != region_of[v.id] || region_of[v.id] < 0) bring_in(v);
        };
        for (const InstId i : insts) {
            bring(i);
            each_inside(k, k[i], bring);
        }
        for (const Value v : given) bring_needed(v, insts);
        if (condition) bring_needed(k.operands(k[end])[0], insts);
        if (bound) values[bound.id] = {Kind::uniform, "true", "", 0}, has_value[bound.id] = true;
        sequence(insts);
        if (open && hands) hand_on(end, given, true);
        if (open && condition) {
            const Value c = k.operands(k[end])[0];
            if (has_value[c.id]) defined_now(c);
        }
        if (open && packet_returns) {
            const std::string v = vector_type("i8");
            const std::string left = let(text("zext ", vector_type("i1"), " ", mask_text(running), " to ", v));
            line(text("store ", v, " ", left, ", ptr ", let(text("getelementptr i8, ptr ", packet_area, ", i64 ", alive_place))));
        }
    }, bound ? bounded_row(bound) : "");
    unrolled = false;
    row_insts = {}, turned.clear();
    for (auto& [add, row] : sum_rows) row.lines.clear();
    if (hands) hand_on(end, given, false);
}

/// The instructions with those of guards, whose items are all inside of the range.
std::vector<InstId> Emitter::executed(std::span<const InstId> insts) const {
    std::vector<InstId> all;
    for (const InstId id : insts) {
        const Inst& i = k[id];
        const Value condition = i.op == Op::if_ ? k.operands(i)[0] : Value{};
        const InstId source = condition ? k[condition].inst : InstId{};
        if (!condition || (!is_granted(condition) && !(all_in_range && source.id != none && k[source].op == Op::in_range))) {
            all.push_back(id);
            continue;
        }
        const std::vector<InstId> inner = executed(k[i.blocks[0]].insts);
        all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
}

/// Local memory at places that are constants is an operand of the arithmetic; where a packet's number takes part in the address,
/// x86 needs an instruction of its own for it. Staged memory is in registers then.
bool Emitter::unrolls(std::span<const InstId> insts) const {
    const int64_t packets = packets_a_row() * variant.group[1] * variant.group[2];
    const std::vector<InstId> all = executed(insts);
    const auto count = [&](auto what) { return std::count_if(all.begin(), all.end(), [&](InstId i) { return what(k[i]); }); };
    return count([](const Inst& i) { return is_control(i.op); }) == 0 && int64_t(all.size()) * packets <= most_unrolled &&
           (count([&](const Inst& i) { return i.op == Op::store && staged(i.memory); }) > 0 ||
            (!open_loops.empty() && count([&](const Inst& i) { return i.op == Op::load && k[i.memory].kind == MemoryKind::local; }) >= least_operands));
}

/// A terminator's operand: where this region's instructions do not compute it.
void Emitter::bring_needed(Value v, std::span<const InstId> insts) {
    const InstId source = k[v].inst;
    const bool here = source.id != none && std::find(insts.begin(), insts.end(), source) != insts.end();
    if (!here) bring_in(v);
}

/// Makes a value of another region known in this packet.
void Emitter::bring_in(Value v) {
    if (has_value[v.id] || keeps[v.id].outer) return;
    const Keep& keep = keeps[v.id];
    const bool before = bringing_in;
    bringing_in = true;
    int budget = most_recomputed;
    if (keep.place >= 0) {
        const std::string place = let(text("getelementptr i8, ptr ", packet_area, ", i64 ", keep.place));
        const bool vectors = kind_of(v) == Kind::vector;
        const std::string t = memory_type(k.type_of(v));
        define(v, from_memory(k.type_of(v), let(text("load ", vectors ? vector_type(t) : t, ", ptr ", place)), vectors));
    } else if (computable_again(v, budget)) {
        for (const Value o : k.operands(k[k[v].inst])) bring_in(o);
        if (!has_value[v.id]) pure_value(k[k[v].inst]);
    } else if (keep.exported) {
        define(v, let(text("load ", scalar_type(k.type_of(v)), ", ptr ", keep.slot.name)));
    }
    bringing_in = before;
}

/// What was computed in a packet and is needed elsewhere is put there.
void Emitter::defined_now(Value v) {
    if (!has_barriers || !in_packet || bringing_in) return;
    const Keep& kept = keeps[v.id];
    if (kept.spilled && kept.place >= 0) keep(v, values[v.id], kept.place);
    if (!kept.exported) return;
    const Held h = values[v.id];
    const std::string t = scalar_type(k.type_of(v));
    const std::string one = h.kind == Kind::vector ? extract(t, h.vector, first_lane(running)) : h.scalar;
    line(text("store ", t, " ", one, ", ptr ", kept.slot.name));
}

void Emitter::keep(Value v, const Held& h, int64_t at) {
    const std::string place = let(text("getelementptr i8, ptr ", packet_area, ", i64 ", at));
    const Scalar type = k.type_of(v);
    const bool vectors = kind_of(v) == Kind::vector;
    const std::string given = to_memory(type, vectors ? vector_of(h, type) : h.scalar, vectors);
    const std::string t = memory_type(type);
    line(text("store ", vectors ? vector_type(t) : t, " ", given, ", ptr ", place));
}

/// What a terminator gives to the columns of its construct: in each packet where the items differ, else outside. All are taken
/// before the first is put, since one column may be another's source.
void Emitter::hand_on(InstId end, std::span<const Value> given, bool packets) {
    const Inst& i = k[end];
    InstId construct = uniformity.structure().around(end);
    if (i.op == Op::break_ || i.op == Op::continue_)
        while (!is_loop(k[construct].op)) construct = uniformity.structure().around(construct);
    const Inst& owner = k[construct];
    std::vector<Value> to;
    std::vector<Held> taken;
    for (size_t c = 0; c < given.size(); ++c) {
        const bool next = is_loop(owner.op) && (i.op == Op::yield || i.op == Op::continue_);
        to.push_back(next ? k[owner.blocks[0]].params[leading_params(owner.op) + c] : k.result(owner, int(c)));
        // A for's result lies where the carried value does.
        if (!next && owner.op == Op::for_ && keeps[to.back().id].outer) to.back() = k[owner.blocks[0]].params[1 + c];
        if (packets) taken.push_back(held(given[c]));
    }
    for (size_t c = 0; c < given.size(); ++c) {
        const Keep& column = keeps[to[c].id];
        const bool same_place = column.place >= 0 && keeps[given[c].id].place == column.place;
        if (!column.outer) {
            if (packets && !same_place) keep(to[c], taken[c], column.place);
        } else if (packets == !keeps[given[c].id].outer) {
            const Held h = packets ? taken[c] : held(given[c]);
            write_held(column.slot, h, {});
        }
    }
}

// ---- open constructs ----

/// A value that all items agree on, outside of packets: as the packet that ran last had it.
std::string Emitter::outer_scalar(Value v) {
    if (keeps[v.id].outer) return scalar(v);
    const Scalar type = k.type_of(v);
    if (keeps[v.id].place >= 0) {
        const std::string place = let(text("getelementptr i8, ptr %kept, i64 ", keeps[v.id].place));
        return from_memory(type, let(text("load ", memory_type(type), ", ptr ", place)), false);
    }
    return let(text("load ", scalar_type(type), ", ptr ", keeps[v.id].slot.name));
}

void Emitter::open_if(InstId id) {
    const Inst& i = k[id];
    const std::string condition = outer_scalar(k.operands(i)[0]), then = label("then"), otherwise = label("else"),
                      end = label("end");
    branch(condition, then, otherwise);
    bool reached = false;
    for (int arm = 0; arm < 2; ++arm) {
        start(arm == 0 ? then : otherwise);
        region_block(i.blocks[arm]);
        reached = reached || open;
        if (open) jump(end);
    }
    if (!reached) return;
    start(end);
    for (int r = 0; r < i.result_count; ++r)
        if (keeps[k.result(i, r).id].outer) read(k.result(i, r), keeps[k.result(i, r).id].slot);
}

void Emitter::open_loop(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const uint32_t leading = leading_operands(i.op), params = leading_params(i.op);
    const auto& carried = k[i.blocks[0]].params;
    OpenLoop l{&i, label("latch"), label("exit"), label("body"), {}};
    const std::string header = label("loop");
    std::string to, step;
    Slot index;
    if (i.op == Op::for_) {
        index = {alloca_of(scalar_type(k.type_of(carried[0])), "index"), Kind::uniform, k.type_of(carried[0]), 0};
        line(text("store ", scalar_type(index.type), " ", outer_scalar(v[0]), ", ptr ", index.name));
        to = outer_scalar(v[1]), step = outer_scalar(v[2]);
        l.step = step;
    }
    std::vector<size_t> spilled;
    for (size_t c = 0; c < i.result_count; ++c) {
        const Value p = carried[params + c];
        if (!keeps[p.id].outer)
            spilled.push_back(c);
        else
            line(text("store ", type_of(k.type_of(p), keeps[p.id].slot.kind), " ", outer_scalar(v[leading + c]), ", ptr ",
                      keeps[p.id].slot.name));
    }
    if (!spilled.empty())
        packets_of_group([&] {
            for (const size_t c : spilled) bring_in(v[leading + c]);
            std::vector<Held> taken;
            for (const size_t c : spilled) taken.push_back(held(v[leading + c]));
            for (size_t n = 0; n < spilled.size(); ++n)
                keep(carried[params + spilled[n]], taken[n], keeps[carried[params + spilled[n]].id].place);
        });
    start(header);
    for (size_t c = 0; c < i.result_count; ++c)
        if (keeps[carried[params + c].id].outer) read(carried[params + c], keeps[carried[params + c].id].slot);
    open_loops.push_back(l);
    const std::string t = i.op == Op::for_ ? scalar_type(index.type) : "";
    if (i.op == Op::for_) {
        const std::string now = let(text("load ", t, ", ptr ", index.name));
        values[carried[0].id] = {Kind::uniform, now, "", 0};
        has_value[carried[0].id] = true;
        // A result that breaks give differently to each item: without a break it is what the loop carries.
        const std::string leave = label("leave");
        branch(runs_on(i, index.type, now, to, step, false), l.body, leave);
        start(leave);
        std::vector<size_t> parted;
        for (size_t c = 0; c < i.result_count; ++c)
            if (keeps[carried[1 + c].id].outer && !keeps[k.result(i, int(c)).id].outer) parted.push_back(c);
        if (!parted.empty())
            packets_of_group([&] {
                for (const size_t c : parted)
                    keep(k.result(i, int(c)), held(carried[1 + c]), keeps[k.result(i, int(c)).id].place);
            });
        jump(l.exit);
    } else {
        region_block(i.blocks[0]);
    }
    start(l.body);
    region_block(i.blocks[i.op == Op::for_ ? 0 : 1]);
    if (open) jump(l.latch);
    start(l.latch);
    if (i.op == Op::for_) open_latch(i, l, index, step);
    if (open) jump(header);
    start(l.exit);
    open_loops.pop_back();
    for (size_t c = 0; c < i.result_count; ++c) {
        const Value r = k.result(i, int(c));
        if (keeps[r.id].outer) read(r, i.op == Op::for_ ? keeps[carried[params + c].id].slot : keeps[r.id].slot);
    }
}

/// Past the type's limit the loop ends as it does at `to`.
void Emitter::open_latch(const Inst& i, const OpenLoop& l, const Slot& index, const std::string& step) {
    const std::string t = scalar_type(index.type), old = let(text("load ", t, ", ptr ", index.name));
    uint64_t bits = 0;
    if (k.constant(k.operands(i)[2], bits) && bits == 1) {
        line(text("store ", t, " ", let(text("add ", t, " ", old, ", 1")), ", ptr ", index.name));
        return;
    }
    const std::string function = text("@llvm.", is_unsigned_int(index.type) ? "u" : "s", "add.with.overflow.", t);
    declare(text("declare { ", t, ", i1 } ", function, "(", t, ", ", t, ")"));
    const std::string both = let(text("call { ", t, ", i1 } ", function, "(", t, " ", old, ", ", t, " ", step, ")"));
    line(text("store ", t, " ", let(text("extractvalue { ", t, ", i1 } ", both, ", 0")), ", ptr ", index.name));
    const std::string on = label("on");
    branch(let(text("extractvalue { ", t, ", i1 } ", both, ", 1")), l.exit, on);
    start(on);
}

void Emitter::outer_terminator(InstId id) {
    const Inst& i = k[id];
    if (i.op == Op::return_) return jump(return_label);
    if (i.op == Op::yield) return;  // falls out of its block
    const OpenLoop& l = open_loops.back();
    if (i.op == Op::test) return branch(outer_scalar(k.operands(i)[0]), l.body, l.exit);
    jump(i.op == Op::break_ ? l.exit : l.latch);
}

}  // namespace pumice::cpu
