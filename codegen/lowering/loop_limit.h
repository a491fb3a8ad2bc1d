// Drivers that end the loops of a work-item after so many iterations in all, without a word.
//
// Mesa's gallivm (lavapipe, llvmpipe) counts the iterations of all loops of a shader down from 65,535, once for a vector of work-items; at 0
// every loop ends after one iteration, and the shader goes on with what its variables hold. Nothing gives it more: inlined functions share
// the count, and no loop that a shader can write is left out. So a kernel that may come there asks at its end whether the driver still
// runs loops, and fails a requirement where it does not:
//
//   before: for ... { ... } return          after: for ... { ... }
//                                                  x = 2^30 | (group_index & 1), turns = 0
//                                                  while (x > 2^16) { x >>= 8; ++turns }   two turns; one where loops are ended
//                                                  require(turns >= 2, message); return
//
// That is exact, whatever the driver counts, and costs two iterations an item; counting in the shader would cost every iteration, and
// would not know what the other items of the vector have used up.
#pragma once
#include <cstdint>
#include <string>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// A bound of the iterations that all loops of a work-item make, those of the functions behind operations included; INT64_MAX where none
/// is known. Calls are inlined.
int64_t most_iterations(const ir::Kernel& kernel);

/// The kernel with the requirement in front of each of its ends, with its own source line; as it is where its loops make fewer iterations
/// than the limit. Calls are inlined. `device` is what the message calls it.
ir::Kernel require_loops(const ir::Kernel& kernel, int64_t limit, const std::string& device);

}  // namespace pumice::codegen
