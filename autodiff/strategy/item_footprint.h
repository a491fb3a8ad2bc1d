// Footprints: the items of a range that may touch an element, as one interval along an axis, or periodic ones.
#pragma once
#include <string>

#include "autodiff/strategy/affine_index.h"

namespace pumice::derive {

/// The footprint of the taps, which have the base, among the items from `start` up to `end`; or the reason why there is none.
/// `elements`: the extent of the dimension.
std::string footprint_of(const ir::Kernel& k, const AffineBase& base, std::span<const IndexTap> taps, const HostValues& known,
                         int64_t start, int64_t end, int64_t elements, ItemFootprint& found);

}  // namespace pumice::derive
