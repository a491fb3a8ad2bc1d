// Structured control flow as GLSL, and out-of-SSA translation of what it carries: the results of an if and the carried values of
// a loop become variables, which yield, break and continue assign.
//
//   %a, %b = for %i = 0 to %4 step 3      float v4 = 1.0; float v5 = -2.0;
//       carry (%ca = 1.0, %cb = -2.0) {   for (int v6 = 0; v6 < arg2; v6 += ...) {
//     ...                                     ...
//     yield %cb, %ca                          const float v8 = v5; v5 = v4; v4 = v8;   (a swap: parallel copy)
//   }                                     }
//
// The assignments of a yield form a parallel copy, which parallel_copy.cpp puts in sequence (Boissinot et al. 2009). A loop's
// results share the variables of its carried values, and an if's unused results are never assigned. A for step saturates at the
// bound, because the IR ends a loop whose index would overflow: a positive step is min(step, to - index) in unsigned arithmetic,
// a step of unknown sign is a function of the prelude. Steps of 1 and -1, and bounds that rule overflow out, need neither. A
// while is `while (condition)` if its test block is a single expression, else `while (true)` with a break. Cost: linear in the
// text, and in each yield that of the parallel copy. Limits: structured control flow alone; bounds and steps are names or
// constants, since GLSL evaluates them again in every iteration.
#include "codegen/glsl_body/emit_control_flow.h"

#include <algorithm>

#include "codegen/glsl/instruction_patterns.h"
#include "codegen/glsl_body/parallel_copy.h"
#include "codegen/glsl_text/glsl_type.h"
#include "codegen/glsl_text/int64_emulation.h"
#include "codegen/glsl_text/scalar_text.h"
#include "core/support/error.h"

