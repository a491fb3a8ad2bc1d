// Reductions over all items: adjoints of scalar arguments, and shadow elements to which every item adds.
//
// Each item sums up its own contributions in a variable and adds the sum atomically to one of 64 cells, by the number of its
// group; devices combine the additions of a subgroup. A second kernel sums up the cells. So no contribution is added to a sum
// that is much larger than itself, and few groups wait for each other.
//
//     primal      %a = argument arg3;  y[i] = %a * x[i]
//     one cell    atomic da[0] += dy[i] * x[i]                          every subgroup rounds against the whole sum
//     cells       atomic cell[(group & 63) * stride + s] += dy[i] * x[i]          s: the number of the sum
//     after       da[0] += cell[s] + cell[stride + s] + ... + cell[63 * stride + s]
//
// A row of cells, to which the groups of one `group & 63` add, has one cell for each sum of the kernel. Its length, `stride`, is
// the number of sums rounded up to 16: 16 sums of f32 share a line of memory, and no two rows do. In the second kernel each item
// adds up one sum.
// Cost: one small launch, and 64 cells a sum. For a million floats the error is a few hundred roundings of the mean part.
// Limits: a kernel that has to do everything alone (single_kernel_adjoint) has no cells. The indices of the element must be made
// of constants, arguments and extents. Sums of f16 and bf16 are added up in f32. Textbook names: reduction privatisation,
// two-level tree reduction.
#include "autodiff/sweep/adjoint_reductions.h"

#include "autodiff/sweep/adjoint_accumulators.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

namespace {
constexpr int64_t cells = 64;    ///< cells of a sum; a power of two
constexpr int64_t in_line = 16;  ///< sums whose cells of one number share a line of memory

/// Emits the sum of the cells.
Value total_of(Kernel& k, Builder& at, MemoryId memory, Scalar type, Value first, int64_t stride) {
    const Value zero = at.constant_int(Scalar::i32, 0), count = at.constant_int(Scalar::i32, cells);
    return emit_fold(at, k, zero, count, at.constant(type, 0), [&](Value cell, Value sum) {
        const Value place = at.op(Op::add, {at.op(Op::mul, {cell, at.constant_int(Scalar::i32, stride)}), first});
        return at.op(Op::add, {sum, at.load(memory, 0, {&place, 1})});
    });
}

/// The type of the cells: f32 for narrow floats, because devices add f32 faster and with less rounding.
Scalar cell_type(Scalar type) { return computed_type(type); }
}  // namespace

Kernel following(const Kernel& filled, const char* what, int rank) {
    Kernel k;
    k.name = filled.name + what;
    k.files = filled.files;
    k.loc = filled.loc;
    k.math = filled.math;
    k.rank = rank;
    k.params = filled.params;
    k.memories = filled.memories;
    std::erase_if(k.memories, [](const Memory& m) { return m.kind != MemoryKind::array; });  // arrays stand first
    return k;
}

size_t AdjointReductions::sum(MemoryId memory, uint32_t leaf, std::span<const Value> indices, Scalar type) {
    const auto same_index = [&](Value a, Value c) {
        uint64_t x = 0, y = 0;
        return a == c || (from.constant(a, x) && from.constant(c, y) && x == y);
    };
    for (const ReducedAdjoint& s : sums)
        if (s.memory == memory && s.leaf == leaf && std::ranges::equal(s.indices, indices, same_index)) return s.accumulator;
    const size_t at = accumulators.new_sum();
    sums.push_back({memory, leaf, {indices.begin(), indices.end()}, type, at});
    return at;
}

void AdjointReductions::find_sums() {
    for (const InstId id : where.order()) {
        const Inst& i = from[id];
        if (!analysis.moves(id)) continue;
        const bool scalar = i.op == Op::argument;
        if (!scalar && (i.op != Op::load || accumulation(from, where, analysis, id) != Accumulation::group)) continue;
        for (int w = 0; w < width; ++w) {
            const size_t at = scalar ? sum(state.shadows->scalar(size_t(i.immediate), w), 0, {}, i.type)
                                     : sum(state.shadows->of(i.memory, w), i.leaf, indices_of(from, i), i.type);
            if (!accumulators.is_open(at)) accumulators.open(at, i.type);
        }
    }
    add_cells();
}

