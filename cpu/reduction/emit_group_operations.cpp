// Group reductions and scans: accumulators of the thread that runs a group's packets one after the other.
//
// Why: a reduction over local memory takes log2(items) steps with a barrier each (core/lowering/group_by_memory.cpp). One thread
// runs all packets of a group, so a register holds the sum so far.
//
//     %s = group reduce_add scratch, %x        before the region:  acc = <0, 0, ...>
//                                              each packet:        acc = acc + (active ? x : 0)
//                                              after the region:   %s = horizontal sum of acc        once for the group
//     %y = group inclusive_add scratch, %x     before the region:  carry = 0
//                                              each packet:        %y = carry + scan(x);  carry = carry + sum(x)
//
// The operation ends its region, as the barrier that it is. Packets run in the order of the items' linear indices, which a scan
// needs: no loads are transposed over several rows in its region (cpu/access/transposed_loads.cpp). Items past the range
// contribute the neutral element (core/lowering/predicate_range_tail.cpp).
// Cost: one vector operation a packet for a reduction, 2 log2(width) for a scan; no local memory, no further region.
// Products, minima, maxima and bits go the same way, each with its neutral element; an exclusive scan moves the lanes up by one.
// Limits: floats are rounded in another order than item by item: a reduction adds each lane over all packets, then the lanes in a
// tree; a scan adds the lanes of a packet in a tree, then the packets in turn. Without the rule group_accumulators,
// group_by_memory lowers these operations instead.
// Textbook name: reduction with a vector accumulator and a horizontal step; scan by segments with a carry (Blelloch 1990).
#include "cpu/reduction/emit_group_operations.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

/// The operand of a reduction or scan, with the neutral element in inactive lanes.
std::string GroupOperations::operand_or_neutral(Value given, Op op) {
    const Scalar type = k.type_of(given);
    const std::string whole = out.vector_type(out.scalar_type(type)), value = packet.vector(given);
    if (packet.running.all()) return value;
    const std::string nothing = out.splat_constant(type, neutral_element(op, type), true);
    return out.let(
        text("select ", out.vector_type("i1"), " ", packet.running.text, ", ", whole, " ", value, ", ", whole, " ", nothing));
}

/// All lanes combined, in each lane, in log2(width) steps.
std::string GroupOperations::reduced(Op op, Scalar type, std::string value) {
    for (int half = width / 2; half >= 1; half /= 2)
        value = emit.ops.operation(op, type,
                                   {value, emit.shuffles.permuted(out.scalar_type(type), value, [&](int l) { return l ^ half; })},
                                   width > 1, false);
    return value;
}

/// The lanes moved up by `by`; the neutral element comes in.
std::string GroupOperations::moved_up(Op op, Scalar type, const std::string& x, int by) {
    const std::string whole = out.vector_type(out.scalar_type(type)),
                      nothing = out.splat_constant(type, neutral_element(op, type), true);
    if (width == 1) return nothing;
    std::string indices;
    for (int l = 0; l < width; ++l) indices += text(l ? ", " : "", "i32 ", l >= by ? l - by : width);
    return out.let(text("shufflevector ", whole, " ", x, ", ", whole, " ", nothing, ", <", width, " x i32> <", indices, ">"));
}

/// The inclusive scan of the lanes, in log2(width) steps.
std::string GroupOperations::scanned(Op op, Scalar type, std::string value) {
    for (int by = 1; by < width; by *= 2)
        value = emit.ops.operation(op, type, {moved_up(op, type, value, by), value}, true, false);
    return value;
}

/// Before the packets of a region: its accumulators.
void GroupOperations::open_group_operations(std::span<const InstId> insts) {
    for (const InstId id : insts) {
        const Inst& i = k[id];
        if (i.op != Op::group) continue;
        const Subgroup what = Subgroup(i.immediate);
        const std::string t = out.scalar_type(i.type), type = is_scan(what) ? t : out.vector_type(t);
        const std::string nothing = out.splat_constant(i.type, neutral_element(*combines(what), i.type), !is_scan(what));
        accumulators[&i] = out.alloca_of(type, "accumulator");
        out.line(text("store ", type, " ", nothing, ", ptr ", accumulators[&i]));
    }
}

/// In a packet of the region.
void GroupOperations::group_operation(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    const Op op = *combines(what);
    const std::string t = out.scalar_type(i.type), accumulator = accumulators.at(&i),
                      type = is_scan(what) ? t : out.vector_type(t);
    const std::string value = operand_or_neutral(k.operands(i)[0], op),
                      before = out.let(text("load ", type, ", ptr ", accumulator));
    const auto put = [&](const std::string& now) { out.line(text("store ", type, " ", now, ", ptr ", accumulator)); };
    if (!is_scan(what)) return put(emit.ops.operation(op, i.type, {before, value}, true, false));
    const std::string inclusive = scanned(op, i.type, value), all = out.extract(t, inclusive, std::to_string(width - 1));
    put(emit.ops.operation(op, i.type, {before, all}, false, false));
    const std::string own = what >= Subgroup::exclusive_add ? moved_up(op, i.type, inclusive, 1) : inclusive;
    packet.define_lanes(k.result(i), emit.ops.operation(op, i.type, {out.splat(t, before), own}, true, false));
}

/// After the packets of the region: the result of a reduction.
void GroupOperations::close_group_operation(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    if (is_scan(what)) return;
    const std::string t = out.scalar_type(i.type);
    const std::string all =
        reduced(*combines(what), i.type, out.let(text("load ", out.vector_type(t), ", ptr ", accumulators.at(&i))));
    packet.define(k.result(i), out.extract(t, all, "0"));
}

}  // namespace pumice::cpu
