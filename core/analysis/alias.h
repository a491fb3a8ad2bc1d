// Alias analysis: may two accesses of a kernel touch the same bytes?
// Why: store-to-load forwarding, dead-store elimination and the reverse sweep must know which accesses interfere.
//
//   %3 = add %0, %2 : i32                 # %2 = constant 1
//   store arg1[%0], %5 : f32              # a
//   store arg1[%3], %5 : f32              # b: may_alias(a, b) is false, as %0 + 1 differs from %0, wrapped or not
//   store arg1[%1], %5 : f32              # c: may_alias(a, c) is true, as nothing is known of %1 - %0
//   %7 = load arg1[%0] : f32              # d: must_alias(a, d) is true
//
// Method: accesses are disjoint if their memories, their members' bytes or any index differ for sure. Indices differ for sure
// if they are one value plus different constants. Different array parameters do not overlap: launches check that for arrays
// that are written.
// Cost: O(rank) for a pair; nothing is computed in advance.
// Limits: accesses of one item only, at one time: a value of a loop stands for the same iteration in both. One addition or
// subtraction of a constant is seen through, no products, no ranges. Accesses with a different number of indices (linearised or
// not) may alias.
// Textbook name: dependence test with a constant distance (strong SIV; Allen and Kennedy, chapter 3).
#pragma once
#include <span>

#include "core/ir/ir.h"

namespace pumice::ir {

/// A value as base + constant, modulo 2^n of its type; the base of a constant is none.
struct BasePlusConstant {
    Value base;
    uint64_t constant = 0;
};
/// Looks through one addition or subtraction of a constant.
BasePlusConstant base_plus_constant(const Kernel& k, Value v);

/// One scalar in memory, as a load, store or atomic of a kernel names it.
struct MemoryLocation {
    MemoryId memory;
    uint32_t leaf = 0;
    std::span<const Value> indices;
};

inline MemoryLocation location_of(const Kernel& k, const Inst& i) { return {i.memory, i.leaf, indices_of(k, i)}; }

/// Must-alias: true if memory, member and index values are equal.
bool must_alias(const MemoryLocation& a, const MemoryLocation& b);
/// May-alias: false only if the memory, the member's bytes or an index differ for sure. Different array parameters of which one
/// is written do not overlap: launches check that.
bool may_alias(const Kernel& k, const MemoryLocation& a, const MemoryLocation& b);

}  // namespace pumice::ir
