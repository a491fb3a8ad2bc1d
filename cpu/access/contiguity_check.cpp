// Contiguity check: an access whose index is clamped or wrapped uses a whole vector in the packets whose lanes lie side by side.
//
// Why: clamp(j + d, 0, n - 1) moves by one element from lane to lane but for the packets at the rim. A gather of eight elements
// takes as long as ten to twenty vector loads.
//
//     before:  %v = gather(%base + %index)
//     after:   if %index == splat(%index[0]) + <0, 1, 2, ...> { %v = load <8 x float> } else { %v = gather(%base + %index) }
//
// At the rim, lanes of a clamp repeat an element: all indices are still within one packet of the first lane's. In local memory,
// where a vector may be read past an array's end, such a packet permutes the vectors from there on instead of gathering:
//
//              else if %index - splat(%index[0]) < 8 { %v = permute(load <8 x float>, %index - %index[0]) } else { gather }
//
// Only for indices with a probable step of 1: made of indices with constant steps by sums and casts, by min, max and select, and
// by rem, and, xor with what is uniform. These three keep the step where a packet crosses none of the other operand's bits.
// Others would pay for a test that fails. Stores make the same check before they scatter. Examples: the partner `lane ^ distance`
// of a butterfly, the pair `2 * p - (p & (distance - 1))` of a bitonic network.
// cpu/packet/register_lookups.cpp says which vectors can be permuted.
// Of sums, minima and maxima the test compares the last lane's index with the first one's: two scalars, since such an index grows
// by 0 or 1 from lane to lane. The address of the whole vector is made from scalars, too.
//
// Cost: a subtraction, a comparison and a branch that is predicted in all packets but those at the rim; code for both ways.
// Limits: the packet is complete; the other indices are uniform; elements are single scalars. In kernels without loops and
// barriers, boundary_index.cpp makes two versions of the whole packet instead, where it can.
// Textbook: loop versioning for contiguous accesses (LLVM's LoopAccessAnalysis versions symbolic strides); here an access is
// versioned, not the loop.
#include <utility>

#include "core/support/error.h"
#include "cpu/access/contiguity_check.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/register_lookups.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_nested = 8;  ///< instructions between the index with step 1 and the access
}  // namespace

/// The probable step of a value: its difference from one lane to the next in most packets; none if no step is likely. `narrow`
/// refuses xor, and sums of two values that both vary with the lane. It holds for operands of min, max and select, and for the
/// whole index where Rule::checked_stores is off.
std::optional<int64_t> ContiguityChecks::probable_step(Value v, bool narrow, int depth) const {
    if (packet.kind_of(v) == ValueKind::uniform) return 0;
    if (packet.kind_of(v) == ValueKind::affine) return packet.lane_step(v);
    const InstId source = k[v].inst;
    if (source.id == none || depth > most_nested) return std::nullopt;
    const Inst& i = k[source];
    const auto o = k.operands(i);
    const auto of = [&](size_t operand) { return probable_step(o[operand], narrow, depth + 1); };
    const auto by_one = [&](size_t operand) { return probable_step(o[operand], true, depth + 1) == 1; };
    const auto uniform = [&](size_t operand) { return packet.kind_of(o[operand]) == ValueKind::uniform; };
    switch (i.op) {
        case Op::add:
        case Op::sub: {
            const auto a = of(0), b = of(1);
            if (!a || !b || (narrow && !uniform(0) && !uniform(1))) return std::nullopt;
            return int64_t(uint64_t(*a) + (i.op == Op::add ? uint64_t(*b) : 0 - uint64_t(*b)));
        }
        case Op::xor_: return narrow ? std::nullopt : uniform(1) ? of(0) : uniform(0) ? of(1) : std::nullopt;
        case Op::rem:
        case Op::and_: return uniform(1) ? of(0) : std::nullopt;
        case Op::cast: return is_int(k.type_of(o[0])) ? of(0) : std::nullopt;
        case Op::min:
        case Op::max: return by_one(0) || by_one(1) ? std::optional<int64_t>(1) : std::nullopt;
        case Op::select: return by_one(1) || by_one(2) ? std::optional<int64_t>(1) : std::nullopt;
        default: return std::nullopt;
    }
}

