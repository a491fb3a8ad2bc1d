// What a loop has computed is there for later ones, for devices on which private memory costs less than computing it again.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Bytes of private memory that an item of a kernel may have in all, and where the kernel has barriers.
struct CrossLoopCseBudget {
    int64_t bytes = 0, with_barriers = 0;
};

/// Keeps in private memory what one loop computes with costly functions, or much else, and a later one would compute again.
Kernel cross_loop_cse(const Kernel& kernel, const CrossLoopCseBudget& room);

/// Instructions that a scalar op takes, roughly.
int instructions_of(const Kernel& kernel, const Inst& inst);

}  // namespace pumice::ir
