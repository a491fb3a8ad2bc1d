// Vector adds: adds to all scalars of one element, in memory of one thread, move together.
//
// Why: the adjoint of a load of a float4 adds to four adjacent floats. Lane by lane that is four addresses, four loads and four
// stores for each item.
//
//     before:  for each lane: m[%at].x += %x;  ...;  m[%at].w += %w          4 additions a lane
//     after:   %rows = interleave(%x, %y, %z, %w)                            8 shuffles a packet of 16
//              for each lane: m[%at] += %rows[lane]                          1 addition of a <4 x float> a lane
//
// The adds of a group stand in one block and have the same index values. They move down to the last one: legal, because nothing
// in between reads or writes the memory in another way, and additions commute. A scalar that the group leaves out gets -0.0,
// which changes no float, or 0.
// Cost: the shuffles. Limits: elements of 2 to 4 scalars of one type of at least 32 bits, of which at least half are added to;
// old values unused; not where all lanes add to one element.
// Textbook: superword-level parallelism within an item, beside that over items (Larsen and Amarasinghe, PLDI 2000).
#include <algorithm>
#include <bit>

#include "core/analysis/element_accesses.h"
#include "core/support/error.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/shuffles.h"
#include "cpu/plan/reduction_privatisation.h"
#include "cpu/reduction/emit_atomics.h"
#include "cpu/reduction/vector_adds.h"

namespace pumice::cpu {

using namespace ir;

/// The adds that move with this one, itself first; empty if it stays alone.
std::vector<const Inst*> VectorAdds::vector_add(const Inst& i) const {
    const Memory& m = k[i.memory];
    const size_t scalars = m.element.leaves.size();
    const auto joins = [&](const Inst& j) { return is_atomic_sum(j) && !packet.uses.any(k.result(j)); };
    const auto at = indices_of(k, i);
    if (!target.rules.has(Rule::vector_adds) || width < quad || scalars < 2 || scalars > size_t(quad) || !joins(i) ||
        size_of(i.type) < 4 || m.kind == MemoryKind::private_ || !emit.memory.of_thread(i.memory) || !is_vector(m.element) ||
        std::none_of(at.begin(), at.end(), [&](Value v) { return packet.varying(v); }))
        return {};
    std::vector<bool> taken(scalars);
    taken[i.leaf] = true;
    std::vector<const Inst*> all{&i};
    const InstId id{uint32_t(&i - k.insts.data())};
    each_access_after(k, packet.uniformity.structure().block_of(id), id, [&](const Inst& j) {
        if (joins(j) && !taken[j.leaf] && std::ranges::equal(at, indices_of(k, j))) {
            taken[j.leaf] = true;
            all.push_back(&j);
        }
        return joins(j);
    });
    return 2 * all.size() >= scalars && all.size() > 1 ? all : std::vector<const Inst*>();
}

/// If an add belongs to a group: records its addend, adds the group's at its last member, and returns true.
bool VectorAdds::adds_vector(const Inst& i) {
    const auto holds = [&](const PendingVectorAdd& p) { return std::find(p.all.begin(), p.all.end(), &i) != p.all.end(); };
    auto group = std::find_if(pending_adds.begin(), pending_adds.end(), holds);
    if (group == pending_adds.end()) {
        std::vector<const Inst*> all = vector_add(i);
        if (all.empty()) return false;
        pending_adds.push_back({std::move(all), std::vector<std::string>(k[i.memory].element.leaves.size()), 0});
        group = pending_adds.end() - 1;
    }
    const std::string addend = packet.vector(k.operands(i).back());
    group->addends[i.leaf] =
        Atomic(i.immediate) == Atomic::sub ? emit.ops.operation(Op::neg, i.type, {addend}, true, false) : addend;
    packet.define(k.result(i), out.splat_constant(i.type, 0, true));
    if (++group->given < group->all.size()) return true;
    const PendingVectorAdd complete = *group;
    pending_adds.erase(group);
    add_vectors(i, complete.addends);
    return true;
}

/// The distance in bytes from the memory's first element to each lane's, as a vector of i64: one instruction a vector instead of
/// one a lane.
std::string VectorAdds::byte_offsets(const Inst& i) {
    const Memory& m = k[i.memory];
    const bool wide = m.kind == MemoryKind::array && variant.wide_offsets;
    bool contiguous = false;
    int64_t more = 0;
    const ValueRep index = emit.addresses.offset(i, wide, contiguous, more);
    const std::string v = out.vector_type("i64");
    std::string at = packet.vector_of(index, wide ? Scalar::i64 : Scalar::i32);
    if (!wide) at = emit.casts.convert("sext", out.vector_type("i32"), at, v);
    at = out.let(text("mul ", v, " ", at, ", ", out.splat("i64", text(int64_t(m.element.size)))));
    const int64_t first = more * int64_t(m.element.size);
    return first == 0 ? at : out.let(text("add ", v, " ", at, ", ", out.splat("i64", text(first))));
}

/// Adds to the element of each active lane. `i`: one of the adds; an empty addend is neutral.
void VectorAdds::add_vectors(const Inst& i, std::vector<std::string> addends) {
    const int scalars = int(addends.size()), bytes = size_of(i.type), words = int(std::bit_ceil(unsigned(scalars)));
    const std::string type = out.scalar_type(i.type), whole = text("<", scalars, " x ", type, ">"), word = text("i", 8 * bytes),
                      integers = text("<", scalars, " x ", word, ">");
    for (std::string& a : addends)
        if (a.empty()) a = out.splat(type, is_float(i.type) ? "-0.0" : "0");
    InterleavedGroup s;
    s.stride = words, s.bytes = bytes, s.lanes = width;
    std::vector<std::string> columns;
    for (const std::string& a : addends)
        columns.push_back(emit.casts.convert("bitcast", out.vector_type(type), a, out.vector_type(word)));
    columns.resize(size_t(words), "poison");
    const std::vector<std::string> rows = emit.groups.interleaved(s, columns);
    const auto row = [&](int lane) {
        const std::string own = emit.shuffles.shuffled(word, width, rows[size_t(lane * words / width)], "poison", scalars,
                                                       [&](int n) { return lane * words % width + n; });
        return emit.casts.convert("bitcast", integers, own, whole);
    };
    std::vector<Atomics::Lanes> of_lanes{{"i64", byte_offsets(i)}};
    for (const std::string& a : addends) of_lanes.push_back({type, a});
    emit.atomics.each_lane(of_lanes, true, [&](const std::string& lane, const std::vector<std::string>& own) {
        std::string addend = "poison";
        if (lane[0] != '%')
            addend = row(std::stoi(lane));
        else
            for (int n = 0; n < scalars; ++n)
                addend = out.let(text("insertelement ", whole, " ", addend, ", ", type, " ", own[size_t(n + 1)], ", i32 ", n));
        const std::string to = out.let(text("getelementptr i8, ptr ", emit.memory.memory_text(i.memory), ", i64 ", own[0]), "p");
        const std::string old = out.let(text("load ", whole, ", ptr ", to, ", align ", bytes));
        const std::string now = out.let(text(is_float(i.type) ? "fadd " : "add ", whole, " ", old, ", ", addend));
        out.line(text("store ", whole, " ", now, ", ptr ", to, ", align ", bytes));
    });
}

}  // namespace pumice::cpu
