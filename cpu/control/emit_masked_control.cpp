// Control flow inside a packet: the instructions of blocks, loops and jumps, with branches where it is uniform and masks where it
// diverges.
//
//     for %k = %a to %n {             loop:  %alive = load <8 x i1>, ptr %alive_slot
//       if %c { break %s }                   %stay = and %alive, (%k < %n);  results of the lanes that leave are captured
//       ...                                  br any(%stay), body, exit
//     }                               body:  masked code;  br loop           as long as one lane is alive
//
// Why: the lanes of a packet share one program counter. A loop whose condition and jumps are uniform in the packet needs no mask
// and no test of lanes. A masked jump (break, continue, return of some lanes) takes its lanes out of the mask; the rest of the
// block runs only if some lanes remain. Loop-carried values are in allocas, which LLVM's mem2reg turns into phis. A leaving lane
// stores its results at that moment, since other lanes go on. If the index of a `for` overflows its type, the loop ends as it
// does at its bound. Blocks of more than 1,000 lines are cut, since the time of LLVM's instruction selection and scheduler grows
// with the square of a block's length.
// Cost: a divergent loop runs as often as its slowest lane, plus some mask instructions an iteration. Limits: return in a kernel
// with barriers: see emit_barrier_regions.cpp.
// Full iterations: a `for` whose lanes leave at different times, because its index or its bound has a constant step from lane to
// lane, begins with a loop without masks, for the iterations that all lanes run. The masked loop runs the rest, mostly one:
//
//     for %k = %lane to %n step 128 {}        bound = min(%n, 2^31 - 128) - (width - 1)
//                                             while (k < bound) { vectors without masks; k += 128 }   k: that of lane 0
//                                             the masked loop from there
//
// Why: masked accesses, conversions of masks and additions lane by lane under a mask cost as much as the body, above all on AVX2.
// Cost: the body once more. Textbook name: peeling of the last iterations.
// Textbook name: whole-function vectorisation (Karrenberg and Hack, CGO 2011); predicated execution of SPMD code (Pharr and Mark,
// ispc, 2012).
#include <algorithm>
#include <tuple>
#include <utility>

#include "core/support/error.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/row_tile.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/control/emit_branches.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/reduction/emit_atomics.h"
#include "cpu/reduction/emit_group_operations.h"
#include "cpu/reduction/emit_packet_subgroup.h"
#include "cpu/reduction/emit_private_sums.h"
#include "cpu/width/choose_width.h"

