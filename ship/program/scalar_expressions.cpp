#include "ship/program/scalar_expressions.h"

#include <optional>

#include "autodiff/rules/derivative_rules.h"
#include "core/ir/builder.h"
#include "core/ir/evaluate.h"
#include "core/support/error.h"

namespace pumice::ship {
namespace {

using pumice_rt::ExpressionOp;

/// An op of a bundle, with the number of the function that it calls.
struct Which {
    ExpressionOp op;
    uint32_t index = 0;
    Which(ExpressionOp op, uint32_t index = 0) : op(op), index(index) {}
};

std::optional<Which> expression_op(ir::Op op) {
    for (uint32_t i = 0; i < pumice_rt::unary_count; ++i)
        if (ir::name_of(op) == pumice_rt::unary_functions[i]) return Which(ExpressionOp::call, i);
    for (uint32_t i = 0; i < pumice_rt::binary_count; ++i)
        if (ir::name_of(op) == pumice_rt::binary_functions[i]) return Which(ExpressionOp::call_two, i);
    switch (op) {
        case ir::Op::add: return ExpressionOp::add;
        case ir::Op::sub: return ExpressionOp::sub;
        case ir::Op::mul: return ExpressionOp::mul;
        case ir::Op::div: return ExpressionOp::div;
        case ir::Op::neg: return ExpressionOp::neg;
        case ir::Op::abs: return ExpressionOp::abs;
        case ir::Op::sign: return ExpressionOp::sign;
        case ir::Op::sqrt: return ExpressionOp::sqrt;
        case ir::Op::rsqrt: return ExpressionOp::rsqrt;
        case ir::Op::min: return ExpressionOp::min;
        case ir::Op::max: return ExpressionOp::max;
        case ir::Op::eq: return ExpressionOp::eq;
        case ir::Op::ne: return ExpressionOp::ne;
        case ir::Op::lt: return ExpressionOp::lt;
        case ir::Op::le: return ExpressionOp::le;
        case ir::Op::gt: return ExpressionOp::gt;
        case ir::Op::ge: return ExpressionOp::ge;
        default: return std::nullopt;
    }
}

[[noreturn]] void refuse(ir::Op op, Scalar type) {
    fail("a program that is shipped computes ", ir::name_of(op), " of ", name_of(type),
         " from its scalars on the host; the runtime has + - * / abs sign min max sqrt rsqrt and functions of C's <math.h> of "
         "f32 and f64: "
         "pass the result as a parameter, or compute it in a kernel");
}

}  // namespace

int ScalarExpressions::push(ScalarExpression one) {
    list.push_back(one);
    return int(list.size()) - 1;
}

int ScalarExpressions::constant(Scalar type, uint64_t bits) {
    const auto [found, is_new] = constants.try_emplace({type, bits}, 0);
    if (is_new) {
        ScalarExpression e{};
        e.op = uint32_t(ExpressionOp::constant), e.type = uint32_t(type), e.bits = bits;
        found->second = push(e);
    }
    return found->second;
}

int ScalarExpressions::op(ExpressionOp which, Scalar type, std::initializer_list<int> operands) {
    ScalarExpression e{};
    e.op = uint32_t(which), e.type = uint32_t(type);
    size_t next = 0;
    for (const int o : operands) e.operands[next++] = uint32_t(o);
    return push(e);
}

int ScalarExpressions::convert(Scalar from, Scalar to, int a) {
    if (from == to) return a;
    ScalarExpression e{};
    e.op = uint32_t(ExpressionOp::convert), e.type = uint32_t(to), e.index = uint32_t(from), e.operands[0] = uint32_t(a);
    return push(e);
}

void ScalarExpressions::bind(const derive::HostScalars* scalars, int number, int argument) {
    bound = scalars;
    if (size_t(number) >= known.size()) known.resize(size_t(number) + 1, -1);
    ScalarExpression e{};
    e.op = uint32_t(ExpressionOp::scalar), e.type = uint32_t(scalars->node(number).type), e.index = uint32_t(argument);
    known[size_t(number)] = push(e);
}

int ScalarExpressions::of(const derive::HostScalars* scalars, int number) {
    if (scalars != bound)
        fail(
            "a program that is shipped gives a kernel a number that a derivative inside the program follows: give it plain "
            "numbers");
    if (size_t(number) >= known.size()) known.resize(size_t(number) + 1, -1);
    if (known[size_t(number)] >= 0) return known[size_t(number)];
    const derive::HostScalars::Node& node = scalars->node(number);
    const auto which = expression_op(node.op);
    if (node.is_input) library_bug("a traced number of a shipped program is no parameter of it");
    if (!which || (node.type != Scalar::f32 && node.type != Scalar::f64)) refuse(node.op, node.type);
    ScalarExpression e{};
    e.op = uint32_t(which->op), e.type = uint32_t(node.type), e.index = which->index;
    for (int o = 0; o < node.count; ++o) {
        const auto& operand = node.operands[size_t(o)];
        e.operands[o] = uint32_t(operand.number >= 0 ? of(scalars, operand.number) : constant(node.type, operand.bits));
    }
    return known[size_t(number)] = push(e);
}

// ---- derivatives ---------------------------------------------------------------------------------------------------

void ScalarExpressions::add_sum(const derive::HostScalars* scalars, int number, int index, Scalar type) {
    if (scalars != bound) library_bug("the derivative of an unknown number of a shipped program");
    if (type != Scalar::f32 && type != Scalar::f64)
        fail("a program that is shipped has a derivative by a number of ", name_of(type),
             "; the runtime has those of f32 and f64");
    adjoints.resize(size_t(scalars->count()), -1);
    ScalarExpression e{};
    e.op = uint32_t(ExpressionOp::sum), e.type = uint32_t(type), e.index = uint32_t(index);
    const int term = convert(type, Scalar::f64, push(e));
    int& adjoint = adjoints[size_t(number)];
    // The library adds the sums to 0.
    adjoint = op(ExpressionOp::add, Scalar::f64, {adjoint >= 0 ? adjoint : constant(Scalar::f64, 0), term});
    swept = true;
}

int ScalarExpressions::operand_as_double(const derive::HostScalars::Node& node, size_t o) {
    const auto& operand = node.operands[o];
    if (operand.number < 0) return constant(Scalar::f64, cast_bits(node.type, Scalar::f64, operand.bits));
    return convert(node.type, Scalar::f64, of(bound, operand.number));
}

/// The partial derivative of a number in f64: the column of ops.def as instructions, and these as expressions.
int ScalarExpressions::partial(const derive::HostScalars::Node& node, int number, int operand) {
    ir::Kernel kernel;
    ir::Builder build(kernel);
    build.enter(build.new_block());
    std::vector<ir::Value> operands;
    for (int o = 0; o <= node.count; ++o) {
        kernel.params.push_back({false, Scalar::f64, {}});
        operands.push_back(build.argument(o, Scalar::f64));
    }
    const ir::Value result = operands.back();
    operands.pop_back();
    const ir::Value made = derive::emit_partial(build, node.op, operand, operands, result, Scalar::f64);
    std::map<uint32_t, int> values;
    const auto value = [&](ir::Value v) { return values.at(v.id); };
    for (const ir::InstId id : kernel.blocks[0].insts) {
        const ir::Inst& inst = kernel[id];
        const auto given = kernel.operands(inst);
        int& to = values[kernel.result(inst).id];
        if (inst.op == ir::Op::argument)
            to = int(inst.immediate) < node.count ? operand_as_double(node, inst.immediate)
                                                  : convert(node.type, Scalar::f64, of(bound, number));
        else if (inst.op == ir::Op::constant)
            to = constant(inst.type, inst.immediate);
        else if (inst.op == ir::Op::select)
            to = op(ExpressionOp::select, inst.type, {value(given[0]), value(given[1]), value(given[2])});
        else {
            const auto which = expression_op(inst.op);
            if (!which) refuse(inst.op, Scalar::f64);
            to = given.size() == 1 ? op(which->op, Scalar::f64, {value(given[0])})
                                   : op(which->op, Scalar::f64, {value(given[0]), value(given[1])});
            list.back().index = which->index;
        }
    }
    return value(made);
}

/// As HostScalars::sweep: from the last number to the first, each adds to the adjoints of its operands.
void ScalarExpressions::sweep() {
    done = true;
    adjoints.resize(size_t(bound->count()), -1);
    for (int number = bound->count() - 1; number >= 0; --number) {
        const derive::HostScalars::Node& node = bound->node(number);
        if (node.is_input || adjoints[size_t(number)] < 0) continue;
        for (int o = 0; o < node.count; ++o) {
            const int from = node.operands[size_t(o)].number;
            if (from < 0 || !bound->node(from).active || derive::vanishes(node.op, o)) continue;
            const int term = op(ExpressionOp::mul, Scalar::f64, {partial(node, number, o), adjoints[size_t(number)]});
            int& adjoint = adjoints[size_t(from)];
            adjoint = op(ExpressionOp::add, Scalar::f64, {adjoint >= 0 ? adjoint : constant(Scalar::f64, 0), term});
        }
    }
}

int ScalarExpressions::derivative(int number) {
    const Scalar type = bound->node(number).type;
    if (!done) sweep();
    const int adjoint = adjoints[size_t(number)];
    return convert(Scalar::f64, type, adjoint >= 0 ? adjoint : constant(Scalar::f64, 0));
}

}  // namespace pumice::ship
