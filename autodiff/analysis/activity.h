// Which values and memory carry derivatives.
#pragma once
#include "autodiff/analysis/transform.h"
#include "core/ir/structure.h"

namespace pumice::derive {

/// What depends on an active input and reaches an active output, found by a fixed point over values, columns (see
/// ir::Structure) and the scalars of memory. Integers, bools and shifts() carry nothing. Needs a kernel without variables.
class Analysis {
public:
    Analysis(const ir::Kernel& kernel, const Signature& signature, const ir::Structure& structure);

    bool active(ir::Value v) const { return varied[v.id] && useful[v.id]; }
    /// Whether the scalar of the memory has a shadow.
    bool active(ir::MemoryId m, uint32_t leaf) const { return leaf_varied[m.id][leaf] && leaf_useful[m.id][leaf]; }
    bool active(ir::MemoryId m) const;
    /// Signature::any_range.
    bool any_range() const { return in_any_range; }
    bool column(const ir::Inst& construct, uint32_t c) const { return active(k.result(construct, int(c))); }
    /// Whether an instruction, or one inside it, moves derivatives.
    bool moves(ir::InstId i) const { return moving[i.id]; }

private:
    bool forwards();
    bool backwards();
    bool accesses_active(const ir::Inst& i) const;
    bool find_moving(ir::InstId i);

    const ir::Kernel& k;
    const ir::Structure& where;
    const bool in_any_range;
    const std::vector<bool> unfelt;    ///< values that are shifts
    std::vector<bool> varied, useful;  ///< values
    std::vector<std::vector<bool>> leaf_varied, leaf_useful;
    std::vector<bool> constant_memory;
    std::vector<bool> moving;
};

/// The kernel with its functions inlined, but for those with a rule for this mode, whose calls are kept.
ir::Kernel with_rules(const ir::Kernel& kernel, bool reverse);

/// Throws Error where the signature does not fit the kernel's parameters.
void check(const ir::Kernel& kernel, const Signature& signature, bool reverse);

}  // namespace pumice::derive
