// Host scalars of a program as expressions that the runtime evaluates: the Wengert list of traced numbers, and its reverse sweep.
//
//   b = 0.1f * sqrt(a)       #0 scalar a    #1 sqrt #0    #2 constant 0.1f    #3 mul #2 #1
//   derivative by a          #4 sum 0       #5 convert f64 #4     #6 mul #5 (partial of mul) ...
//
// Operations with one right result (IEEE 754), + - * / neg abs sign min max sqrt rsqrt, are the runtime's own. It calls the
// functions of <math.h> in the C library of its machine, as the library does: with one C library both give the same bits. All in
// f32 and f64.
// Textbook name: source transformation of a Wengert list, reverse mode.
#pragma once
#include <map>
#include <vector>

#include "autodiff/program/traced.h"
#include "ship/program/captured_program.h"

namespace pumice::ship {

class ScalarExpressions {
public:
    explicit ScalarExpressions(std::vector<ScalarExpression>& to) : list(to) {}

    /// Number `number` of the list is argument `argument` of the entry.
    void bind(const derive::HostScalars* scalars, int number, int argument);
    /// The expression of a number. Throws Error for an operation that bundles do not have.
    int of(const derive::HostScalars* scalars, int number);
    /// The scalar of sum `index` is added to the adjoint of a number.
    void add_sum(const derive::HostScalars* scalars, int number, int index, Scalar type);
    /// The derivative by a bound number, as its type: after all sums were added, and while the list lives.
    int derivative(int number);
    /// The list whose numbers are bound; null: none.
    const derive::HostScalars* scalars() const { return bound; }

private:
    int push(ScalarExpression one);
    int constant(Scalar type, uint64_t bits);
    int op(pumice_rt::ExpressionOp which, Scalar type, std::initializer_list<int> operands);
    int convert(Scalar from, Scalar to, int a);
    int operand_as_double(const derive::HostScalars::Node& node, size_t operand);
    int partial(const derive::HostScalars::Node& node, int number, int operand);
    void sweep();

    std::vector<ScalarExpression>& list;
    const derive::HostScalars* bound = nullptr;
    std::vector<int> known;     ///< by number: its expression, or -1
    std::vector<int> adjoints;  ///< by number: the expression of its adjoint in f64, or -1
    std::map<std::pair<Scalar, uint64_t>, int> constants;
    bool swept = false, done = false;
};

}  // namespace pumice::ship
