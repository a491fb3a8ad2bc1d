// Def-use information: which instructions use a value.
#pragma once
#include <span>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The uses of a kernel's values as operands, by all instructions of its blocks. Holds for the kernel as it was when this was made.
/// Cost: linear in the operands.
class Uses {
public:
    explicit Uses(const Kernel& kernel);

    /// The instructions that have the value as an operand, in the order of the blocks; an instruction with two such operands twice.
    std::span<const InstId> of(Value v) const { return std::span(users).subspan(first[v.id], count(v)); }
    uint32_t count(Value v) const { return first[v.id + 1] - first[v.id]; }
    bool any(Value v) const { return count(v) > 0; }

private:
    std::vector<uint32_t> first;  ///< of each value, in `users`; and the end of the last one's
    std::vector<InstId> users;
};

}  // namespace pumice::ir
