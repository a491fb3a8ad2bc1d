// Pairwise loops: the adjoint of an n-body loop, by symmetry of the pairs instead of atomics.
//
// Every item i loops over all items j and reads x[j]. The plain adjoint of x[j] is an atomic addition in every iteration: n^2
// atomics. But the loop has the same range as the launch, so item i can also take the role of x[j]: in iteration j it computes
// the contribution of item j to x[i], and sums it up in a register.
//
//     primal      for j: acc_i += g(x[i], x[j])
//     scatter     for j: dx_i += g_1(x[i], x[j]) da[i];   atomic dx[j] += g_2(x[i], x[j]) da[i]
//     pairwise    for j: dx_i += g_1(x[i], x[j]) da[i] + g_2(x[j], x[i]) da[j]
//
// emit_pairwise_loops.cpp emits the code. The host uses the kernel where the bounds of the loop are the bounds of the range, on
// devices that do not split ranges; the cpu adds into private copies instead.
//
// Cost: the body is computed twice for each pair, but only as far as the contribution needs it; the sweep gives up above 80
// instructions per load and direction. The shadows of the stores are cleared by a second launch.
// Limits: ranges of one dimension, a for outside of other constructs with step 1 and an i32 index that may be reversed in any
// order (TapePlan::any_order). Contributions may depend on indices, arguments and arrays, not on results of loops. Field's name,
// in n-body codes: pair forces without Newton's third law: both partners of a pair compute the pair, instead of one that adds to
// both.
#include "autodiff/strategy/pairwise_loops.h"

#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "core/analysis/loop_info.h"

namespace pumice::derive {

using namespace ir;

PairwiseLoops::PairwiseLoops(const Kernel& kernel, const Structure& structure, const Analysis& what, const TapePlan& plan,
                             Contributions& contributions)
    : k(kernel), where(structure), analysis(what) {
    if (plan.is_split() || k.rank != 1 || !knows_indices_only(k) || !stores_once(k, where, false)) return;
    for (const InstId loop : where.order()) {
        if (k[loop].op != Op::for_ || where.block_of(loop) != BlockId{0} || !analysis.moves(loop) || !plan.any_order(loop))
            continue;
        contributions.enter(loop);
        std::vector<InstId> found;
        each_inside(k, k[loop], [&](InstId id) {
            if (is_pair(loop, id) && contributions.computable(id)) found.push_back(id), all.push_back(id.id);
        });
        if (!found.empty()) loads[loop.id] = std::move(found);
    }
    std::ranges::sort(all);
}

/// True for an active load whose index grows by one from iteration to iteration, as it would from item to item.
bool PairwiseLoops::is_pair(InstId loop, InstId id) const {
    const Inst& i = k[id];
    const auto bounds = k.operands(k[loop]);
    const Value index = k[k[loop].blocks[0]].params[0];
    if (i.op != Op::load || k[i.memory].kind != MemoryKind::array || !analysis.active(k.result(i))) return false;
    if (!same_for_all(k, bounds[0]) || !same_for_all(k, bounds[1]) || unit_step(k, k[loop]) != 1) return false;
    const auto indices = indices_of(k, i);
    if (std::ranges::count(indices, index) != 1) return false;
    if (!std::ranges::all_of(indices, [&](Value v) { return v == index || same_for_all(k, v); })) return false;
    return accumulation(k, where, analysis, id) == Accumulation::atomic;
}

std::function<bool(const HostValues&, int64_t, int64_t)> PairwiseLoops::fits() const {
    std::vector<std::pair<Value, Value>> bounds;
    for (const auto& entry : loads) {
        const auto v = k.operands(k[InstId{entry.first}]);
        bounds.emplace_back(v[0], v[1]);
    }
    return [kernel = std::make_shared<const Kernel>(k), bounds = std::move(bounds)](const HostValues& known, int64_t from,
                                                                                    int64_t to) {
        return std::ranges::all_of(bounds, [&](const auto& loop) {
            return number_of(*kernel, loop.first, known) == from && number_of(*kernel, loop.second, known) == to;
        });
    };
}

}  // namespace pumice::derive
