// Address computation: the indices of an access as GLSL.
#pragma once
#include <span>
#include <vector>

#include "codegen/glsl/emit_values.h"

namespace pumice::codegen {

class ElementIndices : BodyContext {
public:
    ElementIndices(const BodyContext& context, ValueEmitter& values) : BodyContext(context), values(values) {}

    /// The element's index: one index as it is, several indices as a row-major offset, `((i * extent_j) + j) * extent_k + k`. For
    /// nested memory, all indices.
    std::vector<Expression> of(const ir::Inst& i);

private:
    bool may_be_refused(const ir::Inst& i) const;
    void hide_constants(std::vector<Expression>& indices);
    void part_from_counters(const ir::Inst& i, std::span<const ir::Value> of, Expression& index) const;

    ValueEmitter& values;
};

}  // namespace pumice::codegen
