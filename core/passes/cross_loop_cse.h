// CSE across loops, through private memory; for devices on which private memory costs less than recomputing the value.
#pragma once
#include "core/ir/ir.h"

namespace pumice::ir {

/// Limit on the bytes of private memory of an item, without and with barriers in the kernel.
struct CrossLoopCseBudget {
    int64_t bytes = 0, with_barriers = 0;
};

/// Keeps expensive values that a loop computes in private memory, if a later loop would compute them again.
Kernel cross_loop_cse(const Kernel& kernel, const CrossLoopCseBudget& room);

/// Rough cost of an instruction, in machine instructions.
int instructions_of(const Inst& inst);

}  // namespace pumice::ir
