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
// transposed loads take their rows together (cpu/access/transposed_loads.cpp). LLVM emits two short packets in an iteration of
// the loop over full packets (unrolled_packets). It does not unroll loops of unknown length in the partial packets of long rows
// (short_row_ends), which are few: that code would take as long to compile as that of the full packets.
// Cost: the body's code twice. Limits: peeling only without barriers, at a width of at most the device's.
// Textbook name: strip-mining with a remainder loop; loop peeling for alignment (Eichenberger, Wu and O'Brien, PLDI 2004).
#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "core/analysis/rematerialisation.h"
#include "core/support/ascii.h"
#include "core/support/error.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/frame_values.h"
#include "cpu/reduction/vector_adds.h"
#include "cpu/rows/emit_guarded_rows.h"
#include "cpu/rows/emit_packet_rows.h"
#include "cpu/rows/interior_versions.h"
#include "cpu/rows/transposed_rows.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int line_bytes = 64;
constexpr int most_steps = 16;            ///< instructions to recompute an index
constexpr int most_in_short_packet = 20;  ///< instructions of a packet of which two are emitted in a row
}  // namespace

// ---- packets ----

/// Emits a packet at local_at. Values computed in it are not visible outside.
void PacketRows::one_packet(const Mask& items, const Body& body) {
    const std::vector<ValueRep> outer_values = packet.values;
    const std::vector<bool> outer_has = packet.has_value;
    const std::string outer_return = packet.return_label;
    const auto outer_loads = std::exchange(emit.groups.loaded_before, {});
    const auto outer_stores = std::exchange(emit.groups.pending_stores, {});
    const auto outer_adds = std::exchange(emit.vector_adds.pending_adds, {});
    packet.return_label = out.label("done");
    packet.running = items;
    packet.lost = false;
    packet.in_packet = true;
    body();
    if (!emit.groups.pending_stores.empty() || !emit.vector_adds.pending_adds.empty())
        library_bug(text("an access of kernel ", k.name, " waits for others that do not come"));
    if (out.open) out.jump(packet.return_label);
    out.start(packet.return_label);
    packet.in_packet = false;
    emit.groups.loaded_before = outer_loads, emit.groups.pending_stores = outer_stores,
    emit.vector_adds.pending_adds = outer_adds;
    packet.return_label = outer_return;
    packet.values = outer_values;
    packet.has_value = outer_has;
}

/// How many packets LLVM emits in a row: two if they are short and of one vector. The loop's own instructions take as long as
/// such a packet, and a processor fetches a loop that crosses a line of 64 bytes in two cycles. floyd_warshall takes 0.8 of the
/// time in AVX2 code on Zen 4.
int PacketRows::packets_in_a_row() const {
    const auto& order = packet.uniformity.structure().order();
    if (!target.rules.has(Rule::unrolled_packets) || width == 1 || packet.has_barriers || plan.wide > 1) return 1;
    const auto counts = [&](InstId i) { return k[i].op != Op::constant && k[i].op != Op::extent; };
    const auto is_long = [&](InstId i) {
        if (is_loop(k[i].op)) return true;
        if (k[i].result_count == 0) return false;
        const Value v = k.result(k[i]);
        return packet.kind_of(v) == ValueKind::vector && size_of(k.type_of(v)) * width > packet.register_bytes();
    };
    const bool is_short = std::ranges::count_if(order, counts) <= most_in_short_packet && std::ranges::none_of(order, is_long);
    return is_short ? 2 : 1;
}

/// Emits the full packets of a row of `end` items, from the one that `slot` holds on; `slot` then holds the first item of the
/// rest.
void PacketRows::full_packets(const std::string& slot, const std::string& end, const Body& body) {
    const std::string loop = out.label("loop"), inside = out.label("packet"), exit = out.label("exit");
    out.start(loop);
    packet.local_at[0] = out.let(text("load i32, ptr ", slot), "x");
    if (plan.wide > 1) {
        const std::string narrow = out.label("narrow");
        wide_packet(slot, end, loop, narrow);
        out.start(narrow);
    }
    const std::string next = out.let(text("add nsw i32 ", packet.local_at[0], ", ", width));
    out.branch(out.let(text("icmp sle i32 ", next, ", ", end)), inside, exit);
    out.start(inside);
    one_packet({}, body);
    out.line(text("store i32 ", next, ", ptr ", slot));
    out.repeat(loop, packets_in_a_row());
    out.start(exit);
}

