// Atomics: reduced over the packet, scalarised lane by lane, or plain accesses where the memory belongs to one thread.
//
//     atomic add arg1[%uniform], %x    old value unused:     %s = horizontal add of x; atomicrmw fadd ptr, %s     1 atomic
//     atomic add arg1[%varying], %x    shared array:         for each active lane: atomicrmw fadd ptr_lane, x_lane
//     atomic add copy[%contiguous], %x private to a thread:  masked.load; fadd; masked.store                       no atomic
//
// Why: an atomic of a float is a compare-exchange loop, so one atomic for a packet instead of one for each lane counts. Local
// memory, private memory and private copies of reduction targets (cpu/plan/reduction_privatisation.h) are accessed by one thread
// only. Cost: a lane-by-lane atomic is `width` scalar atomics; partial packets loop over the bits of the mask. Order of lanes is
// unspecified, and all atomics are monotonic (relaxed).
// Limits: no conflict detection (AVX-512 CD): atomics at varying addresses are always scalarised. Exchange and compare-exchange
// are never reduced over the packet.
// Textbook: scalarisation; SIMD tree reduction.

#include "cpu/reduction/emit_atomics.h"
#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/reduction/emit_private_sums.h"
#include "cpu/reduction/vector_adds.h"

namespace pumice::cpu {

using namespace ir;

namespace {

Op op_of(Atomic a) {
    switch (a) {
        case Atomic::add: return Op::add;
        case Atomic::sub: return Op::sub;
        case Atomic::min: return Op::min;
        case Atomic::max: return Op::max;
        case Atomic::and_: return Op::and_;
        case Atomic::or_: return Op::or_;
        case Atomic::xor_: return Op::xor_;
        case Atomic::exchange: break;
    }
    library_bug("an exchange is no operation");
}

/// The operation's name in `atomicrmw`.
const char* word(Atomic a, Scalar t) {
    const bool f = is_float(t), u = is_unsigned_int(t);
    switch (a) {
        case Atomic::add: return f ? "fadd" : "add";
        case Atomic::sub: return f ? "fsub" : "sub";
        case Atomic::min: return f ? "fmin" : u ? "umin" : "min";
        case Atomic::max: return f ? "fmax" : u ? "umax" : "max";
        case Atomic::and_: return "and";
        case Atomic::or_: return "or";
        case Atomic::xor_: return "xor";
        case Atomic::exchange: return "xchg";
    }
    return "xchg";
}

/// The type in memory. A bool is a byte of 0 or 1, on which the operations of bytes give the results of those of bools.
Scalar stored_as(Scalar type) { return type == Scalar::boolean ? Scalar::u8 : type; }

}  // namespace

/// Scalarisation: calls `emit` for each active lane, with the lane as an i32 and its element of each vector. `branch_free`: full
/// packets are unrolled, without a test of the mask; partial packets loop over the mask's bits.
void Atomics::each_lane(const std::vector<Lanes>& vectors, bool branch_free, const LaneBody& emit) {
    std::vector<std::string> own(vectors.size());
    const auto every = [&] {
        for (int lane = 0; lane < width; ++lane) {
            const std::string at = std::to_string(lane);
            for (size_t v = 0; v < vectors.size(); ++v) own[v] = out.extract(vectors[v].type, vectors[v].vector, at);
            emit(at, own);
        }
    };
    if (width == 1 || (branch_free && packet.running.all())) return every();
    const std::string bits = text("i", width), rest = out.alloca_of(bits, "rest");
    const std::string all =
        packet.running.all() ? "-1" : out.let(text("bitcast ", out.vector_type("i1"), " ", packet.running.text, " to ", bits));
    const std::string next = out.label("lane"), end = out.label("lanes_end");
    if (branch_free) {
        const std::string whole = out.label("whole"), some = out.label("some");
        out.branch(out.let(text("icmp eq ", bits, " ", all, ", -1")), whole, some);
        out.start(whole);
        every();
        out.jump(end);
        out.start(some);
    }
    out.line(text("store ", bits, " ", all, ", ptr ", rest));
    std::vector<std::string> arrays;
    for (const Lanes& v : vectors) {
        arrays.push_back(out.alloca_of(out.vector_type(v.type), "lanes"));
        out.line(text("store ", out.vector_type(v.type), " ", v.vector, ", ptr ", arrays.back()));
    }
    out.start(next);
    const std::string left = out.let(text("load ", bits, ", ptr ", rest));
    const std::string at = out.first_bit(left);
    for (size_t v = 0; v < vectors.size(); ++v) {
        const std::string& type = vectors[v].type;
        own[v] = out.let(text("load ", type, ", ptr ", out.let(text("getelementptr ", type, ", ptr ", arrays[v], ", i32 ", at))));
    }
    emit(at, own);
    const std::string fewer = out.let(text("and ", bits, " ", left, ", ", out.let(text("add ", bits, " ", left, ", -1"))));
    out.line(text("store ", bits, " ", fewer, ", ptr ", rest));
    out.branch(out.let(text("icmp eq ", bits, " ", fewer, ", 0")), end, next);
    out.start(end);
}

void Atomics::atomic(const Inst& i) {
    if (plan.sum_lanes[i.memory.id] > 1) return emit.sums.lane_private_add(i);
    if (plan.deferred_reductions.count(&i)) return emit.sums.defer_addend(i);
    if (emit.vector_adds.adds_vector(i)) return;
    const Address a = emit.addresses.access(i);
    const Value r = k.result(i);
    const auto v = k.operands(i);
    const bool swaps = i.op == Op::compare_exchange, own = emit.memory.of_thread(i.memory);
    if (a.how == Address::How::scalar && width > 1 && !packet.uses.any(r) && !swaps && Atomic(i.immediate) != Atomic::exchange)
        return reduced_atomic(i, a.pointer);
    const bool is_bool = i.type == Scalar::boolean;
    if (a.how == Address::How::contiguous && own && !packet.uses.any(r) && !swaps && !is_bool &&
        Atomic(i.immediate) != Atomic::exchange) {
        emit.prefetches.prefetch(k[r].inst, a);
        return side_by_side(i, a);
    }
    const std::string type = out.scalar_type(stored_as(i.type)),
                      result = packet.uses.any(r) ? out.alloca_of(out.vector_type(type), "old") : "";
    std::vector<Lanes> vectors;
    for (size_t o = v.size() - (swaps ? 2 : 1); o < v.size(); ++o) {
        const std::string given = width == 1 ? packet.scalar(v[o]) : packet.vector(v[o]);
        vectors.push_back(
            {type, is_bool ? out.let(text("zext ", out.vector_type("i1"), " ", given, " to ", out.vector_type("i8"))) : given});
    }
    if (a.how == Address::How::scattered) vectors.push_back({"ptr", a.pointer});
    each_lane(vectors, own, [&](const std::string& lane, const std::vector<std::string>& of_lane) {
        std::string address = a.pointer;
        if (a.how == Address::How::scattered) address = of_lane.back();
        if (a.how == Address::How::contiguous)
            address = out.let(text("getelementptr ", out.memory_type(i.type), ", ptr ", a.pointer, ", i32 ", lane), "p");
        const std::string old = scalar_atomic(i, address, of_lane);
        if (!packet.uses.any(r)) return;
        const std::string at = width == 1 ? result : out.let(text("getelementptr ", type, ", ptr ", result, ", i32 ", lane));
        out.line(text("store ", type, " ", old, ", ptr ", at));
    });
    if (packet.uses.any(r)) {
        const std::string old = out.let(text("load ", out.vector_type(type), ", ptr ", result));
        packet.define(r, is_bool ? out.let(text("trunc ", out.vector_type("i8"), " ", old, " to ", out.vector_type("i1"))) : old);
    } else
        packet.define(r, out.splat_constant(i.type, 0, true));
}

/// Contiguous lanes in memory that belongs to the thread: a vector load, the operation, a vector store.
void Atomics::side_by_side(const Inst& i, const Address& a) {
    const std::string type = out.scalar_type(i.type), mask = packet.mask_text(packet.running),
                      old = emit.masked.masked_read(type, a, mask);
    const Op op = op_of(Atomic(i.immediate));
    const std::string now = emit.ops.operation(op, i.type, {old, packet.vector(k.operands(i).back())}, true, false);
    emit.masked.masked_write(type, now, a, mask);
    packet.define(k.result(i), out.splat_constant(i.type, 0, true));
}

/// An atomic for which LLVM has no instruction: a loop that computes the new value and stores it if memory still holds the old
/// one.
std::string Atomics::exchanged_until_same(const Inst& i, const std::string& pointer, const std::string& operand) {
    const std::string type = out.scalar_type(i.type), expected = out.alloca_of(type, "expected"), again = out.label("again"),
                      done = out.label("done");
    const std::string first = out.let(text("load atomic ", type, ", ptr ", pointer, " monotonic, align ", size_of(i.type)));
    out.line(text("store ", type, " ", first, ", ptr ", expected));
    out.jump(again);
    out.start(again);
    const std::string old = out.let(text("load ", type, ", ptr ", expected));
    const std::string now = emit.ops.operation(op_of(Atomic(i.immediate)), i.type, {old, operand}, false, false);
    const std::string both =
        out.let(text("cmpxchg ptr ", pointer, ", ", type, " ", old, ", ", type, " ", now, " monotonic monotonic"));
    out.line(text("store ", type, " ", out.let(text("extractvalue { ", type, ", i1 } ", both, ", 0")), ", ptr ", expected));
    out.branch(out.let(text("extractvalue { ", type, ", i1 } ", both, ", 1")), done, again);
    out.start(done);
    return old;
}

/// The atomic of one lane. Memory that belongs to the thread takes a plain load and store.
std::string Atomics::scalar_atomic(const Inst& i, const std::string& pointer, const std::vector<std::string>& operands) {
    const Scalar stored = stored_as(i.type);
    const std::string type = out.scalar_type(stored), bits = text("i", 8 * size_of(stored));
    const bool plain = emit.memory.of_thread(i.memory);
    const Atomic what = Atomic(i.immediate);
    if (i.op == Op::compare_exchange) {
        const auto as_bits = [&](const std::string& o) {
            return is_float(i.type) ? out.let(text("bitcast ", type, " ", o, " to ", bits)) : o;
        };
        const std::string expected = as_bits(operands[0]), desired = as_bits(operands[1]);
        std::string old;
        if (plain) {
            old = out.let(text("load ", bits, ", ptr ", pointer));
            const std::string same = out.let(text("icmp eq ", bits, " ", old, ", ", expected));
            out.line(text("store ", bits, " ", out.let(text("select i1 ", same, ", ", bits, " ", desired, ", ", bits, " ", old)),
                          ", ptr ", pointer));
        } else {
            const std::string both = out.let(
                text("cmpxchg ptr ", pointer, ", ", bits, " ", expected, ", ", bits, " ", desired, " monotonic monotonic"));
            old = out.let(text("extractvalue { ", bits, ", i1 } ", both, ", 0"));
        }
        return is_float(i.type) ? out.let(text("bitcast ", bits, " ", old, " to ", type)) : old;
    }
    if (!plain && i.type == Scalar::bf16 && what != Atomic::exchange) return exchanged_until_same(i, pointer, operands[0]);
    if (!plain)
        return out.let(text("atomicrmw ", word(what, i.type), " ptr ", pointer, ", ", type, " ", operands[0], " monotonic"));
    const std::string old = out.let(text("load ", type, ", ptr ", pointer));
    const std::string now =
        what == Atomic::exchange ? operands[0] : emit.ops.operation(op_of(what), stored, {old, operands[0]}, false, false);
    out.line(text("store ", type, " ", now, ", ptr ", pointer));
    return old;
}

/// All lanes at one address: reduces the packet to one scalar, then one atomic. The order of the items is unspecified anyway.
void Atomics::reduced_atomic(const Inst& i, const std::string& pointer) {
    const Atomic what = Atomic(i.immediate);
    const Value given = k.operands(i).back();
    const std::string type = out.scalar_type(i.type), whole = out.vector_type(type);
    std::string value = packet.vector(given);
    // Tree reduction in log2(width) steps. Inactive lanes hold 0 for add, sub, or, xor; else they repeat the first active lane.
    const bool adds = what == Atomic::add || what == Atomic::sub || what == Atomic::or_ || what == Atomic::xor_;
    if (!packet.running.all()) {
        const std::string filler =
            adds ? "zeroinitializer" : out.splat(type, out.extract(type, value, packet.first_lane(packet.running)));
        value = out.let(
            text("select ", out.vector_type("i1"), " ", packet.running.text, ", ", whole, " ", value, ", ", whole, " ", filler));
    }
    const Op op = what == Atomic::sub ? Op::add : op_of(what);
    for (int half = width / 2; half >= 1; half /= 2) {
        std::string indices;
        for (int l = 0; l < width; ++l) indices += text(l ? ", " : "", "i32 ", l < half ? l + half : l);
        const std::string upper =
            out.let(text("shufflevector ", whole, " ", value, ", ", whole, " poison, <", width, " x i32> <", indices, ">"));
        value = emit.ops.operation(op, i.type, {value, upper}, true, false);
    }
    const std::string all = out.extract(type, value, "0");
    scalar_atomic(i, pointer, {i.type == Scalar::boolean ? out.let(text("zext i1 ", all, " to i8")) : all});
    packet.define(k.result(i), out.splat_constant(i.type, 0, true));
}

}  // namespace pumice::cpu
