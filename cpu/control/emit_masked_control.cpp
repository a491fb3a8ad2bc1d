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
#include <utility>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

// ---- properties of jumps ----

/// True if only some items of the packet may take the jump.
bool LlvmEmitter::masked_jump(InstId id) const {
    if (width == 1) return false;
    if (k[id].op == Op::return_) return packet_returns || uniformity.control(id) == Scope::item;
    return uniformity.jump(id) == Scope::item;
}

/// True if items of the packet may be inactive after the construct, removed by masked jumps.
bool LlvmEmitter::loses(const Inst& i) const {
    return any_inside(k, i, [&](InstId inner) {
        const Op op = k[inner].op;
        if (op == Op::return_) return masked_jump(inner);
        if (op != Op::break_ && op != Op::continue_) return false;
        // A jump of a loop inside the construct does not leave it.
        const InstId loop = uniformity.structure().loop_around(inner);
        const bool stays = any_inside(k, i, [&](InstId other) { return other == loop; });
        return !stays && &k[loop] != &i && loop_masks(loop);
    });
}

/// True if any jump of a loop is masked: then all of them are.
bool LlvmEmitter::loop_masks(InstId loop) const {
    const auto& jumps = uniformity.structure().jumps_to(loop);
    return std::any_of(jumps.begin(), jumps.end(), [&](InstId j) { return masked_jump(j); });
}

// ---- blocks ----

/// Cuts straight-line code into blocks, since the time of LLVM's instruction selection, two-address pass and scheduler grows with
/// the square of a block's length. A branch around each cut, on a condition that is never true (the number of groups is not
/// negative), keeps LLVM from merging the blocks; stores of the last values on that path keep it from sinking their computation
/// into the next block.
void LlvmEmitter::cut_long_block(std::span<const InstId> before) {
    constexpr int most_lines = 1000, most_kept = 16;
    if (!open || block_lines < most_lines) return;
    const std::string around = label("around"), on = label("on"), seldom = metadata("!{!\"branch_weights\", i32 1, i32 100000}");
    line(text("br i1 ", let("icmp slt i64 %end, 0"), ", label %", around, ", label %", on, ", !prof ", seldom));
    open = false;
    start(around);
    line("call void asm sideeffect \"\", \"\"() nounwind memory(none)");
    int kept = 0;
    for (auto i = before.rbegin(); i != before.rend() && kept < most_kept; ++i) {
        if (k[*i].result_count != 1 || k[*i].op == Op::constant || !has_value[k.result(k[*i]).id]) continue;
        const Value v = k.result(k[*i]);
        const std::string type = type_of(k.type_of(v), kind_of(v));
        const auto slot = unread.try_emplace(type).first;
        if (slot->second.empty()) slot->second = alloca_of(type, "unread");
        line(text("store volatile ", type, " ", text_of(v, kind_of(v)), ", ptr ", slot->second));
        ++kept;
    }
    start(on);
}

/// Emits instructions of a block. After a construct that items may leave, the rest runs only if some remain active.
void LlvmEmitter::sequence(std::span<const InstId> insts) {
    for (size_t at = 0; at < insts.size(); ++at) {
        cut_long_block(insts.first(at));
        instruction(insts[at]);
        if (!open) return;
        if (!lost || at + 1 >= insts.size()) continue;
        lost = false;
        const std::string rest = label("rest"), skip = label("skip");
        const Alloca after = mask_alloca("after");
        write_mask(after, running);
        branch(any(running), rest, skip);
        start(rest);
        sequence(insts.subspan(at + 1));
        if (open) write_mask(after, running), jump(skip);
        start(skip);
        running = read_mask(after);
        lost = true;
        return;
    }
}

void LlvmEmitter::instruction(InstId id) {
    if (!dwarf) return instruction_without_line(id);
    const std::string outer = std::exchange(line_mark, ", !dbg " + dwarf->location(id));
    instruction_without_line(id);
    line_mark = outer;
}

