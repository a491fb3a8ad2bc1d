// Memory access widening: each load and store becomes a scalar, contiguous, interleaved, masked or gather/scatter access.
//
// The choice follows from how the index depends on the lane (uniformity and affine analysis). Interleaved groups are tried first,
// then the address decides:
//
//     index                       load of arg1[index], width 8
//     uniform                     load float                                       one scalar for all lanes
//     affine, step 1              load <8 x float>, ptr %p, align 4                contiguous; masked.load in a tail
//     affine, step 2 to 16, or a  interleaved access group (interleaved_group.cpp)
//     member of a struct
//     others, with other words    short vectors of each lane's row, transposed (lane_rows.cpp)
//     of the lane's row beside
//     at one other distance       load float a lane, and insertions (strided_lanes.cpp)
//     vector, constant distances  vectors and a shuffle (lane_patterns.cpp)
//     vector, in a short row of   the row and a permutation (row_lookups.cpp)
//     local memory
//     vector, probable step 1     a test: load <8 x float>, or a gather (contiguity_check.cpp)
//     anything else               call @llvm.masked.gather.v8f32(<8 x ptr> %p, ...), or without a fast gather a load a lane
//                                 (masked_accesses.cpp)
//
// Addresses come from cpu/address/addresses.cpp, accesses under masks from masked_accesses.cpp. Private memory is laid out
// lane-interleaved: element e of lane l is at e * width + l, so a uniform index is contiguous.
// Tails of 1, 2, 4 or 8 items use short vectors, since masked loads do not take part in store-to-load forwarding.
// Cost: one instruction for the first three kinds. Limits: a vector index that the affine analysis does not know is a gather,
// even if it happens to be contiguous at run time, unless its probable step is 1.
// Textbook: memory access widening in loop vectorisation (Allen and Kennedy; LLVM LoopVectorize: widen, interleave, scalarise).
#include <algorithm>

#include "core/analysis/alias.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"
#include "cpu/access/contiguity_check.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/lane_patterns.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/access/row_lookups.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/access/streaming_stores.h"
#include "cpu/access/strided_lanes.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

/// True if the active lanes are the first 1, 2, 4 or 8, so that shorter vectors can be used. Unlike masked loads, short loads
/// take part in store-to-load forwarding.
bool LoadsAndStores::short_packet() const {
    return packet.running.first > 0 && (packet.running.first & (packet.running.first - 1)) == 0;
}

void LoadsAndStores::load(InstId id) {
    const Inst& i = k[id];
    const Value r = k.result(i);
    const std::string scalar = out.memory_type(i.type), whole = out.vector_type(scalar);
    if (const auto tile = in_tiles.find(&i); tile != in_tiles.end()) {
        // An accumulating tile: -0.0 is the neutral element of float addition, so the sum is the other operand.
        if (tile->second.empty())
            return packet.define_lanes(r, out.splat_constant(i.type, is_float(i.type) ? real_bits(i.type, -0.0) : 0, true));
        return packet.define_lanes(r, out.let(text("load ", whole, ", ptr ", tile->second)));
    }
    if (const auto known = emit.pure.row_values.find(r.id); known != emit.pure.row_values.end()) {
        packet.values[r.id] = known->second, packet.has_value[r.id] = true;
        return;
    }
    if (emit.groups.loads_interleaved(id)) return;
    if (packet.running.all() && emit.patterns.moves_by_pattern(i))
        return packet.define_lanes(r, emit.casts.from_memory(i.type, emit.patterns.load_pattern(i), true));
    if (emit.row_lookups.looks_up(i))
        return packet.define_lanes(r, emit.casts.from_memory(i.type, emit.row_lookups.load(i), true));
    if (packet.running.all() && emit.contiguity.checks_contiguity(i) &&
        packet.rep_of(indices_of(k, i).back()).kind == ValueKind::vector)
        return packet.define_lanes(r, emit.casts.from_memory(i.type, emit.contiguity.checked_load(i, whole), true));
    if (const auto lanes = emit.strided.strided_lanes(i); !lanes.empty())
        return packet.define_lanes(r, emit.casts.from_memory(i.type, emit.strided.load_lanes(i, lanes), true));
    const Address a = emit.addresses.access(i);
    // In the interior of a region, a row that is tested for elsewhere.
    if (packet.has_barriers && a.how == Address::How::contiguous && emit.contiguity.checks_contiguity(i))
        emit.contiguity.prefetch(i, a.pointer);
    else
        emit.prefetches.prefetch(id, a);
    if (a.how == Address::How::scalar) {
        const std::string one =
            emit.casts.from_memory(i.type, out.let(text("load ", scalar, ", ptr ", a.pointer, ", align ", a.align)), false);
        if (packet.kind_of(r) == ValueKind::vector) return packet.define(r, out.splat(out.scalar_type(i.type), one));
        return packet.define(r, one);
    }
    std::string loaded;
    const bool own = k[i.memory].kind == MemoryKind::private_;
    if (a.how == Address::How::contiguous && (packet.running.all() || own)) {
        loaded = out.let(text("load ", whole, ", ptr ", a.pointer, ", align ", own ? a.align * width : a.align));
    } else if (a.how == Address::How::contiguous && short_packet()) {
        const std::string part =
            out.let(text("load volatile <", packet.running.first, " x ", scalar, ">, ptr ", a.pointer, ", align ", a.align));
        loaded = emit.shuffles.resized(scalar, part, packet.running.first, width);
    } else if (emit.masked.scalarises(i, a)) {
        loaded = emit.masked.load_by_lanes(id);
    } else {
        loaded = emit.masked.masked_load(i, a);
    }
    packet.define_lanes(r, emit.casts.from_memory(i.type, loaded, true));
}

