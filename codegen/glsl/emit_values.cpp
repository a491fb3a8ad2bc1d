// Expression emission: rebuilds expression trees from SSA values.
//
// A value with one use in its own block, pure or loaded, is kept pending, and becomes part of its user's expression (forward
// substitution). Other values become `const` variables; results of ifs and loops become mutable ones. Constants, arguments and
// index instructions are written out at each use.
//
//   %3 = mul %0, %2 : f32
//   %4 = load arg1[%1] : f32              arg1[i] = arg1[i] + arg3 * arg2[i];
//   %5 = add %4, %3 : f32
//   store arg1[%1], %5 : f32
//
// Why: readable text, and less work for glslang than a variable for each value. Legality: a pending expression with a load gets a
// variable (is flushed) before the next write to the load's memory, and before each barrier and control flow; a strict float
// operation gets a `precise` variable of its own, or is a call (strict_by_call) whose result gets a `const` one; an expression
// longer than 96 characters gets a name; an operand that the GLSL pattern of its user repeats ($0 + $0 * $1) is named first.
// Cost: linear, apart from the search of the pending list. Limits: a value with uses in other blocks or with several uses is
// always a variable, constants, arguments and indices apart.
// Textbook name: forward substitution, tree building from SSA (the inverse of value numbering).
#include "codegen/glsl/emit_values.h"

#include <algorithm>

#include "codegen/glsl/instruction_patterns.h"
#include "codegen/glsl_text/glsl_type.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

constexpr size_t longest_inline = 96;  ///< characters; longer expressions are given a name

/// subgroup_size, subgroup_lane, subgroup_index, subgroup_count.
Expression subgroup_index_value(const Inst& i, const Options& options, Interface& interface) {
    const bool real = interface.subgroups();
    if (real) interface.need("GL_KHR_shader_subgroup_basic");
    // Mesa 22's gallivm numbers and counts subgroups as if there were no idle lanes, so they are computed here.
    const char* const row = "((gl_WorkGroupSize.x + gl_SubgroupSize - 1u) / gl_SubgroupSize)";
    if (real && options.idle_lanes && i.op == Op::subgroup_count)
        return {text("int(gl_WorkGroupSize.y * gl_WorkGroupSize.z * ", row, ")"), postfix, {}, {}};
    if (real && options.idle_lanes && i.op == Op::subgroup_index)
        return {text("int((gl_LocalInvocationID.z * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * ", row,
                     " + gl_LocalInvocationID.x / gl_SubgroupSize)"),
                postfix,
                {},
                {}};
    switch (i.op) {
        case Op::subgroup_size:
            return real ? Expression{"int(gl_SubgroupSize)", postfix, {}, {}} : Expression{"1", primary, {}, {}};
        case Op::subgroup_lane:
            return real ? Expression{"int(gl_SubgroupInvocationID)", postfix, {}, {}} : Expression{"0", primary, {}, {}};
        case Op::subgroup_index: return {real ? "int(gl_SubgroupID)" : "int(gl_LocalInvocationIndex)", postfix, {}, {}};
        default:
            return {real ? "int(gl_NumSubgroups)" : "int(gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z)",
                    postfix,
                    {},
                    {}};
    }
}

}  // namespace

void ValueEmitter::define(const Inst& i, Expression e) {
    const Value v = k.result(i);
    if (!usage.evaluated[v.id]) return;
    const bool local_use =
        usage.uses.count(v) == 1 && usage.structure.block_of(usage.uses.of(v)[0]) == usage.structure.block_of(v);
    if (local_use && !is_strict(k, i) && e.text.size() <= longest_inline)
        pending.emplace_back(v.id, std::move(e));
    else
        declare(v, e);
}

void ValueEmitter::declare(Value v, const Expression& e) {
    const ValueInfo& info = k[v];
    names[v.id] = out.new_name("v");
    const bool precise = info.inst.id != none && is_strict(k, k[info.inst]) && !strict_by_call(options);
    out.line(text(precise ? "precise const " : "const ", glsl_type(info.type, options.pairs).value, " ", names[v.id], " = ",
                  e.text, ";"));
}

