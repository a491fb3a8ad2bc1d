// The term that an instruction gives to the adjoint of an operand.
#pragma once
#include <functional>

#include "core/ir/ir.h"

namespace pumice::derive {

struct SweepContext;

/// factor * partial; the factor alone where there is no partial; nothing where there is no factor.
struct AdjointTerm {
    ir::Value factor, partial = {};
};

/// The term that an instruction without effects gives to the adjoint of operand `o`. `get` gives values of the primal.
AdjointTerm term_of(const SweepContext& context, const ir::Inst& i, size_t o, ir::Value adjoint,
                    const std::function<ir::Value(ir::Value)>& get);

}  // namespace pumice::derive