/// Emits the packets of one row of `end` items, from `first` on. Full packets run without a mask.
void PacketRows::packets_of_row(const std::string& end, bool trimmed, const Body& body, const std::string& first) {
    const int64_t items = variant.group[0];
    const bool constant = ascii::is_digit(end[0]) && first == "0";
    const int64_t known = constant ? std::atoll(end.c_str()) : items;
    const std::string slot = out.alloca_of("i32", "x");
    out.line(text("store i32 ", first, ", ptr ", slot));
    if (known >= width) full_packets(slot, end, body);
    if (constant) {
        packet.local_at[0] = std::to_string(known / width * width);
        if (known % width > 0) one_packet(packet.first_items(known % width), body);
        return;
    }
    if (width == 1 || (!trimmed && items % width == 0)) return;
    const std::string tail = out.label("tail"), done = out.label("row_end");
    packet.local_at[0] = out.let(text("load i32, ptr ", slot), "x");
    out.branch(out.let(text("icmp slt i32 ", packet.local_at[0], ", ", end)), tail, done);
    out.start(tail);
    row_end([&] { partial_packet(end, body); });
    out.jump(done);
    out.start(done);
}

/// Emits a partial packet at an end of a row. In long rows such packets are few, so that their code should be short instead of
/// fast: an unrolled loop saves about a tenth of a packet's time. A group of 128 items is long, since shorter ranges get shorter
/// groups (cpu/plan/cpu_group_size.cpp).
void PacketRows::row_end(const Body& emit_packet) {
    constexpr int64_t least_items = 128, least_packets = 8;
    const bool few = variant.group[0] >= std::max(least_items, least_packets * width) && target.rules.has(Rule::short_row_ends);
    const bool before = std::exchange(packet.at_row_end, few);
    emit_packet();
    packet.at_row_end = before;
}

/// Emits a packet at local_at of which the items before `end` are active.
void PacketRows::partial_packet(const std::string& end, const Body& body) {
    const std::string left = out.let(text("sub i32 ", end, ", ", packet.local_at[0])), v = out.vector_type("i32");
    const std::string exists = out.let(text("icmp slt ", v, " ", out.lanes("i32", 1), ", ", out.splat("i32", left)), "m");
    one_packet({exists, 0, "0", left}, body);
}

// ---- alignment peeling: rows that begin at a line ----

/// The access that determines the alignment of a row's packets. It has step 1 along the row, and its place is computable from the
/// item's indices. Prefers stores, since stores that cross cache lines are the slowest; null if packets begin with the range.
const Inst* PacketRows::main_access() const {
    if (!variant.peeled || packet.has_barriers || width == 1 || width > target.width || plan.wide > 1) return nullptr;
    const std::vector<InstId> transposed = emit.transposed.find_transposed_loads(k.body().insts);
    if (!std::all_of(transposed.begin(), transposed.end(), [&](InstId id) { return emit.transposed.steps_evenly(k[id]); }))
        return nullptr;
    const auto along_row = [&](const Inst& i) {
        if (i.memory.id == none || k[i.memory].kind != MemoryKind::array || plan.sum_lanes[i.memory.id] > 0) return false;
        if (int(k[i.memory].element.size) != size_of(i.type)) return false;
        const auto indices = indices_of(k, i);
        int steps = most_steps;
        return emit.addresses.lies_in_row(i) &&
               std::all_of(indices.begin(), indices.end(), [&](Value v) { return emit.pure.is_rematerialisable(v, steps); });
    };
    const auto& order = packet.uniformity.structure().order();
    for (const Op op : {Op::store, Op::load})
        for (const InstId id : order)
            if (k[id].op == op && along_row(k[id])) return &k[id];
    return nullptr;
}

