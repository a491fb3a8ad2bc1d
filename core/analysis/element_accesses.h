// Accesses of the leaves of one element that a block makes together, as groups: channels of a texel, members of a vector.
#pragma once
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The groups of all blocks. A group of stores stands at its last member.
struct ElementAccesses {
    std::vector<bool> loads;   ///< by id of the instruction: of an element of which other leaves are loaded, too
    std::vector<bool> merged;  ///< by id of the instruction: stores that a later one contains
    std::unordered_map<uint32_t, std::vector<Value>> stores;  ///< by id of the last store: values by leaf; none: not stored
};
/// Groups the accesses of images, of which a store may leave channels out, and those of `vectors` (by memory), which are stored
/// as a whole or leaf by leaf.
ElementAccesses element_accesses(const Kernel& kernel, const std::vector<bool>& vectors = {});

/// True if no access moves across the instruction: it may leave the block, or access any memory.
constexpr bool holds_accesses(Op op) {
    return is_construct(op) || is_terminator(op) || is_barrier(op) || has_trait(op, traits::effect);
}

/// Visits the accesses of the memory of `id` that follow it in its block and could move to it, until `visit` returns false.
template <class F> void each_access_after(const Kernel& k, BlockId block, InstId id, F&& visit) {
    const std::vector<InstId>& insts = k[block].insts;
    for (auto at = std::ranges::find(insts, id) + 1; at != insts.end() && !holds_accesses(k[*at].op); ++at)
        if (accesses_memory(k[*at].op) && k[*at].memory == k[id].memory && !visit(k[*at])) return;
}

}  // namespace pumice::ir