void LlvmEmitter::instruction_without_line(InstId id) {
    const Inst& i = k[id];
    if (is_pure(i.op)) {
        if (has_value[k.result(i).id]) return;  // a constant, or brought into the region already
        return pure_value(i);
    }
    if (is_atomic(i.op)) return atomic(i);
    switch (i.op) {
        case Op::load: return load(id);
        case Op::store: return store(id);
        case Op::uniform: {
            const ValueRep h = rep_of(k.operands(i)[0]);
            if (h.kind == ValueKind::uniform) return define(k.result(i), h.scalar);
            return define(k.result(i), extract(scalar_type(i.type), vector(k.operands(i)[0]), first_lane(running)));
        }
        case Op::subgroup: return subgroup(i);
        case Op::group: return group_operation(i);
        case Op::print:
        case Op::require: return report(i);
        case Op::if_: return if_(id);
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
bool LlvmEmitter::has_full_iterations(InstId id, const LoopState& l) const {
    constexpr int most_insts = 100;
    constexpr double least_iterations = 8;
    const Inst& i = k[id];
    if (!target.rules.has(Rule::full_iterations) || i.op != Op::for_ || !running.all() || !l.tracked || l.masked) return false;
    if (!l.left.name.empty() || unrolls(id)) return false;
    const auto v = k.operands(i);
    const Value index = k[i.blocks[0]].params[0];
    const auto plain = [&](Value of) { return kind_of(of) != ValueKind::vector; };
    if (k.type_of(index) != Scalar::i32 || !plain(index) || !plain(v[1]) || kind_of(v[2]) != ValueKind::uniform) return false;
    if (kind_of(index) == ValueKind::affine && *lane_step(index) < 0) return false;  // lanes below -2^31 would wrap
    int insts = 0;
    bool scalarised = false;  // a loop over the lanes of a mask: repeated addresses stall the unrolled additions
    each_inside(k, i,
                [&](InstId inner) { ++insts, scalarised = scalarised || (is_atomic(k[inner].op) && lane_by_lane(k[inner])); });
    return insts <= most_insts && !scalarised && iterations_of(id) >= least_iterations;
}

/// The loop over these iterations. It ends before an iteration that some lane does not run, or after which an index overflows.
void LlvmEmitter::full_iterations(InstId id, const LoopState& masked, const Alloca& index) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const Value param = k[i.blocks[0]].params[0];
    const auto wide = [&](Value of) { return let(text("sext i32 ", scalar(of), " to i64")); };
    const auto to_last = [&](Value of) { return kind_of(of) == ValueKind::affine ? *lane_step(of) * (width - 1) : 0; };
    declare("declare i64 @llvm.smin.i64(i64, i64)");
    // Bounds are those of lane 0's index: the others are at most `ahead` greater.
    const int64_t ahead = std::max<int64_t>(to_last(param), 0), behind = std::min<int64_t>(to_last(v[1]), 0);
    const std::string step = wide(v[2]), to = let(text("add i64 ", wide(v[1]), ", ", behind));
    const std::string last = let(text("sub i64 ", int64_t(INT32_MAX) + 1, ", ", step));
    const std::string least = let(text("call i64 @llvm.smin.i64(i64 ", to, ", i64 ", last, ")"));
    std::string upwards = let(text("icmp sgt i64 ", step, ", 0"));
    if (const int64_t beyond = to_last(v[1]); beyond > 0) {  // lanes' bounds above 2^31 - 1 would wrap
        const std::string inside = let(text("icmp sle i64 ", to, ", ", INT32_MAX - beyond));
        upwards = let(text("and i1 ", upwards, ", ", inside));
    }
    const std::string bound =
        let(text("select i1 ", upwards, ", i64 ", let(text("sub i64 ", least, ", ", ahead)), ", i64 ", INT64_MIN));
    const std::string header = label("full_loop"), body = label("full"), rest = label("rest");
    LoopState l = masked;
    l.tracked = false;
    l.latch = label("full_latch");
    const std::vector<bool> had = has_value;
    start(header);
    for (uint32_t c = 0; c < i.result_count; ++c) read(k[i.blocks[0]].params[leading_params(i.op) + c], l.carried[c]);
    read(param, index);
    branch(let(text("icmp slt i64 ", wide(param), ", ", bound)), body, rest);
    start(body);
    loops.push_back(l);
    sequence(k[i.blocks[0]].insts);
    loops.pop_back();
    start(l.latch);
    const std::string next = let(text("add nsw i32 ", let(text("load i32, ptr ", index.name)), ", ", scalar(v[2])));
    line(text("store i32 ", next, ", ptr ", index.name));
    if (LoopHint(i.immediate) == LoopHint::rolled) {
        line(text("br label %", header, ", !llvm.loop ", metadata("distinct !{$, !{!\"llvm.loop.unroll.disable\"}}")));
        open = false;
    } else {
        jump(header);
    }
    start(rest);
    running = masked.entered;
    lost = false;
    has_value = had;
}

void LlvmEmitter::loop(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const uint32_t leading = leading_operands(i.op);
    LoopState l;
    l.inst = &i;
    l.masked = loop_masks(id);
    const bool returns = any_inside(k, i, [&](InstId inner) { return k[inner].op == Op::return_ && masked_jump(inner); });
    l.tracked = width > 1 && (diverges(id) || l.masked || returns);
    l.entered = running;
    l.latch = label("latch");
    l.exit = label("exit");
    l.body = label("body");
    const std::string header = label("loop");
    RowTiling tiling = open_tiles(id);
    for (uint32_t c = 0; c < i.result_count; ++c) {
        l.carried.push_back(alloca_for(k[i.blocks[0]].params[leading_params(i.op) + c], "carried"));
        write(l.carried.back(), v[leading + c], {});
        l.captured.push_back(uses.any(k.result(i, int(c))));
        l.results.push_back(alloca_for(k.result(i, int(c)), "result"));
        if (l.captured.back()) clear(l.results.back());
    }
    Alloca index;
    if (i.op == Op::for_) {
        index = alloca_for(k[i.blocks[0]].params[0], "index");
        write(index, v[0], {});
    }
    if (l.tracked) {
        l.alive = mask_alloca("alive");
        write_mask(l.alive, running);
        if (l.masked) l.continued = mask_alloca("continued");
        if (returns) l.left = mask_alloca("left"), line(text("store ", vector_type("i1"), " zeroinitializer, ptr ", l.left.name));
    }
    open_deferred_reductions(id);
    const bool outer_lost = lost;
    lost = false;
    if (tiling.tiles.empty() && has_full_iterations(id, l)) full_iterations(id, l, index);
    start(header);
    if (l.tracked) running = read_mask(l.alive);
    if (l.masked) line(text("store ", vector_type("i1"), " zeroinitializer, ptr ", l.continued.name));
    const auto read_carried = [&] {
        for (uint32_t c = 0; c < i.result_count; ++c) read(k[i.blocks[0]].params[leading_params(i.op) + c], l.carried[c]);
    };
    read_carried();
    loops.push_back(l);
    const std::string flush = tiling.tiles.empty() ? "" : label("flush"), next = tiling.tiles.empty() ? header : label("next");
    if (!tiling.tiles.empty()) {  // a loop over tiles around the loop over the iterations of a tile
        loops.back().body = label("tile");
        for_header(id, loops.back(), index);
        start(loops.back().body);
        fill_tiles(i, tiling);
        start(next);
        read_carried();
        const Value param = k[i.blocks[0]].params[0];
        read(param, index);
        branch(let(text("icmp ne i32 ", scalar(param), ", ", let(text("load i32, ptr ", tiling.stop)))), l.body, flush);
    } else if (i.op == Op::for_) {
        for_header(id, loops.back(), index);
    } else {
        sequence(k[i.blocks[0]].insts);
        if (open) jump(l.exit);  // no item was left to test
    }
    start(l.body);
    if (l.tracked) running = read_mask(l.alive);
    lost = false;
    if (!tiling.tiles.empty()) enter_tiles(tiling);
    sequence(k[i.op == Op::for_ ? i.blocks[0] : i.blocks[1]].insts);
    if (open) {  // after the last masked jump: the items that continue, if any
        if (l.tracked) write_mask(l.alive, l.masked ? united(running, read_mask(l.continued)) : running);
        jump(l.latch);
    }
    start(l.latch);
    next_deferred_iteration(id);
    if (i.op == Op::for_) for_latch(i, l, index);
    if (l.tracked) {
        branch(any(read_mask(l.alive)), header, l.exit);
    } else if (unrolls(id)) {
        line(text("br label %", header, ", !llvm.loop ", metadata(unrolled_in_full)));
        open = false;
    } else if (LoopHint(i.immediate) == LoopHint::rolled) {
        line(text("br label %", next, ", !llvm.loop ", metadata("distinct !{$, !{!\"llvm.loop.unroll.disable\"}}")));
        open = false;
    } else {
        jump(next);
    }
    if (!tiling.tiles.empty()) {
        start(flush);
        flush_tiles(tiling);
        jump(header);
    }
    start(l.exit);
    loops.pop_back();
    running = returns ? read_mask(l.left) : l.entered;
    lost = returns || outer_lost;
    for (uint32_t c = 0; c < i.result_count; ++c) {
        if (l.captured[c]) read(k.result(i, int(c)), l.results[c]);
    }
}

/// The condition to run the iteration of this index: index < to for positive steps, index > to for negative ones.
std::string LlvmEmitter::runs_on(const Inst& i, Scalar type, const std::string& index, const std::string& to,
                                 const std::string& step, bool vectors) {
    const std::string t = vectors ? vector_type(scalar_type(type)) : scalar_type(type), b = vectors ? vector_type("i1") : "i1";
    const std::string u = is_unsigned_int(type) ? "u" : "s";
    const auto less = [&] { return let(text("icmp ", u, "lt ", t, " ", index, ", ", to)); };
    const auto more = [&] { return let(text("icmp ", u, "gt ", t, " ", index, ", ", to)); };
    uint64_t bits = 0;
    if (k.constant(k.operands(i)[2], bits)) {
        if (bits == 0) return vectors ? "zeroinitializer" : "false";
        return is_unsigned_int(type) || !(bits >> (8 * size_of(type) - 1)) ? less() : more();
    }
    const std::string up = let(text("icmp ", u, "gt ", t, " ", step, ", zeroinitializer"));
    const std::string down = is_unsigned_int(type) ? "" : let(text("icmp slt ", t, " ", step, ", zeroinitializer"));
    const std::string on = let(text("and ", b, " ", up, ", ", less()));
    return down.empty() ? on : let(text("or ", b, " ", on, ", ", let(text("and ", b, " ", down, ", ", more()))));
}

void LlvmEmitter::for_header(InstId id, LoopState& l, const Alloca& index) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    const Value param = k[i.blocks[0]].params[0];
    read(param, index);
    const bool scalars =
        kind_of(param) == ValueKind::uniform && kind_of(v[1]) == ValueKind::uniform && kind_of(v[2]) == ValueKind::uniform;
    std::vector<Value> now(k[i.blocks[0]].params.begin() + 1, k[i.blocks[0]].params.end());
    const ValueKind kind = scalars ? ValueKind::uniform : ValueKind::vector;
    const std::string on = runs_on(i, k.type_of(param), text_of(param, kind), text_of(v[1], kind), text_of(v[2], kind), !scalars);
    if (scalars) {
        const std::string leave = label("leave");
        branch(on, l.body, leave);
        start(leave);
        capture(l, now, l.tracked ? running : Mask{});
        jump(l.exit);
        return;
    }
    const Mask stay = narrowed(running, on);
    capture(l, now, narrowed(running, let(text("xor ", vector_type("i1"), " ", on, ", splat (i1 true)"))));
    write_mask(l.alive, stay);
    branch(any(stay), l.body, l.exit);
}

