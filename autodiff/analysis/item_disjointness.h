// Disjointness of items' elements: by indices as functions of the items' own, modulo the width in which they are computed.
#pragma once
#include "autodiff/analysis/activity.h"

namespace pumice::derive {

/// Items differ in an index as long as this is so: (n - 1) |step| length + between + length - 1 < 2^bits, with n items along the axis.
struct ItemLimit {
    int axis = 0, bits = 64;
    uint64_t step = 1, between = 0;
    ir::Value length;  ///< of the primal, the same for all items; none: 1
};

/// True where two accesses with these indices, by different items, surely touch different elements: along the axes' dimensions the items'
/// indices differ whatever the others are. Adds to `limits` the launches of which that holds, unless it is to hold of `all`.
bool items_apart(const ir::Kernel& k, const ir::Structure& where, std::span<const ir::Value> x, std::span<const ir::Value> y,
                 bool all, std::vector<ItemLimit>& limits);

/// A test of launches: true where one keeps to the limits. It holds a copy of the kernel; empty where there are no limits.
Fits fits_of(const ir::Kernel& k, const std::vector<ItemLimit>& limits);

}  // namespace pumice::derive