namespace pumice::cpu {

using namespace ir;

// ---- properties of jumps ----

// ---- blocks ----

/// Cuts straight-line code into blocks, since the time of LLVM's instruction selection, two-address pass and scheduler grows with
/// the square of a block's length. A branch around each cut, on a condition that is never true (the number of groups is not
/// negative), keeps LLVM from merging the blocks; stores of the last values on that path keep it from sinking their computation
/// into the next block.
void MaskedControl::cut_long_block(std::span<const InstId> before) {
    constexpr int most_lines = 1000, most_kept = 16;
    if (!out.open || out.block_lines < most_lines) return;
    const std::string around = out.label("around"), on = out.label("on"),
                      seldom = out.metadata("!{!\"branch_weights\", i32 1, i32 100000}");
    out.line(text("br i1 ", out.let("icmp slt i64 %end, 0"), ", label %", around, ", label %", on, ", !prof ", seldom));
    out.open = false;
    out.start(around);
    out.line("call void asm sideeffect \"\", \"\"() nounwind memory(none)");
    int kept = 0;
    for (auto i = before.rbegin(); i != before.rend() && kept < most_kept; ++i) {
        if (k[*i].result_count != 1 || k[*i].op == Op::constant || !packet.has_value[k.result(k[*i]).id]) continue;
        const Value v = k.result(k[*i]);
        const std::string type = out.type_of(k.type_of(v), packet.kind_of(v));
        const auto slot = unread.try_emplace(type).first;
        if (slot->second.empty()) slot->second = out.alloca_of(type, "unread");
        out.line(text("store volatile ", type, " ", packet.text_of(v, packet.kind_of(v)), ", ptr ", slot->second));
        ++kept;
    }
    out.start(on);
}

/// Emits instructions of a block. After a construct that items may leave, the rest runs only if some remain active.
void MaskedControl::sequence(std::span<const InstId> insts) {
    for (size_t at = 0; at < insts.size(); ++at) {
        cut_long_block(insts.first(at));
        instruction(insts[at]);
        if (!out.open) return;
        if (!packet.lost || at + 1 >= insts.size()) continue;
        packet.lost = false;
        const std::string rest = out.label("rest"), skip = out.label("skip");
        const Alloca after = packet.mask_alloca("after");
        packet.write_mask(after, packet.running);
        out.branch(packet.any(packet.running), rest, skip);
        out.start(rest);
        sequence(insts.subspan(at + 1));
        if (out.open) packet.write_mask(after, packet.running), out.jump(skip);
        out.start(skip);
        packet.running = packet.read_mask(after);
        packet.lost = true;
        return;
    }
}

void MaskedControl::instruction(InstId id) {
    if (!dwarf) return instruction_without_line(id);
    const std::string outer = std::exchange(out.line_mark, ", !dbg " + dwarf->location(id));
    instruction_without_line(id);
    out.line_mark = outer;
}

void MaskedControl::instruction_without_line(InstId id) {
    const Inst& i = k[id];
    if (is_pure(i.op)) {
        if (packet.has_value[k.result(i).id]) return;  // a constant, or brought into the region already
        return emit.pure.pure_value(i);
    }
    if (is_atomic(i.op)) return emit.atomics.atomic(i);
    switch (i.op) {
        case Op::load: return emit.accesses.load(id);
        case Op::store: return emit.accesses.store(id);
        case Op::uniform: {
            const ValueRep h = packet.rep_of(k.operands(i)[0]);
            if (h.kind == ValueKind::uniform) return packet.define(k.result(i), h.scalar);
            return packet.define(k.result(i), out.extract(out.scalar_type(i.type), packet.vector(k.operands(i)[0]),
                                                          packet.first_lane(packet.running)));
        }
        case Op::subgroup: return emit.subgroups.subgroup(i);
        case Op::group: return emit.group_ops.group_operation(i);
        case Op::print:
        case Op::require: return emit.subgroups.report(i);
        case Op::if_: return emit.branches.if_(id);
        case Op::for_:
        case Op::while_: return loop(id);
        case Op::yield:
        case Op::test:
        case Op::break_:
        case Op::continue_:
        case Op::return_: return terminator(id);
        default: break;
    }
    library_bug(text("instruction ", name_of(i.op), " reached the LLVM emitter in kernel ", k.name));
}

// ---- loops ----

/// True if a divergent loop should run the iterations of all lanes without masks first.
bool MaskedControl::has_full_iterations(InstId id, const LoopState& l) const {
    constexpr int most_insts = 100;
    constexpr double least_iterations = 8;
    const Inst& i = k[id];
    if (!target.rules.has(Rule::full_iterations) || i.op != Op::for_ || !packet.running.all() || !l.tracked || l.masked)
        return false;
    if (!l.left.name.empty() || emit.loops.unrolls(id)) return false;
    const auto v = k.operands(i);
    const Value index = k[i.blocks[0]].params[0];
    const auto plain = [&](Value of) { return packet.kind_of(of) != ValueKind::vector; };
    if (k.type_of(index) != Scalar::i32 || !plain(index) || !plain(v[1]) || packet.kind_of(v[2]) != ValueKind::uniform)
        return false;
    if (packet.kind_of(index) == ValueKind::affine && *packet.lane_step(index) < 0) return false;  // lanes below -2^31 would wrap
    int insts = 0;
    bool scalarised = false;  // a loop over the lanes of a mask: repeated addresses stall the unrolled additions
    each_inside(k, i, [&](InstId inner) {
        ++insts, scalarised = scalarised || (is_atomic(k[inner].op) && emit.widths.lane_by_lane(k[inner]));
    });
    return insts <= most_insts && !scalarised && emit.loops.iterations_of(id) >= least_iterations;
}

/// Jumps back to the header of a loop. LLVM may unroll the loop, unless the user has asked for a rolled one or the packet is one
/// of few.
void MaskedControl::repeat_plain(const Inst& loop, const std::string& header) {
    const bool rolled = LoopHint(loop.immediate) == LoopHint::rolled;
    if (!rolled && !packet.at_row_end) return out.jump(header);
    const char* const how = rolled ? "disable" : "runtime.disable";
    out.line(
        text("br label %", header, ", !llvm.loop ", out.metadata(text("distinct !{$, !{!\"llvm.loop.unroll.", how, "\"}}"))));
    out.open = false;
}

/// The loop over these iterations. It ends before an iteration that some lane does not run, or after which an index overflows.
void MaskedControl::full_iterations(InstId id, const LoopState& masked, const Alloca& index) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const Value param = k[i.blocks[0]].params[0];
    const auto wide = [&](Value of) { return out.let(text("sext i32 ", packet.scalar(of), " to i64")); };
    const auto to_last = [&](Value of) {
        return packet.kind_of(of) == ValueKind::affine ? *packet.lane_step(of) * (width - 1) : 0;
    };
    out.declare("declare i64 @llvm.smin.i64(i64, i64)");
    // Bounds are those of lane 0's index: the others are at most `ahead` greater.
    const int64_t ahead = std::max<int64_t>(to_last(param), 0), behind = std::min<int64_t>(to_last(v[1]), 0);
    const std::string step = wide(v[2]), to = out.let(text("add i64 ", wide(v[1]), ", ", behind));
    const std::string last = out.let(text("sub i64 ", int64_t(INT32_MAX) + 1, ", ", step));
    const std::string least = out.let(text("call i64 @llvm.smin.i64(i64 ", to, ", i64 ", last, ")"));
    std::string upwards = out.let(text("icmp sgt i64 ", step, ", 0"));
    if (const int64_t beyond = to_last(v[1]); beyond > 0) {  // lanes' bounds above 2^31 - 1 would wrap
        const std::string inside = out.let(text("icmp sle i64 ", to, ", ", INT32_MAX - beyond));
        upwards = out.let(text("and i1 ", upwards, ", ", inside));
    }
    const std::string bound =
        out.let(text("select i1 ", upwards, ", i64 ", out.let(text("sub i64 ", least, ", ", ahead)), ", i64 ", INT64_MIN));
    const std::string header = out.label("full_loop"), body = out.label("full"), rest = out.label("rest");
    LoopState l = masked;
    l.tracked = false;
    l.latch = out.label("full_latch");
    const std::vector<bool> had = packet.has_value;
    out.start(header);
    for (uint32_t c = 0; c < i.result_count; ++c) packet.read(k[i.blocks[0]].params[leading_params(i.op) + c], l.carried[c]);
    packet.read(param, index);
    out.branch(out.let(text("icmp slt i64 ", wide(param), ", ", bound)), body, rest);
    out.start(body);
    loops.push_back(l);
    sequence(k[i.blocks[0]].insts);
    loops.pop_back();
    out.start(l.latch);
    const std::string next =
        out.let(text("add nsw i32 ", out.let(text("load i32, ptr ", index.name)), ", ", packet.scalar(v[2])));
    out.line(text("store i32 ", next, ", ptr ", index.name));
    repeat_plain(i, header);
    out.start(rest);
    packet.running = masked.entered;
    packet.lost = false;
    packet.has_value = had;
}