/// The loop's increment. If the index overflows its type, the loop ends as it does at `to`.
void LlvmEmitter::for_latch(const Inst& i, const LoopState& l, const Alloca& index) {
    const auto v = k.operands(i);
    const Value param = k[i.blocks[0]].params[0];
    const Scalar type = k.type_of(param);
    const std::string t = type_of(type, index.kind);
    const std::string old = let(text("load ", t, ", ptr ", index.name)),
                      step = text_of(v[2], index.kind == ValueKind::vector ? ValueKind::vector : ValueKind::uniform);
    uint64_t bits = 0;
    const bool constant = k.constant(v[2], bits);
    const bool one = constant && (bits == 1 || (is_signed_int(type) && bits == (~uint64_t(0) >> (64 - 8 * size_of(type)))));
    if (one) {
        const std::string now =
            let(text("add ", index.kind == ValueKind::uniform && bits == 1 ? (is_unsigned_int(type) ? "nuw " : "nsw ") : "", t,
                     " ", old, ", ", step));
        return line(text("store ", t, " ", now, ", ptr ", index.name));
    }
    const bool vectors = index.kind != ValueKind::uniform;
    const std::string whole = vectors ? vector_type(scalar_type(type)) : t, b = vectors ? vector_type("i1") : "i1";
    const std::string function =
        text("@llvm.", is_unsigned_int(type) ? "u" : "s", "add.with.overflow.", intrinsic_suffix(scalar_type(type), vectors));
    declare(text("declare { ", whole, ", ", b, " } ", function, "(", whole, ", ", whole, ")"));
    ValueRep before;
    before.kind = index.kind;
    before.step = index.step;
    (index.kind == ValueKind::vector ? before.vector : before.scalar) = old;
    const std::string from = vectors ? vector_of(before, type) : old, by = vectors ? vector(v[2]) : step;
    const std::string both =
        let(text("call { ", whole, ", ", b, " } ", function, "(", whole, " ", from, ", ", whole, " ", by, ")"));
    const std::string over = let(text("extractvalue { ", whole, ", ", b, " } ", both, ", 1"));
    line(text("store ", t, " ", let(text("add ", t, " ", old, ", ", step)), ", ptr ", index.name));
    if (vectors) {
        const Mask alive = read_mask(l.alive);
        capture_carried(l, narrowed(alive, over));
        return write_mask(l.alive, narrowed(alive, let(text("xor ", b, " ", over, ", splat (i1 true)"))));
    }
    const std::string end = label("overflow"), on = label("on");
    branch(over, end, on);
    start(end);
    capture_carried(l, l.tracked ? read_mask(l.alive) : Mask{});
    jump(l.exit);
    start(on);
}

