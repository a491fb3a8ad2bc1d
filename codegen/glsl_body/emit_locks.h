// 64-bit atomics under spin locks, for devices without 64-bit atomics.
#pragma once
#include "codegen/glsl_body/element_indices.h"

namespace pumice::codegen {

class LockEmitter : BodyContext {
public:
    LockEmitter(const BodyContext& context, ValueEmitter& values, ElementIndices& indices)
        : BodyContext(context), values(values), indices(indices) {}

    /// A call that updates the element while it holds a lock; its result is the element's old value.
    Expression atomic(const ir::Inst& i, const char* what);

private:
    ValueEmitter& values;
    ElementIndices& indices;
};

}  // namespace pumice::codegen