/// A loop; two versions of it where prefetches pay off in the long one alone (cpu/access/software_prefetch.cpp).
void MaskedControl::loop(InstId id) {
    const bool once = emit.loops.unrolls(id) || !emit.tiles.tiles_of(id).empty();
    const std::string many = once ? "" : emit.prefetches.has_many_iterations(id);
    if (many.empty()) return one_loop(id);
    const Inst& i = k[id];
    std::vector<Alloca> results;
    for (uint32_t c = 0; c < i.result_count; ++c) results.push_back(packet.alloca_for(k.result(i, int(c)), "result"));
    const std::string with = out.label("prefetching"), without = out.label("short"), end = out.label("loop_end");
    const auto before = std::make_pair(packet.values, packet.has_value);
    const auto version = [&](const std::string& label, SoftwarePrefetch::Version which) {
        out.start(label);
        emit.prefetches.in_version = which;
        one_loop(id);
        emit.prefetches.in_version = SoftwarePrefetch::Version::only;
        for (uint32_t c = 0; c < i.result_count; ++c)
            if (packet.uses.any(k.result(i, int(c)))) packet.write(results[c], k.result(i, int(c)), {});
        out.jump(end);
        std::tie(packet.values, packet.has_value) = before;
    };
    out.branch(many, with, without);
    version(with, SoftwarePrefetch::Version::many_iterations);
    version(without, SoftwarePrefetch::Version::few_iterations);
    out.start(end);
    for (uint32_t c = 0; c < i.result_count; ++c)
        if (packet.uses.any(k.result(i, int(c)))) packet.read(k.result(i, int(c)), results[c]);
}

