// Cost model, items or packets: the time of an item alone and as a lane of a packet.
//
// Why: a packet shares an instruction between its lanes, but moves elements at unrelated addresses lane by lane, and runs a loop
// until its last lane has left. Where such moves dominate, one item at a time is faster: no vectors are taken apart, and none is
// waited for.
//
//     $for(e, range(begin[i], begin[i + 1])) { sum += value[e] * x[column[e]]; }       three gathers for one multiply-add
//         packet of 8:  (3 * 8 lanes * 1.3 + 2 * 0.6 + 1) / 8 * 1.75  =  7 cycles an item and iteration
//         item:         3 * 1.5 * 0.3 + 2 * 0.3 + 1                   =  3
//
// 1.3 is a gathered lane, 0.6 a vector instruction, 0.3 a scalar one and 1.5 times that a load, 1 the loop's counter and branch.
// 1.75 is iterations_of_longest(8): the lanes leave the loop at different times, and the packet runs the iterations of the
// longest.
//
// Each instruction adds its time in both forms, from cpu/plan/tuning.h. Loops of unknown length count as often as
// `iterations` says, and at least the latency of what they carry if items run alone; in a packet other packets and lanes fill
// that time, and in short loops, whose bounds are loaded, the next item does. Both arms of a divergent if count for a packet,
// half of each and a misprediction for an item; half of its atomics for a packet, too, since they go by the lanes that run.
// Cost: one walk over the kernel. Limits: lengths of loops, caches and which lanes of a gather share a line are not known; rows
// that items read in step count as tiles (cpu/access/row_tile.cpp), and adjacent words as lane rows (cpu/access/lane_rows.cpp).
// Textbook name: cost model of vectorisation (LLVM's LoopVectorizationCostModel, whose scalar and vector costs are compared as
// here).
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/analysis/loop_info.h"
#include "core/passes/cross_loop_cse.h"
#include "cpu/access/contiguity_check.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/lane_rows.h"
#include "cpu/access/row_tile.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/packet/shuffles.h"
#include "cpu/plan/reduction_privatisation.h"
#include "cpu/plan/tuning.h"
#include "cpu/width/choose_wide_packets.h"
#include "cpu/width/packet_cost.h"

