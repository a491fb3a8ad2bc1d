// Streaming (non-temporal) stores: results that exceed the caches are written around them.
//
// Why: a normal store first reads its cache line from memory (read for ownership). A streaming store of whole lines does not,
// which saves a third of the memory traffic of a copy, and leaves the caches to data that is read again.
//
//     store <8 x float> %v, ptr %p, align 4    =>   br (icmp eq (and %p, 31), 0), aligned, other
//                                                   aligned: store <8 x float> %v, ptr %p, align 32, !nontemporal !0
//                                                   other:   store <8 x float> %v, ptr %p, align 4
//
// Aligned partial packets that begin or end with the packet are written in power-of-two pieces (4, 8, 16 ... bytes), since there
// is no masked streaming store. Others take a masked store. A fence after the groups of a thread orders the stores
// (cpu/runtime/cpu_launch.cpp).
// Cost: an alignment test for each store.
// Limits: variants for large arrays only (Variant::streaming); arrays that the kernel only stores to, outside loops and outside
// conditions other than in_range; contiguous packets of at least 32 bytes. Elements below 4 bytes: no
// partial packets, and none with transposed loads.
// Textbook: non-temporal stores, write-combining (Intel Optimization Reference Manual, "Non-temporal Store Instructions").
#include <algorithm>

#include "core/support/error.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/access/streaming_stores.h"
#include "cpu/access/transposed_loads.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int line_bytes = 64;
constexpr int least_vector = 32;     ///< bytes of the smallest vector that is streamed
constexpr int least_piece = 4;       ///< bytes of the smallest such store
constexpr int least_transposed = 4;  ///< bytes of the smallest element that is streamed by transposed rows
}  // namespace

/// True if the kernel only stores to the array, at most once for each store instruction and item: cached lines would not be
/// reused.
bool StreamingStores::only_written(MemoryId m) const {
    if (k[m].kind != MemoryKind::array || MemoryEffects(k).reads(m)) return false;
    const Structure& where = packet.uniformity.structure();
    for (const InstId id : where.order()) {
        if (k[id].op != Op::store || k[id].memory != m) continue;
        for (InstId c = where.around(id); c.id != none; c = where.around(c)) {
            const InstId condition = k[k.operands(k[c])[0]].inst;
            if (k[c].op != Op::if_ || condition.id == none || k[condition].op != Op::in_range) return false;
        }
    }
    return true;
}

/// True if a contiguous store of the active lanes is a streaming store.
bool StreamingStores::streams(const Inst& i) const {
    if (!target.rules.has(Rule::streaming_stores)) return false;
    // Transposed rows return to a line only after all other rows. The partial lines of so many rows exceed the write-combining
    // buffers.
    if (!emit.transposed.transposed_loads.empty() && size_of(i.type) < least_transposed) return false;
    if (!variant.streaming || size_of(i.type) * width < least_vector || !only_written(i.memory)) return false;
    return packet.running.all() || (!packet.running.to.empty() && size_of(i.type) >= least_piece);
}

std::string StreamingStores::integer_address(const std::string& pointer) {
    return out.let(text("ptrtoint ptr ", pointer, " to i64"));
}

/// An i1: the address is aligned, as streaming stores require.
std::string StreamingStores::aligned_for_streaming(const Inst& i, const Address& a) {
    const int bytes = std::min(size_of(i.type) * width, line_bytes);
    const std::string low = out.let(text("and i64 ", integer_address(a.pointer), ", ", bytes - 1));
    return out.let(text("icmp eq i64 ", low, ", 0"));
}

/// The `!nontemporal` attachment. A fence after the groups of a thread orders these stores (cpu/runtime/cpu_launch.cpp).
std::string StreamingStores::nontemporal() { return text(", !nontemporal ", out.metadata("!{i32 1}")); }

