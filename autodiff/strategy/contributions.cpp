// Contributions of other items: which adjoints of a loop's loads can any item compute for any other item?
//
// Why: where this is so, the item that owns an element can sum up what all others give to it, and nobody scatters by atomics.
// pairwise_loops.cpp and owner_computes.cpp ask it; `ElsewhereEmitter` (elsewhere.cpp) emits what it has found.
//
//     for k { %a = load arg2[%i, %k];  %b = load arg3[%k, %j];  %p = mul %a, %b;  %t = add %s, %p }
//     store arg1[%i, %j], %sum
//
// The adjoint of %a is that of %p times %b. The adjoint of %p is that of the loop's result, which is the shadow of arg1[%i, %j].
// Indices, arguments and arrays suffice for all of it.
//
// Method: a walk over the uses of the load, up to the stores. Each use must be an operation whose partial derivative follows from
// indices, arguments and arrays (core/analysis/rematerialisation.h), the yield of a sum of the loop, or a store. Conditions on
// the way must be computable, too.
// Cost: each value of the loop once, and its uses. Limits: no results of other loops, no private or local memory.
// Textbook name: a backward slice (Weiser, 1984), of the adjoint.
#include "autodiff/strategy/contributions.h"

#include <algorithm>
#include <set>

#include "autodiff/rules/derivative_rules.h"

namespace pumice::derive {

using namespace ir;

void Contributions::enter(InstId entered) {
    loop = entered;
    values.emplace(
        k,
        [&](const Inst& i) {
            return is_pure(i.op) || i.op == Op::if_ || (i.op == Op::load && k[i.memory].kind == MemoryKind::array);
        },
        [index = k[k[loop].blocks[0]].params[0]](Value v) { return v == index; });
    adjoints.clear();
}

bool Contributions::computable(InstId load) {
    return known_to_run(where.block_of(load), k[loop].blocks[0]) && adjoint_computable(k.result(k[load]));
}

bool Contributions::known_to_run(BlockId block, BlockId around) {
    if (block == around) return true;
    const InstId owner = where.owner_of(block);
    return owner.id != none && k[owner].op == Op::if_ && values->of(k.operands(k[owner])[0]) &&
           known_to_run(where.block_of(owner), around);
}

/// True if an item can compute the adjoint of the value for another item.
bool Contributions::adjoint_computable(Value v) {
    if (const auto known = adjoints.find(v.id); known != adjoints.end()) return known->second;
    const auto& users = gather.users(v);
    const bool found = std::ranges::all_of(users, [&](const auto& use) { return by_user(v, use.first, use.second); });
    return adjoints[v.id] = found;
}

bool Contributions::by_user(Value v, InstId user, size_t o) {
    const Inst& i = k[user];
    const auto operands = k.operands(i);
    if (!known_to_run(where.block_of(user), where.block_of(k[v].inst))) return false;
    if (i.op == Op::yield) {
        const InstId owner = where.around(user);
        const Value result = k.result(k[owner], int(o));
        return (owner == loop || k[owner].op == Op::if_) && (!analysis.active(result) || adjoint_computable(result));
    }
    if (i.op == Op::store) {
        const auto indices = indices_of(k, i);
        return std::ranges::all_of(indices, [&](Value index) { return values->of(index); });
    }
    if (!is_scalar_op(i.op) && i.op != Op::cast && i.op != Op::select) return false;
    if (is_scalar_op(i.op) && vanishes(i.op, int(o))) return true;
    const Value result = k.result(i);
    if (plan.final_min_max(i) || (analysis.active(result) && !adjoint_computable(result))) return false;
    const unsigned what = is_scalar_op(i.op) ? uses(i.op, int(o)) : i.op == Op::select ? 1u : 0u;
    for (size_t n = 0; n < operands.size(); ++n)
        if ((what & (1u << n)) && !values->of(operands[n])) return false;
    return !(what & uses_result) || values->of(result);
}

bool stores_once(const Kernel& k, const Structure& where, bool loads_before_stores) {
    std::set<std::pair<uint32_t, uint32_t>> stored;
    std::set<uint32_t> written;
    const MemoryEffects effects(k, k.body().insts);
    for (const InstId id : where.order()) {
        const Inst& i = k[id];
        if (i.op == Op::call || is_atomic(i.op)) return false;
        if (i.op == Op::load && written.count(i.memory.id)) return false;
        if (i.op != Op::store) continue;
        if (k[i.memory].kind != MemoryKind::array || (!loads_before_stores && effects.reads(i.memory))) return false;
        if (where.loop_around(id).id != none || !stored.emplace(i.memory.id, i.leaf).second) return false;
        written.insert(i.memory.id);
    }
    return true;
}

}  // namespace pumice::derive
