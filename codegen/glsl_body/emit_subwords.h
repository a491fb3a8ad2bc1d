// Sub-word access: elements and members of 8 or 16 bits inside 32-bit words.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "codegen/glsl_body/element_indices.h"

namespace pumice::codegen {

class SubwordEmitter : BodyContext {
public:
    SubwordEmitter(const BodyContext& context, ValueEmitter& values, ElementIndices& indices)
        : BodyContext(context), values(values), indices(indices) {}

    Expression load(const ir::Inst& i);
    /// Stores by atomicAnd and atomicOr, which preserve the other bits of the word even if other items change them meanwhile.
    void store(const ir::Inst& i);
    /// A compare-exchange loop on the word; its result is the element's old value.
    Expression atomic(const ir::Inst& i, const char* what);

private:
    std::string word_function(const ir::Inst& i, std::string_view result, const std::string& what, const std::string& parameters,
                              const std::string& statements);
    Expression word_call(const ir::Inst& i, const std::string& name, const std::vector<Expression>& more);

    ValueEmitter& values;
    ElementIndices& indices;
};

}  // namespace pumice::codegen
