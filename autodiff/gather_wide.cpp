// Stencils gathered over a range that is as wide as what they read: there is an item for every element that gets anything, and all
// items do the same. Where a neighbour does not exist the item looks at one that does, and takes nothing from it: a select, where
// gather_code.cpp has branches for the rim, through which on a GPU whole subgroups go for the sake of a few items. On devices that split
// rows most packets take a branch as a whole: there it tells items that have all their neighbours.
#include <algorithm>

#include "autodiff/sweep.h"

namespace pumice::derive {

using namespace ir;

void Sweep::gather_wide() {
    gather_begins = to.insts.size();
    const Here at = here();
    if (part == Part::both) {
        needed = std::make_unique<Needed>(from, where, plan, [this](MemoryId m) { return unneeded(m); });
        declare_variables();
        Value inside = b.constant_bool(true);
        for (int axis = 0; axis < from.rank; ++axis) inside = b.op(Op::and_, {inside, exists_at(at, axis, at.position[size_t(axis)])});
        emit_if(inside, [&] { insts(BlockId{0}); });
    }
    for (const auto& entry : primal.gather.loads)
        for (int w = 0; w < width; ++w)
            if (over == Over::wide) gather_wide(at, {entry.first}, w);
            else gather_by_rows(at, {entry.first}, w);
}

/// Whether the primal's range has an item at this position.
Value Sweep::exists_at(const Here& at, int axis, Value position) {
    const auto as_unsigned = [&](Value v) { return b.cast(Scalar::u32, v); };
    return b.op(Op::lt, {as_unsigned(position), as_unsigned(at.size[size_t(axis)])});
}

void Sweep::gather_wide(const Here& at, MemoryId m, int w) {
    const Gather::Loads& list = primal.gather.loads.at(m.id);
    b.loc = from[list[0].load].loc;
    const auto number = [&](int64_t n) { return b.constant_int(Scalar::i32, n); };
    std::array<Value, 3> near;  // the nearest item of the range
    for (size_t axis = 0; axis < size_t(from.rank); ++axis)
        near[axis] = b.op(Op::max, {b.op(Op::min, {at.position[axis], b.op(Op::sub, {at.size[axis], number(1)})}), number(0)});
    emit_if(exists(at, list[0]), [&] {
        std::map<uint32_t, Value> sums;  // by leaf
        for (const Gather::Load& l : list) {
            const InstId load = l.load;
            Elsewhere there;
            Value all = b.constant_bool(true);
            for (size_t axis = 0; axis < size_t(from.rank); ++axis) {
                const Value position = b.op(Op::add, {at.position[axis], number(-l.index[axis].shift)});
                const Value there_is = exists_at(at, int(axis), position);
                there.indices[axis] = b.op(Op::add, {at.start[axis], b.select(there_is, position, near[axis])});
                all = b.op(Op::and_, {all, there_is});
            }
            const Value nothing = zero(from[load].type), given = b.var(nothing);
            where_it_runs(there, where.block_of(load), BlockId{0}, [&](Elsewhere& inside) {
                if (const Value term = adjoint_elsewhere(inside, from.result(from[load]), w)) b.set(given, term);
            });
            const Value term = b.select(all, b.get(given), nothing);
            Value& sum = sums[from[load].leaf];
            sum = sum ? b.op(Op::add, {sum, term}) : term;
        }
        add_here(at, list, w, sums);
    });
}

/// Items that have all their neighbours are told from those at the rim. Whatever they sum up, they add it behind that: an element that is
/// stored under one mask and loaded under another has to come from memory in between.
void Sweep::gather_by_rows(const Here& at, MemoryId m, int w) {
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
            if (interior) add_given_at(at, l, w, sum);
            else emit_if(there_is, [&] { add_given_at(at, l, w, sum); });
        }
    };
    const auto add_to_element = [&] {
        // Other arrays may have widened the range along any axis.
        Value interior = b.constant_bool(true);
        for (size_t axis = 0; axis < size_t(from.rank); ++axis) {
            const auto [least, most] = std::minmax_element(list.begin(), list.end(), [&](const Gather::Load& x, const Gather::Load& y) {
                return x.index[axis].shift < y.index[axis].shift;
            });
            const Value first = b.constant_int(Scalar::i32, most->index[axis].shift), beyond = b.constant_int(Scalar::i32, -least->index[axis].shift);
            interior = b.op(Op::and_, {interior, b.op(Op::ge, {at.position[axis], first})});
            interior = b.op(Op::and_, {interior, b.op(Op::lt, {at.position[axis], b.op(Op::sub, {at.size[axis], beyond})})});
        }
        const BlockId yes = b.new_block(), no = b.new_block();
        for (const BlockId block : {yes, no}) {
            b.enter(block);
            add_all(block == yes);
            b.terminate(Op::yield);
            b.leave();
        }
        b.control(Op::if_, {&interior, 1}, {yes, no});
        for (auto& entry : sums) entry.second = b.get(entry.second);
        add_here(at, list, w, sums);
    };
    // What the first and the last items read reaches over the whole range: then it is there.
    if (Gather::reach(list) == primal.gather.reach() && Gather::around(list)) add_to_element();
    else emit_if(exists(at, list[0]), add_to_element);
}

}  // namespace pumice::derive
