// 64-bit atomics under spin locks, for devices without 64-bit atomics.
#pragma once
#include "codegen/glsl_body/element_indices.h"

namespace pumice::codegen {

class LockEmitter {
public:
    LockEmitter(const BodyContext& context, ValueEmitter& values, ElementIndices& indices)
        : k(context.k),
          options(context.options),
          interface(context.interface),
          out(context.out),
          values(values),
          indices(indices) {}

    /// A call that updates the element while it holds a lock; its result is the element's old value.
    Expression atomic(const ir::Inst& i, const char* what);

private:
    const ir::Kernel& k;
    const Options& options;
    Interface& interface;
    BodyText& out;
    ValueEmitter& values;
    ElementIndices& indices;
};

}  // namespace pumice::codegen
