// Ranges of floats: which numbers can a value be, and can it be NaN?
#pragma once
#include <cstdint>
#include <span>

#include "core/ir/ir.h"

namespace pumice::ir {

/// All numbers of a float value lie in [low, high].
struct FloatRange {
    double low, high;
    bool nan;  ///< it may be NaN
};
/// `most_extents`: the largest extent of each memory along a dimension; without it, extents are any i32.
FloatRange float_range(const Kernel& kernel, Value value, std::span<const int64_t> most_extents = {});

/// True if the integer part of an f32 is an i32: the cast needs no saturation.
bool fits_i32(const Kernel& kernel, Value value, std::span<const int64_t> most_extents = {});

}  // namespace pumice::ir
