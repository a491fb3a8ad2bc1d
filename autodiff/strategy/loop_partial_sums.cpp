// Loop partial sums: factoring and reduction before the scatter, with loop interchange on devices other than the cpu.
//
// All items loop over the same small arrays, as points over the parameters of mixture components. The plain adjoint is an atomic
// addition to an element in each iteration of each item. The contribution is a sum of products; factors that are the same for all
// items are taken out, and only the sums of the remaining products over the items go to memory, to `cells` of the iteration.
//
//     primal      for c: y_i += w[c] * exp(x_i * m[c])
//     scatter     for c: atomic dw[c] += dy_i * e;   atomic dm[c] += dy_i * w[c] * e * x_i       (e = exp(x_i * m[c]))
//     cells       for c: cell[c][0] += dy_i * e;     cell[c][1] += dy_i * e * x_i
//     total       item c: dw[c] += cell[c][0];       dm[c] += w[c] * cell[c][1]
//
// After the interchange an item takes one iteration and a chunk of the items, and sums up in registers; the values of the items
// that the loop needs are recomputed or handed over in memory. autodiff/reverse/emit_loop_partial_sums.cpp emits the kernels,
// autodiff/api/launch_loop_partial_sums.cpp chooses between them.
//
// Cost: one or two more kernels, and memory for the cells; the order of additions changes.
// Limits: not under Math::strict, not in split derivatives, not for loads of f16 and bf16. The kernel knows indices only
// (knows_indices_only). The loop is a for outside of other constructs with step 1 and an i32 index that may be reversed in any
// order, with bounds that are the same for all items. The loads stand directly in its body, and read arrays that are not written
// at indices that the iteration alone determines. Of several such loops the one with the most such loads is taken.
// Not interchanged if the reverse of the loop reads private memory as the primal has left it, which another kernel does not have.
// Textbook names: factorisation by distributivity, loop interchange, partial reduction.
#include "autodiff/strategy/loop_partial_sums.h"

#include <algorithm>
#include <memory>
#include <set>

#include "autodiff/analysis/accumulation.h"
#include "core/analysis/loop_info.h"
#include "core/analysis/rematerialisation.h"

namespace pumice::derive {

using namespace ir;

namespace {
constexpr int most_recomputed = 12;  ///< instructions: values that take more are handed over in memory
}  // namespace

LoopPartialSums::LoopPartialSums(const Kernel& kernel, const Structure& structure, const Analysis& what, const TapePlan& held)
    : k(kernel), where(structure), analysis(what), plan(held), effects(kernel) {
    if (plan.is_split() || !knows_indices_only(k) || k.math == Math::strict) return;
    for (const InstId id : where.order()) {
        std::vector<uint32_t> found = loads_of(id);
        if (found.size() > loads.size()) loop = id, loads = std::move(found);
    }
    if (!any()) return;
    std::ranges::sort(loads);
    std::set<uint32_t> used;
    each_inside(k, k[loop], [&](InstId id) {
        for (const Value v : k.operands(k[id])) used.insert(v.id);
    });
    for (const Value v : plan.values_of(BlockId{0}))
        if (used.count(v.id)) outside.push_back(v);
}

std::vector<uint32_t> LoopPartialSums::loads_of(InstId id) const {
    const Inst& i = k[id];
    std::vector<uint32_t> found;
    if (i.op != Op::for_ || where.block_of(id) != BlockId{0} || !analysis.moves(id) || !plan.any_order(id)) return found;
    const auto bounds = k.operands(i);
    if (unit_step(k, i) != 1 || !same_for_all(k, bounds[0]) || !same_for_all(k, bounds[1])) return found;
    for (const InstId inner : k[i.blocks[0]].insts) {
        const Inst& load = k[inner];
        if (!loads_unwritten(load) || is_narrow_float(load.type)) continue;
        if (!analysis.active(k.result(load)) || !analysis.active(load.memory, load.leaf)) continue;
        const auto indices = indices_of(k, load);
        if (!std::ranges::all_of(indices, [&](Value v) { return by_iteration(id, v); })) continue;
        if (accumulation(k, where, analysis, inner) == Accumulation::atomic) found.push_back(inner.id);
    }
    return found;
}

bool LoopPartialSums::by_iteration(InstId id, Value v) const {
    return Rematerialisation(
               k, [&](const Inst& i) { return is_launch_constant(i.op) || loads_unwritten(i); },
               [&](Value o) { return o == k[k[id].blocks[0]].params[0]; })
        .of(v);
}

bool LoopPartialSums::recomputable(Value v) const {
    return Rematerialisation(k, [&](const Inst& i) { return is_pure(i.op) || loads_unwritten(i); }).of(v, most_recomputed);
}

bool LoopPartialSums::rereads_private() const {
    return any_inside(k, k[loop], [&](InstId id) {
        const Inst& i = k[id];
        return i.op == Op::load && plan.rereads(i.memory) && plan.source_of(k.result(i)) == ValueSource::rematerialised;
    });
}

bool LoopPartialSums::loads_unwritten(const Inst& i) const {
    return i.op == Op::load && k[i.memory].kind == MemoryKind::array && !effects.writes(i.memory);
}

std::function<int64_t(const HostValues&)> LoopPartialSums::iterations() const {
    const auto bounds = k.operands(k[loop]);
    return [kernel = std::make_shared<const Kernel>(k), first = bounds[0], limit = bounds[1]](const HostValues& known) {
        return std::max<int64_t>(number_of(*kernel, limit, known) - number_of(*kernel, first, known), 0);
    };
}

}  // namespace pumice::derive