/// Stores all lanes, in vectors of the processor from the lowest address on. LLVM splits a longer store from the highest one
/// down, and with descending stores a stencil of doubles (bench/corpus jacobi_2d) took 1.3 times as long: AVX2, Intel Xeon.
void LoadsAndStores::whole_store(const Inst& i, const std::string& value, const Address& a) {
    const std::string scalar = out.memory_type(i.type), type = out.vector_type(scalar);
    const int lanes = std::max(1, packet.register_bytes() / size_of(i.type));
    if (lanes >= width) return out.line(text("store ", type, " ", value, ", ptr ", a.pointer, ", align ", a.align));
    for (int first = 0; first < width; first += lanes) {
        const std::string part = emit.shuffles.vector_part(scalar, value, first, lanes);
        const std::string to = out.let(text("getelementptr ", scalar, ", ptr ", a.pointer, ", i64 ", first));
        out.line(text("store <", lanes, " x ", scalar, "> ", part, ", ptr ", to, ", align ", a.align));
    }
}

void LoadsAndStores::store(InstId id) {
    const Inst& i = k[id];
    const Value given = k.operands(i).back();
    const std::string scalar_text = out.memory_type(i.type), whole = out.vector_type(scalar_text);
    if (const auto tile = in_tiles.find(&i); tile != in_tiles.end())
        return out.line(text("store ", whole, " ", packet.vector(given), ", ptr ", tile->second));
    if (emit.groups.stores_interleaved(id)) return;
    if (packet.running.all() && emit.patterns.moves_by_pattern(i))
        return emit.patterns.store_pattern(i, emit.casts.to_memory(i.type, packet.vector(given), true));
    if (packet.running.all() && emit.contiguity.checks_contiguity(i) &&
        packet.rep_of(indices_of(k, i).back()).kind == ValueKind::vector)
        return emit.contiguity.checked_store(i, whole, emit.casts.to_memory(i.type, packet.vector(given), true));
    if (const auto lanes = emit.strided.strided_lanes(i); !lanes.empty())
        return emit.strided.store_lanes(i, emit.casts.to_memory(i.type, packet.vector(given), true), lanes);
    const Address a = emit.addresses.access(i);
    if (a.how == Address::How::scalar) {
        std::string value;
        if (packet.rep_of(given).kind == ValueKind::uniform) {
            value = emit.casts.to_memory(i.type, packet.scalar(given), false);
        } else {
            // All lanes store to one address: any active lane may be the last. Under a mask often only one lane is active.
            const std::string lane = packet.running.all() ? std::to_string(width - 1) : packet.first_lane(packet.running);
            value = out.extract(scalar_text, emit.casts.to_memory(i.type, packet.vector(given), true), lane);
        }
        return out.line(text("store ", scalar_text, " ", value, ", ptr ", a.pointer, ", align ", a.align));
    }
    const std::string value = emit.casts.to_memory(i.type, packet.vector(given), true);
    const bool own = k[i.memory].kind == MemoryKind::private_;
    if (a.how == Address::How::contiguous && own) {
        std::string now = value;
        if (!packet.running.all()) {
            const std::string old = out.let(text("load ", whole, ", ptr ", a.pointer, ", align ", a.align * width));
            now = out.let(
                text("select ", out.vector_type("i1"), " ", packet.running.text, ", ", whole, " ", value, ", ", whole, " ", old));
        }
        return out.line(text("store ", whole, " ", now, ", ptr ", a.pointer, ", align ", a.align * width));
    }
    if (a.how == Address::How::contiguous && emit.streams.streams(i)) return emit.streams.streaming_store(i, value, a);
    if (a.how == Address::How::contiguous && packet.running.all()) return whole_store(i, value, a);
    if (a.how == Address::How::contiguous && short_packet()) {
        const std::string part = emit.shuffles.resized(scalar_text, value, width, packet.running.first);
        return out.line(
            text("store <", packet.running.first, " x ", scalar_text, "> ", part, ", ptr ", a.pointer, ", align ", a.align));
    }
    emit.masked.masked_store(i, value, a);
}

}  // namespace pumice::cpu