namespace pumice::codegen {

using namespace ir;

namespace {

/// True if adding the step to an index inside the bounds cannot overflow the type, by constant bound and step. A step of 1 never
/// overflows, nor does -1 in a signed type, because the index is at least one short of a bound that the type represents.
bool cannot_overflow(const Kernel& k, Scalar type, Value to, Value step) {
    uint64_t step_bits = 0, to_bits = 0;
    if (!k.constant(step, step_bits)) return false;
    const int64_t s = signed_value(type, step_bits);
    if (s == 1 || (s == -1 && is_signed_int(type))) return true;
    if (!k.constant(to, to_bits) || size_of(type) == 8) return false;
    const int64_t t = signed_value(type, to_bits);
    const int bits = 8 * size_of(type) - is_signed_int(type);
    const int64_t largest = (int64_t(1) << bits) - 1, smallest = is_signed_int(type) ? -largest - 1 : 0;
    return s > 0 ? t - 1 + s <= largest : t + 1 + s >= smallest;
}

/// True if the step is known to be positive: unsigned steps, positive constants, the sizes by which loops stride over a range or
/// a group, and products of group sizes.
bool leads_up(const Kernel& k, Value step) {
    uint64_t bits = 0;
    if (!is_signed_int(k.type_of(step))) return true;
    if (k.constant(step, bits)) return signed_value(k.type_of(step), bits) > 0;
    const auto is_size = [&](Value v, auto... ops) { return k[v].inst.id != none && ((k[k[v].inst].op == ops) || ...); };
    if (is_size(step, Op::global_size, Op::group_size, Op::group_count, Op::subgroup_size, Op::subgroup_count)) return true;
    if (!is_size(step, Op::mul)) return false;
    const auto factors = k.operands(k[k[step].inst]);
    return std::ranges::all_of(factors,
                               [&](Value v) { return is_size(v, Op::group_size) || (is_size(v, Op::mul) && leads_up(k, v)); });
}

}  // namespace

/// The expression that a variable of a construct is assigned. Mesa turns a branch between a zero and one or minus one into the
/// conversion of a bool, and loses the zero's sign.
Expression ControlFlowEmitter::carried(Value v) {
    Expression e = values.use(v);
    if (options.folded_zeros && is_float_zero(k, v)) e.text = hidden_zero(k.type_of(v), e.text), e.precedence = postfix;
    return e;
}

std::vector<Expression> ControlFlowEmitter::carried(std::span<const Value> initial) {
    std::vector<Expression> all;
    for (const Value v : initial) all.push_back(carried(v));
    return all;
}

/// A parallel copy, sequentialised: all targets take the values that their sources had before the first assignment.
void ControlFlowEmitter::assign(std::span<const Value> targets, std::span<const Value> sources) {
    std::vector<Value> to;
    std::vector<Expression> from;
    std::vector<Assignment> copies;
    for (size_t n = 0; n < targets.size(); ++n) {
        if (values.name(targets[n]).empty()) continue;  // the result is unused
        Expression source = carried(sources[n]);
        if (source.text == values.name(targets[n])) continue;
        to.push_back(targets[n]);
        copies.push_back({values.variable_of(targets[n]), source.variables});
        from.push_back(std::move(source));
    }
    for (const CopyStep& step : sequence(copies)) {
        Expression& source = from[step.copy];
        if (!step.keep) {
            out.line(values.name(to[step.copy]) + " = " + source.text + ";");
            continue;
        }
        const std::string kept = out.new_name("v");
        out.line(text("const ", glsl_type(k.type_of(to[step.copy]), options.pairs).value, " ", kept, " = ", source.text, ";"));
        source = {kept, primary, {}, {}};
    }
}

void ControlFlowEmitter::if_statement(const Inst& i) {
    const Value condition = k.operands(i)[0];
    Expression test = values.use(condition);
    values.flush(none);
    std::vector<Value> results = results_of(k, i);
    for (const Value v : results)
        if (usage.uses.any(v)) values.new_variables(std::span(&v, 1), {});

    yields.push_back(results);
    const std::string then = out.captured([&] { block(i.blocks[0]); });
    const std::string otherwise = out.captured([&] { block(i.blocks[1]); });
    yields.pop_back();
    out.set_location(i.loc);
    if (then.empty() && otherwise.empty()) return;
    if (then.empty()) return out.braced("if (" + fill("!$0", {test}).text + ")", otherwise);
    out.braced("if (" + test.text + ")", then);
    if (otherwise.empty()) return;
    out.braced_else(otherwise);
}

std::string ControlFlowEmitter::condition_text(const Inst& i, const std::string& index, const std::string& to,
                                               const std::string& step) const {
    const Value step_value = k.operands(i)[2];
    const Scalar type = k.type_of(step_value);
    uint64_t bits = 0;
    if (options.pairs && is_pair(type)) {
        const auto less = [&](const std::string& a, const std::string& b) {
            return fill(op_text(Op::lt, type, false, true), {Expression{a, primary, {}, {}}, Expression{b, primary, {}, {}}})
                .text;
        };
        const std::string zero = glsl_constant(type, 0, true), up = less(index, to), down = less(to, index);
        if (k.constant(step_value, bits)) return type == Scalar::i64 && int64_t(bits) < 0 ? down : up;
        if (type == Scalar::u64) return text(step, " != ", zero, " && ", up);
        return text(less(zero, step), " ? ", up, " : ", step, " != ", zero, " && ", down);
    }
    if (options.ordered_as_unsigned && !options.pairs && type == Scalar::i64) {
        const auto ordered = [&](std::string_view pattern, const std::string& a, const std::string& b) {
            return fill(ordered_as_unsigned(pattern), {Expression{a, primary, {}, {}}, Expression{b, primary, {}, {}}}).text;
        };
        const std::string zero = glsl_constant(type, 0), up = ordered("$0 < $1", index, to), down = ordered("$0 > $1", index, to);
        if (k.constant(step_value, bits)) return int64_t(bits) > 0 ? up : down;
        if (leads_up(k, step_value)) return up;
        return text(ordered("$0 > $1", step, zero), " ? ", up, " : ", step, " != ", zero, " && ", down);
    }
    if (k.constant(step_value, bits)) return index + (signed_value(type, bits) > 0 || !is_signed_int(type) ? " < " : " > ") + to;
    if (!is_signed_int(type)) return text(step, " > ", glsl_constant(type, 0), " && ", index, " < ", to);
    if (leads_up(k, step_value)) return text(index, " < ", to);
    return text(step, " > ", glsl_constant(type, 0), " ? ", index, " < ", to, " : ", step, " < ", glsl_constant(type, 0), " && ",
                index, " > ", to);
}

/// The third part of the for statement. An index that the step would carry past its type's limit becomes `to`, which ends the
/// loop. The distance to `to` always fits the unsigned type.
std::string ControlFlowEmitter::step_text(const Inst& i, Value index, const std::string& to, const std::string& step) {
    const Value to_value = k.operands(i)[1], step_value = k.operands(i)[2];
    const Scalar type = k.type_of(step_value);
    const std::string& name = values.name(index);
    uint64_t bits = 0;
    if (options.pairs && is_pair(type)) return text(name, " = pm_", name_of(type), "_step(", name, ", ", to, ", ", step, ")");
    if (cannot_overflow(k, type, to_value, step_value)) {
        k.constant(step_value, bits);
        const int64_t s = signed_value(type, bits);
        if (is_signed_int(type) && s < 0) return text(name, " -= ", glsl_constant(type, uint64_t(-s)));
        return text(name, " += ", step);
    }
    const std::string t(glsl_type(type).value);
    const Scalar wide = size_of(type) == 8 ? Scalar::u64 : Scalar::u32;
    const std::string u(glsl_type(wide).value);
    if (leads_up(k, step_value)) {
        const auto wider = [&](Value v, const std::string& value) {
            uint64_t bits = 0;
            if (!k.constant(v, bits)) return type == wide ? value : text(u, "(", value, ")");
            return glsl_constant(wide, uint64_t(signed_value(type, bits)) & (wide == Scalar::u32 ? UINT32_MAX : UINT64_MAX));
        };
        const std::string by = text("min(", wider(step_value, step), ", ", wider(to_value, to), " - ", wider(index, name), ")");
        return text(name, " += ", type == wide ? by : text(t, "(", by, ")"));
    }
    const std::string function = "step_" + std::string(name_of(type));
    if (!out.has_function(function)) {
        const std::string up = u + "(to) - " + u + "(index) > " + u + "(by) ? index + by : to";
        const std::string down = u + "(index) - " + u + "(to) > -" + u + "(by) ? index + by : to";
        out.define_function(
            function, text(t, " ", function, "(", t, " index, ", t, " to, ", t, " by) {\n    if (by < ", glsl_constant(type, 0),
                           ") return ", t, "(", down, ");\n    return ", t, "(", up, ");\n}\n"));
    }
    return text(name, " = ", function, "(", name, ", ", to, ", ", step, ")");
}

void ControlFlowEmitter::for_statement(const Inst& i) {
    const auto operands = k.operands(i);
    const Block& body = k[i.blocks[0]];
    std::vector<Value> results = results_of(k, i);
    const std::vector<Expression> initial = carried(operands.subspan(3));
    // GLSL evaluates bound and step in every iteration, so they must be names or constants.
    const std::string from = values.use(operands[0]).text;
    const std::string to = values.use_named(operands[1]).text;
    const std::string step = values.use_named(operands[2]).text;
    values.flush(none);
    values.new_variables(results, initial);

    const Value index = body.params[0];
    values.set_name(index, out.new_name("v"));
    for (size_t n = 0; n < results.size(); ++n) values.share_variable(body.params[n + 1], results[n]);
    uint64_t bits = 1;
    if (k.constant(operands[2], bits) && bits == 0) return;  // no iteration

    const bool unrolled =
        ir::LoopHint(i.immediate) == ir::LoopHint::unroll && !(options.unrolled_imprecise && k.math == Math::strict);
    if (unrolled) interface.need("GL_EXT_control_flow_attributes");
    const std::string head =
        text(unrolled ? "[[unroll]] " : "", "for (", glsl_type(k.type_of(index), options.pairs).value, " ", values.name(index),
             " = ", from, "; ", condition_text(i, values.name(index), to, step), "; ", step_text(i, index, to, step), ")");
    loops.push_back(results);
    yields.push_back(results);
    const std::string statements = out.captured([&] { block(i.blocks[0]); });
    yields.pop_back();
    loops.pop_back();
    out.set_location(i.loc);
    out.braced(head, statements);
}

/// `while (condition)` if the test block is one expression whose results are the carried values themselves; otherwise `while
/// (true)` with the test block's statements at its start.
void ControlFlowEmitter::while_statement(const Inst& i) {
    std::vector<Value> results = results_of(k, i);
    const std::vector<Expression> initial = carried(k.operands(i));
    values.flush(none);
    values.new_variables(results, initial);
    const Block& test = k[i.blocks[0]];
    for (size_t n = 0; n < results.size(); ++n) values.share_variable(test.params[n], results[n]);
    loops.push_back(results);
    yields.push_back(results);

    Expression condition;
    std::string leave;
    std::string statements = out.captured([&] {
        block(i.blocks[0]);
        const Inst& last = k[test.insts.back()];
        condition = values.use(k.operands(last)[0]);
        leave = out.captured([&] { assign(results, k.operands(last).subspan(1)); });
    });
    const bool simple = statements.empty() && leave.empty();
    statements += out.captured([&] {
        if (!simple) {
            const std::string stop = fill("!$0", {condition}).text;
            if (leave.empty()) {
                out.line("if (" + stop + ") break;");
            } else {
                out.braced("if (" + stop + ")", leave + out.padding(1) + "break;\n");
            }
        }
        block(i.blocks[1]);
    });
    yields.pop_back();
    loops.pop_back();
    out.set_location(i.loc);
    out.braced(simple ? "while (" + condition.text + ")" : "while (true)", statements);
}

void ControlFlowEmitter::terminator(const Inst& i) {
    const auto operands = k.operands(i);
    switch (i.op) {
        case Op::yield:
            if (!yields.empty()) assign(yields.back(), operands);
            return;
        case Op::test: return;  // while_statement writes it
        case Op::break_: assign(loops.back(), operands); return out.line("break;");
        case Op::continue_: assign(loops.back(), operands); return out.line("continue;");
        default:
            if (!yields.empty()) out.line("return;");
            return;
    }
}

}  // namespace pumice::codegen
