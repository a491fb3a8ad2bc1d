// Memory accesses as GLSL: loads, stores, atomics and barriers.
#pragma once
#include <string>

#include "codegen/glsl_body/element_indices.h"
#include "codegen/glsl_body/emit_locks.h"
#include "codegen/glsl_body/emit_subwords.h"
#include "core/analysis/element_accesses.h"

namespace pumice::codegen {

class AccessEmitter : BodyContext {
public:
    AccessEmitter(const BodyContext& context, ValueEmitter& values, ElementIndices& indices, const ir::ElementAccesses& elements,
                  ElementVariables& held)
        : BodyContext(context),
          values(values),
          indices(indices),
          elements(elements),
          held(held),
          subwords(context, values, indices),
          locks(context, values, indices) {}

    Expression load(const ir::Inst& i);
    /// A leaf of an element, as part of a variable that other leaves share.
    Expression leaf_of_vector(const ir::Inst& i);
    void store(const ir::Inst& i, uint32_t id);
    void atomic(const ir::Inst& i);
    /// GLSL's barrier() orders shared memory only. If items exchange data through a buffer, a controlBarrier orders buffers too.
    void barrier();

private:
    Expression to_storage(const ir::Inst& i, const Expression& value) const;
    std::string atomic_function(const ir::Inst& i);
    void define_atomic(const ir::Inst& i, const Expression& e);

    ValueEmitter& values;
    ElementIndices& indices;
    const ir::ElementAccesses& elements;
    ElementVariables& held;
    SubwordEmitter subwords;
    LockEmitter locks;
};

}  // namespace pumice::codegen
