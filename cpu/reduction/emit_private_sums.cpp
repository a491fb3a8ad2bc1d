// Reductions into memory of one thread: deferred horizontal adds and lane-private accumulators.
//
// Why: when all lanes of a packet add to one element, a horizontal add (log2(width) shuffles) per iteration dominates. Two ways
// to defer it, for local memory and private copies (cpu/plan/reduction_privatisation.h):
//
//     atomic add m[%k], %x         lane-private:  copy[%k * 8 + lane] += x[lane], a vector add; lanes summed after the launch
//     in a loop over %k            deferred:      row[k mod 8] = x; every 8th iteration: transpose-add of 8 vectors to one
//                                                 vector of 8 sums, then one contiguous vector add to m[k - 7 .. k]
//
// The transpose-add takes 7 vector adds for 8 sums instead of 24. sum_lanes holds the places of an element in a copy (0: not
// privatised); deferred_reductions the deferred adds.
// Cost: copies `width` times as large (lane-private); `width` vectors in registers (deferred).
// Limits: add and sub whose old value is unused, at an address that the packet shares; deferred only in unrolled `for` loops of
// at most 32 iterations, whose address moves by one element an iteration, with no other access to that memory (through memory and
// with a counter it took longer than the horizontal adds: adjoint of a Gaussian mixture 18.3 ms instead of 12.9); lane-private
// only if every add in a loop is of this kind.
// Textbook: reduction by scalar/array expansion (Allen and Kennedy); SIMD transpose-and-add.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/analysis/loop_info.h"
#include "core/support/error.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/shuffles.h"
#include "cpu/plan/reduction_privatisation.h"
#include "cpu/reduction/emit_atomics.h"
#include "cpu/reduction/emit_private_sums.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int64_t most_unrolled = 32;       ///< iterations of a loop that is unrolled in full
constexpr size_t most_unrolled_insts = 40;  ///< instructions of its body
}  // namespace

// ---- the plan ----

/// Plan: which arrays are private copies, and where horizontal adds are deferred. A copy of an array with elements of one scalar
/// is lane-private if the variant allows it, some loop adds to it, and all adds in loops go to addresses that the packet shares.
/// Its lanes are summed after the launch, and adds outside of loops become gathers and scatters. Other adds are deferred in short
/// loops that move the address by one element an iteration (plan_deferred_reductions).
void PrivateSums::plan_private_sums() {
    plan.sum_lanes.assign(k.memories.size(), 0);
    const auto& order = packet.uniformity.structure().order();
    if (variant.sums != Privatisation::none)
        for (const MemoryId m : only_added_to(k)) plan.sum_lanes[m.id] = variant.privatises(k[m].argument) ? 1 : 0;
    for (const InstId id : order)
        if (k[id].op == Op::for_) plan_deferred_reductions(id);
    for (uint32_t m = 0; m < plan.sum_lanes.size() && variant.sums == Privatisation::lanes; ++m) {
        bool together = false, apart = false;
        for (const InstId id : order)
            if (k[id].op == Op::atomic && k[id].memory.id == m && packet.uniformity.structure().loop_around(id).id != none)
                (packet.adds_together(k[id]) ? together : apart) = true;
        if (!plan.sum_lanes[m] || !together || apart || !takes_lanes(k.memories[m])) continue;
        plan.sum_lanes[m] = std::min(width, target.width);
        std::erase_if(plan.deferred_reductions, [&](const auto& deferred) { return deferred.first->memory.id == m; });
    }
}

/// Finds the adds of a loop that can be deferred: the address moves by one element an iteration, and it is the memory's only
/// access in the loop. The loop is short, and its iterations fill whole vectors, so that it can be unrolled.
void PrivateSums::plan_deferred_reductions(InstId id) {
    if (!target.rules.has(Rule::deferred_reductions)) return;
    const Inst& loop = k[id];
    const Structure& where = packet.uniformity.structure();
    const int64_t trips = emit.loops.constant_trips(id);
    if (trips <= 0 || trips % width != 0 || trips > most_unrolled || k[loop.blocks[0]].insts.size() > most_unrolled_insts) return;
    bool leaves = packet.diverges(id) || emit.loops.loop_masks(id) || !where.jumps_to(id).empty();
    std::vector<bool> other(k.memories.size());
    std::map<const Inst*, DeferredReduction> found;
    each_inside(k, loop, [&](InstId inner) {
        const Inst& i = k[inner];
        leaves = leaves || i.op == Op::return_ || is_barrier(i.op);
        if (i.memory.id == none || i.op == Op::extent) return;
        const Element& e = k[i.memory].element;
        const bool owned =
            emit.memory.of_thread(i.memory) && k[i.memory].kind != MemoryKind::private_ && int(e.size) == size_of(i.type);
        DeferredReduction deferred;
        deferred.loop = id;
        if (owned && where.around(inner) == id && packet.adds_together(i)) {
            const auto indices = indices_of(k, i);
            deferred.step = emit.loops.growth(indices.back(), id, emit.addresses.index_bits(i, indices.back())).value_or(0);
            for (const Value v : indices.first(indices.size() - 1))
                if (emit.loops.growth(v, id, emit.addresses.index_bits(i, v)) != 0) deferred.step = 0;
        }
        if (deferred.step == 1 || deferred.step == -1)
            found[&i] = deferred;
        else
            other[i.memory.id] = true;
    });
    for (const auto& [inst, deferred] : found)
        if (!leaves && !other[inst->memory.id]) plan.deferred_reductions[inst] = deferred;
}