void MaskedControl::one_loop(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const uint32_t leading = leading_operands(i.op);
    LoopState l;
    l.inst = &i;
    l.masked = emit.loops.loop_masks(id);
    const bool returns =
        any_inside(k, i, [&](InstId inner) { return k[inner].op == Op::return_ && emit.loops.masked_jump(inner); });
    l.tracked = width > 1 && (packet.diverges(id) || l.masked || returns);
    l.entered = packet.running;
    l.latch = out.label("latch");
    l.exit = out.label("exit");
    l.body = out.label("body");
    const std::string header = out.label("loop");
    RowTiling tiling = emit.tiles.open_tiles(id);
    for (uint32_t c = 0; c < i.result_count; ++c) {
        l.carried.push_back(packet.alloca_for(k[i.blocks[0]].params[leading_params(i.op) + c], "carried"));
        packet.write(l.carried.back(), v[leading + c], {});
        l.captured.push_back(packet.uses.any(k.result(i, int(c))));
        l.results.push_back(packet.alloca_for(k.result(i, int(c)), "result"));
        if (l.captured.back()) packet.clear(l.results.back());
    }
    Alloca index;
    if (i.op == Op::for_) {
        index = packet.alloca_for(k[i.blocks[0]].params[0], "index");
        packet.write(index, v[0], {});
    }
    if (l.tracked) {
        l.alive = packet.mask_alloca("alive");
        packet.write_mask(l.alive, packet.running);
        if (l.masked) l.continued = packet.mask_alloca("continued");
        if (returns)
            l.left = packet.mask_alloca("left"),
            out.line(text("store ", out.vector_type("i1"), " zeroinitializer, ptr ", l.left.name));
    }
    emit.sums.open_deferred_reductions(id);
    const bool outer_lost = packet.lost;
    packet.lost = false;
    if (tiling.tiles.empty() && has_full_iterations(id, l)) full_iterations(id, l, index);
    out.start(header);
    if (l.tracked) packet.running = packet.read_mask(l.alive);
    if (l.masked) out.line(text("store ", out.vector_type("i1"), " zeroinitializer, ptr ", l.continued.name));
    const auto read_carried = [&] {
        for (uint32_t c = 0; c < i.result_count; ++c) packet.read(k[i.blocks[0]].params[leading_params(i.op) + c], l.carried[c]);
    };
    read_carried();
    loops.push_back(l);
    const std::string flush = tiling.tiles.empty() ? "" : out.label("flush"),
                      next = tiling.tiles.empty() ? header : out.label("next");
    if (!tiling.tiles.empty()) {  // a loop over tiles around the loop over the iterations of a tile
        loops.back().body = out.label("tile");
        for_header(id, loops.back(), index);
        out.start(loops.back().body);
        emit.tiles.fill_tiles(i, tiling);
        out.start(next);
        read_carried();
        const Value param = k[i.blocks[0]].params[0];
        packet.read(param, index);
        out.branch(out.let(text("icmp ne i32 ", packet.scalar(param), ", ", out.let(text("load i32, ptr ", tiling.stop)))),
                   l.body, flush);
    } else if (i.op == Op::for_) {
        for_header(id, loops.back(), index);
    } else {
        sequence(k[i.blocks[0]].insts);
        if (out.open) out.jump(l.exit);  // no item was left to test
    }
    out.start(l.body);
    if (l.tracked) packet.running = packet.read_mask(l.alive);
    packet.lost = false;
    if (!tiling.tiles.empty()) emit.tiles.enter_tiles(tiling);
    sequence(k[i.op == Op::for_ ? i.blocks[0] : i.blocks[1]].insts);
    if (out.open) {  // after the last masked jump: the items that continue, if any
        if (l.tracked)
            packet.write_mask(l.alive, l.masked ? packet.united(packet.running, packet.read_mask(l.continued)) : packet.running);
        out.jump(l.latch);
    }
    out.start(l.latch);
    emit.sums.next_deferred_iteration(id);
    if (i.op == Op::for_) for_latch(i, l, index);
    if (l.tracked) {
        out.branch(packet.any(packet.read_mask(l.alive)), header, l.exit);
    } else if (emit.loops.unrolls(id)) {
        out.line(text("br label %", header, ", !llvm.loop ", out.metadata(unrolled_in_full)));
        out.open = false;
    } else {
        repeat_plain(i, next);
    }
    if (!tiling.tiles.empty()) {
        out.start(flush);
        emit.tiles.flush_tiles(tiling);
        out.jump(header);
    }
    out.start(l.exit);
    loops.pop_back();
    packet.running = returns ? packet.read_mask(l.left) : l.entered;
    packet.lost = returns || outer_lost;
    for (uint32_t c = 0; c < i.result_count; ++c) {
        if (l.captured[c]) packet.read(k.result(i, int(c)), l.results[c]);
    }
}

