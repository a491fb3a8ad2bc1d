// Trip counts of loops with constant bounds.
#pragma once
#include <cstdint>
#include <optional>

#include "core/ir/ir.h"

namespace pumice::ir {

/// Holds every value of every integer type, and their differences.
using WideInt = __int128;

/// The integer that the bits of a value of an integer type are.
WideInt wide_integer(Scalar type, uint64_t bits);
/// The value as an integer, if it is a constant of an integer type.
std::optional<WideInt> constant_integer(const Kernel& kernel, Value v);
/// The number of iterations of a `for` with these bounds and this step, at most INT64_MAX; 0 for a step of 0.
int64_t trip_count(WideInt from, WideInt to, WideInt step);
/// The trip count of a `for` whose bounds and step are constants; nothing for other instructions.
std::optional<int64_t> constant_trip_count(const Kernel& kernel, const Inst& loop);

}  // namespace pumice::ir
