// Rows of items that begin within a line of memory: which kernels' packets may be laid out by lines (cpu/emit/emit_packets.cpp), and for which
// launches that is worth it.
#pragma once
#include "core/host/backend.h"

namespace pumice::cpu {

/// Whether an item does the same in any group of the same range.
bool movable(const ir::Kernel& kernel);

/// Whether an item of a kernel, which has no loops, loads `most` elements of arrays for each that it stores, or fewer.
bool mostly_stores(const ir::Kernel& kernel, int64_t most);

/// Whether a launch of a kernel, as it was recorded, gains by packets that lie in whole lines. `streaming`: stores go past the caches, which
/// takes whole lines.
bool worth_lead(const ir::Kernel& kernel, const Launch& launch, bool streaming);

}  // namespace pumice::cpu
