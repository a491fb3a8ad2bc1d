// Whether two accesses of a kernel may touch the same bytes.
#pragma once
#include <span>

#include "core/ir/ir.h"

namespace pumice::ir {

/// One scalar in memory, as a load, store or atomic of a kernel names it.
struct Location {
    MemoryId memory;
    uint32_t leaf = 0;
    std::span<const Value> indices;
};

inline Location place_of(const Kernel& k, const Inst& i) { return {i.memory, i.leaf, indices_of(k, i)}; }

/// The same scalar, surely: the same memory, member and index values.
bool same_place(const Location& a, const Location& b);
/// False where the memory, the member's bytes or an index surely differ. Array parameters that are written do not overlap each
/// other unless they are the same parameter: launches check that.
bool may_alias(const Kernel& k, const Location& a, const Location& b);

}  // namespace pumice::ir
