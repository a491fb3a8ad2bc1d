// Values as GLSL: which of them are variables, and which become part of an expression.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "codegen/glsl/body_text.h"
#include "codegen/glsl/element_variables.h"
#include "codegen/glsl/shader_interface.h"
#include "codegen/glsl_text/expression.h"

namespace pumice::codegen {

/// The state that all parts of the emitter share.
struct BodyContext {
    const ir::Kernel& k;
    const Options& options;
    const Usage& usage;
    Interface& interface;
    BodyText& out;
};

/// A value with one use, in the block that defines it, becomes part of its user's expression, unless it is strict or its text
/// exceeds 96 characters; until then the value is pending. A pending load becomes a const variable before a write to its memory.
/// Other values become const variables. Values that control flow carries (results of if and loops) become mutable variables,
/// which are assigned only where a block ends.
class ValueEmitter : BodyContext {
public:
    ValueEmitter(const BodyContext& context, ElementVariables& held)
        : BodyContext(context), held(held), names(k.values.size()), variable(k.values.size(), ir::none) {}

    void define(const ir::Inst& i, Expression e);
    void declare(ir::Value v, const Expression& e);
    Expression use(ir::Value v);
    /// The value as a name or a constant, for uses that write or evaluate its text more than once.
    Expression use_named(ir::Value v);
    std::vector<Expression> use_all(std::span<const ir::Value> values);
    /// Declares the pending values that load from this memory (`none`: from any memory), because a write to it comes next.
    void flush(uint32_t memory);

    /// Declares one mutable variable a value. `initial` is empty if every path assigns it.
    void new_variables(std::span<const ir::Value> values, std::span<const Expression> initial);
    /// The value is in the same mutable variable as the other one.
    void share_variable(ir::Value v, ir::Value with);
    /// The value whose mutable variable holds this one.
    uint32_t variable_of(ir::Value v) const { return variable[v.id]; }
    const std::string& name(ir::Value v) const { return names[v.id]; }
    void set_name(ir::Value v, std::string name) { names[v.id] = std::move(name); }

private:
    Expression leaf(const ir::Inst& i);

    ElementVariables& held;
    std::vector<std::string> names;  ///< of values that have one
    std::vector<uint32_t> variable;  ///< per value: the value whose mutable GLSL variable holds it; `none` if it is in none
    std::vector<std::pair<uint32_t, Expression>> pending;  ///< in the order of their definition
};

}  // namespace pumice::codegen