namespace pumice::cpu {

using namespace ir;

/// A pure instruction.
ItemTime PacketCost::time_of_arithmetic(const Inst& i) const {
    const Value r = k.result(i);
    if (packet.kind_of(r) == ValueKind::uniform) return {};  // once for many items
    const double n = instructions_of(i),
                 alone = n * (n > 1 && is_float(i.type) ? tuning::scalar_function_instruction : tuning::scalar_instruction);
    if (packet.kind_of(r) == ValueKind::affine) return {alone / width, alone};
    const int bytes = emit.wide_packets.lane_bytes(i);
    const bool integer = is_int(i.type);
    if (integer && (i.op == Op::div || i.op == Op::rem) && packet.is_costly(i)) {
        const double division = bytes == 8 ? tuning::division_64 : tuning::division_32;
        return {division + tuning::scattered_lane, division};
    }
    const double vectors = std::max(1.0, double(bytes) * width / packet.register_bytes());
    const double each = integer && i.op == Op::mul && bytes == 8                                       ? tuning::multiplication_64
                        : i.op == Op::popcount && target.isa != Isa::avx512 && target.isa != Isa::neon ? tuning::bit_count
                                                                                                       : n;
    return {each * vectors * tuning::vector_instruction / width, alone};
}

/// The accesses to lane rows: an address a lane, and an access and its share of the transpose for each short vector.
double PacketCost::time_of_lane_rows(const InterleavedGroup& rows) const {
    const int vectors = (rows.stride + quad - 1) / quad;
    return tuning::lane_address + tuning::short_vector * double(vectors);
}

/// An access; `in_row` if it goes through a row tile, `masked` if some lanes do not run it.
ItemTime PacketCost::time_of_access(const Inst& i, bool in_row, bool masked) const {
    const double vectors = std::max(1.0, double(size_of(i.type)) * width / packet.register_bytes());
    const double whole = vectors * tuning::vector_instruction / width, alone = 1.5 * tuning::scalar_instruction;
    const auto indices = indices_of(k, i);
    const bool uniform =
        std::all_of(indices.begin(), indices.end(), [&](Value v) { return packet.kind_of(v) == ValueKind::uniform; });
    if (i.op == Op::load || i.op == Op::store) {
        const bool of_item = i.op == Op::store || k[i.memory].kind == MemoryKind::private_;
        if (uniform) return {whole, of_item ? alone : 0};
        if (in_row) return {3 * whole, alone};
        if (emit.contiguity.checks_contiguity(i)) return {4 * whole, alone};
        if (emit.addresses.lies_in_row(i)) return {whole, alone};
        if (const int64_t stride = emit.groups.stride_of(i)) return {2 * whole * double(stride) / size_of(i.type), alone};
        const bool fast = target.fast_gathers && target.isa == Isa::avx512, array = k[i.memory].kind == MemoryKind::array;
        if (i.op == Op::store) return {fast ? tuning::fast_scattered_lane : tuning::scattered_lane, alone};
        if (fast) return {array ? tuning::fast_gathered_lane : tuning::fast_gathered_own_lane, alone};
        return {array ? tuning::gathered_lane : tuning::gathered_own_lane, alone};
    }
    const bool own = k[i.memory].kind != MemoryKind::array || variant.privatises(k[i.memory].argument);
    const double one = own ? 2 * tuning::scalar_instruction : tuning::locked_instruction;
    if (uniform && i.op != Op::compare_exchange) return {one / width + 5 * whole, one};
    if (own && emit.addresses.lies_in_row(i)) return {3 * whole, one};
    const size_t scalars = k[i.memory].element.leaves.size();  // one addition of a vector (cpu/reduction/vector_adds.cpp)
    const double added =
        scalars > 1 && is_vector(k[i.memory].element) ? 1.5 * tuning::added_lane / double(scalars) : tuning::added_lane;
    const double part = masked ? 0.5 : 1;  // lane by lane, by the lanes that run
    return {part * (own ? added : one + tuning::scattered_lane), one};
}

/// True for a `for` whose bounds are loaded, such as the elements of a sparse row. Such loops are short: the processor begins the
/// next item's while the sum of the last one waits.
bool PacketCost::has_loaded_bounds(const Inst& i) const {
    return i.op == Op::for_ && std::ranges::any_of(k.operands(i).subspan(0, 2),
                                                   [&](Value v) { return k[v].inst.id != none && k[k[v].inst].op == Op::load; });
}

/// All instructions of a block, with those inside of them. `masked`: in a packet some items do not run the block.
ItemTime PacketCost::time_of(BlockId b, const std::set<uint32_t>& in_rows, bool masked) const {
    ItemTime all;
    std::map<uint32_t, double> in_lane_rows;  // accesses, with their times in a packet
    for (const InstId id : k[b].insts) {
        const Inst& i = k[id];
        if (!masked && in_rows.count(id.id) == 0 && in_lane_rows.count(id.id) == 0)
            if (const auto rows = emit.lane_rows.lane_rows(id))
                for (const auto& [access, word] : rows->accesses)
                    in_lane_rows[uint32_t(access - k.insts.data())] = time_of_lane_rows(*rows) / double(rows->accesses.size());
        if (is_loop(i.op)) {
            std::set<uint32_t> tiled = in_rows;
            for (const RowTile& t : emit.tiles.tiles_of(id))
                for (const Inst* access : t.accesses) tiled.insert(uint32_t(access - k.insts.data()));
            ItemTime body{tuning::iteration / width, tuning::iteration};
            for (const BlockId inner : i.owned()) body += time_of(inner, tiled, masked || packet.diverges(id));
            const auto carries = [&](Value v) { return is_float(k.type_of(v)); };
            const bool waits = std::ranges::any_of(results_of(k, i), carries) || any_inside(k, i, [&](InstId inner) {
                                   return k[inner].op == Op::store && k[k[inner].memory].kind == MemoryKind::private_;
                               });
            if (waits && !has_loaded_bounds(i)) body.alone = std::max(body.alone, tuning::latency);
            const bool nested = any_inside(k, i, [&](InstId inner) { return is_loop(k[inner].op) && packet.diverges(inner); });
            if (!nested && packet.diverges(id)) body.in_packet *= tuning::iterations_of_longest(width);
            all += body * emit.loops.iterations_of(id);
        } else if (i.op == Op::if_) {
            ItemTime arms;
            const Value condition = k.operands(i)[0];
            const InstId source = k[condition].inst;
            const bool inside = source.id != none && k[source].op == Op::in_range;  // true for all but the range's last items
            const bool apart = !inside && packet.kind_of(condition) != ValueKind::uniform;
            for (const BlockId arm : i.blocks) arms += time_of(arm, in_rows, masked || apart);
            if (inside) {
                all += arms;
                continue;
            }
            all += {apart ? arms.in_packet : arms.in_packet / 2, arms.alone / 2 + (apart ? tuning::branch : 0)};
        } else if (i.op == Op::barrier) {
            all += {2.0 / width, tuning::iteration};
        } else if (i.op == Op::group) {
            const double each = is_scan(Subgroup(i.immediate)) ? 3 * std::log2(width) : 1;
            all += {each * tuning::vector_instruction / width, 2 * tuning::scalar_instruction};
        } else if (is_pure(i.op)) {
            all += time_of_arithmetic(i);
        } else if (i.memory.id != none && i.op != Op::extent) {
            ItemTime one = time_of_access(i, in_rows.count(id.id) > 0, masked);
            if (const auto rows = in_lane_rows.find(id.id); rows != in_lane_rows.end()) one.in_packet = rows->second;
            all += one;
        }
    }
    return all;
}

/// True if single items take less time than packets.
bool PacketCost::gains_by_scalar_items() const {
    const ItemTime all = time_of(BlockId{0}, {}, false);
    return all.in_packet > tuning::least_gain_of_items * all.alone;
}

}  // namespace pumice::cpu
