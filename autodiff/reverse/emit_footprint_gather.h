// The kernel whose items each gather what the items around an affine position give to one shadow element.
#pragma once
#include <functional>
#include <map>

#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

class AdjointReductions;
struct Elsewhere;
class ElsewhereEmitter;

class FootprintGatherEmitter : SweepContext {
public:
    FootprintGatherEmitter(const SweepContext& context, AdjointReductions& reductions, ElsewhereEmitter& elsewhere)
        : SweepContext(context), reductions(reductions), elsewhere(elsewhere) {}
    /// Emits the body of the kernel for the elements of one owner.
    void gather(const FootprintGather::Owner& owner);

private:
    using Sums = std::map<std::pair<uint32_t, int>, ir::Value>;  ///< by leaf and direction; variables
    struct RangeEnds {
        ir::Value start, end;
    };
    struct Intervals;

    ir::Value scalar(Scalar type, const std::string& name, const std::string& label);
    ir::Value first_of(const Intervals& all, ir::Value low);
    ir::Value past_of(const Intervals& all, ir::Value high);
    Intervals intervals_of(const AffineBase& base, ir::Value element, const RangeEnds& range);
    void each_item(const Intervals& intervals, const std::function<void(ir::Value)>& fill);
    void find_indices(const FootprintGather::Group& group, size_t dimension, Elsewhere& item);
    void add_item(const FootprintGather::Group& group, Elsewhere& item, const Sums& sums);
    void add_taps(const FootprintGather::Group& group, Elsewhere& item, const Sums& sums);

    AdjointReductions& reductions;
    ElsewhereEmitter& elsewhere;
    std::vector<ir::Value> elements;  ///< by dimension: the index of this item's element; none for fixed ones
    int group_number = 0;
};

}  // namespace pumice::derive
