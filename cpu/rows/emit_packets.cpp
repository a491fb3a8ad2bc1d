// The packets of a group, row by row: full ones without a mask, partial ones at a row's ends with one.
//
//     row of 19 items, width 8:   packet 0-7    packet 8-15     16-18 under the mask <1,1,1,0,0,0,0,0>
//     the same row, peeled by 3:  -3-4 (mask)   packet 5-12     13-18 (mask)         5 begins at a cache line
//
// Why: vector code is emitted once for full packets, so that loads and stores need no mask, and once for the partial packet. If
// the group's extent is a multiple of the width and the range consists of whole groups, the second is left out. A row is a line
// of items along axis 0; the loops over axes 1 and 2 are around it. Alignment peeling (cpu/plan/alignment_peeling.h) starts each
// row's first packet early, by the distance of the main access from a boundary of a cache line (or of a vector, if that is
// shorter). The main access is the first store whose index steps by 1 along the row, else the first such load. Groups with
// transposed loads take their rows together (cpu/access/transposed_loads.cpp).
// Cost: the body's code twice. Limits: peeling only without barriers, at a width of at most the device's.
// Textbook name: strip-mining with a remainder loop; loop peeling for alignment (Eichenberger, Wu and O'Brien, PLDI 2004).
#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "core/analysis/rematerialisation.h"
#include "core/support/ascii.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int line_bytes = 64;
constexpr int most_steps = 16;  ///< instructions to recompute an index
}  // namespace

// ---- packets ----

int64_t LlvmEmitter::packets_a_row() const { return (variant.group[0] + width - 1) / width; }

/// The packet's number in its group, an i32.
std::string LlvmEmitter::packet_number() {
    const std::string plane = let(text("mul i32 ", local_at[2], ", ", variant.group[1]));
    const std::string row = let(text("mul i32 ", let(text("add i32 ", plane, ", ", local_at[1])), ", ", packets_a_row()));
    return let(text("add i32 ", row, ", ", let(text("udiv i32 ", local_at[0], ", ", width))));
}

/// `for (n = 0; n < end; ++n)`.
void LlvmEmitter::counted(const char* stem, const std::string& end, const std::function<void(const std::string&)>& body) {
    if (end == "1") return body("0");
    const std::string slot = alloca_of("i32", stem), loop = label("loop"), inside = label("body"), exit = label("exit");
    line(text("store i32 0, ptr ", slot));
    start(loop);
    const std::string n = let(text("load i32, ptr ", slot));
    branch(let(text("icmp slt i32 ", n, ", ", end)), inside, exit);
    start(inside);
    body(n);
    if (open) {
        line(text("store i32 ", let(text("add nsw i32 ", n, ", 1")), ", ptr ", slot));
        repeat(loop);
    }
    start(exit);
}

/// Ends the back edge's block of a loop over packets.
void LlvmEmitter::repeat(const std::string& loop) {
    if (!unrolled) return jump(loop);
    line(text("br label %", loop, ", !llvm.loop ", metadata(unrolled_in_full)));
    open = false;
}

/// Emits a packet at local_at. Values computed in it are not visible outside.
void LlvmEmitter::packet(const Mask& items, const Body& body) {
    const std::vector<ValueRep> outer_values = values;
    const std::vector<bool> outer_has = has_value;
    const std::string outer_return = return_label;
    const auto outer_loads = std::exchange(loaded_before, {});
    const auto outer_stores = std::exchange(pending_stores, {});
    const auto outer_adds = std::exchange(pending_adds, {});
    return_label = label("done");
    running = items;
    lost = false;
    in_packet = true;
    body();
    if (!pending_stores.empty() || !pending_adds.empty())
        library_bug(text("an access of kernel ", k.name, " waits for others that do not come"));
    if (open) jump(return_label);
    start(return_label);
    in_packet = false;
    loaded_before = outer_loads, pending_stores = outer_stores, pending_adds = outer_adds;
    return_label = outer_return;
    values = outer_values;
    has_value = outer_has;
}