// ---- lane-private accumulators ----

/// A lane-private add: each lane adds to its own place of its element. Packets of several vectors add one vector after the other,
/// as an element has places for one vector.
void PrivateSums::lane_private_add(const Inst& i) {
    const int items = width, copies = plan.sum_lanes[i.memory.id], bytes = size_of(i.type);
    const std::string type = out.scalar_type(i.type);
    const bool wide = variant.wide_offsets;
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = emit.addresses.offset(i, wide, contiguous, more);
    std::string at, address;
    if (index.kind == ValueKind::uniform) {
        address = emit.addresses.pointer_to(i, wide ? "i64" : "i32", index.scalar, more);
        if (copies == items) return emit.atomics.side_by_side(i, {Address::How::contiguous, address, bytes * width});
    } else {
        // One base and 32-bit offsets, which suffice for a lane-private copy: gather instructions take this form.
        at = packet.vector_of(index, wide ? Scalar::i64 : Scalar::i32);
        if (wide) at = out.let(text("trunc ", out.vector_type("i64"), " ", at, " to ", out.vector_type("i32")));
        address = emit.memory.memory_text(i.memory);
        if (more != 0) address = out.let(text("getelementptr [", bytes * copies, " x i8], ptr ", address, ", i64 ", more), "p");
    }
    const std::string given = packet.vector(k.operands(i).back());
    const Mask all = packet.running;
    for (int first = 0; first < items; first += copies) {
        const auto part = [&](const std::string& element, const std::string& whole) {
            return items == copies ? whole : emit.shuffles.vector_part(element, whole, first, copies);
        };
        const std::string addend = part(type, given), own = at.empty() ? "" : part("i32", at),
                          mask = all.all() ? "" : part("i1", all.text);
        packet.width = copies;
        lane_private_add_vector(i, addend, address, own, mask);
        packet.width = items;
    }
    packet.define(k.result(i), out.splat_constant(i.type, 0, true));
}

/// The lane-private add of one vector. `at`: the lanes' element offsets from `address`; empty if all lanes add to the element at
/// `address`. `mask`: empty if all lanes are active.
void PrivateSums::lane_private_add_vector(const Inst& i, const std::string& addend, const std::string& address,
                                          const std::string& at, const std::string& mask) {
    const std::string type = out.scalar_type(i.type), numbers = out.vector_type("i32"),
                      runs = mask.empty() ? packet.mask_text({}) : mask;
    Address to{Address::How::contiguous, address, size_of(i.type) * width};
    if (!at.empty()) {
        const std::string first = out.let(text("mul ", numbers, " ", at, ", ", out.splat("i32", std::to_string(width))));
        const std::string own = out.let(text("or ", numbers, " ", first, ", ", out.lanes("i32", 1)));
        to = {Address::How::scattered, out.let(text("getelementptr ", type, ", ptr ", address, ", ", numbers, " ", own), "p"),
              size_of(i.type)};
    }
    const Op op = Atomic(i.immediate) == Atomic::sub ? Op::sub : Op::add;
    const std::string old = emit.masked.masked_read(type, to, runs);
    emit.masked.masked_write(type, emit.ops.operation(op, i.type, {old, addend}, true, false), to, runs);
}

// ---- deferred horizontal adds ----

void PrivateSums::open_deferred_reductions(InstId loop) {
    std::string filled;
    for (const auto& [inst, deferred] : plan.deferred_reductions) {
        if (deferred.loop != loop) continue;
        if (filled.empty()) filled = out.alloca_of("i32", "filled"), out.line(text("store i32 0, ptr ", filled));
        DeferredAddends& addends = deferred_addends[inst];
        addends.filled = filled;
        addends.last = out.alloca_of("ptr", "last");
        addends.vectors = out.alloca_of(text("[", width, " x ", out.vector_type(out.scalar_type(inst->type)), "]"), "row");
    }
}

