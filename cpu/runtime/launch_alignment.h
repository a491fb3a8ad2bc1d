// Cost model: the launches for which alignment peeling pays (cpu/plan/alignment_peeling.h says for which kernels it is legal).
//
// Why: a store that crosses from one cache line into the next touches two, and a streaming store wants a whole line. But a peeled
// row has one more packet, under a mask.
//
//     y[i][j] = x[i][j], rows of 1000 floats        4000 bytes are no multiple of 64: most rows begin within a line, so it pays
//     y[i][j] = x[i][j], rows of 1024 floats        every row begins at a line if y does: nothing to gain
//     rows of 100 items, or 10,000 items in all     the ends of the rows cost more than aligned stores gain
//
// Method: the first store, or load if there is none, is taken as an example. Its address in the first row and the length of a row
// of its array say if rows begin within lines. The launch must have at least 128 items a row and 16,384 items; the kernel must
// have streaming stores, rows of 4,096 items and more, or at most 2 loads a store.
// Cost: one scan of the instructions. Limits: an index that is not item + constant counts as unaligned.
// Textbook name: profitability test of loop peeling for alignment (Eichenberger, Wu and O'Brien, PLDI 2004).
#pragma once
#include "core/host/backend.h"

namespace pumice::cpu {

/// True if a launch of a kernel, as recorded, gains by packets aligned to cache lines. `streaming`: it has non-temporal stores,
/// which want whole lines.
bool worth_peeling(const ir::Kernel& kernel, const Launch& launch, bool streaming);

}  // namespace pumice::cpu
