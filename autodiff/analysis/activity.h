// Activity analysis: which values and which memory carry derivatives.
#pragma once
#include "autodiff/analysis/transform.h"
#include "core/ir/structure.h"

namespace pumice::derive {

/// The values and memory that depend on a differentiated input and reach a differentiated output: a fixed point over values,
/// columns (see ir::Structure) and the scalars of memory elements. Integers, bools and shift_invariant_values() are never active.
/// The kernel must have no variables.
class Analysis {
public:
    Analysis(const ir::Kernel& kernel, const Signature& signature, const ir::Structure& structure);

    bool active(ir::Value v) const { return varied[v.id] && useful[v.id]; }
    /// True if the scalar of the memory has a shadow.
    bool active(ir::MemoryId m, uint32_t leaf) const { return leaf_varied[m.id][leaf] && leaf_useful[m.id][leaf]; }
    bool active(ir::MemoryId m) const;
    /// True if the adjoint must be correct for launches of any size (Signature::any_range).
    bool any_range() const { return in_any_range; }
    bool column(const ir::Inst& construct, uint32_t c) const { return active(k.result(construct, int(c))); }
    /// True if the instruction, or one inside it, takes part in the propagation of derivatives.
    bool moves(ir::InstId i) const { return moving[i.id]; }

private:
    bool forwards();
    bool backwards();
    bool accesses_active(const ir::Inst& i) const;
    bool find_moving(ir::InstId i);

    const ir::Kernel& k;
    const ir::Structure& where;
    const bool in_any_range;
    const std::vector<bool> shift_invariant;  ///< values to which the result is shift-invariant
    std::vector<bool> varied, useful;         ///< values
    std::vector<std::vector<bool>> leaf_varied, leaf_useful;
    std::vector<bool> constant_memory;
    std::vector<bool> moving;
};

/// The kernel with its functions inlined. A function that has a rule for this mode is kept as a call.
ir::Kernel with_rules(const ir::Kernel& kernel, bool reverse);

/// Throws Error if the signature does not fit the kernel's parameters.
void check(const ir::Kernel& kernel, const Signature& signature, bool reverse);

}  // namespace pumice::derive