/// Stores the addend in the row buffer, in the order of addresses: a loop that counts down fills the buffer from its end.
void PrivateSums::defer_addend(const Inst& i) {
    const DeferredAddends& addends = deferred_addends.at(&i);
    const std::string whole = out.vector_type(out.scalar_type(i.type));
    out.line(text("store ptr ", emit.addresses.access(i).pointer, ", ptr ", addends.last));
    packet.define(k.result(i), out.splat_constant(i.type, 0, true));
    std::string given = packet.vector(k.operands(i).back());
    if (Atomic(i.immediate) == Atomic::sub) given = emit.ops.operation(Op::neg, i.type, {given}, true, false);
    if (!packet.running.all())
        given = out.let(text("select ", out.vector_type("i1"), " ", packet.running.text, ", ", whole, " ", given, ", ", whole,
                             " zeroinitializer"));
    std::string at = out.let(text("load i32, ptr ", addends.filled));
    if (plan.deferred_reductions.at(&i).step < 0) at = out.let(text("sub i32 ", width - 1, ", ", at));
    out.line(text("store ", whole, " ", given, ", ptr ",
                  out.let(text("getelementptr ", whole, ", ptr ", addends.vectors, ", i32 ", at), "p")));
}

void PrivateSums::next_deferred_iteration(InstId loop) {
    std::string filled;
    for (const auto& [inst, deferred] : plan.deferred_reductions)
        if (deferred.loop == loop) filled = deferred_addends.at(inst).filled;
    if (filled.empty()) return;
    const std::string full = out.label("full"), on = out.label("on"),
                      count = out.let(text("add i32 ", out.let(text("load i32, ptr ", filled)), ", 1"));
    out.line(text("store i32 ", count, ", ptr ", filled));
    out.branch(out.let(text("icmp eq i32 ", count, ", ", width)), full, on);
    out.start(full);
    for (const auto& [inst, deferred] : plan.deferred_reductions)
        if (deferred.loop == loop) add_deferred(*inst);
    out.line(text("store i32 0, ptr ", filled));
    out.start(on);
}

/// Transpose-add: lane l of the result is the sum of the lanes of vector l. In step d, pairs of vectors are added into one; the
/// lanes of the result whose number has bit d set come from the second vector.
std::string PrivateSums::transpose_add(const Inst& i) {
    const std::string whole = out.vector_type(out.scalar_type(i.type)), indices = out.vector_type("i32");
    std::vector<std::string> v;
    for (int n = 0; n < width; ++n)
        v.push_back(
            out.let(text("load ", whole, ", ptr ",
                         out.let(text("getelementptr ", whole, ", ptr ", deferred_addends.at(&i).vectors, ", i32 ", n), "p"))));
    for (int d = width / 2; d >= 1; d /= 2) {
        std::string own, other;
        for (int l = 0; l < width; ++l) {
            const int from = l & d ? width : 0;
            own += text(l ? ", " : "", "i32 ", from + l), other += text(l ? ", " : "", "i32 ", from + (l ^ d));
        }
        for (int n = 0; n < d; ++n) {
            const auto joined = [&](const std::string& which) {
                return out.let(text("shufflevector ", whole, " ", v[size_t(n)], ", ", whole, " ", v[size_t(n + d)], ", ", indices,
                                    " <", which, ">"));
            };
            v[size_t(n)] = emit.ops.operation(Op::add, i.type, {joined(own), joined(other)}, true, false);
        }
    }
    return v[0];
}

/// Adds the sums of the buffer to memory.
void PrivateSums::add_deferred(const Inst& i) {
    const std::string whole = out.vector_type(out.scalar_type(i.type)), sums = transpose_add(i);
    const int bytes = size_of(i.type);
    std::string lowest = out.let(text("load ptr, ptr ", deferred_addends.at(&i).last));
    if (plan.deferred_reductions.at(&i).step > 0)
        lowest = out.let(text("getelementptr [", bytes, " x i8], ptr ", lowest, ", i32 ", 1 - width), "p");
    const std::string old = out.let(text("load ", whole, ", ptr ", lowest, ", align ", bytes));
    out.line(text("store ", whole, " ", emit.ops.operation(Op::add, i.type, {old, sums}, true, false), ", ptr ", lowest,
                  ", align ", bytes));
}

}  // namespace pumice::cpu
