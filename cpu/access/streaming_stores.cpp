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
#include "cpu/emit/llvm_emitter.h"

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
bool LlvmEmitter::only_written(MemoryId m) const {
    if (k[m].kind != MemoryKind::array || MemoryEffects(k).reads(m)) return false;
    const Structure& where = uniformity.structure();
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
bool LlvmEmitter::streams(const Inst& i) const {
    if (!target.rules.has(Rule::streaming_stores)) return false;
    // Transposed rows return to a line only after all other rows. The partial lines of so many rows exceed the write-combining
    // buffers.
    if (!transposed_loads.empty() && size_of(i.type) < least_transposed) return false;
    if (!variant.streaming || size_of(i.type) * width < least_vector || !only_written(i.memory)) return false;
    return running.all() || (!running.to.empty() && size_of(i.type) >= least_piece);
}

std::string LlvmEmitter::integer_address(const std::string& pointer) { return let(text("ptrtoint ptr ", pointer, " to i64")); }

/// An i1: the address is aligned, as streaming stores require.
std::string LlvmEmitter::aligned_for_streaming(const Inst& i, const Address& a) {
    const int bytes = std::min(size_of(i.type) * width, line_bytes);
    const std::string low = let(text("and i64 ", integer_address(a.pointer), ", ", bytes - 1));
    return let(text("icmp eq i64 ", low, ", 0"));
}

/// The `!nontemporal` attachment. A fence after the groups of a thread orders these stores (cpu/runtime/cpu_launch.cpp).
std::string LlvmEmitter::nontemporal() { return text(", !nontemporal ", metadata("!{i32 1}")); }

/// Streaming store of a packet's vector, with a fallback for unaligned addresses.
void LlvmEmitter::streaming_store(const Inst& i, const std::string& value, const Address& a) {
    if (!running.all()) return partial_streaming_store(i, value, a);
    const std::string type = vector_type(memory_type(i.type));
    const int align = std::min(size_of(i.type) * width, line_bytes);
    const std::string aligned = label("aligned"), other = label("other"), end = label("stored");
    branch(aligned_for_streaming(i, a), aligned, other);
    start(aligned);
    line(text("store ", type, " ", value, ", ptr ", a.pointer, ", align ", align, nontemporal()));
    jump(end);
    start(other);
    line(text("store ", type, " ", value, ", ptr ", a.pointer, ", align ", a.align));
    start(end);
}

/// Streaming store of a partial packet at the begin or the end of a row, in pieces of 4, 8, 16, 32 ... bytes: at most one piece
/// of each size, aligned to its size. A masked store would read the line first.
void LlvmEmitter::partial_streaming_store(const Inst& i, const std::string& value, const Address& a) {
    const std::string type = vector_type(memory_type(i.type)), from = running.from, to = running.to;
    const std::string slot = alloca_of(type, "part"), head = label("head"), tail = label("tail"), not_head = label("not_head"),
                      other = label("other"), end = label("stored");
    const std::string aligned = aligned_for_streaming(i, a);
    const std::string begins = let(text("icmp sle i32 ", from, ", 0")), ends = let(text("icmp sge i32 ", to, ", ", width));
    line(text("store ", type, " ", value, ", ptr ", slot));
    branch(let(text("and i1 ", aligned, ", ", begins)), head, not_head);
    start(not_head);
    branch(let(text("and i1 ", aligned, ", ", ends)), tail, other);
    const auto pieces = [&](const auto& lane_of, const std::string& bits) {
        for (int lanes = 1; lanes < width; lanes *= 2) {
            const std::string piece = label("piece"), next = label("next");
            const std::string lane = lane_of(lanes);
            branch(let(text("icmp ne i32 ", let(text("and i32 ", bits.empty() ? lane : bits, ", ", lanes)), ", 0")), piece, next);
            start(piece);
            stream_lanes(i, slot, a, lane, lanes);
            start(next);
        }
        jump(end);
    };
    // The lanes before `to`: one piece for each bit of `to`. The piece of 2^b lanes starts at `to` with the bits up to b cleared.
    start(head);
    pieces([&](int lanes) { return let(text("and i32 ", to, ", ", -2 * lanes)); }, to);
    // The lanes from `from` on: pieces that fill up to the next multiple of 2, of 4, of 8 ...
    start(tail);
    pieces([&](int lanes) { return let(text("and i32 ", let(text("add i32 ", from, ", ", lanes - 1)), ", ", -lanes)); }, "");
    start(other);
    masked_store(i, value, a);
    start(end);
}

/// Streams `lanes` lanes of the vector in `slot`, from `lane` on.
void LlvmEmitter::stream_lanes(const Inst& i, const std::string& slot, const Address& a, const std::string& lane, int lanes) {
    const int size = size_of(i.type), bytes = size * lanes;
    const std::string type = bytes > 8 ? text("<", bytes / 4, " x i32>") : text("i", 8 * bytes);
    const auto at = [&](const std::string& base) {
        return let(text("getelementptr [", size, " x i8], ptr ", base, ", i32 ", lane), "p");
    };
    const int align = std::min(bytes, line_bytes);
    const std::string piece = let(text("load ", type, ", ptr ", at(slot), ", align ", align));
    line(text("store ", type, " ", piece, ", ptr ", at(a.pointer), ", align ", align, nontemporal()));
}

}  // namespace pumice::cpu