void AdjointReductions::reduce_sums() {
    b.loc = from.loc;
    for (const ReducedAdjoint& s : sums) {
        const Value part = accumulators.take(s.accumulator);
        if (!part) continue;
        if (primal.single_kernel) {
            b.atomic(s.memory, s.leaf, Atomic::add, place_of(b, s, [](MemoryId m) { return m; }), part);
            continue;
        }
        const Scalar type = cell_type(s.type);
        const CellTape& tape = cell_tapes.at(type);
        const Value number = b.op(Op::and_, {state.members.group, b.constant_int(Scalar::i32, cells - 1)});
        const Value first = b.op(Op::mul, {number, b.constant_int(Scalar::i32, tape.stride())});
        const Value at = b.op(Op::add, {first, b.constant_int(Scalar::i32, s.number)});
        b.atomic(tape.memory, 0, Atomic::add, {&at, 1}, b.cast(type, part));
    }
}

/// The length of a row of cells, and so the distance between two cells of a sum.
int64_t AdjointReductions::CellTape::stride() const { return (sums + in_line - 1) / in_line * in_line; }

void AdjointReductions::add_cells() {
    if (primal.single_kernel) return;
    for (ReducedAdjoint& s : sums) {
        const Scalar type = cell_type(s.type);
        CellTape& tape = cell_tapes[type];
        s.number = tape.sums++;
        if (tape.memory.id != none) continue;
        tape.tape = state.tapes.size();
        state.tapes.push_back({type, TapeParameter::Sizing::fixed, 0, {}, true});
        tape.memory = Shadows::add_array(to, type, Access::inout, text("cells_", name_of(type)),
                                         text("the cells of sums of ", name_of(type)));
    }
    for (auto& [type, tape] : cell_tapes) state.tapes[tape.tape].count = cells * tape.stride();
}

/// Emits a value that is the same for all items in another kernel.
template <class Now> Value AdjointReductions::rebuild(Builder& at, Value v, const Now& now) const {
    const Inst& i = from[from[v].inst];
    std::vector<Value> operands;
    for (const Value operand : from.operands(i)) operands.push_back(rebuild(at, operand, now));
    if (i.op == Op::argument) return at.argument(state.shadows->param(size_t(i.immediate)), i.type);
    if (i.op == Op::extent) return at.extent(now(i.memory), int(i.immediate));
    return emit_like(at, i, operands);
}

/// The indices of the element of a sum.
template <class Now>
std::vector<Value> AdjointReductions::place_of(Builder& at, const ReducedAdjoint& sum, const Now& now) const {
    std::vector<Value> indices;
    for (const Value v : sum.indices) indices.push_back(rebuild(at, v, now));
    if (indices.empty()) indices.push_back(at.constant_int(Scalar::i32, 0));
    return indices;
}

/// The kernel in which each item sums up the cells of one sum of each type, with the parameters of the kernel that filled them.
FollowUpKernel AdjointReductions::sum_of_cells(const Kernel& filled) const {
    FollowUpKernel step;
    step.kernel = following(filled, ".sum", filled.rank);
    Kernel& k = step.kernel;
    Builder at(k);
    at.loc = k.loc;
    at.enter(at.new_block());
    const auto number = [&](int64_t n) { return at.constant_int(Scalar::i32, n); };
    // The memories of `filled` are in the order of its parameters; state.argument_of maps those of `to`.
    const auto now = [&](MemoryId m) { return k.params[size_t(state.argument_of[m.id])].memory; };
    const Value mine = at.index(Op::global_index, 0);
    const auto when = [&](Value condition, const auto& fill) { ir::emit_if(at, k, condition, fill, [] {}); };
    for (const auto& entry : cell_tapes) {
        const Scalar type = entry.first;
        const CellTape& tape = entry.second;
        step.items = std::max(step.items, tape.sums);
        when(at.op(Op::lt, {mine, number(tape.sums)}), [&] {
            const Value total = total_of(k, at, now(tape.memory), type, mine, tape.stride());
            for (const ReducedAdjoint& s : sums) {
                if (cell_type(s.type) != type) continue;
                when(at.op(Op::eq, {mine, number(s.number)}), [&] {
                    // Two sums may belong to one element, where their indices are equal at run time.
                    at.atomic(now(s.memory), s.leaf, Atomic::add, place_of(at, s, now), at.cast(s.type, total));
                });
            }
        });
    }
    at.terminate(Op::return_);
    at.leave();
    return step;
}

}  // namespace pumice::derive