/// Emits the full packets of a row of `end` items, from the one that `slot` holds on; `slot` then holds the first item of the
/// rest.
void LlvmEmitter::full_packets(const std::string& slot, const std::string& end, const Body& body) {
    const std::string loop = label("loop"), inside = label("packet"), exit = label("exit");
    start(loop);
    local_at[0] = let(text("load i32, ptr ", slot), "x");
    if (wide > 1) {
        const std::string narrow = label("narrow");
        wide_packet(slot, end, loop, narrow);
        start(narrow);
    }
    const std::string next = let(text("add nsw i32 ", local_at[0], ", ", width));
    branch(let(text("icmp sle i32 ", next, ", ", end)), inside, exit);
    start(inside);
    packet({}, body);
    line(text("store i32 ", next, ", ptr ", slot));
    repeat(loop);
    start(exit);
}

/// Emits the packets of one row of `end` items, from `first` on. Full packets run without a mask.
void LlvmEmitter::packets_of_row(const std::string& end, bool trimmed, const Body& body, const std::string& first) {
    const int64_t items = variant.group[0];
    const bool constant = ascii::is_digit(end[0]) && first == "0";
    const int64_t known = constant ? std::atoll(end.c_str()) : items;
    const std::string slot = alloca_of("i32", "x");
    line(text("store i32 ", first, ", ptr ", slot));
    if (known >= width) full_packets(slot, end, body);
    if (constant) {
        local_at[0] = std::to_string(known / width * width);
        if (known % width > 0) packet(first_items(known % width), body);
        return;
    }
    if (width == 1 || (!trimmed && items % width == 0)) return;
    const std::string tail = label("tail"), done = label("row_end");
    local_at[0] = let(text("load i32, ptr ", slot), "x");
    branch(let(text("icmp slt i32 ", local_at[0], ", ", end)), tail, done);
    start(tail);
    partial_packet(end, body);
    jump(done);
    start(done);
}

/// Emits a packet at local_at of which the items before `end` are active.
void LlvmEmitter::partial_packet(const std::string& end, const Body& body) {
    const std::string left = let(text("sub i32 ", end, ", ", local_at[0])), v = vector_type("i32");
    const std::string exists = let(text("icmp slt ", v, " ", lanes("i32", 1), ", ", splat("i32", left)), "m");
    packet({exists, 0, "0", left}, body);
}

// ---- alignment peeling: rows that begin at a line ----

/// The access that determines the alignment of a row's packets. It has step 1 along the row, and its place is computable from the
/// item's indices. Prefers stores, since stores that cross cache lines are the slowest; null if packets begin with the range.
const Inst* LlvmEmitter::main_access() const {
    if (!variant.peeled || has_barriers || width == 1 || width > target.width || wide > 1) return nullptr;
    const std::vector<InstId> transposed = find_transposed_loads(k.body().insts);
    if (!std::all_of(transposed.begin(), transposed.end(), [&](InstId id) { return steps_evenly(k[id]); })) return nullptr;
    const auto along_row = [&](const Inst& i) {
        if (i.memory.id == none || k[i.memory].kind != MemoryKind::array || sum_lanes[i.memory.id] > 0) return false;
        if (int(k[i.memory].element.size) != size_of(i.type)) return false;
        const auto indices = indices_of(k, i);
        int steps = most_steps;
        return lies_in_row(i) &&
               std::all_of(indices.begin(), indices.end(), [&](Value v) { return is_rematerialisable(v, steps); });
    };
    const auto& order = uniformity.structure().order();
    for (const Op op : {Op::store, Op::load})
        for (const InstId id : order)
            if (k[id].op == op && along_row(k[id])) return &k[id];
    return nullptr;
}

/// The number of items by which a row's first packet begins early: the distance of the main access from the last boundary of a
/// line, or of a vector if that is shorter. It is the same for all groups of a row. An i32 below `most_peeled`.
std::string LlvmEmitter::peel_of_row() {
    const auto before = std::make_tuple(origin, group_at, local_at);
    origin[0] = let(text("sub i32 ", axis_text("start", 0), ", ", most_peeled));
    group_at[0] = "0", local_at[0] = std::to_string(most_peeled);
    const int size = size_of(main->type), bytes = std::min(line_bytes, size * width);
    std::string peel;
    packet({}, [&] {
        for (const Value v : indices_of(k, *main)) rematerialise(v);
        const std::string address = let(text("ptrtoint ptr ", access(*main).pointer, " to i64"));
        const std::string past_boundary = let(text("and i64 ", address, ", ", bytes - 1));
        peel = let(text("trunc i64 ", let(text("udiv i64 ", past_boundary, ", ", size)), " to i32"), "peel");
    });
    std::tie(origin, group_at, local_at) = before;
    return peel;
}