/// Streaming store of a packet's vector, with a fallback for unaligned addresses.
void StreamingStores::streaming_store(const Inst& i, const std::string& value, const Address& a) {
    if (!packet.running.all()) return partial_streaming_store(i, value, a);
    const std::string type = out.vector_type(out.memory_type(i.type));
    const int align = std::min(size_of(i.type) * width, line_bytes);
    const std::string aligned = out.label("aligned"), other = out.label("other"), end = out.label("stored");
    out.branch(aligned_for_streaming(i, a), aligned, other);
    out.start(aligned);
    out.line(text("store ", type, " ", value, ", ptr ", a.pointer, ", align ", align, nontemporal()));
    out.jump(end);
    out.start(other);
    out.line(text("store ", type, " ", value, ", ptr ", a.pointer, ", align ", a.align));
    out.start(end);
}

/// Streaming store of a partial packet at the begin or the end of a row, in pieces of 4, 8, 16, 32 ... bytes: at most one piece
/// of each size, aligned to its size. A masked store would read the line first.
void StreamingStores::partial_streaming_store(const Inst& i, const std::string& value, const Address& a) {
    const std::string type = out.vector_type(out.memory_type(i.type)), from = packet.running.from, to = packet.running.to;
    const std::string slot = out.alloca_of(type, "part"), head = out.label("head"), tail = out.label("tail"),
                      not_head = out.label("not_head"), other = out.label("other"), end = out.label("stored");
    const std::string aligned = aligned_for_streaming(i, a);
    const std::string begins = out.let(text("icmp sle i32 ", from, ", 0")),
                      ends = out.let(text("icmp sge i32 ", to, ", ", width));
    out.line(text("store ", type, " ", value, ", ptr ", slot));
    out.branch(out.let(text("and i1 ", aligned, ", ", begins)), head, not_head);
    out.start(not_head);
    out.branch(out.let(text("and i1 ", aligned, ", ", ends)), tail, other);
    const auto pieces = [&](const auto& lane_of, const std::string& bits) {
        for (int lanes = 1; lanes < width; lanes *= 2) {
            const std::string piece = out.label("piece"), next = out.label("next");
            const std::string lane = lane_of(lanes);
            out.branch(out.let(text("icmp ne i32 ", out.let(text("and i32 ", bits.empty() ? lane : bits, ", ", lanes)), ", 0")),
                       piece, next);
            out.start(piece);
            stream_lanes(i, slot, a, lane, lanes);
            out.start(next);
        }
        out.jump(end);
    };
    // The lanes before `to`: one piece for each bit of `to`. The piece of 2^b lanes starts at `to` with the bits up to b cleared.
    out.start(head);
    pieces([&](int lanes) { return out.let(text("and i32 ", to, ", ", -2 * lanes)); }, to);
    // The lanes from `from` on: pieces that fill up to the next multiple of 2, of 4, of 8 ...
    out.start(tail);
    pieces([&](int lanes) { return out.let(text("and i32 ", out.let(text("add i32 ", from, ", ", lanes - 1)), ", ", -lanes)); },
           "");
    out.start(other);
    emit.masked.masked_store(i, value, a);
    out.start(end);
}

/// Streams `lanes` lanes of the vector in `slot`, from `lane` on.
void StreamingStores::stream_lanes(const Inst& i, const std::string& slot, const Address& a, const std::string& lane, int lanes) {
    const int size = size_of(i.type), bytes = size * lanes;
    const std::string type = bytes > 8 ? text("<", bytes / 4, " x i32>") : text("i", 8 * bytes);
    const auto at = [&](const std::string& base) {
        return out.let(text("getelementptr [", size, " x i8], ptr ", base, ", i32 ", lane), "p");
    };
    const int align = std::min(bytes, line_bytes);
    const std::string piece = out.let(text("load ", type, ", ptr ", at(slot), ", align ", align));
    out.line(text("store ", type, " ", piece, ", ptr ", at(a.pointer), ", align ", align, nontemporal()));
}

}  // namespace pumice::cpu
