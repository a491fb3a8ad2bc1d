// Loop partial sums: recognises loops in which all items add to the same elements, to sum up before the scatter.
#pragma once
#include "autodiff/strategy/pairwise_loops.h"
#include "core/analysis/memory_effects.h"

namespace pumice::derive {

/// The loop of a kernel with the most loads of elements that the iteration alone selects.
class LoopPartialSums {
public:
    LoopPartialSums(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const TapePlan& plan);

    bool any() const { return loop.id != ir::none; }
    bool has(ir::InstId load) const { return std::ranges::binary_search(loads, load.id); }
    /// True if an item can compute the value for another item: by at most a dozen instructions, from indices, arguments and
    /// arrays that are not written.
    bool recomputable(ir::Value v) const;
    /// True for a load of an array that the kernel does not write.
    bool loads_unwritten(const ir::Inst& i) const;
    /// True if the reverse of the loop reads private memory as the primal has left it.
    bool rereads_private() const;
    /// True if the value is the same for all items in one iteration.
    bool by_iteration(ir::Value v) const { return by_iteration(loop, v); }
    /// The trip count of the loop.
    std::function<int64_t(const HostValues&)> iterations() const;

    ir::InstId loop;
    std::vector<uint32_t> loads;     ///< in the body of the loop: active loads whose index depends on the iteration alone
    std::vector<ir::Value> outside;  ///< values from outside of the loop that its reversed body needs

private:
    std::vector<uint32_t> loads_of(ir::InstId loop) const;
    bool by_iteration(ir::InstId loop, ir::Value v) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const TapePlan& plan;
    const ir::MemoryEffects effects;
};

}  // namespace pumice::derive