Expression ValueEmitter::use(Value v) {
    const auto at = std::ranges::find_if(pending, [&](const auto& p) { return p.first == v.id; });
    if (at != pending.end()) {
        Expression e = std::move(at->second);
        pending.erase(at);
        return e;
    }
    const InstId d = k[v].inst;
    if (d.id != none && is_leaf(k[d].op)) return leaf(k[d]);
    if (names[v.id].empty()) library_bug(text("the GLSL emitter uses a value before it is defined in kernel ", k.name));
    Expression e{names[v.id], primary, {}, {}};
    if (variable[v.id] != none) e.variables.push_back(variable[v.id]);
    return e;
}

Expression ValueEmitter::use_named(Value v) {
    Expression e = use(v);
    if (e.is_atom() || (k[v].inst.id != none && k[k[v].inst].op == Op::constant)) return e;
    declare(v, e);
    return use(v);
}

std::vector<Expression> ValueEmitter::use_all(std::span<const Value> values) {
    std::vector<Expression> all;
    for (const Value v : values) all.push_back(use(v));
    return all;
}

Expression ValueEmitter::leaf(const Inst& i) {
    const int n = int(i.immediate);
    switch (i.op) {
        case Op::constant: {
            const std::string constant = glsl_constant(i.type, i.immediate, options.pairs);
            return {constant, constant[0] == '-' ? unary : constant.find('(') != constant.npos ? postfix : primary, {}, {}};
        }
        case Op::argument: {
            const Scalar push = glsl_type(i.type).push_type;
            Expression e{interface.field(Field::Kind::argument, n, 0, push), primary, {}, {}};
            if (push == i.type) return e;
            return fill(is_narrow_float(i.type) ? from_bits_text(i.type) : cast_text(push, i.type), {e});
        }
        case Op::global_size: return {interface.field(Field::Kind::size, 0, n, Scalar::i32), primary, {}, {}};
        case Op::group_count: return {interface.field(Field::Kind::group_count, 0, n, Scalar::i32), primary, {}, {}};
        case Op::subgroup_size:
        case Op::subgroup_lane:
        case Op::subgroup_index:
        case Op::subgroup_count: return subgroup_index_value(i, options, interface);
        case Op::extent: {
            const Memory& m = k[i.memory];
            if (m.kind != MemoryKind::array && !m.extents.empty())
                return {std::to_string(m.extents[m.extents.size() - 1 - size_t(n)]), primary, {}, {}};
            const std::string name =
                interface.field(Field::Kind::extent, m.argument, n, options.wide_offsets ? Scalar::i64 : Scalar::i32);
            return options.wide_offsets ? Expression{"int(" + name + ")", postfix, {}, {}} : Expression{name, primary, {}, {}};
        }
        case Op::in_range: {
            const std::string& name = names[i.first_result];
            return {name, name.find(' ') == name.npos ? primary : name.starts_with("all(") ? postfix : relational, {}, {}};
        }
        default: return {names[i.first_result], primary, {}, {}};
    }
}

void ValueEmitter::flush(uint32_t memory) {
    held.forget_elements(memory);
    const auto reads = [&](const Expression& e) {
        return memory == none ? !e.memories.empty() : std::ranges::find(e.memories, memory) != e.memories.end();
    };
    std::vector<std::pair<uint32_t, Expression>> kept;
    for (auto& [v, e] : pending) {
        if (reads(e))
            declare(Value{v}, e);
        else
            kept.emplace_back(v, std::move(e));
    }
    pending = std::move(kept);
}

void ValueEmitter::new_variables(std::span<const Value> values, std::span<const Expression> initial) {
    for (size_t n = 0; n < values.size(); ++n) {
        const Value v = values[n];
        names[v.id] = out.new_name("v");
        variable[v.id] = v.id;
        const std::string_view type = glsl_type(k.type_of(v), options.pairs).value;
        out.line(initial.empty() ? text(type, " ", names[v.id], ";") : text(type, " ", names[v.id], " = ", initial[n].text, ";"));
    }
}

void ValueEmitter::share_variable(Value v, Value with) {
    names[v.id] = names[with.id];
    variable[v.id] = variable[with.id];
}

}  // namespace pumice::codegen
