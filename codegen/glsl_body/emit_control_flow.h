// Structured control flow as GLSL.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/glsl/emit_values.h"

namespace pumice::codegen {

/// Writes ifs, loops and the jumps out of them. Values that a block yields are assigned to variables of its construct.
class ControlFlowEmitter : BodyContext {
public:
    /// `block` writes the statements of a block.
    ControlFlowEmitter(const BodyContext& context, ValueEmitter& values, std::function<void(ir::BlockId)> block)
        : BodyContext(context), values(values), block(std::move(block)) {}

    void if_statement(const ir::Inst& i);
    void for_statement(const ir::Inst& i);
    void while_statement(const ir::Inst& i);
    void terminator(const ir::Inst& i);

private:
    Expression carried(ir::Value v);
    std::vector<Expression> carried(std::span<const ir::Value> initial);
    void assign(std::span<const ir::Value> targets, std::span<const ir::Value> sources);
    std::string step_text(const ir::Inst& i, ir::Value index, const std::string& to, const std::string& step);
    std::string condition_text(const ir::Inst& i, const std::string& index, const std::string& to, const std::string& step) const;

    ValueEmitter& values;
    const std::function<void(ir::BlockId)> block;
    std::vector<std::vector<ir::Value>> loops;   ///< innermost last: the results, whose variables are also the carried values'
    std::vector<std::vector<ir::Value>> yields;  ///< innermost last: what a yield assigns to; empty in the body itself
};

}  // namespace pumice::codegen