/// True if a load or store should test whether its lanes lie side by side.
bool ContiguityChecks::checks_contiguity(const Inst& i) const {
    if (!target.rules.has(Rule::contiguity_checks) || width == 1) return false;
    if (i.op != Op::load && (i.op != Op::store || !target.rules.has(Rule::checked_stores))) return false;
    const Memory& m = k[i.memory];
    if (m.kind == MemoryKind::private_ || int(m.element.size) != size_of(i.type)) return false;
    const auto indices = indices_of(k, i);
    // An unsigned index of 32 bits may wrap inside an array of more elements.
    if (variant.wide_offsets && k.type_of(indices.back()) != Scalar::i32) return false;
    for (const Value v : indices.first(indices.size() - 1))
        if (packet.kind_of(v) != ValueKind::uniform) return false;
    return packet.kind_of(indices.back()) == ValueKind::vector &&
           !packet.affine.of(indices.back()).step(emit.addresses.index_bits(i, indices.back())) &&
           size_of(k.type_of(indices.back())) == 4 && probable_step(indices.back(), !target.rules.has(Rule::checked_stores)) == 1;
}

/// True if the packets at the rim permute the vectors from the first lane's element on. They are read past the memory's end by
/// less than a packet, for which the scratch memory has room (MemoryLayout::read_past_end).
bool ContiguityChecks::permutes_window(const Inst& i) const {
    return k[i.memory].kind == MemoryKind::local && !emit.memory.staged(i.memory) &&
           emit.lookups.window_for(size_of(i.type), width) == width;
}

/// The first and the last lane's value of an i32 index that grows by 0 or 1 from lane to lane, as scalars: sums, minima and
/// maxima of a value with step 1 and uniform ones. If the value wraps within the packet, the limits send the lanes before the
/// wrap to the upper one and those behind it to the lower one: the last lane is then not above the first, and the packet is no
/// row.
std::optional<std::pair<std::string, std::string>> ContiguityChecks::ends_of(Value v, int depth) {
    using Ends = std::pair<std::string, std::string>;
    if (!packet.has_value[v.id] || k.type_of(v) != Scalar::i32 || depth > most_nested) return std::nullopt;
    const ValueRep& rep = packet.rep_of(v);
    if (rep.kind == ValueKind::uniform) return Ends{rep.scalar, rep.scalar};
    if (rep.kind == ValueKind::affine && rep.step == 1)
        return Ends{rep.scalar, out.let(text("add i32 ", rep.scalar, ", ", width - 1))};
    const InstId source = k[v].inst;
    if (rep.kind != ValueKind::vector || source.id == none) return std::nullopt;
    const Inst& i = k[source];
    if (i.op != Op::min && i.op != Op::max && i.op != Op::add && i.op != Op::sub) return std::nullopt;
    const auto o = k.operands(i);
    const auto uniform = [&](size_t operand) { return packet.kind_of(o[operand]) == ValueKind::uniform; };
    if (!uniform(1) && (i.op == Op::sub || !uniform(0))) return std::nullopt;
    const auto a = ends_of(o[0], depth + 1), b = a ? ends_of(o[1], depth + 1) : std::nullopt;
    if (!b) return std::nullopt;
    const auto of = [&](const std::string& x, const std::string& y) {
        if (i.op == Op::add || i.op == Op::sub) return out.let(text(i.op == Op::add ? "add" : "sub", " i32 ", x, ", ", y));
        const std::string less = out.let(text("icmp ", i.op == Op::min ? "slt" : "sgt", " i32 ", x, ", ", y));
        return out.let(text("select i1 ", less, ", i32 ", x, ", i32 ", y));
    };
    const std::string first = of(a->first, b->first);
    return Ends{first, of(a->second, b->second)};
}

