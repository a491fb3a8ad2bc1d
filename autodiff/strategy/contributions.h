// Contributions of other items: what can an item compute of the adjoint that another item adds in an iteration of a loop?
#pragma once
#include <map>
#include <optional>

#include "autodiff/strategy/scatter_to_gather.h"
#include "core/analysis/rematerialisation.h"

namespace pumice::derive {

/// The contributions of loads in one loop at a time.
class Contributions {
public:
    Contributions(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const TapePlan& plan,
                  const Gather& gather)
        : k(kernel), where(where), analysis(analysis), plan(plan), gather(gather) {}

    /// Looks at the iterations of this for from now on. Any item knows the index of the loop.
    void enter(ir::InstId loop);
    /// True if any item can compute the adjoint of this load, in the body of the loop, for any other item and iteration.
    bool computable(ir::InstId load);
    /// True if an item can compute the value for another item, in the same iteration.
    bool computable(ir::Value v) { return values->of(v); }
    /// True if an item can compute whether the block runs for another item, given that the block `around` does.
    bool known_to_run(ir::BlockId block, ir::BlockId around);

private:
    bool adjoint_computable(ir::Value v);
    bool by_user(ir::Value v, ir::InstId user, size_t operand);

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const TapePlan& plan;
    const Gather& gather;
    // Of the loop that is looked at: the values, of it or of the body in front of it, that an item can compute for another item;
    // and what is known of their adjoints.
    ir::InstId loop;
    std::optional<ir::Rematerialisation> values;
    std::map<uint32_t, bool> adjoints;
};

/// True if an item stores each scalar of its elements once, outside of loops, and there are neither calls nor atomics. Loads of
/// arrays that are stored are accepted if `loads_before_stores` and they stand in front of the store.
bool stores_once(const ir::Kernel& k, const ir::Structure& where, bool loads_before_stores);

}  // namespace pumice::derive
