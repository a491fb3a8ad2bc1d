// Halo-extended range: a gathering adjoint that runs over every element that the stencil reads.
//
// The range is wider than the primal's by the halo, so that each element has an item and nothing is scattered. All items do
// the same. A boundary item evaluates the nearest neighbour that exists and discards it by a select. emit_gather.cpp branches
// at the boundary instead, and on a GPU a whole subgroup takes both branches for the sake of a few items.
//
//     primal   items 0 .. n - 1:    y[i] = x[i - 1] * x[i + 1]
//     wide     items -1 .. n:       if 0 <= i < n { y[i] = x[i - 1] * x[i + 1] }
//                                   a = select(i - 1 exists, given(max(i - 1, 0)), 0)
//                                   c = select(i + 1 exists, given(min(i + 1, n - 1)), 0)
//                                   dx[i] += a + c
//
// gather_by_rows is the version for devices that split rows (the cpu): most packets take a branch as a whole, so interior
// items are separated from boundary items by a branch.
//
// Cost: items for the halo; the host refuses where the halo is more than 64 elements plus an eighth of the range.
// Limits: plain offsets only, everything that moves derivatives is gathered, and the range is not fixed by the kernel.
// Textbook names: halo (ghost) region, predication by select.
#include "autodiff/reverse/emit_halo_gather.h"

#include <algorithm>

#include "autodiff/reverse/elsewhere.h"

