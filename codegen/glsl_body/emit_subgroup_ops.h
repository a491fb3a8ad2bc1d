// Subgroup operations as GLSL.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "codegen/glsl/emit_values.h"

namespace pumice::codegen {

class SubgroupEmitter : BodyContext {
public:
    SubgroupEmitter(const BodyContext& context, ValueEmitter& values) : BodyContext(context), values(values) {}

    void operation(const ir::Inst& i);

private:
    /// By the functions of GLSL for subgroups.
    Expression together(const ir::Inst& i);
    Expression combined(const ir::Inst& i);
    std::optional<Expression> counted(const ir::Inst& i);
    std::optional<Expression> shuffled_by_constant(const ir::Inst& i);
    /// On devices without subgroups: each item is a subgroup of one.
    Expression alone(const ir::Inst& i);
    Expression from_lane(const ir::Inst& i, const std::string& call, const std::vector<Expression>& operands);

    ValueEmitter& values;
};

}  // namespace pumice::codegen