/// Stores the current carried values as results of the items that leave.
void LlvmEmitter::capture_carried(const LoopState& l, const Mask& who) {
    for (size_t c = 0; c < l.results.size(); ++c) {
        if (!l.captured[c]) continue;
        ValueRep now;
        const Alloca& from = l.carried[c];
        now.kind = from.kind;
        now.step = from.step;
        (from.kind == ValueKind::vector ? now.vector : now.scalar) =
            let(text("load ", type_of(from.type, from.kind), ", ptr ", from.name));
        write_rep(l.results[c], now, who);
    }
    note_left(l, who);
}

void LlvmEmitter::capture(const LoopState& l, std::span<const Value> now, const Mask& who) {
    for (size_t c = 0; c < l.results.size(); ++c)
        if (l.captured[c]) write(l.results[c], now[c], who);
    note_left(l, who);
}

void LlvmEmitter::note_left(const LoopState& l, const Mask& who) {
    if (l.left.name.empty()) return;
    write_mask(l.left, united(read_mask(l.left), who));
}

/// Stores the carried values of the next iteration, for the active items.
void LlvmEmitter::next_iteration(const LoopState& l, std::span<const Value> now) {
    std::vector<ValueRep> taken;
    for (const Value v : now) taken.push_back(rep_of(v));
    for (size_t c = 0; c < l.carried.size(); ++c) write_rep(l.carried[c], taken[c], l.masked ? running : Mask{});
}

