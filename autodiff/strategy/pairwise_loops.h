// Pairwise loops (n-body): recognises loops over all items whose adjoint needs no atomics.
#pragma once
#include <algorithm>
#include <map>

#include "autodiff/strategy/scatter_to_gather.h"
#include "core/analysis/rematerialisation.h"

namespace pumice::derive {

/// The loads x[j] in loops over all items, where any item can compute the contribution of any other item to its element. Such a
/// kernel stores an element at most once, outside of loops, and loads nothing that it stores.
class PairwiseLoops {
public:
    PairwiseLoops(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const TapePlan& plan,
                  const Gather& gather);

    bool any() const { return !loads.empty(); }
    bool has(ir::InstId load) const { return std::binary_search(all.begin(), all.end(), load.id); }
    /// By loop: active loads whose index is the index of the loop along one dimension, and the same for all items along the
    /// others.
    std::map<uint32_t, std::vector<ir::InstId>> loads;
    /// PairwiseAdjoint::fits
    std::function<bool(const HostValues&, int64_t, int64_t)> fits() const;

private:
    bool stores_once() const;
    bool is_pair(ir::InstId loop, ir::InstId load);
    bool known_to_run(ir::BlockId block, ir::BlockId around);
    bool adjoint_computable(ir::InstId loop, ir::Value v);
    bool by_user(ir::InstId loop, ir::Value v, ir::InstId user, size_t operand);

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const TapePlan& plan;
    const Gather& gather;
    std::vector<uint32_t> all;  ///< the loads, sorted
    // Of the loop that is looked at: the values, of it or of the body in front of it, that an item can compute for another item;
    // and what is known of their adjoints.
    std::optional<ir::Rematerialisation> computable;
    std::map<uint32_t, bool> adjoints;
};

}  // namespace pumice::derive
