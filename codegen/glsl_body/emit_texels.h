// Accesses of images as GLSL.
#pragma once
#include <span>
#include <string>

#include "codegen/glsl/emit_values.h"
#include "core/analysis/element_accesses.h"

namespace pumice::codegen {

class TexelEmitter : BodyContext {
public:
    TexelEmitter(const BodyContext& context, ValueEmitter& values, const ir::ElementAccesses& elements, ElementVariables& held)
        : BodyContext(context), values(values), elements(elements), held(held) {}

    /// A channel of a texel, as part of a variable that other channels share.
    Expression channel(const ir::Inst& i);
    /// The stores of a texel, at the last of them.
    void store(const ir::Inst& i, uint32_t id);

private:
    Expression texel_index(ir::Value v);
    std::string texel_place(const ImageInfo& image, std::span<const ir::Value> indices);
    std::string decoded(const FormatRow& row, const std::string& channel);
    std::string encoded(const FormatRow& row, const std::string& value);
    std::string texel_read(const ir::Inst& i);

    ValueEmitter& values;
    const ir::ElementAccesses& elements;
    ElementVariables& held;
};

}  // namespace pumice::codegen
