// Pairwise loops (n-body): recognises loops over all items whose adjoint needs no atomics.
#pragma once
#include <algorithm>
#include <map>

#include "autodiff/strategy/contributions.h"

namespace pumice::derive {

/// The loads x[j] in loops over all items, where any item can compute the contribution of any other item to its element. Such a
/// kernel stores an element at most once, outside of loops, and loads nothing that it stores.
class PairwiseLoops {
public:
    PairwiseLoops(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const TapePlan& plan,
                  Contributions& contributions);

    bool any() const { return !loads.empty(); }
    bool has(ir::InstId load) const { return std::ranges::binary_search(all, load.id); }
    /// By loop: active loads whose index is the index of the loop along one dimension, and the same for all items along the
    /// others.
    std::map<uint32_t, std::vector<ir::InstId>> loads;
    /// PairwiseAdjoint::fits
    std::function<bool(const HostValues&, int64_t, int64_t)> fits() const;

private:
    bool is_pair(ir::InstId loop, ir::InstId load) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    std::vector<uint32_t> all;  ///< the loads, sorted
};

}  // namespace pumice::derive
