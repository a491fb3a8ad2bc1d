#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

namespace pumice::ir {
namespace {

/// a a + b b + c takes a product and two fused multiply-adds and, were it not for this pass, an addition of the constant.
class ReassociateForFma : public Rewriter {
public:
    explicit ReassociateForFma(const Kernel& kernel) : Rewriter(kernel), uses(kernel.values.size()) {
        for (const Inst& i : kernel.insts)
            for (const Value v : kernel.operands(i)) ++uses[v.id];
    }

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
    /// What computes `v`, where nothing else needs it and it is this op.
    const Inst* only_for_here(Value v, Op op) const {
        const InstId source = from[v].inst;
        return uses[v.id] == 1 && source.id != none && from[source].op == op ? &from[source] : nullptr;
    }
    bool is_product(Value v) const { return only_for_here(v, Op::mul); }

    /// The operand of a sum in which its first two terms are added; none where these are the operands.
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

    /// The sum `v` with one term more, the first.
    Value with(Value first, Value v) {
        const auto terms = from.operands(*only_for_here(v, Op::add));
        const Value deeper = inner(*only_for_here(v, Op::add));
        if (!deeper) return b.op(Op::add, {b.op(Op::add, {of(terms[0]), first}), of(terms[1])});
        return b.op(Op::add, {with(first, deeper), of(terms[terms[0] == deeper ? 1 : 0])});
    }

    std::vector<uint32_t> uses;  ///< how often each value is an operand
};

}  // namespace

Kernel reassociate_for_fma(const Kernel& kernel) { return kernel.math != Math::strict ? ReassociateForFma(kernel).run() : kernel; }

}  // namespace pumice::ir