/// Emits the packets of a row that begins early. Items are counted from `most_peeled` before the group's first one, so that
/// indices in the row are not negative; the next group begins where this one ends. With guards, the row begins with the packet
/// of the first item that passes, and ends with the last one.
void LlvmEmitter::peeled_row(const Body& body) {
    std::string first = let(text("sub i32 ", most_peeled, ", ", peel_of_row()));
    std::string begin = let(text("select i1 ", let(text("icmp eq i32 ", group_at[0], ", 0")), ", i32 ", most_peeled, ", i32 0"));
    const std::string base = let(text("mul i32 ", group_at[0], ", ", variant.group[0]));
    const std::string range_end =
        let(text("add i32 ", let(text("sub i32 ", axis_text("extent", 0), ", ", base)), ", ", most_peeled));
    const std::string group_end = let(text("add i32 ", first, ", ", variant.group[0]));
    declare("declare i32 @llvm.smin.i32(i32, i32)");
    std::string end = let(text("call i32 @llvm.smin.i32(i32 ", range_end, ", i32 ", group_end, ")")), exact;
    if (!row_guards.empty()) {
        declare("declare i32 @llvm.smax.i32(i32, i32)");
        const std::string item = let(text("call i32 @llvm.smax.i32(i32 ", begin, ", i32 ", first, ")"));
        const PassingItems passing = passing_items(item, end);
        const auto if_exact = [&](const std::string& then, const std::string& otherwise) {
            return let(text("select i1 ", passing.exact, ", i32 ", then, ", i32 ", otherwise));
        };
        exact = passing.exact, begin = if_exact(passing.first, begin);
        const std::string some = let(text("icmp slt i32 ", passing.first, ", ", passing.end));
        end = if_exact(let(text("select i1 ", some, ", i32 ", passing.end, ", i32 ", first)), end);
        const std::string skipped = let(text("sub i32 ", if_exact(passing.first, first), ", ", first));
        const std::string in_packet_of_it = let(text("urem i32 ", skipped, ", ", width));
        first = let(text("add i32 ", first, ", ", let(text("sub i32 ", skipped, ", ", in_packet_of_it))));
    }

    const std::string slot = alloca_of("i32", "x"), row = label("row"), loop = label("loop"), whole = label("packet"),
                      rest = label("rest"), part = label("part"), exit = label("exit");
    line(text("store i32 ", first, ", ptr ", slot));
    start(row);
    // Full packets, unless the first one is partial.
    std::string x = let(text("load i32, ptr ", slot));
    std::string part_first = let(text("icmp slt i32 ", x, ", ", begin));
    if (!exact.empty()) part_first = let(text("or i1 ", part_first, ", ", let(text("xor i1 ", exact, ", true"))));
    const std::string until = let(text("select i1 ", part_first, ", i32 ", x, ", i32 ", end));
    start(loop);
    x = let(text("load i32, ptr ", slot), "x");
    std::string next = let(text("add nsw i32 ", x, ", ", width));
    branch(let(text("icmp sle i32 ", next, ", ", until)), whole, rest);
    start(whole);
    local_at[0] = x;
    all_pass = true;
    packet({}, body);
    all_pass = false;
    line(text("store i32 ", next, ", ptr ", slot));
    jump(loop);
    start(rest);
    x = let(text("load i32, ptr ", slot), "x");
    branch(let(text("icmp slt i32 ", x, ", ", end)), part, exit);
    start(part);
    local_at[0] = x;
    const std::string v = vector_type("i32"), at = vector_of({ValueKind::affine, x, "", 1}, Scalar::i32);
    const std::string above = let(text("icmp sge ", v, " ", at, ", ", splat("i32", begin)));
    const std::string below = let(text("icmp slt ", v, " ", at, ", ", splat("i32", end)));
    const std::string mask = let(text("and ", vector_type("i1"), " ", above, ", ", below), "m");
    packet({mask, 0, let(text("sub i32 ", begin, ", ", x)), let(text("sub i32 ", end, ", ", x))}, body);
    line(text("store i32 ", let(text("add nsw i32 ", x, ", ", width)), ", ptr ", slot));
    jump(row);
    start(exit);
}

// ---- the rows of a group ----