/// Tests whether the lanes of an index lie side by side.
ContiguityChecks::RowTest ContiguityChecks::test_of_row(Value index) {
    if (const auto ends = ends_of(index)) {
        const std::string grown = out.let(text("sub i32 ", ends->second, ", ", ends->first));
        return {out.let(text("icmp eq i32 ", grown, ", ", width - 1)), ends->first};
    }
    const std::string lanes_of = packet.vector(index), t = out.vector_type("i32"), first = out.extract("i32", lanes_of, "0");
    const std::string same = out.let(text("icmp eq ", t, " ", apart(lanes_of, first), ", ", out.lanes("i32", 1)));
    return {out.let(text("icmp eq i", width, " ", out.let(text("bitcast ", out.vector_type("i1"), " ", same, " to i", width)),
                         ", -1")),
            first};
}

/// The distances of an index's lanes from the first one.
std::string ContiguityChecks::apart(const std::string& index, const std::string& first) {
    return out.let(text("sub ", out.vector_type("i32"), " ", index, ", ", out.splat("i32", first)));
}

/// The store in two ways.
void ContiguityChecks::checked_store(const Inst& i, const std::string& whole, const std::string& value) {
    const RowTest test = test_of_row(indices_of(k, i).back());
    const std::string row = out.label("row"), scattered = out.label("scattered"), end = out.label("stored");
    out.branch(test.holds, row, scattered);
    out.start(row);
    out.line(text("store ", whole, " ", value, ", ptr ", emit.addresses.pointer_at(i, test.first), ", align ",
                  emit.addresses.alignment_of(i)));
    out.jump(end);
    out.start(scattered);
    emit.masked.masked_store(i, value, emit.addresses.access(i));
    out.start(end);
}

/// Prefetches what later packets load as this one loads its row, which begins at `begin`.
void ContiguityChecks::prefetch(const Inst& i, const std::string& begin) {
    emit.prefetches.prefetch_row(i, begin, [&] {
        const auto ends = ends_of(indices_of(k, i).back());
        return ends ? emit.addresses.pointer_at(i, ends->first) : std::string();
    });
}

/// The load in two or three ways. Returns the loaded vector, of type `whole`.
std::string ContiguityChecks::checked_load(const Inst& i, const std::string& whole) {
    const Value index = indices_of(k, i).back();
    const std::string slot = out.alloca_of(whole, "checked"), row = out.label("row"), scattered = out.label("scattered"),
                      end = out.label("loaded");
    const auto loaded = [&](const std::string& v) { out.line(text("store ", whole, " ", v, ", ptr ", slot)); };
    const RowTest test = test_of_row(index);
    out.branch(test.holds, row, scattered);
    out.start(row);
    const std::string begin = emit.addresses.pointer_at(i, test.first);
    prefetch(i, begin);
    loaded(out.let(text("load ", whole, ", ptr ", begin, ", align ", emit.addresses.alignment_of(i))));
    out.jump(end);
    out.start(scattered);
    if (permutes_window(i)) {
        const std::string near = out.label("near"), far = out.label("far"), from_first = apart(packet.vector(index), test.first);
        const std::string inside =
            out.let(text("icmp ult ", out.vector_type("i32"), " ", from_first, ", ", out.splat("i32", std::to_string(width))));
        const std::string lanes_inside = out.let(text("bitcast ", out.vector_type("i1"), " ", inside, " to i", width));
        out.branch(out.let(text("icmp eq i", width, " ", lanes_inside, ", -1")), near, far);
        out.start(near);
        const std::string window = out.let(
            text("load ", whole, ", ptr ", emit.addresses.pointer_at(i, test.first), ", align ", emit.addresses.alignment_of(i)));
        loaded(emit.lookups.looked_up(out.memory_type(i.type), size_of(i.type), width, window, from_first));
        out.jump(end);
        out.start(far);
    }
    loaded(emit.masked.masked_load(i, emit.addresses.access(i)));
    out.start(end);
    return out.let(text("load ", whole, ", ptr ", slot));
}

}  // namespace pumice::cpu
