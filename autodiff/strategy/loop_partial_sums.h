// Loops in which all items add to the same places, as all points add to each component's parameters: item by item that is an atomic
// addition a place and iteration. Instead, factors that are the same for all items are taken out of what is added, and the rest of an
// iteration is added to cells: a row of them an iteration, from which one item an iteration makes what belongs to the shadows. Where
// additions of many items to one place are slow, the loops are exchanged, besides: an item takes an iteration and a chunk of the items,
// and sums up in registers.
#pragma once
#include "autodiff/strategy/pairwise_loops.h"

namespace pumice::derive {

/// The loop of a kernel in which most loads are of such places.
class LoopSums {
public:
    LoopSums(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const Plan& plan);

    bool any() const { return loop.id != ir::none; }
    bool has(ir::InstId load) const { return std::binary_search(loads.begin(), loads.end(), load.id); }
    /// Whether an item can compute the value for another one: it is made of indices, arguments and arrays that are not written, and of few
    /// of those.
    bool recomputable(ir::Value v) const;
    bool is_written(ir::MemoryId m) const { return written[m.id]; }
    /// Whether the value is the same for all items in the same iteration.
    bool by_iteration(ir::Value v) const { return by_iteration(loop, v); }
    /// How often the loop runs.
    std::function<int64_t(const HostValues&)> iterations() const;

    ir::InstId loop;
    std::vector<uint32_t> loads;     ///< in the loop's body: active ones, whose place the iteration alone decides
    std::vector<ir::Value> outside;  ///< what the body's reverse takes from outside of the loop, but for its results' adjoints

private:
    std::vector<uint32_t> loads_of(ir::InstId loop) const;
    bool by_iteration(ir::InstId loop, ir::Value v) const;
    bool recomputable(ir::Value v, int& instructions) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const Plan& plan;
    std::vector<bool> written;  ///< memories
};

}  // namespace pumice::derive