/// The condition to run the iteration of this index: index < to for positive steps, index > to for negative ones.
std::string MaskedControl::runs_on(const Inst& i, Scalar type, const std::string& index, const std::string& to,
                                   const std::string& step, bool vectors) {
    const std::string t = vectors ? out.vector_type(out.scalar_type(type)) : out.scalar_type(type),
                      b = vectors ? out.vector_type("i1") : "i1";
    const std::string u = is_unsigned_int(type) ? "u" : "s";
    const auto less = [&] { return out.let(text("icmp ", u, "lt ", t, " ", index, ", ", to)); };
    const auto more = [&] { return out.let(text("icmp ", u, "gt ", t, " ", index, ", ", to)); };
    uint64_t bits = 0;
    if (k.constant(k.operands(i)[2], bits)) {
        if (bits == 0) return vectors ? "zeroinitializer" : "false";
        return is_unsigned_int(type) || !(bits >> (8 * size_of(type) - 1)) ? less() : more();
    }
    const std::string up = out.let(text("icmp ", u, "gt ", t, " ", step, ", zeroinitializer"));
    const std::string down = is_unsigned_int(type) ? "" : out.let(text("icmp slt ", t, " ", step, ", zeroinitializer"));
    const std::string on = out.let(text("and ", b, " ", up, ", ", less()));
    return down.empty() ? on : out.let(text("or ", b, " ", on, ", ", out.let(text("and ", b, " ", down, ", ", more()))));
}