/// The number of items by which a row's first packet begins early: the distance of the main access from the last boundary of a
/// line, or of a vector if that is shorter. It is the same for all groups of a row. An i32 below `most_peeled`.
std::string PacketRows::peel_of_row() {
    const auto before = std::make_tuple(packet.origin, packet.group_at, packet.local_at);
    packet.origin[0] = out.let(text("sub i32 ", emit.frame.axis_text("start", 0), ", ", most_peeled));
    packet.group_at[0] = "0", packet.local_at[0] = std::to_string(most_peeled);
    const int size = size_of(plan.main->type), bytes = std::min(line_bytes, size * width);
    std::string peel;
    one_packet({}, [&] {
        for (const Value v : indices_of(k, *plan.main)) emit.pure.rematerialise(v);
        const std::string address = out.let(text("ptrtoint ptr ", emit.addresses.access(*plan.main).pointer, " to i64"));
        const std::string past_boundary = out.let(text("and i64 ", address, ", ", bytes - 1));
        peel = out.let(text("trunc i64 ", out.let(text("udiv i64 ", past_boundary, ", ", size)), " to i32"), "peel");
    });
    std::tie(packet.origin, packet.group_at, packet.local_at) = before;
    return peel;
}

/// Emits the packets of a row that begins early. Items are counted from `most_peeled` before the group's first one, so that
/// indices in the row are not negative; the next group begins where this one ends. With guards, the row begins with the packet
/// of the first item that passes, and ends with the last one.
void PacketRows::peeled_row(const Body& body) {
    std::string first = out.let(text("sub i32 ", most_peeled, ", ", peel_of_row()));
    std::string begin =
        out.let(text("select i1 ", out.let(text("icmp eq i32 ", packet.group_at[0], ", 0")), ", i32 ", most_peeled, ", i32 0"));
    const std::string base = out.let(text("mul i32 ", packet.group_at[0], ", ", variant.group[0]));
    const std::string range_end =
        out.let(text("add i32 ", out.let(text("sub i32 ", emit.frame.axis_text("extent", 0), ", ", base)), ", ", most_peeled));
    const std::string group_end = out.let(text("add i32 ", first, ", ", variant.group[0]));
    out.declare("declare i32 @llvm.smin.i32(i32, i32)");
    std::string end = out.let(text("call i32 @llvm.smin.i32(i32 ", range_end, ", i32 ", group_end, ")")), exact;
    if (!plan.row_guards.empty()) {
        out.declare("declare i32 @llvm.smax.i32(i32, i32)");
        const std::string item = out.let(text("call i32 @llvm.smax.i32(i32 ", begin, ", i32 ", first, ")"));
        const PassingItems passing = emit.guarded.passing_items(item, end);
        const auto if_exact = [&](const std::string& then, const std::string& otherwise) {
            return out.let(text("select i1 ", passing.exact, ", i32 ", then, ", i32 ", otherwise));
        };
        exact = passing.exact, begin = if_exact(passing.first, begin);
        const std::string some = out.let(text("icmp slt i32 ", passing.first, ", ", passing.end));
        end = if_exact(out.let(text("select i1 ", some, ", i32 ", passing.end, ", i32 ", first)), end);
        const std::string skipped = out.let(text("sub i32 ", if_exact(passing.first, first), ", ", first));
        const std::string in_packet_of_it = out.let(text("urem i32 ", skipped, ", ", width));
        first = out.let(text("add i32 ", first, ", ", out.let(text("sub i32 ", skipped, ", ", in_packet_of_it))));
    }

    const std::string slot = out.alloca_of("i32", "x"), row = out.label("row"), loop = out.label("loop"),
                      whole = out.label("packet"), rest = out.label("rest"), part = out.label("part"), exit = out.label("exit");
    out.line(text("store i32 ", first, ", ptr ", slot));
    out.start(row);
    // Full packets, unless the first one is partial.
    std::string x = out.let(text("load i32, ptr ", slot));
    std::string part_first = out.let(text("icmp slt i32 ", x, ", ", begin));
    if (!exact.empty()) part_first = out.let(text("or i1 ", part_first, ", ", out.let(text("xor i1 ", exact, ", true"))));
    const std::string until = out.let(text("select i1 ", part_first, ", i32 ", x, ", i32 ", end));
    out.start(loop);
    x = out.let(text("load i32, ptr ", slot), "x");
    std::string next = out.let(text("add nsw i32 ", x, ", ", width));
    out.branch(out.let(text("icmp sle i32 ", next, ", ", until)), whole, rest);
    out.start(whole);
    packet.local_at[0] = x;
    emit.pure.all_pass = true;
    one_packet({}, body);
    emit.pure.all_pass = false;
    out.line(text("store i32 ", next, ", ptr ", slot));
    out.repeat(loop, packets_in_a_row());
    out.start(rest);
    x = out.let(text("load i32, ptr ", slot), "x");
    out.branch(out.let(text("icmp slt i32 ", x, ", ", end)), part, exit);
    out.start(part);
    packet.local_at[0] = x;
    const std::string v = out.vector_type("i32"), at = packet.vector_of({ValueKind::affine, x, "", 1}, Scalar::i32);
    const std::string above = out.let(text("icmp sge ", v, " ", at, ", ", out.splat("i32", begin)));
    const std::string below = out.let(text("icmp slt ", v, " ", at, ", ", out.splat("i32", end)));
    const std::string mask = out.let(text("and ", out.vector_type("i1"), " ", above, ", ", below), "m");
    const std::string before_first = out.let(text("sub i32 ", begin, ", ", x)), left = out.let(text("sub i32 ", end, ", ", x));
    row_end([&] { one_packet({mask, 0, before_first, left}, body); });
    out.line(text("store i32 ", out.let(text("add nsw i32 ", x, ", ", width)), ", ptr ", slot));
    out.jump(row);
    out.start(exit);
}

