// Disjointness of the elements that different items touch: a dependence test on affine indices modulo their width.
#pragma once
#include "autodiff/analysis/activity.h"

namespace pumice::derive {

/// A condition on the number n of items along the axis, under which the indices of different items do not wrap onto each other:
/// (n - 1) * step * length + between * length + length <= 2^bits.
struct ItemLimit {
    int axis = 0, bits = 64;
    uint64_t step = 1, between = 0;
    ir::Value length;  ///< of a row: a value of the primal that is the same for all items; none: 1
};

/// True if two accesses with these indices, by different items, touch different elements: for each axis of the range there
/// is a dimension in which the indices of different items differ. Adds the conditions on the launch to `limits`; with `all` no
/// condition is accepted.
bool items_apart(const ir::Kernel& k, const ir::Structure& where, std::span<const ir::Value> x, std::span<const ir::Value> y,
                 bool all, std::vector<ItemLimit>& limits);

/// A predicate of launches: true where the launch keeps all limits. It holds a copy of the kernel. Empty where there are no
/// limits.
Fits fits_of(const ir::Kernel& k, const std::vector<ItemLimit>& limits);

}  // namespace pumice::derive