void MaskedControl::for_header(InstId id, LoopState& l, const Alloca& index) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const Value param = k[i.blocks[0]].params[0];
    packet.read(param, index);
    const bool scalars = packet.kind_of(param) == ValueKind::uniform && packet.kind_of(v[1]) == ValueKind::uniform &&
                         packet.kind_of(v[2]) == ValueKind::uniform;
    std::vector<Value> now(k[i.blocks[0]].params.begin() + 1, k[i.blocks[0]].params.end());
    const ValueKind kind = scalars ? ValueKind::uniform : ValueKind::vector;
    const std::string on = runs_on(i, k.type_of(param), packet.text_of(param, kind), packet.text_of(v[1], kind),
                                   packet.text_of(v[2], kind), !scalars);
    if (scalars) {
        const std::string leave = out.label("leave");
        out.branch(on, l.body, leave);
        out.start(leave);
        capture(l, now, l.tracked ? packet.running : Mask{});
        out.jump(l.exit);
        return;
    }
    const Mask stay = packet.narrowed(packet.running, on);
    capture(l, now, packet.narrowed(packet.running, out.let(text("xor ", out.vector_type("i1"), " ", on, ", splat (i1 true)"))));
    packet.write_mask(l.alive, stay);
    out.branch(packet.any(stay), l.body, l.exit);
}

/// The loop's increment. If the index overflows its type, the loop ends as it does at `to`.
void MaskedControl::for_latch(const Inst& i, const LoopState& l, const Alloca& index) {
    const auto v = k.operands(i);
    const Value param = k[i.blocks[0]].params[0];
    const Scalar type = k.type_of(param);
    const std::string t = out.type_of(type, index.kind);
    const std::string old = out.let(text("load ", t, ", ptr ", index.name)),
                      step = packet.text_of(v[2], index.kind == ValueKind::vector ? ValueKind::vector : ValueKind::uniform);
    uint64_t bits = 0;
    const bool constant = k.constant(v[2], bits);
    const bool one = constant && (bits == 1 || (is_signed_int(type) && bits == (~uint64_t(0) >> (64 - 8 * size_of(type)))));
    if (one) {
        const std::string now =
            out.let(text("add ", index.kind == ValueKind::uniform && bits == 1 ? (is_unsigned_int(type) ? "nuw " : "nsw ") : "",
                         t, " ", old, ", ", step));
        return out.line(text("store ", t, " ", now, ", ptr ", index.name));
    }
    const bool vectors = index.kind != ValueKind::uniform;
    const std::string whole = vectors ? out.vector_type(out.scalar_type(type)) : t, b = vectors ? out.vector_type("i1") : "i1";
    const std::string function = text("@llvm.", is_unsigned_int(type) ? "u" : "s", "add.with.overflow.",
                                      out.intrinsic_suffix(out.scalar_type(type), vectors));
    out.declare(text("declare { ", whole, ", ", b, " } ", function, "(", whole, ", ", whole, ")"));
    ValueRep before;
    before.kind = index.kind;
    before.step = index.step;
    (index.kind == ValueKind::vector ? before.vector : before.scalar) = old;
    const std::string from = vectors ? packet.vector_of(before, type) : old, by = vectors ? packet.vector(v[2]) : step;
    const std::string both =
        out.let(text("call { ", whole, ", ", b, " } ", function, "(", whole, " ", from, ", ", whole, " ", by, ")"));
    const std::string over = out.let(text("extractvalue { ", whole, ", ", b, " } ", both, ", 1"));
    out.line(text("store ", t, " ", out.let(text("add ", t, " ", old, ", ", step)), ", ptr ", index.name));
    if (vectors) {
        const Mask alive = packet.read_mask(l.alive);
        capture_carried(l, packet.narrowed(alive, over));
        return packet.write_mask(l.alive, packet.narrowed(alive, out.let(text("xor ", b, " ", over, ", splat (i1 true)"))));
    }
    const std::string end = out.label("overflow"), on = out.label("on");
    out.branch(over, end, on);
    out.start(end);
    capture_carried(l, l.tracked ? packet.read_mask(l.alive) : Mask{});
    out.jump(l.exit);
    out.start(on);
}

