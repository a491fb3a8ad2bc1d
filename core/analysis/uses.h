// Def-use information: which instructions use a value, and how often?
// Why: code without uses is dead, a result that nobody uses needs no place, and a value whose users all lie in one region need
// not leave it.
//
//   %2 = load arg2[%0] : f32
//   %3 = mul %2, %2 : f32                 # of(%2) = {mul, mul}, count 2
//   store arg1[%0], %3 : f32              # of(%3) = {store}, of(%0) = {load, store}
//
// Method: a counting sort of all operands by value, in two scans of the kernel. The lists of all values lie in one array.
// Cost: linear in the operands; a query takes constant time.
// Limits: a snapshot of the kernel as it was when this was made; a pass that changes operands makes it anew. Operands of
// unreachable code count, too. The parameters of blocks are definitions, not uses.
// Textbook name: def-use chains (Aho, Lam, Sethi and Ullman, chapter 9).
#pragma once
#include <span>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The uses of a kernel's values as operands, by all instructions of its blocks. Holds for the kernel as it was when this was
/// made.
/// Cost: linear in the operands.
class Uses {
public:
    explicit Uses(const Kernel& kernel);

    /// The instructions that have the value as an operand, in the order of the blocks; an instruction with two such operands
    /// twice.
    std::span<const InstId> of(Value v) const { return std::span(users).subspan(first[v.id], count(v)); }
    uint32_t count(Value v) const { return first[v.id + 1] - first[v.id]; }
    bool any(Value v) const { return count(v) > 0; }

private:
    std::vector<uint32_t> first;  ///< of each value, in `users`; and the end of the last one's
    std::vector<InstId> users;
};

}  // namespace pumice::ir
