// Pairwise loops: the adjoint of an n-body loop, by symmetry of the pairs instead of atomics.
//
// Every item i loops over all items j and reads x[j]. The plain adjoint of x[j] is an atomic addition in every iteration: n^2
// atomics. But the loop has the same range as the launch, so item i can also take the role of x[j]: in iteration j it computes the
// contribution of item j to x[i], and sums it up in a register.
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
// Limits: ranges of one dimension, a for outside of other constructs with step 1 and an i32 index that may be reversed in any order
// (TapePlan::any_order). Contributions may depend on indices, arguments and arrays, not on results of loops. Field's name, in
// n-body codes: pair forces without Newton's third law: both partners of a pair compute the pair, instead of one that adds to both.
#include "autodiff/strategy/pairwise_loops.h"

#include <algorithm>

#include "autodiff/analysis/accumulation.h"
#include "autodiff/analysis/item_disjointness.h"
#include "autodiff/rules/derivative_rules.h"
#include "core/analysis/loop_info.h"

namespace pumice::derive {

using namespace ir;

PairwiseLoops::PairwiseLoops(const Kernel& kernel, const Structure& structure, const Analysis& what, const TapePlan& held,
                             const Gather& users)
    : k(kernel), where(structure), analysis(what), plan(held), gather(users) {
    if (plan.is_split() || k.rank != 1 || !knows_indices_only(k) || !stores_once()) return;
    for (const InstId loop : where.order()) {
        if (k[loop].op != Op::for_ || where.block_of(loop) != BlockId{0} || !analysis.moves(loop) || !plan.any_order(loop))
            continue;
        computable.emplace(
            k,
            [&](const Inst& i) {
                return is_pure(i.op) || i.op == Op::if_ || (i.op == Op::load && k[i.memory].kind == MemoryKind::array);
            },
            [&, index = k[k[loop].blocks[0]].params[0]](Value v) { return v == index; });
        adjoints.clear();
        std::vector<InstId> found;
        each_inside(k, k[loop], [&](InstId id) {
            if (is_pair(loop, id)) found.push_back(id), all.push_back(id.id);
        });
        if (!found.empty()) loads[loop.id] = std::move(found);
    }
    std::sort(all.begin(), all.end());
}

bool PairwiseLoops::stores_once() const {
    const MemoryEffects effects(k, k.body().insts);
    std::vector<std::pair<MemoryId, uint32_t>> all;
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.op == Op::call || is_atomic(i.op)) return false;
        if (i.op != Op::store) continue;
        if (k[i.memory].kind != MemoryKind::array || effects.reads(i.memory) || where.block_of(id) != BlockId{0}) return false;
        all.emplace_back(i.memory, i.leaf);
        if (std::count(all.begin(), all.end(), all.back()) > 1) return false;
    }
    return true;
}

/// True for an active load whose index grows by one from iteration to iteration, as it would from item to item.
bool PairwiseLoops::is_pair(InstId loop, InstId id) {
    const Inst& i = k[id];
    const auto bounds = k.operands(k[loop]);
    const Value index = k[k[loop].blocks[0]].params[0];
    if (i.op != Op::load || k[i.memory].kind != MemoryKind::array || !analysis.active(k.result(i))) return false;
    if (!same_for_all(k, bounds[0]) || !same_for_all(k, bounds[1]) || unit_step(k, k[loop]) != 1) return false;
    const auto indices = indices_of(k, i);
    if (std::count(indices.begin(), indices.end(), index) != 1) return false;
    if (!std::all_of(indices.begin(), indices.end(), [&](Value v) { return v == index || same_for_all(k, v); })) return false;
    return accumulation(k, where, analysis, id) == Accumulation::atomic && known_to_run(where.block_of(id), k[loop].blocks[0]) &&
           adjoint_computable(loop, k.result(i));
}

/// True if an item can compute whether the block runs for another item, given that the block `around` does.
bool PairwiseLoops::known_to_run(BlockId block, BlockId around) {
    if (block == around) return true;
    const InstId owner = where.owner_of(block);
    return owner.id != none && k[owner].op == Op::if_ && computable->of(k.operands(k[owner])[0]) &&
           known_to_run(where.block_of(owner), around);
}

/// True if an item can compute the adjoint of the value for another item.
bool PairwiseLoops::adjoint_computable(InstId loop, Value v) {
    if (const auto known = adjoints.find(v.id); known != adjoints.end()) return known->second;
    const auto& users = gather.users(v);
    const bool found =
        std::all_of(users.begin(), users.end(), [&](const auto& use) { return by_user(loop, v, use.first, use.second); });
    return adjoints[v.id] = found;
}

bool PairwiseLoops::by_user(InstId loop, Value v, InstId user, size_t o) {
    const Inst& i = k[user];
    const auto operands = k.operands(i);
    if (!known_to_run(where.block_of(user), where.block_of(k[v].inst))) return false;
    if (i.op == Op::yield) {
        const InstId owner = where.around(user);
        const Value result = k.result(k[owner], int(o));
        return (owner == loop || k[owner].op == Op::if_) && (!analysis.active(result) || adjoint_computable(loop, result));
    }
    if (i.op == Op::store) {
        const auto indices = indices_of(k, i);
        return std::all_of(indices.begin(), indices.end(), [&](Value index) { return computable->of(index); });
    }
    if (!is_scalar_op(i.op) && i.op != Op::cast && i.op != Op::select) return false;
    if (is_scalar_op(i.op) && vanishes(i.op, int(o))) return true;
    const Value result = k.result(i);
    if (plan.final_min_max(i) || (analysis.active(result) && !adjoint_computable(loop, result))) return false;
    const unsigned what = is_scalar_op(i.op) ? uses(i.op, int(o)) : i.op == Op::select ? 1u : 0u;
    for (size_t n = 0; n < operands.size(); ++n)
        if ((what & (1u << n)) && !computable->of(operands[n])) return false;
    return !(what & uses_result) || computable->of(result);
}

std::function<bool(const HostValues&, int64_t, int64_t)> PairwiseLoops::fits() const {
    std::vector<std::pair<Value, Value>> bounds;
    for (const auto& entry : loads) {
        const auto v = k.operands(k[InstId{entry.first}]);
        bounds.emplace_back(v[0], v[1]);
    }
    return [kernel = std::make_shared<const Kernel>(k), bounds = std::move(bounds)](const HostValues& known, int64_t from,
                                                                                    int64_t to) {
        return std::all_of(bounds.begin(), bounds.end(), [&](const auto& loop) {
            return number_of(*kernel, loop.first, known) == from && number_of(*kernel, loop.second, known) == to;
        });
    };
}

}  // namespace pumice::derive
