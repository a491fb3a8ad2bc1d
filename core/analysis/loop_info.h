// Trip counts: how often does a `for` with constant bounds run?
// Why: the size of a tape and of a table of values that a loop keeps follows from it, and cost models weigh a loop's body by it.
//
//   for %k = %zero to %ten step %three    # 4 iterations: 0, 3, 6, 9
//   for %k = %ten to %zero step %down     # %down = -1: 10 iterations, from 10 to 1
//   for %k = %zero to %n step %three      # %n is an argument: unknown
//
// Method: the distance divided by the step and rounded up, in 128-bit integers, which hold every integer of the IR and every
// difference of two. A step of 0, or one that leads away from the bound, gives 0.
// Cost: constant time. Limits: constants only; no `while`; at most INT64_MAX. A `break` may end a loop earlier, so the count is
// an upper bound of the iterations. core/analysis/linear_index.h knows more of bounds that are not constant.
// Textbook name: trip count of a counted loop (Muchnick, chapter 14).
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "core/ir/ir.h"

namespace pumice::ir {

/// True for terminators that leave an iteration, a loop or the kernel.
constexpr bool is_jump(Op op) { return op == Op::break_ || op == Op::continue_ || op == Op::return_; }

/// Holds every value of every integer type, and their differences.
using WideInt = __int128;

/// The integer that the bits of a value of an integer type are.
WideInt wide_integer(Scalar type, uint64_t bits);
/// Integers of 64 bits that wrap, as values do.
constexpr int64_t wrapping_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
constexpr int64_t wrapping_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
/// The number that is equal modulo 2^bits, at least -2^(bits - 1) and below 2^(bits - 1).
constexpr int64_t wrapped(int64_t number, int bits) { return int64_t(uint64_t(number) << (64 - bits)) >> (64 - bits); }
constexpr int bits_of(Scalar type) { return 8 * size_of(type); }
/// The value as an integer, if it is a constant of an integer type.
std::optional<WideInt> constant_integer(const Kernel& kernel, Value v);
/// The number of iterations of a `for` with these bounds and this step, at most INT64_MAX; 0 for a step of 0.
int64_t trip_count(WideInt from, WideInt to, WideInt step);
/// The step of a `for` with an i32 index, if it is the constant 1 or -1; 0 for other instructions.
int unit_step(const Kernel& kernel, const Inst& loop);
/// The trip count of a `for` whose bounds and step are constants; nothing for other instructions.
std::optional<int64_t> constant_trip_count(const Kernel& kernel, const Inst& loop);
/// The same of a `for` with these operands.
std::optional<int64_t> constant_trip_count(const Kernel& kernel, std::span<const Value> operands);

}  // namespace pumice::ir
