// The GLSL emitter: the body of one lowered kernel as GLSL statements.
#pragma once
#include <optional>
#include <string>

#include "codegen/glsl/emit_values.h"
#include "codegen/glsl/instruction_patterns.h"
#include "codegen/glsl_body/element_indices.h"
#include "codegen/glsl_body/emit_accesses.h"
#include "codegen/glsl_body/emit_control_flow.h"
#include "codegen/glsl_body/emit_subgroup_ops.h"
#include "codegen/glsl_body/emit_texels.h"
#include "core/analysis/element_accesses.h"

namespace pumice::codegen {

/// Writes main and the functions that only this kernel has.
class GlslEmitter {
public:
    /// `line_directives`, for debuggers: `#line` before each statement.
    GlslEmitter(const ir::Kernel& kernel, const Options& options, const Usage& usage, Interface& interface, bool line_directives);
    GlslEmitter(const GlslEmitter&) = delete;

    /// The complete text of main.
    std::string main_function();
    /// The functions it calls besides the prelude's; valid after main_function().
    std::string functions() const { return out.functions(); }

private:
    void name_indices();
    void block(ir::BlockId b);
    void instruction(const ir::Inst& i, uint32_t id);
    std::optional<Expression> less(const ir::Inst& i);
    Expression pure(const ir::Inst& i);

    const ir::Kernel& k;
    const Options& options;
    const Usage& usage;
    Interface& interface;
    const ir::ElementAccesses elements;
    BodyText out;
    ElementVariables held;
    const BodyContext context;
    ValueEmitter values;
    InstructionPatterns patterns;
    ElementIndices indices;
    AccessEmitter accesses;
    TexelEmitter texels;
    SubgroupEmitter subgroups;
    ControlFlowEmitter control_flow;
};

}  // namespace pumice::codegen