// ---- terminators ----

void LlvmEmitter::terminator(InstId id) {
    const Inst& i = k[id];
    const auto v = k.operands(i);
    if (i.op == Op::return_) {
        if (!masked_jump(id)) return jump(return_label);
        running = {"zeroinitializer"};
        lost = true;
        return;
    }
    if (i.op == Op::test) return test(i);
    if (i.op == Op::yield && k[uniformity.structure().around(id)].op == Op::if_) {
        const Arm a = arms.back();
        for (size_t r = 0; r < v.size(); ++r) write(a.results[r], v[r], a.only);
        return;
    }
    LoopState& l = loops.back();
    if (i.op == Op::yield) {
        next_iteration(l, v);
        if (l.tracked) write_mask(l.alive, l.masked ? united(running, read_mask(l.continued)) : running);
        return jump(l.latch);
    }
    if (i.op == Op::break_)
        capture(l, v, l.tracked ? running : Mask{});
    else
        next_iteration(l, v);
    if (!l.masked) {
        if (i.op == Op::continue_ && l.tracked) write_mask(l.alive, running);
        return jump(i.op == Op::break_ ? l.exit : l.latch);
    }
    if (i.op == Op::continue_) write_mask(l.continued, united(read_mask(l.continued), running));
    running = {"zeroinitializer"};
    lost = true;
}

/// The end of a while's test block: enters the body with the items whose condition holds.
void LlvmEmitter::test(const Inst& i) {
    const auto v = k.operands(i);
    LoopState& l = loops.back();
    const ValueRep c = rep_of(v[0]);
    if (c.kind == ValueKind::uniform) {
        const std::string leave = label("leave");
        if (l.tracked) write_mask(l.alive, running);
        branch(c.scalar, l.body, leave);
        start(leave);
        capture(l, v.subspan(1), l.tracked ? running : Mask{});
        return jump(l.exit);
    }
    const std::string condition = vector(v[0]);
    const Mask stay = narrowed(running, condition);
    capture(l, v.subspan(1), narrowed(running, let(text("xor ", vector_type("i1"), " ", condition, ", splat (i1 true)"))));
    write_mask(l.alive, stay);
    branch(any(stay), l.body, l.exit);
}

}  // namespace pumice::cpu