/// Emits the packets of a group, row by row: `counts` items along each axis.
void LlvmEmitter::rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body) {
    if (!transposed_loads.empty() && !trimmed) return transposed_rows(body);
    if (!transposed_loads.empty()) {
        const std::string whole = label("whole"), part = label("part"), end = label("rows_end");
        std::string all = "true";
        for (size_t axis = main ? 1 : 0; axis < 3; ++axis)
            all = let(text("and i1 ", all, ", ", let(text("icmp eq i32 ", counts[axis], ", ", variant.group[axis]))));
        branch(all, whole, part);
        start(whole);
        main ? peeled_transposed_rows(body) : transposed_rows(body);
        jump(end);
        start(part);
        plain_rows(counts, trimmed, body);
        return start(end);
    }
    plain_rows(counts, trimmed, body);
}

void LlvmEmitter::plain_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body) {
    counted("z", counts[2], [&](const std::string& z) {
        local_at = {"0", "0", z};
        if (jam) return jammed_rows(counts, trimmed, body);
        counted("y", counts[1], [&](const std::string& y) {
            local_at[1] = y;
            compute_row_values();
            row_guards = find_row_guards();
            if (main)
                peeled_row(body);
            else if (!row_guards.empty())
                guarded_row(counts[0], body);
            else
                packets_of_row(counts[0], trimmed, body);
            row_values.clear(), row_guards.clear();
        });
    });
}

/// Computes the values that all packets of a row share, and that LLVM computes in each of them:
///
///     a[j + i * n] -= a[k + i * n] * b[j]    a[k + i * n] is loaded before the row, although the packets write to `a`: an item
///                                            that wrote there would race with those that read
///     (i + rows - 1) % rows                  LLVM moves a division out of the loop over packets only where it can prove that
///                                            each packet divides; where packets have versions it cannot
///
/// Textbook name: loop-invariant code motion (Muchnick, chapter 13), with the absence of races in place of an alias analysis.
void LlvmEmitter::compute_row_values() {
    if (has_barriers || !target.rules.has(Rule::row_values)) return;  // a region is not the whole body
    Rematerialisation in_row(
        k,
        [&](const Inst& i) {
            const bool of_packet = i.immediate == 0 && (i.op == Op::global_index || i.op == Op::local_index);
            return is_pure(i.op) && !of_packet && !asks_subgroup(i.op) && i.op != Op::in_range && i.result_count == 1 &&
                   kind_of(k.result(i)) == ValueKind::uniform;
        },
        [&](Value v) { return row_values.count(v.id) > 0; });
    const auto known = [&](std::span<const Value> all) {
        int steps = most_steps;
        return std::all_of(all.begin(), all.end(), [&](Value v) { return in_row.within(v, steps); });
    };
    const auto before = std::make_tuple(values, has_value);
    std::set<uint32_t> written;
    for (const InstId id : k.body().insts) {
        const Inst& i = k[id];
        bool leaves = false;
        const auto note = [&](InstId inner) {
            leaves = leaves || k[inner].op == Op::return_;
            if (k[inner].memory.id != ir::none && k[inner].op != Op::load && !is_pure(k[inner].op))
                written.insert(k[inner].memory.id);
        };
        note(id), each_inside(k, i, note);
        if (leaves) break;  // some items may miss what follows
        if (i.result_count != 1 || kind_of(k.result(i)) != ValueKind::uniform) continue;
        const Value v = k.result(i);
        if (i.op == Op::load) {
            const auto indices = indices_of(k, i);
            if (k[i.memory].kind != MemoryKind::array || written.count(i.memory.id) || !known(indices)) continue;
            for (const Value index : indices) rematerialise(index);
            const Address a = access(i);
            const std::string type = memory_type(i.type);
            define(v, from_memory(i.type, let(text("load ", type, ", ptr ", a.pointer, ", align ", a.align)), false));
        } else if (is_pure(i.op) && is_costly(i) && known({&v, 1})) {
            rematerialise(v);
        } else {
            continue;
        }
        row_values[v.id] = rep_of(v);
    }
    std::tie(values, has_value) = before;
}

/// Number of items of the group inside the range along an axis.
std::string LlvmEmitter::rows_left(int axis) {
    const size_t a = size_t(axis);
    if (axis > 0 && variant.group[a] == 1) return "1";
    const std::string base = let(text("mul i32 ", group_at[a], ", ", variant.group[a]));
    const std::string left = let(text("sub i32 ", axis_text("extent", axis), ", ", base));
    declare("declare i32 @llvm.smin.i32(i32, i32)");
    return let(text("call i32 @llvm.smin.i32(i32 ", left, ", i32 ", variant.group[a], ")"));
}

}  // namespace pumice::cpu
