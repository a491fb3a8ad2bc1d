// Rematerialisable slice: can another item recompute a value of a loop's body, and what does it need to do so?
// Why: owner_computes_atomics lets an item compute the addends of other items instead of waiting for their atomics.
//
//   %w = load arg2[%i, %j] : f32                     # in the kernel's body
//   for %k = %zero to %size step %one {
//     %b = load local1[%k, %x] : f32                 # %x = local_index 0
//     %p = mul %w, %b : f32
//
// RematerialisableSlice::add(%p) is true, with recomputed = {%x, %b, %p} (to recompute), kept = {%w} (to be found in local
// memory), memories = {local1}, axes = {0}, index = true.
// Method: a backward walk from the value. It ends at the loop's index, local indices and values that are uniform in the group
// and defined outside of the loop. Pure instructions and, in the loop, loads of local memory are recomputed. Any other value is
// kept, if it is a 4-byte value of the kernel's body.
// Cost: each step backtracks by copying the lists of the slice so far: quadratic in the size of the slice, which callers limit.
// Limits: no values from inner constructs, no carried values, no loads of arrays in the loop. The caller checks that memories
// do not change.
// Textbook name: rematerialisation (Briggs, Cooper, Torczon, PLDI 1992), of a program slice (Weiser, 1981).
#pragma once
#include <algorithm>
#include <array>
#include <vector>

#include "core/analysis/uniformity.h"

namespace pumice::ir {

template <class T> bool has(const std::vector<T>& all, const T& one) { return std::ranges::find(all, one) != all.end(); }

/// The slice of some values of a loop's body, without the parts that are the same for all items and iterations.
class RematerialisableSlice {
public:
    RematerialisableSlice(const Kernel& kernel, const Uniformity& known, InstId of) : k(kernel), uniformity(known), loop(of) {}

    std::vector<Value> recomputed;   ///< to recompute, operands first
    std::vector<Value> kept;         ///< values of the kernel's body that other items must load from local memory
    std::vector<MemoryId> memories;  ///< local memories that the slice loads from
    std::array<bool, 3> axes{};      ///< local indices in the slice
    bool index = false;              ///< the loop's index is in the slice

    /// Adds a value to the slice. False if another item can neither recompute nor load it.
    bool add(Value v);

private:
    bool recomputable(Value v, bool inside);

    const Kernel& k;
    const Uniformity& uniformity;
    const InstId loop;
};

}  // namespace pumice::ir
