// Sums to which all items contribute: adjoints of scalars, and shadow elements that every item adds to. Each item sums its own
// part in a variable; the group adds these up in local memory; one item adds the group's sum.
#include "autodiff/sweep.h"
#include "core/error.h"

namespace pumice::derive {

using namespace ir;

namespace {
constexpr int64_t rows = 16;      ///< of items that add up one part of the group's values each
constexpr size_t at_a_time = 4;  ///< sums that lie in local memory together
}  // namespace

/// The slot of a sum; equal places share one.
size_t Sweep::sum(MemoryId memory, uint32_t leaf, std::span<const Value> indices, Scalar type) {
    const auto same_index = [&](Value a, Value c) {
        uint64_t x = 0, y = 0;
        return a == c || (from.constant(a, x) && from.constant(c, y) && x == y);
    };
    for (const Sum& s : sums)
        if (s.memory == memory && s.leaf == leaf && std::equal(s.indices.begin(), s.indices.end(), indices.begin(), indices.end(), same_index))
            return s.slot;
    const size_t at = slots.size();
    slots.emplace_back();
    sums.push_back({memory, leaf, {indices.begin(), indices.end()}, type, at});
    return at;
}

/// Opens all sums in front of the reverse sweep, where they are seen from everywhere.
void Sweep::find_sums() {
    for (const InstId id : where.order()) {
        const Inst& i = from[id];
        if (!analysis.moves(id)) continue;
        const bool scalar = i.op == Op::argument;
        if (!scalar && (i.op != Op::load || accumulation(from, where, analysis, id) != Accumulation::group)) continue;
        for (int w = 0; w < width; ++w) {
            const size_t at = scalar ? sum(shadows->scalar(size_t(i.immediate), w), 0, {}, i.type)
                                     : sum(shadows->of(i.memory, w), i.leaf, indices_of(from, i), i.type);
            if (!slots[at].var) open_slot(at, i.type);
        }
    }
}

void Sweep::reduce_sums() {
    std::erase_if(sums, [&](const Sum& s) { return slots[s.slot].zero; });
    for (size_t n = 0; n < sums.size(); n += at_a_time) {
        if (n > 0) b.barrier();  // until all have read what lies there
        reduce_some(std::span(sums).subspan(n, std::min(at_a_time, sums.size() - n)));
    }
}

void Sweep::reduce_some(std::span<const Sum> some) {
    b.loc = from.loc;
    const Members& m = members();
    const Value zero_index = zero(Scalar::i32), row_count = b.constant_int(Scalar::i32, rows);
    std::vector<MemoryId> parts;
    for (size_t n = 0; n < some.size(); ++n) {
        Value mine = take(some[n].slot);
        parts.push_back(part_of_sum(n, some[n].type));
        b.store(parts[n], 0, {&m.rank, 1}, mine);
    }
    const auto add_up = [&](size_t n, Value first, Value limit, Value step) {
        const Value total = b.var(zero(some[n].type));
        emit_for(first, limit, step, [&](Value at) { b.set(total, b.op(Op::add, {b.get(total), b.load(parts[n], 0, {&at, 1})})); });
        return b.get(total);
    };
    b.barrier();
    emit_if(b.op(Op::lt, {m.rank, row_count}), [&] {
        for (size_t n = 0; n < some.size(); ++n) b.store(parts[n], 0, {&m.rank, 1}, add_up(n, m.rank, m.count, row_count));
    });
    b.barrier();
    emit_if(b.op(Op::eq, {m.rank, zero_index}), [&] {
        for (size_t n = 0; n < some.size(); ++n) {
            const Value total = add_up(n, zero_index, b.op(Op::min, {m.count, row_count}), b.constant_int(Scalar::i32, 1));
            std::vector<Value> indices;
            for (const Value v : some[n].indices) indices.push_back(rebuild(v));
            if (indices.empty()) indices.push_back(zero_index);
            b.atomic(some[n].memory, some[n].leaf, Atomic::add, indices, total);
        }
    });
}

/// Local memory of one element an item, shared by sums of the same type that are not added up together.
MemoryId Sweep::part_of_sum(size_t n, Scalar type) {
    const auto found = sum_parts.find({n, type});
    if (found != sum_parts.end()) return found->second;
    Memory memory;
    memory.kind = MemoryKind::local;
    memory.name = text("sum", n + 1, "_", name_of(type));
    memory.element = Element::of(type);
    memory.size = b.op(Op::mul, {b.op(Op::mul, {b.index(Op::group_size, 0), b.index(Op::group_size, 1)}), b.index(Op::group_size, 2)});
    memory.loc = from.loc;
    to.memories.push_back(memory);
    return sum_parts[{n, type}] = {uint32_t(to.memories.size() - 1)};
}

/// A value that is the same for all items, where it is needed.
Value Sweep::rebuild(Value v) {
    const Inst& i = from[from[v].inst];
    for (const Value operand : from.operands(i)) known[operand.id] = rebuild(operand);
    return again(i);
}

}  // namespace pumice::derive
