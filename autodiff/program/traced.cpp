// Traced numbers: reverse and forward mode of scalar arithmetic on the host.
//
// Each op on a traced number appends its operands and partial derivatives to a list. In forward mode the tangent is computed
// at once; in reverse mode sweep() runs through the list backwards after the launches have added their adjoints.
//
//     c = 0.1f * sqrt(a)     #1 = sqrt(#0), partial 0.5 / sqrt(a);   #2 = 0.1 * #1, partial 0.1
//     sweep                  d#1 += 0.1 * d#2;   d#0 += 0.5 / sqrt(a) * d#1
//
// Cost: three edges a number, computed in double. Limits: one floating type an op; comparisons carry no derivative.
// See Wengert, "A Simple Automatic Derivative Evaluation Program", CACM 1964.
#include "autodiff/program/traced.h"

#include "autodiff/rules/derivative_rules.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"

namespace pumice::derive {

int HostScalars::input(Scalar type, const std::vector<double>& tangents, bool active) {
    edges.emplace_back();
    nodes.push_back({.active = active, .type = type});
    derivatives.resize(derivatives.size() + size_t(width));
    const int number = int(edges.size()) - 1;
    for (size_t w = 0; w < tangents.size(); ++w) derivative(number, int(w)) = tangents[w];
    return number;
}

void HostScalars::value_is_read() const {
    if (refuses_values)
        fail(
            "a program that is shipped reads the value of a number that is a parameter, or is computed from one: the value would "
            "be the "
            "same in every later run. Make it a plain constant of the program, or let a kernel decide");
}

int HostScalars::result(ir::Op op, Scalar type, std::span<const HostScalar> operands, uint64_t bits) {
    const int number = input(type, {}, false);
    const auto real = [&](uint64_t b) { return from_bits<double>(cast_bits(type, Scalar::f64, b)); };
    Node& node = nodes[size_t(number)];
    node.is_input = false, node.op = op, node.count = int(operands.size());
    double values[3] = {};
    for (size_t o = 0; o < operands.size(); ++o) {
        node.operands[o] = {operands[o].number, operands[o].bits};
        node.active = node.active || (operands[o].number >= 0 && nodes[size_t(operands[o].number)].active);
        values[o] = real(operands[o].bits);
    }
    for (size_t o = 0; o < operands.size(); ++o) {
        const int of = operands[o].number;
        if (of < 0 || !nodes[size_t(of)].active || vanishes(op, int(o))) continue;
        if (has_none(op, int(o)))
            fail("a program computes ", ir::name_of(op),
                 " of a number that its derivative follows, which has no derivative: compute with its value()");
        const Edge edge{of, partial(op, int(o), {values, operands.size()}, real(bits))};
        edges[size_t(number)][o] = edge;
        for (int w = 0; w < width; ++w) derivative(number, w) += edge.partial * derivative(edge.from, w);
    }
    return number;
}

void HostScalars::sweep() {
    for (int number = int(edges.size()) - 1; number >= 0; --number)
        for (const Edge& edge : edges[size_t(number)])
            for (int w = 0; w < width && edge.from >= 0; ++w) derivative(edge.from, w) += edge.partial * derivative(number, w);
}

HostScalar compute(ir::Op op, Scalar type, std::span<const HostScalar> operands) {
    HostScalar made;
    uint64_t bits[3];
    for (size_t o = 0; o < operands.size(); ++o) {
        bits[o] = operands[o].bits;
        if (operands[o].all && made.all && operands[o].all != made.all)
            fail("a program computes ", ir::name_of(op),
                 " of numbers that two derivatives follow, one inside the other: give the inner program its value()");
        if (operands[o].all) made.all = operands[o].all;
    }
    if (!evaluate_scalar(op, type, bits, made.bits))
        library_bug(text("the host computes ", ir::name_of(op), " of ", name_of(type)));
    if (!made.all) return made;
    made.number = made.all->result(op, type, operands, made.bits);
    return made;
}

}  // namespace pumice::derive
