// Scatter-to-gather over the range of the primal.
#pragma once
#include <map>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class ElsewhereEmitter;

/// The position of an item in the range of the primal, and its indices.
struct RangeItem {
    std::array<ir::Value, 3> position, index, size, start, end;  ///< of the item; size, start and end of the range
};

class GatherEmitter : SweepContext {
public:
    GatherEmitter(const SweepContext& context, ElsewhereEmitter& elsewhere) : SweepContext(context), elsewhere(elsewhere) {}
    /// For each gathered memory, adds one sum of contributions to the element of this item. Boundary items test which neighbours
    /// exist, and scatter to elements that belong to no item.
    void gather_all();

    RangeItem here();
    /// True if the array has an element at the indices of the item.
    ir::Value exists(const RangeItem& at, const Gather::Load& load);
    /// Adds the contribution of the item whose load meets the element of this item, by plain offsets.
    void add_contribution_at(const RangeItem& at, const Gather::Load& load, int w, ir::Value sum);
    /// Adds the sums, one a leaf, to the element of this item.
    void add_here(const RangeItem& at, const Gather::Loads& list, int w, const std::map<uint32_t, ir::Value>& sums);

private:
    struct IndexBounds {
        ir::Value low, high, period;
    };
    void gather(ir::MemoryId m, int w);
    ir::Value in_range_at(const RangeItem& at, const Gather::Offset& by, int sign);
    IndexBounds bounds_of(const Gather::Index& index);
    ir::Value few_meet(const RangeItem& at, const Gather::Loads& list);
    std::pair<ir::Value, ir::Value> meeting(const RangeItem& at, const Gather::Index& index, int axis);
    void add_contribution(const std::array<ir::Value, 3>& indices, ir::InstId load, int w, ir::Value sum);
    void add_meeting(const RangeItem& at, const Gather::Load& load, int axis, std::array<ir::Value, 3> indices, int w,
                     ir::Value sum);
    ir::Value in_the_interior(const RangeItem& at, const Gather::Loads& list);
    void scatter_beyond(const RangeItem& at, const Gather::Load& load, ir::Value gathered, int w);

    ElsewhereEmitter& elsewhere;
};

}  // namespace pumice::derive
