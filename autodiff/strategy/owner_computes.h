// Owner computes: recognises loads in loops whose shadow elements can each be summed up by one item, without atomics.
#pragma once

#include "autodiff/strategy/contributions.h"

namespace pumice::derive {

/// The loads of a kernel that are selected by some axes of the range and by the index of a loop, as a[i, k] in a product of
/// matrices. An item for each element then loops over the other axes of the range.
class OwnerComputes {
public:
    static constexpr int of_loop = -1;
    /// One dimension of the index: a global index, or the index of the loop, plus a constant; or a value that is the same for all
    /// items, where `axis` is `fixed`.
    struct IndexDimension {
        static constexpr int fixed = -2;
        int axis = fixed;  ///< of the primal's range, or of_loop
        int64_t shift = 0;
        ir::Value value;
    };
    struct Load {
        ir::InstId load, loop;
        std::vector<IndexDimension> index;  ///< by dimension of the memory
        std::vector<int> axes;              ///< by axis of the owners' range: an axis of the primal's range, or of_loop
        std::vector<int64_t> shifts;        ///< likewise: the constant of the index
        std::vector<int> array_axes;        ///< likewise: the axis of the array that it indexes
        std::vector<int> looped;            ///< the other axes of the primal's range
        bool guarded = false;               ///< the bounds of the loop depend on the item
    };

    OwnerComputes(const ir::Kernel& kernel, const ir::Structure& where, const Analysis& analysis, const TapePlan& plan,
                  Contributions& contributions);

    bool any() const { return !loads.empty(); }
    bool has(ir::InstId load) const;
    std::vector<Load> loads;

    /// The iterations of the loop for one item of the primal (HostValues::item).
    std::function<int64_t(const HostValues&)> trips(const Load& load) const;
    /// The first iteration of the loop and the one after the last; where they depend on the item: those that may reach an
    /// element.
    std::function<std::pair<int64_t, int64_t>(const HostValues&)> iterations(const Load& load) const;

private:
    bool find(ir::InstId load, Load& found) const;

    const ir::Kernel& k;
};

}  // namespace pumice::derive
