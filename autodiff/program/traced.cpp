// Traced numbers: reverse and forward mode of scalar arithmetic on the host.
//
// Each op on a traced number appends its operands and partial derivatives to a list. In forward mode the tangent is computed
// at once; in reverse mode sweep() runs through the list backwards after the launches have added their adjoints.
//
//     c = 0.1f * sqrt(a)     #1 = sqrt(#0), partial 0.5 / sqrt(a);   #2 = 0.1 * #1, partial 0.1
//     sweep                  d#1 += 0.1 * d#2;   d#0 += 0.5 / sqrt(a) * d#1
//
// Cost: three sources a number, computed in double. Limits: one floating type an op; comparisons carry no derivative.
// See Wengert, "A Simple Automatic Derivative Evaluation Program", CACM 1964.
#include "autodiff/program/traced.h"

#include "autodiff/rules/derivative_rules.h"
#include "core/ir/evaluate.h"
#include "core/ir/ops.h"

namespace pumice::derive {

int HostScalars::input(const std::vector<double>& tangents) {
    sources.emplace_back();
    derivatives.resize(derivatives.size() + size_t(width));
    const int number = int(sources.size()) - 1;
    for (size_t w = 0; w < tangents.size(); ++w) derivative(number, int(w)) = tangents[w];
    return number;
}

int HostScalars::result(ir::Op op, std::span<const double> operands, double result, std::span<const int> of) {
    const int number = input({});
    for (size_t o = 0; o < operands.size(); ++o) {
        if (of[o] < 0 || vanishes(op, int(o))) continue;
        if (has_none(op, int(o)))
            fail("a program computes ", ir::name_of(op),
                 " of a number that its derivative follows, which has no derivative: compute with its value()");
        const Source s{of[o], partial(op, int(o), operands, result)};
        sources[size_t(number)][o] = s;
        for (int w = 0; w < width; ++w) derivative(number, w) += s.partial * derivative(s.from, w);
    }
    return number;
}

void HostScalars::sweep() {
    for (int number = int(sources.size()) - 1; number >= 0; --number)
        for (const Source& s : sources[size_t(number)])
            for (int w = 0; w < width && s.from >= 0; ++w) derivative(s.from, w) += s.partial * derivative(number, w);
}

HostScalar compute(ir::Op op, Scalar type, std::span<const HostScalar> operands) {
    HostScalar made;
    uint64_t bits[3];
    double values[3];
    int of[3];
    for (size_t o = 0; o < operands.size(); ++o) {
        bits[o] = operands[o].bits;
        values[o] = from_bits<double>(cast_bits(type, Scalar::f64, bits[o]));
        of[o] = operands[o].number;
        if (operands[o].all && made.all && operands[o].all != made.all)
            fail("a program computes ", ir::name_of(op),
                 " of numbers that two derivatives follow, one inside the other: give the inner program its value()");
        if (operands[o].all) made.all = operands[o].all;
    }
    if (!evaluate_scalar(op, type, bits, made.bits))
        library_bug(text("the host computes ", ir::name_of(op), " of ", name_of(type)));
    if (!made.all) return made;
    const double result = from_bits<double>(cast_bits(type, Scalar::f64, made.bits));
    made.number = made.all->result(op, {values, operands.size()}, result, {of, operands.size()});
    return made;
}

}  // namespace pumice::derive