// ---- the rows of a group ----

/// Emits the packets of a group, row by row: `counts` items along each axis.
void PacketRows::rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body) {
    if (!emit.transposed.transposed_loads.empty() && !trimmed) return emit.transposed_rows.transposed_rows(body);
    if (!emit.transposed.transposed_loads.empty()) {
        const std::string whole = out.label("whole"), part = out.label("part"), end = out.label("rows_end");
        std::string all = "true";
        for (size_t axis = plan.main ? 1 : 0; axis < 3; ++axis)
            all = out.let(text("and i1 ", all, ", ", out.let(text("icmp eq i32 ", counts[axis], ", ", variant.group[axis]))));
        out.branch(all, whole, part);
        out.start(whole);
        plan.main ? emit.transposed_rows.peeled_transposed_rows(body) : emit.transposed_rows.transposed_rows(body);
        out.jump(end);
        out.start(part);
        plain_rows(counts, trimmed, body);
        return out.start(end);
    }
    plain_rows(counts, trimmed, body);
}

void PacketRows::plain_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body) {
    out.counted("z", counts[2], [&](const std::string& z) {
        packet.local_at = {"0", "0", z};
        if (jammed_rows) return jammed_rows(counts, trimmed, body);
        out.counted("y", counts[1], [&](const std::string& y) {
            packet.local_at[1] = packet.item_rows == 1 ? y : out.let(text("mul i32 ", y, ", ", packet.item_rows));
            compute_row_values();
            if (plan.main)
                peeled_row(body);
            else if (!plan.row_guards.empty())
                emit.guarded.guarded_row(counts[0], body);
            else
                packets_of_row(counts[0], trimmed, body);
            emit.pure.row_values.clear();
        });
    });
}

