// Owner computes: the adjoint of a product of matrices is two products of matrices, not a scatter.
//
// Item (i, j) reads a[i, k] in iteration k. The plain adjoint adds to da[i, k] in each iteration, and all items of a row do so:
// as many atomics as the product has multiplications. But the element (i, k) can have an item of its own, which sums up what the
// items (i, j) give to it in their iterations k:
//
//     primal    item (i, j):   for k: sum += a[i, k] * b[k, j];                  c[i, j] = sum
//     scatter   item (i, j):   for k: atomic da[i, k] += dc[i, j] * b[k, j];     atomic db[k, j] += dc[i, j] * a[i, k]
//     owners    item (i, k):   for j: s += dc[i, j] * b[k, j];                   da[i, k] += s
//               item (k, j):   for i: s += dc[i, j] * a[i, k];                   db[k, j] += s
//
// The owners run before the rest of the adjoint, which consumes dc. emit_owner_computes.cpp emits them; the host decides at the
// launch (launch_owner_computes.cpp), since only it knows how many owners there are.
//
// Legality: the index of the load has the index of one loop and some axes of the range, each once, plus constants; the other
// dimensions are the same for all items. Any item can compute the contribution of any other one (contributions.h). The loop
// stands outside of other loops, has step 1, and may be reversed in any order (TapePlan::any_order). Where its bounds depend on
// the indices of the item, as in products with triangles, an owner tests in each iteration whether that item's loop reaches the
// element. The host refuses where that takes much longer than the loops themselves, as for a narrow band.
// Cost: the loop runs once for each load, instead of once. Limits: one loop around the load; kernels for which
// knows_indices_only() holds; adjoints in one piece, not in halves.
// Textbook name: the owner-computes rule (Callahan and Kennedy, 1988), with loop interchange of a parallel loop and a sequential
// one.
#include "autodiff/strategy/owner_computes.h"

#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "core/analysis/alias.h"
#include "core/analysis/loop_info.h"

namespace pumice::derive {

using namespace ir;

namespace {

/// v = base + constant, for sums of several constants.
std::pair<Value, int64_t> without_constant(const Kernel& k, Value v) {
    int64_t constant = 0;
    while (k.type_of(v) == Scalar::i32) {
        const BasePlusConstant next = base_plus_constant(k, v);
        if (!next.base || next.base == v) break;
        constant += wrapped(int64_t(next.constant), 32), v = next.base;
    }
    return {v, constant};
}

}  // namespace

OwnerComputes::OwnerComputes(const Kernel& kernel, const Structure& where, const Analysis& analysis, const TapePlan& plan,
                             Contributions& contributions)
    : k(kernel) {
    if (plan.is_split() || k.rank == 0 || k.folded != 1 || !knows_indices_only(k) || !stores_once(k, where, true)) return;
    for (const InstId loop : where.order()) {
        if (k[loop].op != Op::for_ || where.loop_around(loop).id != none || !analysis.moves(loop) || unit_step(k, k[loop]) != 1 ||
            !plan.any_order(loop))
            continue;
        contributions.enter(loop);
        const auto bounds = k.operands(k[loop]);
        Rematerialisation by_index(k, [](const Inst& i) { return is_launch_constant(i.op) || i.op == Op::global_index; });
        if (!contributions.known_to_run(where.block_of(loop), BlockId{0}) || !by_index.of(bounds[0]) || !by_index.of(bounds[1]))
            continue;
        each_inside(k, k[loop], [&](InstId id) {
            Load found{id, loop, {}, {}, {}, {}, {}, !same_for_all(k, bounds[0]) || !same_for_all(k, bounds[1])};
            const Inst& i = k[id];
            if (i.op != Op::load || k[i.memory].kind != MemoryKind::array || !analysis.active(k.result(i))) return;
            if (find(id, found) && accumulation(k, where, analysis, id) == Accumulation::atomic && contributions.computable(id))
                loads.push_back(std::move(found));
        });
    }
}

bool OwnerComputes::has(InstId load) const {
    return std::ranges::any_of(loads, [&](const Load& l) { return l.load == load; });
}

/// The index of the load, by dimension. False if the loop's index or no other axis is missing.
bool OwnerComputes::find(InstId id, Load& found) const {
    const Inst& i = k[id];
    const auto indices = indices_of(k, i);
    const Value of_iteration = k[k[found.loop].blocks[0]].params[0];
    if (int(indices.size()) != k[i.memory].rank) return false;
    for (const Value v : indices) {
        const auto [base, shift] = without_constant(k, v);
        const InstId source = k[base].inst;
        if (base == of_iteration)
            found.index.push_back({of_loop, shift, {}});
        else if (source.id != none && k[source].op == Op::global_index)
            found.index.push_back({int(k[source].immediate), shift, {}});
        else if (same_for_all(k, v))
            found.index.push_back({IndexDimension::fixed, 0, v});
        else
            return false;
    }
    int array_axis = 0;
    for (auto d = found.index.rbegin(); d != found.index.rend(); ++d, ++array_axis) {
        if (d->axis == IndexDimension::fixed) continue;
        if (std::ranges::count(found.axes, d->axis)) return false;
        found.axes.push_back(d->axis), found.shifts.push_back(d->shift), found.array_axes.push_back(array_axis);
    }
    for (int axis = 0; axis < k.rank; ++axis)
        if (!std::ranges::count(found.axes, axis)) found.looped.push_back(axis);
    return !found.looped.empty() && found.axes.size() <= 3 && std::ranges::count(found.axes, of_loop);
}

std::function<int64_t(const HostValues&)> OwnerComputes::trips(const Load& load) const {
    const auto bounds = k.operands(k[load.loop]);
    return [kernel = std::make_shared<const Kernel>(k), from = bounds[0], to = bounds[1]](const HostValues& known) {
        return std::max<int64_t>(number_of(*kernel, to, known) - number_of(*kernel, from, known), 0);
    };
}

std::function<std::pair<int64_t, int64_t>(const HostValues&)> OwnerComputes::iterations(const Load& load) const {
    if (!load.guarded) {
        const auto bounds = k.operands(k[load.loop]);
        return [kernel = std::make_shared<const Kernel>(k), from = bounds[0], to = bounds[1]](const HostValues& known) {
            return std::pair(number_of(*kernel, from, known), number_of(*kernel, to, known));
        };
    }
    size_t d = 0;
    while (load.index[d].axis != of_loop) ++d;
    const Memory& memory = k[k[load.load].memory];
    return [parameter = size_t(memory.argument), axis = memory.rank - 1 - int(d), shift = load.index[d].shift](
               const HostValues& known) { return std::pair(-shift, known.extent(parameter, axis) - shift); };
}

}  // namespace pumice::derive
