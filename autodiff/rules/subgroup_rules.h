// Derivative rules of subgroup collectives. Every collective that takes and gives floats has both rules.
#pragma once
#include "core/ir/builder.h"

namespace pumice::derive {

/// The operands that the rules of the operation need: the first one (products, minima, maxima); the second one (lane, distance
/// or mask).
bool needs_operand(ir::Subgroup what);
bool needs_lane(ir::Subgroup what);

/// Emits the rules of one collective into the kernel that `b` builds. They act among the lanes that executed the collective. If
/// several lanes hold the minimum or maximum, the highest lane takes the derivative.
class SubgroupRule {
public:
    /// `v`: the operands, as far as they are needed. `one_lane`: the second operand is known to be uniform in the subgroup.
    SubgroupRule(ir::Builder& b, const ir::Kernel& k, ir::Subgroup what, std::span<const ir::Value> v, bool one_lane);

    ir::Value tangent(ir::Value of_operand);
    /// Every lane that executed the collective has an adjoint of its result (zero where nothing flows).
    ir::Value adjoint(ir::Value of_result);

private:
    ir::Value ask(ir::Subgroup which, ir::Value x, ir::Value y = {});
    ir::Value combine(ir::Subgroup reduction, ir::Value x);
    ir::Value only(ir::Value condition, ir::Value x);
    ir::Value counts(ir::Value lane);
    ir::Value source();
    ir::Value product_without(ir::Value lane);
    template <class Next> ir::Value over_lanes(Next next);
    ir::Value tangent_of_product(ir::Value tangent);
    ir::Value adjoint_by_lane(ir::Value adjoint);
    template <class Fast> ir::Value adjoint_of_whole(ir::Value adjoint, Fast fast);
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
