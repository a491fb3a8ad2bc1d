// Sums to which all items contribute: adjoints of scalars, and shadow elements that every item adds to. Each item sums its own
// part in a variable; the group adds these up in local memory; one item adds the group's sum to one of some cells, and a kernel
// of one item adds up the cells. So no number is added to a sum much larger than itself: of a million floats the error is a
// few hundred roundings of the mean part at most, where one cell alone would take every group's rounding. A kernel that does all
// alone has no cells: the groups add to the sum itself.
#include "autodiff/sweep.h"
#include "core/error.h"

namespace pumice::derive {

using namespace ir;

namespace {
constexpr int64_t rows = 16;      ///< of items that add up one part of the group's values each
constexpr size_t at_a_time = 4;  ///< sums that lie in local memory together
constexpr int64_t cells = 64;    ///< a sum
}  // namespace

/// The slot of a sum; equal places share one.
size_t Sweep::sum(MemoryId memory, uint32_t leaf, std::span<const Value> indices, Scalar type) {
    const auto same_index = [&](Value a, Value c) {
        uint64_t x = 0, y = 0;
        return a == c || (from.constant(a, x) && from.constant(c, y) && x == y);
    };
    for (const Sum& s : sums)
        if (s.memory == memory && s.leaf == leaf &&
            std::equal(s.indices.begin(), s.indices.end(), indices.begin(), indices.end(), same_index))
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
    add_cells();
}

void Sweep::reduce_sums() {
    for (size_t n = 0; n < sums.size(); n += at_a_time) {
        if (n > 0) b.barrier();  // until all have read what lies there
        reduce_some(std::span(sums).subspan(n, std::min(at_a_time, sums.size() - n)));
    }
}

void Sweep::add_cells() {
    if (primal.alone) return;
    for (Sum& s : sums) {
        CellTape& tape = cell_tapes[s.type];
        s.cell = cells * tape.sums++;
        if (tape.memory.id != none) continue;
        tape.tape = tapes.size();
        tapes.push_back({s.type, Tape::Size::fixed, 0, {}, true});
        tape.memory = Shadows::add_array(to, s.type, Access::inout, text("the cells of sums of ", name_of(s.type)));
    }
    for (auto& [type, tape] : cell_tapes) tapes[tape.tape].count = cells * tape.sums;
}

void Sweep::reduce_some(std::span<const Sum> some) {
    b.loc = from.loc;
    const Members& m = members();
    const Value zero_index = zero(Scalar::i32), row_count = b.constant_int(Scalar::i32, rows);
    std::vector<MemoryId> parts;
    for (size_t n = 0; n < some.size(); ++n) {
        const Value sum = take(some[n].slot), mine = sum ? sum : zero(some[n].type);
        parts.push_back(part_of_sum(n, some[n].type));
        b.store(parts[n], 0, {&m.rank, 1}, mine);
    }
    const auto add_up = [&](size_t n, Value first, Value limit, Value step) {
        const Value total = b.var(zero(some[n].type));
        emit_for(first, limit, step, [&](Value at) {
            b.set(total, b.op(Op::add, {b.get(total), b.load(parts[n], 0, {&at, 1})}));
        });
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
            if (primal.alone) {
                const std::vector<Value> place = place_of(b, some[n], [](MemoryId m) { return m; });
                b.atomic(some[n].memory, some[n].leaf, Atomic::add, place, total);
                continue;
            }
            const Value cell = b.op(Op::and_, {m.group, b.constant_int(Scalar::i32, cells - 1)});
            const Value at = b.op(Op::add, {cell, b.constant_int(Scalar::i32, some[n].cell)});
            b.atomic(cell_tapes.at(some[n].type).memory, 0, Atomic::add, {&at, 1}, total);
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
    memory.size =
        b.op(Op::mul, {b.op(Op::mul, {b.index(Op::group_size, 0), b.index(Op::group_size, 1)}), b.index(Op::group_size, 2)});
    memory.loc = from.loc;
    return sum_parts[{n, type}] = add_own_memory(to, memory);
}

/// A value that is the same for all items of all launches, in another kernel.
template <class Now>
Value Sweep::rebuild(Builder& at, Value v, const Now& now) const {
    const Inst& i = from[from[v].inst];
    std::vector<Value> operands;
    for (const Value operand : from.operands(i)) operands.push_back(rebuild(at, operand, now));
    if (i.op == Op::argument) return at.argument(shadows->param(size_t(i.immediate)), i.type);
    if (i.op == Op::extent) return at.extent(now(i.memory), int(i.immediate));
    return emit_like(at, i, operands);
}

/// The indices of a sum's element.
template <class Now>
std::vector<Value> Sweep::place_of(Builder& at, const Sum& sum, const Now& now) const {
    std::vector<Value> indices;
    for (const Value v : sum.indices) indices.push_back(rebuild(at, v, now));
    if (indices.empty()) indices.push_back(at.constant_int(Scalar::i32, 0));
    return indices;
}

/// Adds up the cells, with the parameters of the kernel that filled them.
Kernel Sweep::sum_of_cells(const Kernel& filled) const {
    Kernel k;
    k.name = filled.name + ".sum";
    k.files = filled.files;
    k.loc = filled.loc;
    k.math = filled.math;
    k.rank = filled.rank;
    k.params = filled.params;
    k.memories = filled.memories;
    std::erase_if(k.memories, [](const Memory& m) { return m.kind != MemoryKind::array; });  // they stand first
    Builder at(k);
    at.loc = k.loc;
    at.enter(at.new_block());
    const auto number = [&](int64_t n) { return at.constant_int(Scalar::i32, n); };
    // The memories of `filled` are in the order of its parameters; those of `to` know theirs.
    const auto now = [&](MemoryId m) { return k.params[size_t(argument_of[m.id])].memory; };
    for (const Sum& s : sums) {
        const Scalar types[] = {Scalar::i32, s.type};
        const BlockId block = at.new_block(types);
        at.enter(block);
        const Value index = k[block].params[0], sum = k[block].params[1];
        const Value next = at.op(Op::add, {sum, at.load(now(cell_tapes.at(s.type).memory), 0, {&index, 1})});
        at.terminate(Op::yield, {&next, 1});
        at.leave();
        const Value bounds[] = {number(s.cell), number(s.cell + cells), number(1), at.constant(s.type, 0)};
        const Value total = k.result(k[at.control(Op::for_, bounds, {block})]);
        const std::vector<Value> indices = place_of(at, s, now);
        const MemoryId target = now(s.memory);
        at.store(target, s.leaf, indices, at.op(Op::add, {at.load(target, s.leaf, indices), total}));
    }
    at.terminate(Op::return_);
    at.leave();
    return k;
}

}  // namespace pumice::derive
