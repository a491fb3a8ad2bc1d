// Factored sums: sums of products of which both share a factor, and signs that move outwards.
//
// The distributive law, applied while a sum is built up. Several such sums do without the common product f c, and the product
// that is left can be contracted with the addition.
//
//     f a + (f c) x      =>  f (a + c x)
//     (f a) x + (f c) y  =>  f (a x + c y)
//     s + (-t)           =>  s - t
//
// Cost: none at run time: fewer multiplications and a shorter dependence chain.
// Limits: pattern matching on the last terms of a sum only. f16 keeps the order of factors of nested products, because of its
// short range; a factor that is a select is not taken out of nested products (it may be 0 where the other factor is infinite).
// Textbook name: factoring by distributivity.
#include "autodiff/sweep/factored_sums.h"

#include <array>

namespace pumice::derive {

using namespace ir;

namespace {

bool is(const Kernel& k, Value v, Op op) { return k[v].inst.id != none && k[k[v].inst].op == op; }

/// A product as one factor and the rest, which has up to two values.
struct FactoredProduct {
    Value factor;
    std::array<Value, 2> rest;
};
/// All such decompositions of a product. Of (p q) y also p and (q, y), and q and (p, y).
std::vector<FactoredProduct> factorings(const Kernel& k, Value v, bool inner) {
    std::vector<FactoredProduct> all;
    if (!v || !is(k, v, Op::mul)) return all;
    const Value x = k.operands(k[k[v].inst])[0], y = k.operands(k[k[v].inst])[1];
    for (const auto& [one, other] : {std::pair(x, y), std::pair(y, x)}) {
        all.push_back({one, {other, {}}});
        if (!inner) continue;
        for (const FactoredProduct& s : factorings(k, one, false)) all.push_back({s.factor, {s.rest[0], other}});
    }
    return all;
}

/// Emits sum + term or sum - term. f a + (f c) x becomes f (a + c x): several such sums do without f c, and a product can be
/// contracted with the addition. The same for (f a) x + (f c) y, except where f is a select, which may be zero because a x is
/// infinite, and except in narrow floats: f16 has too short a range without f.
Value total(Builder& b, const Kernel& to, Op op, Value sum, Value term) {
    const bool short_range = is_narrow_float(to.type_of(sum));
    uint64_t bits = 0;
    for (const bool inner : {false, true})
        for (const FactoredProduct& s : factorings(to, sum, inner && !short_range))
            for (const FactoredProduct& t : factorings(to, term, true)) {
                if (s.factor != t.factor || to.constant(s.factor, bits) || (inner && is(to, s.factor, Op::select))) continue;
                const auto rest = [&](const FactoredProduct& of) { return of.rest[1] ? b.op(Op::mul, of.rest) : of.rest[0]; };
                return b.op(Op::mul, {b.op(op, {rest(s), rest(t)}), s.factor});
            }
    return b.op(op, {sum, term});
}

}  // namespace

Value negated(const Kernel& k, Value v) { return is(k, v, Op::neg) ? k.operands(k[k[v].inst])[0] : Value{}; }

Value plus(Builder& b, const Kernel& to, Value sum, Value term) {
    const Value minus_term = negated(to, term), minus_sum = negated(to, sum);
    if (minus_term && minus_sum) return b.op(Op::neg, {total(b, to, Op::add, minus_sum, minus_term)});
    if (minus_term) return total(b, to, Op::sub, sum, minus_term);
    if (minus_sum) return total(b, to, Op::sub, term, minus_sum);
    return total(b, to, Op::add, sum, term);
}

Value twice(Builder& b, const Kernel& to, Value x, Value y) {
    const InstId source = to[x].inst;
    uint64_t bits = 0;
    if (source.id == none || to[source].op != Op::mul || !to.constant(to.operands(to[source])[1], bits))
        return b.op(Op::mul, {b.op(Op::add, {x, x}), y});
    const Value factor = to.operands(to[source])[0], constant = to.operands(to[source])[1],
                doubled = b.op(Op::add, {constant, constant});
    if (doubled == b.constant_float(to.type_of(x), -1)) return b.op(Op::neg, {b.op(Op::mul, {factor, y})});
    return b.op(Op::mul, {b.op(Op::mul, {factor, doubled}), y});
}

}  // namespace pumice::derive