/// Plans the values that all packets of a row share, and that LLVM would compute in each of them:
///
///     a[j + i * n] -= a[k + i * n] * b[j]    a[k + i * n] is loaded before the row, although the packets write to `a`: an item
///                                            that wrote there would race with those that read
///     (i + rows - 1) % rows                  LLVM moves a division out of the loop over packets only where it can prove that
///                                            each packet divides; where packets have versions it cannot
///
/// Textbook name: loop-invariant code motion (Muchnick, chapter 13), with the absence of races in place of an alias analysis.
void PacketRows::plan_row_values() {
    if (packet.has_barriers || !target.rules.has(Rule::row_values)) return;  // a region is not the whole body
    Rematerialisation in_row(
        k,
        [&](const Inst& i) {
            const bool of_packet = i.immediate == 0 && (i.op == Op::global_index || i.op == Op::local_index);
            return is_pure(i.op) && !of_packet && !asks_subgroup(i.op) && i.op != Op::in_range && i.result_count == 1 &&
                   packet.kind_of(k.result(i)) == ValueKind::uniform;
        },
        [&](Value v) { return plan.is_row_value(v); });
    const auto known = [&](std::span<const Value> all) {
        int steps = most_steps;
        return std::all_of(all.begin(), all.end(), [&](Value v) { return in_row.within(v, steps); });
    };
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
        if (i.result_count != 1 || packet.kind_of(k.result(i)) != ValueKind::uniform) continue;
        const Value v = k.result(i);
        const bool loads = i.op == Op::load && k[i.memory].kind == MemoryKind::array && !written.count(i.memory.id);
        if (loads ? known(indices_of(k, i)) : is_pure(i.op) && packet.is_costly(i) && known({&v, 1}))
            plan.row_values.push_back(v);
    }
}

/// Computes them before a row.
void PacketRows::compute_row_values() {
    const auto before = std::make_tuple(packet.values, packet.has_value);
    for (const Value v : plan.row_values) {
        const Inst& i = k[k[v].inst];
        if (i.op == Op::load) {
            for (const Value index : indices_of(k, i)) emit.pure.rematerialise(index);
            const Address a = emit.addresses.access(i);
            const std::string type = out.memory_type(i.type);
            packet.define(
                v, emit.casts.from_memory(i.type, out.let(text("load ", type, ", ptr ", a.pointer, ", align ", a.align)), false));
        } else {
            emit.pure.rematerialise(v);
        }
        emit.pure.row_values[v.id] = packet.rep_of(v);
    }
    std::tie(packet.values, packet.has_value) = before;
}

/// Number of items of the group inside the range along an axis.
std::string PacketRows::rows_left(int axis) {
    const size_t a = size_t(axis);
    if (axis > 0 && variant.group[a] == 1) return "1";
    const std::string base = out.let(text("mul i32 ", packet.group_at[a], ", ", variant.group[a]));
    const std::string left = out.let(text("sub i32 ", emit.frame.axis_text("extent", axis), ", ", base));
    out.declare("declare i32 @llvm.smin.i32(i32, i32)");
    return out.let(text("call i32 @llvm.smin.i32(i32 ", left, ", i32 ", variant.group[a], ")"));
}

/// Emits a wide packet at local_at if it ends by `end` and is interior; else goes on at `narrow`. `slot` holds the row's next
/// item.
void PacketRows::wide_packet(const std::string& slot, const std::string& end, const std::string& loop,
                             const std::string& narrow) {
    const std::string fits = out.label("fits"), inside = out.label("wide");
    const int before = width;
    packet.width *= plan.wide;
    const std::string next = out.let(text("add nsw i32 ", packet.local_at[0], ", ", width));
    out.branch(out.let(text("icmp sle i32 ", next, ", ", end)), fits, narrow);
    out.start(fits);
    one_packet({}, [&] {
        if (!plan.boundaries.empty()) {
            out.branch(emit.versions.are_interior(), inside, narrow);
            out.start(inside);
        }
        emit.versions.interior_version([&] { emit.control.sequence(k.body().insts); });
    });
    out.line(text("store i32 ", next, ", ptr ", slot));
    out.repeat(loop);
    packet.width = before;
}

}  // namespace pumice::cpu
