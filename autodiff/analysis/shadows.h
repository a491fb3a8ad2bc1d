// Shadow layout: where a derivative kernel has its parameters, its memories and their shadows.
#pragma once
#include "autodiff/analysis/activity.h"
#include "core/ir/builder.h"

namespace pumice::derive {

/// Adds a memory that is no parameter. If a memory of `to` has that name already, as in a derivative of a derivative, a number is
/// added: "x_2".
ir::MemoryId add_own_memory(ir::Kernel& to, ir::Memory memory);

/// Lays out the parameters of a derivative kernel. Memories of the primal keep their ids.
class Shadows {
public:
    /// `to` has the parameters and memories of the primal. The constructor adds those of the derivative.
    Shadows(ir::Kernel& to, const ir::Kernel& from, const Signature& signature, const Analysis& analysis, bool reverse);

    /// The shadow of a memory of the primal in direction w; `none` where it has none.
    ir::MemoryId of(ir::MemoryId m, int w) const { return memories[m.id].empty() ? ir::MemoryId{} : memories[m.id][size_t(w)]; }
    /// The position of parameter p of the primal.
    int param(size_t p) const { return params[p]; }
    /// The position of the tangent of scalar p (forward).
    int tangent(size_t p, int w) const { return params[p] + 1 + w; }
    /// The array of one element for the adjoint of scalar p (reverse).
    ir::MemoryId scalar(size_t p, int w) const { return scalars[p][size_t(w)]; }

    /// Adds one more array parameter, such as a tape, with a name like this one, and a label for messages. Gives its memory.
    static ir::MemoryId add_array(ir::Kernel& to, Scalar type, ir::Access access, const std::string& name,
                                  const std::string& label);
    /// Adds one more scalar parameter, and reads it.
    static ir::Value add_scalar(ir::Builder& b, ir::Kernel& to, const std::string& name, const std::string& label,
                                Scalar type = Scalar::i32);

private:
    std::vector<int> params;
    std::vector<std::vector<ir::MemoryId>> memories, scalars;
};

/// The kernel with its memories in the order of its parameters, then local, then private ones: the order that parsed text has.
ir::Kernel in_order(ir::Kernel kernel);

}  // namespace pumice::derive
