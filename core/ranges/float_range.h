// Ranges of floats: which numbers can a value be, and can it be NaN?
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// All numbers of a float value lie in [low, high].
struct FloatRange {
    double low, high;
    bool nan;  ///< it may be NaN
};
FloatRange float_range(const Kernel& kernel, Value value);

/// True if the integer part of an f32 is an i32: the cast needs no saturation.
bool fits_i32(const Kernel& kernel, Value value);

}  // namespace pumice::ir