/// Stores the current carried values as results of the items that leave.
void MaskedControl::capture_carried(const LoopState& l, const Mask& who) {
    for (size_t c = 0; c < l.results.size(); ++c) {
        if (!l.captured[c]) continue;
        ValueRep now;
        const Alloca& from = l.carried[c];
        now.kind = from.kind;
        now.step = from.step;
        (from.kind == ValueKind::vector ? now.vector : now.scalar) =
            out.let(text("load ", out.type_of(from.type, from.kind), ", ptr ", from.name));
        packet.write_rep(l.results[c], now, who);
    }
    note_left(l, who);
}

void MaskedControl::capture(const LoopState& l, std::span<const Value> now, const Mask& who) {
    for (size_t c = 0; c < l.results.size(); ++c)
        if (l.captured[c]) packet.write(l.results[c], now[c], who);
    note_left(l, who);
}

void MaskedControl::note_left(const LoopState& l, const Mask& who) {
    if (l.left.name.empty()) return;
    packet.write_mask(l.left, packet.united(packet.read_mask(l.left), who));
}

/// Stores the carried values of the next iteration: of the active items where jumps are masked, else of all. All are read before
/// the first is stored.
void MaskedControl::next_iteration(const LoopState& l, std::span<const Value> now) {
    std::vector<ValueRep> taken;
    for (const Value v : now) taken.push_back(packet.rep_of(v));
    for (size_t c = 0; c < l.carried.size(); ++c) packet.write_rep(l.carried[c], taken[c], l.masked ? packet.running : Mask{});
}

// ---- terminators ----

void MaskedControl::terminator(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    if (i.op == Op::return_) {
        if (!emit.loops.masked_jump(id)) return out.jump(packet.return_label);
        packet.running = {"zeroinitializer"};
        packet.lost = true;
        return;
    }
    if (i.op == Op::test) return test(i);
    if (i.op == Op::yield && k[packet.uniformity.structure().around(id)].op == Op::if_) {
        const Arm a = emit.branches.arms.back();
        for (size_t r = 0; r < v.size(); ++r) packet.write(a.results[r], v[r], a.only);
        return;
    }
    LoopState& l = loops.back();
    if (i.op == Op::yield) {
        next_iteration(l, v);
        if (l.tracked)
            packet.write_mask(l.alive, l.masked ? packet.united(packet.running, packet.read_mask(l.continued)) : packet.running);
        return out.jump(l.latch);
    }
    if (i.op == Op::break_)
        capture(l, v, l.tracked ? packet.running : Mask{});
    else
        next_iteration(l, v);
    if (!l.masked) {
        if (i.op == Op::continue_ && l.tracked) packet.write_mask(l.alive, packet.running);
        return out.jump(i.op == Op::break_ ? l.exit : l.latch);
    }
    if (i.op == Op::continue_) packet.write_mask(l.continued, packet.united(packet.read_mask(l.continued), packet.running));
    packet.running = {"zeroinitializer"};
    packet.lost = true;
}

/// The end of a while's test block: enters the body with the items whose condition holds.
void MaskedControl::test(const Inst& i) {
    const auto v = k.operands(i);
    LoopState& l = loops.back();
    const ValueRep c = packet.rep_of(v[0]);
    if (c.kind == ValueKind::uniform) {
        const std::string leave = out.label("leave");
        if (l.tracked) packet.write_mask(l.alive, packet.running);
        out.branch(c.scalar, l.body, leave);
        out.start(leave);
        capture(l, v.subspan(1), l.tracked ? packet.running : Mask{});
        return out.jump(l.exit);
    }
    const std::string condition = packet.vector(v[0]);
    const Mask stay = packet.narrowed(packet.running, condition);
    capture(l, v.subspan(1),
            packet.narrowed(packet.running, out.let(text("xor ", out.vector_type("i1"), " ", condition, ", splat (i1 true)"))));
    packet.write_mask(l.alive, stay);
    out.branch(packet.any(stay), l.body, l.exit);
}

}  // namespace pumice::cpu
