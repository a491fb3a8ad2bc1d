// Private accumulators: does each item read back, alone, what a loop has added up for it in local memory? And may rows be
// padded?
// Why: owner_computes_atomics then keeps such a sum in a register, and drops the stores that clear its place.
//
//   for %k = %zero to %size step %one {              # 16 iterations
//     %1 = atomic add local2[%y, %k], %p : f32       # iteration k adds for the item with local index k along axis 0
//     yield
//   }
//   barrier
//   %c = load local2[%y, %x] : f32                   # %x = local_index 0: private_accumulator gives this load
//
// Method: looks for one load of the memory, after the loop and a barrier in the same block, whose indices are those of the
// addition with the loop's index replaced by the axis's local index. All other stores to the memory are of zero. A store of
// zero to the same place after the load is reported as a clear; it is required if the loop may run again.
// Cost: one scan of the kernel for each question.
// Limits: elements of one scalar; a loop from 0 by 1; no access to the memory between loop and load; a single load in the whole
// kernel.
// Related: scalar replacement, of an array element in a register (Callahan, Carr, Kennedy, PLDI 1990).
#pragma once
#include <optional>
#include <vector>

#include "core/ir/structure.h"

namespace pumice::ir {

/// The only load of a memory that a loop adds to, and the stores after it that clear the loaded element.
struct PrivateAccumulator {
    InstId load;
    std::vector<InstId> clears;
};

/// Given a loop from 0 by 1 with an atomic addition to local memory, at indices that contain the loop's index: returns the load
/// by which item n along `axis` reads, after a barrier, the sum of iteration n, if nothing else loads from the memory. None if
/// there is no such load, or if the loaded value may be more than the loop's sum: another store is not of zero, or the loop may
/// run again and no store clears the element after the load. (A kernel must store an element before it adds to it.)
std::optional<PrivateAccumulator> private_accumulator(const Kernel& kernel, const Structure& where, InstId loop, InstId atomic,
                                                      int axis);

/// True if the memory has two constant extents, and each access gives both indices, so that its rows can be padded.
bool has_rows(const Kernel& kernel, MemoryId memory);

}  // namespace pumice::ir