namespace pumice::derive {

using namespace ir;

Value HaloGatherEmitter::in_range(const RangeItem& at) {
    Value inside = b.constant_bool(true);
    for (int axis = 0; axis < from.rank; ++axis)
        inside = b.op(Op::and_, {inside, exists_at(at, axis, at.position[size_t(axis)])});
    return inside;
}

void HaloGatherEmitter::gather_all(const RangeItem& at) {
    for (const auto& entry : primal.gather.loads)
        for (int w = 0; w < width; ++w)
            if (sweep_kind == SweepKind::halo_gather)
                gather_over_halo(at, {entry.first}, w);
            else
                gather_by_rows(at, {entry.first}, w);
}

/// True if the range of the primal has an item at this position.
Value HaloGatherEmitter::exists_at(const RangeItem& at, int axis, Value position) {
    const auto as_unsigned = [&](Value v) { return b.cast(Scalar::u32, v); };
    return b.op(Op::lt, {as_unsigned(position), as_unsigned(at.size[size_t(axis)])});
}

/// The item that reads the element of this item as x[i + shift], along one axis: gives the condition that the range of the
/// primal has it, and the index of the nearest item that exists.
std::pair<Value, Value> HaloGatherEmitter::neighbour(const RangeItem& at, size_t axis, int64_t shift) {
    const auto [before, after] = primal.gather.reach();
    const auto number = [&](int64_t n) { return b.constant_int(Scalar::i32, n); };
    const Value position = b.op(Op::add, {at.position[axis], number(-shift)}), size = at.size[axis];
    // The halo is as wide as the largest offsets: neighbours at these offsets exist on that side.
    const bool may_precede = shift > -before[axis], may_follow = shift < after[axis];
    Value nearest = position, there_is = b.constant_bool(true);
    if (may_follow) nearest = b.op(Op::min, {nearest, b.op(Op::sub, {size, number(1)})});
    if (may_precede) nearest = b.op(Op::max, {nearest, number(0)});
    if (may_precede && may_follow)
        there_is = exists_at(at, int(axis), position);
    else if (may_precede)
        there_is = b.op(Op::ge, {position, number(0)});
    else if (may_follow)
        there_is = b.op(Op::lt, {position, size});
    return {there_is, b.op(Op::add, {at.start[axis], nearest})};
}

/// Emits `emit` for items whose element exists. There is no branch if every item of the extended range has one: all gathered
/// loads stand outside of ifs, those of this array reach as far as those of all arrays, and their offsets are on both sides of 0.
void HaloGatherEmitter::where_it_exists(const RangeItem& at, const Gather::Loads& list, const std::function<void()>& emit) {
    if (primal.gather.always() && Gather::reach(list) == primal.gather.reach() && Gather::around(list))
        emit();
    else
        emit_if(gather.exists(at, list[0]), emit);
}

void HaloGatherEmitter::gather_over_halo(const RangeItem& at, MemoryId m, int w) {
    const Gather::Loads& list = primal.gather.loads.at(m.id);
    b.loc = from[list[0].load].loc;
    where_it_exists(at, list, [&] {
        std::map<uint32_t, Value> sums;  // by leaf
        for (const Gather::Load& l : list) {
            const InstId load = l.load;
            Elsewhere there;
            Value all = b.constant_bool(true);
            for (size_t axis = 0; axis < size_t(from.rank); ++axis) {
                const auto [there_is, nearest] = neighbour(at, axis, l.index[axis].shift);
                there.indices[axis] = nearest;
                all = b.op(Op::and_, {all, there_is});
            }
            const Value nothing = zero(from[load].type), given = b.var(nothing);
            elsewhere.where_it_runs(there, where.block_of(load), BlockId{0}, [&](Elsewhere& inside) {
                if (const Value term = elsewhere.adjoint(inside, from.result(from[load]), w)) b.set(given, term);
            });
            const Value term = b.select(all, b.get(given), nothing);
            Value& sum = sums[from[load].leaf];
            sum = sum ? b.op(Op::add, {sum, term}) : term;
        }
        gather.add_here(at, list, w, sums);
    });
}

/// Separates interior items from boundary items. Both add their sums after the branch: an element that is stored under one mask
/// and loaded under another would have to come from memory in between.
void HaloGatherEmitter::gather_by_rows(const RangeItem& at, MemoryId m, int w) {
    const Gather::Loads& list = primal.gather.loads.at(m.id);
    b.loc = from[list[0].load].loc;
    std::map<uint32_t, Value> sums;  // by leaf; variables
    for (const Gather::Load& l : list)
        if (Value& sum = sums[from[l.load].leaf]; !sum) sum = b.var(zero(from[l.load].type));
    const auto add_all = [&](bool interior) {
        for (const Gather::Load& l : list) {
            Value there_is = b.constant_bool(true);
            for (int axis = 0; axis < from.rank && !interior; ++axis) {
                const Value shift = b.constant_int(Scalar::i32, l.index[size_t(axis)].shift);
                const Value position = b.op(Op::sub, {at.position[size_t(axis)], shift});
                there_is = b.op(Op::and_, {there_is, b.op(Op::ge, {position, zero(Scalar::i32)})});
                there_is = b.op(Op::and_, {there_is, b.op(Op::lt, {position, at.size[size_t(axis)]})});
            }
            const Value sum = sums.at(from[l.load].leaf);
            if (interior)
                gather.add_contribution_at(at, l, w, sum);
            else
                emit_if(there_is, [&] { gather.add_contribution_at(at, l, w, sum); });
        }
    };
    where_it_exists(at, list, [&] {
        // Other arrays may have extended the range along any axis.
        Value interior = b.constant_bool(true);
        for (size_t axis = 0; axis < size_t(from.rank); ++axis) {
            const auto [least, most] = std::minmax_element(
                list.begin(), list.end(),
                [&](const Gather::Load& x, const Gather::Load& y) { return x.index[axis].shift < y.index[axis].shift; });
            const Value first = b.constant_int(Scalar::i32, most->index[axis].shift),
                        beyond = b.constant_int(Scalar::i32, -least->index[axis].shift);
            interior = b.op(Op::and_, {interior, b.op(Op::ge, {at.position[axis], first})});
            interior = b.op(Op::and_, {interior, b.op(Op::lt, {at.position[axis], b.op(Op::sub, {at.size[axis], beyond})})});
        }
        ir::emit_if(b, to, interior, [&] { add_all(true); }, [&] { add_all(false); });
        for (auto& entry : sums) entry.second = b.get(entry.second);
        gather.add_here(at, list, w, sums);
    });
}

}  // namespace pumice::derive
