// Scatter-to-gather over a halo-extended range.
#pragma once
#include <functional>

#include "autodiff/reverse/emit_gather.h"

namespace pumice::derive {

class HaloGatherEmitter : SweepContext {
public:
    HaloGatherEmitter(const SweepContext& context, ElsewhereEmitter& elsewhere, GatherEmitter& gather)
        : SweepContext(context), elsewhere(elsewhere), gather(gather) {}
    /// True if the item is in the range of the primal.
    ir::Value in_range(const RangeItem& at);
    /// For each gathered memory, adds one sum of contributions to the element of this item.
    void gather_all(const RangeItem& at);

private:
    void gather_over_halo(const RangeItem& at, ir::MemoryId m, int w);
    void gather_by_rows(const RangeItem& at, ir::MemoryId m, int w);
    ir::Value exists_at(const RangeItem& at, int axis, ir::Value position);
    std::pair<ir::Value, ir::Value> neighbour(const RangeItem& at, size_t axis, int64_t shift);
    void where_it_exists(const RangeItem& at, const Gather::Loads& list, const std::function<void()>& emit);

    ElsewhereEmitter& elsewhere;
    GatherEmitter& gather;
};

}  // namespace pumice::derive
