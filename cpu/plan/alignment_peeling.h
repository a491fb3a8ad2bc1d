// Rows of items that begin within a line of memory: which kernels' packets may be laid out by lines (cpu/emit/emit_packets.cpp). cpu/runtime/launch_alignment.h
// says for which launches that is worth it.
#pragma once
#include "core/ir/ir.h"

namespace pumice::cpu {

/// Whether an item does the same in any group of the same range.
bool movable(const ir::Kernel& kernel);

/// Whether an item of a kernel, which has no loops, loads `most` elements of arrays for each that it stores, or fewer.
bool mostly_stores(const ir::Kernel& kernel, int64_t most);

}  // namespace pumice::cpu
