// Reassociation for FMA: in a sum of products and a constant, the constant is added first, so every product contracts to an
// FMA.
// Why: a a + b b + c takes a multiplication, an FMA and an addition. As (a a + c) + b b it takes two FMAs.
//
//   %s = add %xx, %yy : f32            |  %9 = add %4, %3 : f32           # %4, %5, %6 = %xx, %yy, %xy (products)
//   %t = add %s, %xy : f32             |  %10 = add %9, %5 : f32          # %3 = %half (a constant)
//   %u = add %t, %half : f32           |  %11 = add %10, %6 : f32
//
// `x - constant` counts as `x + -constant`. The old additions remain without a user, and `dead` removes them.
// Cost: linear; one array of use counts, and each sum is followed to its innermost addition.
// Limits: the rest of the sum keeps its order, and only the constant moves. The innermost addition must have two products as
// operands, and each intermediate result exactly one user; a sum with a single product contracts as it is. Constants only, not
// uniform values. Rounding changes, so kernels with `math strict` are left alone.
// Textbook name: reassociation of floating-point sums for contraction.
#include "core/passes/reassociate_for_fma.h"

#include "core/analysis/uses.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

class ReassociateForFma : public Rewriter {
public:
    explicit ReassociateForFma(const Kernel& kernel) : Rewriter(kernel), uses(kernel) {}

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        b.loc = i.loc;
        if ((i.op != Op::add && i.op != Op::sub) || !is_float(i.type)) return copy(id);
        Value sum = from.operands(i)[0], term = from.operands(i)[1];
        if (i.op == Op::add && is_constant(sum)) std::swap(sum, term);
        if (!is_constant(term) || !has_two_products(sum)) return copy(id);
        const Value first = i.op == Op::sub ? b.op(Op::neg, {of(term)}) : of(term);
        map(from.result(i), with(first, sum));
    }

    bool is_constant(Value v) const {
        uint64_t bits = 0;
        return from.constant(v, bits);
    }
    /// The instruction that computes `v`, if it is an `op` and `v` has exactly one use; else null.
    const Inst* only_for_here(Value v, Op op) const {
        const InstId source = from[v].inst;
        return uses.count(v) == 1 && source.id != none && from[source].op == op ? &from[source] : nullptr;
    }
    bool is_product(Value v) const { return only_for_here(v, Op::mul); }

    /// The operand of a sum that is itself a sum with one use; none if there is no such operand.
    Value inner(const Inst& sum) const {
        for (const Value v : from.operands(sum))
            if (only_for_here(v, Op::add)) return v;
        return {};
    }
    bool has_two_products(Value v) const {
        const Inst* const sum = only_for_here(v, Op::add);
        if (!sum) return false;
        if (const Value deeper = inner(*sum)) return has_two_products(deeper);
        return is_product(from.operands(*sum)[0]) && is_product(from.operands(*sum)[1]);
    }

    /// The sum `v` with `first` as an additional term in its innermost addition.
    Value with(Value first, Value v) {
        const auto terms = from.operands(*only_for_here(v, Op::add));
        const Value deeper = inner(*only_for_here(v, Op::add));
        if (!deeper) return b.op(Op::add, {b.op(Op::add, {of(terms[0]), first}), of(terms[1])});
        return b.op(Op::add, {with(first, deeper), of(terms[terms[0] == deeper ? 1 : 0])});
    }

    const Uses uses;
};

}  // namespace

Kernel reassociate_for_fma(const Kernel& kernel) {
    return kernel.math != Math::strict ? ReassociateForFma(kernel).run() : kernel;
}

}  // namespace pumice::ir
