// Footprint gather: recognises loads at indices of an affine position, whose adjoints an item for each element can gather.
#pragma once
#include <algorithm>
#include <functional>

#include "autodiff/strategy/item_footprint.h"
#include "autodiff/strategy/scatter_to_gather.h"

namespace pumice::derive {

/// The loads of a kernel, such as the taps of a filter, of which the items that touch an element form an interval along each
/// axis. An item for each element then loops over these intervals.
class FootprintGather {
public:
    /// One dimension of the index: of an affine value; or the same for all items.
    struct Dimension {
        ir::Value fixed;  ///< none: affine
        AffineBase base;
    };
    /// Loads with the same affine values: the taps of one sample.
    struct Group {
        std::vector<ir::InstId> loads;      ///< in the order of the kernel, in one block
        std::vector<Dimension> dimensions;  ///< by dimension of the memory
        /// By load: the value in its block through which alone it acts, and which all loads of its channel share; the load's own
        /// result if there is none.
        std::vector<ir::Value> meeting;
    };
    /// The elements of a memory, or of a slice of it, and all groups that touch them.
    struct Owner {
        ir::MemoryId memory;
        std::vector<Group> groups;
        int number = 0;  ///< of the slice
    };

    FootprintGather(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const TapePlan& plan,
                    const Gather& gather);

    bool any() const { return !owners.empty(); }
    bool has(ir::InstId load) const;
    /// True if some load of the memory is gathered, and all are that might be.
    bool has(ir::MemoryId m) const {
        return std::ranges::any_of(owners, [&](const Owner& o) { return o.memory == m; }) && !why_not(m);
    }
    std::vector<Owner> owners;
    /// The reason for which a load of the memory is not gathered so; null if there is none.
    const char* why_not(ir::MemoryId m) const;

    /// The footprint of a group along a dimension that is not fixed, for items from `start` up to `end` along its axis.
    using Footprint = std::function<std::string(const HostValues&, int64_t start, int64_t end, int64_t elements, ItemFootprint&)>;
    Footprint footprint(const Group& group, size_t dimension) const;

private:
    const char* find(ir::InstId load, std::vector<Dimension>& found) const;
    void add(ir::InstId load, std::vector<Dimension>&& dimensions);
    void find_meeting(Group& group) const;
    std::vector<IndexCondition> conditions_of(ir::InstId load) const;

    const ir::Kernel& k;
    const ir::Structure& where;
    const Analysis& analysis;
    const Gather& gather;
    const char* of_kernel = nullptr;
    std::map<uint32_t, const char*> of_memories;
};

}  // namespace pumice::derive
