// Derivatives of operations among the lanes of a subgroup. All that take and give floats have both rules.
#pragma once
#include "core/ir/builder.h"

namespace pumice::derive {

/// Which operands of the operation its rules need: the first (products, minima, maxima), the lane, distance or mask.
bool needs_operand(ir::Subgroup what);
bool needs_lane(ir::Subgroup what);

/// Emits the rules of one operation into the kernel that `b` builds. They act among the lanes that took part in it. Of several lanes
/// that hold a minimum or maximum, the highest takes the derivative.
class SubgroupRule {
public:
    /// `v` are its operands, as far as they are needed. `one_lane`: the second is known to be the same for all lanes.
    SubgroupRule(ir::Builder& b, const ir::Kernel& k, ir::Subgroup what, std::span<const ir::Value> v, bool one_lane);

    ir::Value tangent(ir::Value of_operand);
    /// Every lane that took part has an adjoint of its result (zero, where nothing flows).
    ir::Value adjoint(ir::Value of_result);

private:
    ir::Value ask(ir::Subgroup which, ir::Value x, ir::Value y = {});
    ir::Value combine(ir::Subgroup reduction, ir::Value x);
    ir::Value only(ir::Value condition, ir::Value x);
    ir::Value counts(ir::Value lane);
    ir::Value source();
    ir::Value product_without(ir::Value lane);
    template <class Next>
    ir::Value over_lanes(Next next);
    ir::Value tangent_of_product(ir::Value tangent);
    ir::Value adjoint_by_lane(ir::Value adjoint);
    template <class Fast>
    ir::Value adjoint_of_whole(ir::Value adjoint, Fast fast);
    ir::Value sums_from_here(ir::Value x);
    ir::Value shuffled_back(ir::Value x);

    ir::Builder& b;
    const ir::Kernel& k;
    const ir::Subgroup what;
    const std::span<const ir::Value> v;
    const bool one_lane;
    const ir::Value lane, size;
    ir::Value zero;
};

}  // namespace pumice::derive
