// Wide packets: kernels of bytes and 16-bit numbers take two or four times as many items a packet, so that vectors are full.
//
// Why: the width is that of 32-bit lanes. Eight bytes fill a quarter of a vector of 256 bits, but cost one instruction as 32 do.
//
//     %s = add i8 %a, %b       width 8:    %s = add <8 x i8> %a, %b
//                              wide (32):  %s = add <32 x i8> %a, %b       one instruction for four packets
//
//     row:   while (x + 32 <= end && all 32 items are interior)  wide packet
//            else packet of 8, in its interior or boundary version; the last one under a mask
//
// A masked access of bytes takes AVX2 a branch for each lane. So a wide packet is full and interior: what is at the rim of an
// array (boundary_index.cpp) and the end of a row keeps the device's width. A gather takes as long as its lanes, and saves
// nothing. The cost model counts vector instructions an item, for what stores, atomics and conditions need: an instruction on
// lanes of s bytes takes ceil(items * s / bytes of a vector) of them, an access lane by lane one for each item, a sum at one
// address three passes over the addends. Instructions in loops count as often as they run. Wide packets must save a third.
// Cost: the kernel's body once more, so only for kernels of at most 200 instructions.
// Limits: only kernels whose width is the device's, and groups whose rows hold a wide packet; the live vectors take at most twice
// the registers. No barriers, no subgroup operations, no divergent loops; lane-private sums (`Privatisation::lanes`) only where
// all items of a packet add to one element.
// Textbook name: choice of the vectorisation factor by the smallest type (LLVM's MaximizeBandwidth, GCC's vector modes); here
// only where the wide form is complete.
#include <algorithm>
#include <functional>

#include "core/passes/cross_loop_cse.h"
#include "core/support/error.h"
#include "cpu/access/contiguity_check.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/width/choose_wide_packets.h"
#include "cpu/width/choose_width.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr size_t most_widened = 200;     ///< instructions of a kernel that has wide packets
constexpr double least_saved = 1.0 / 3;  ///< part of the vector instructions that wide packets must save
constexpr double passes_of_sum = 3;      ///< vector instructions for a vector of addends to one element
}  // namespace

/// The widest lanes that an instruction reads, computes with or writes as a vector, in bytes; 0 if its results are scalars.
int WidePackets::lane_bytes(const Inst& i) const {
    int bytes = 0;
    for (int r = 0; r < i.result_count; ++r)
        if (const Value v = k.result(i, r); packet.kind_of(v) == ValueKind::vector)
            bytes = std::max(bytes, size_of(computed_type(k.type_of(v))));
    if (bytes == 0) return 0;
    for (const Value v : k.operands(i))
        if (packet.kind_of(v) != ValueKind::uniform) bytes = std::max(bytes, size_of(computed_type(k.type_of(v))));
    return bytes;
}

/// True if a wide packet, which is interior, accesses adjacent elements or one element.
bool WidePackets::whole_in_wide_packets(const Inst& i) const {
    if (i.op != Op::load && i.op != Op::store) return false;
    const auto indices = indices_of(k, i);
    const auto uniform = [&](Value v) { return packet.kind_of(v) == ValueKind::uniform; };
    return std::all_of(indices.begin(), indices.end() - 1, uniform) &&
           (uniform(indices.back()) || emit.contiguity.probable_step(indices.back(), true) == 1);
}

/// Vector instructions for the items of one packet of the device's width, if a wide packet has `factor` times as many.
double WidePackets::vector_instructions(const std::vector<bool>& needed, int factor) const {
    const auto vectors = [&](int bytes) {
        return double(std::max(1, factor * width * bytes / packet.register_bytes())) / factor;
    };
    const auto times = [&](InstId id) {
        double all = 1;
        for (InstId loop = packet.uniformity.structure().loop_around(id); loop.id != none;
             loop = packet.uniformity.structure().loop_around(loop))
            all *= emit.loops.iterations_of(loop);
        return all;
    };
    double all = 0;
    for (const InstId id : packet.uniformity.structure().order()) {
        const Inst& i = k[id];
        if (!needed[id.id]) continue;
        if (is_pure(i.op)) {
            if (const int bytes = lane_bytes(i)) all += times(id) * instructions_of(i) * vectors(bytes);
        } else if (packet.adds_together(i)) {
            all += times(id) * passes_of_sum * vectors(size_of(i.type));
        } else if (i.memory.id != none && i.op != Op::extent) {
            all += times(id) * (whole_in_wide_packets(i) ? vectors(size_of(i.type)) : width);
        }
    }
    return all;
}

/// The instructions that compute what is stored, added or decided. Indices of contiguous accesses are not among them.
std::vector<bool> WidePackets::needed_by_effects() const {
    std::vector<bool> needed(k.insts.size());
    const std::function<void(Value)> need_value = [&](Value v) {
        const InstId source = k[v].inst;
        if (source.id == none || needed[source.id]) return;
        needed[source.id] = true;
        const Inst& i = k[source];
        if (whole_in_wide_packets(i)) return;
        for (const Value o : k.operands(i)) need_value(o);
    };
    for (const InstId id : packet.uniformity.structure().order()) {
        const Inst& i = k[id];
        if (is_pure(i.op) || i.op == Op::load) continue;
        needed[id.id] = true;
        if (whole_in_wide_packets(i)) {
            need_value(k.operands(i).back());
        } else {
            for (const Value o : k.operands(i)) need_value(o);
        }
    }
    return needed;
}

/// How many times as many items a wide packet has: 1 (there are none), 2 or 4.
int WidePackets::choose_wide() const {
    const auto& order = packet.uniformity.structure().order();
    if (!target.rules.has(Rule::wide_packets) || width == 1 || width != target.width || packet.has_barriers ||
        order.size() > most_widened)
        return 1;
    for (const InstId id : order) {
        const bool apart = k[id].op == Op::atomic && variant.sums == Privatisation::lanes && !packet.adds_together(k[id]);
        if (asks_subgroup(k[id].op) || (is_loop(k[id].op) && packet.diverges(id)) || apart) return 1;
    }
    const std::vector<bool> needed = needed_by_effects();
    int best = 1;
    double least = vector_instructions(needed, 1) * (1 - least_saved);
    for (const int factor : {2, 4}) {
        if (variant.group[0] < factor * width || emit.widths.vectors_alive(factor) > 2 * packet.vector_registers()) break;
        const double now = vector_instructions(needed, factor);
        if (now <= least) best = factor, least = now;
    }
    return best;
}

}  // namespace pumice::cpu
