// What of the primal a kernel with its reverse sweep has to compute.
#pragma once
#include <functional>

#include "autodiff/analysis/tape.h"

namespace pumice::derive {

/// The instructions of a primal that have an effect which somebody sees, or that compute what the reverse sweep is given. What the
/// sweep computes again, or stores again, need not be there.
class Needed {
public:
    /// `unseen`: whether nobody reads what the primal stores to an array.
    Needed(const ir::Kernel& kernel, const ir::Structure& where, const Plan& plan, const std::function<bool(ir::MemoryId)>& unseen);

    bool operator()(ir::InstId i) const { return insts[i.id]; }

private:
    void need(ir::Value v);
    void need(ir::InstId i);

    const ir::Kernel& k;
    const ir::Structure& where;
    std::vector<bool> values, insts, memories;
};

}  // namespace pumice::derive
