// Adjoint accumulators: sums of contributions to one adjoint, factored while they are built up.
//
// Each active value has an accumulator for each direction. A value that is used in its own block only has an SSA value as its
// sum; other accumulators are variables. Products are not added as they come. A sum of products of one adjoint becomes one
// product with the sum of the partial derivatives, which are ready before the adjoint is (add_product); and sums of products
// with a common factor share it (total). Both are the distributive law, and signs move outwards.
//
//     y = 1.1 x - 0.4 x z, adjoint dy:
//     plain       dx = dy * 1.1;  dx = dx - dy * (0.4 * z)
//     factored    dx = dy * (1.1 - 0.4 * z)
//     f a + (f c) x  =>  f (a + c x)
//
// Cost: none at run time: fewer multiplications and a shorter dependence chain.
// Limits: pattern matching on the last terms of a sum only. f16 keeps the order of factors of nested products, because of its
// short range; a factor that is a select is not taken out of nested products (it may be 0 where the other factor is infinite).
// Textbook name: factoring by distributivity.
#include <array>

#include "autodiff/rules/derivative_rules.h"
#include "autodiff/sweep/adjoint_emitter.h"

namespace pumice::derive {

using namespace ir;

namespace {
bool is(const Kernel& k, Value v, Op op) { return k[v].inst.id != none && k[k[v].inst].op == op; }

/// The operand, where the value is a neg; none otherwise.
Value negated(const Kernel& k, Value v) { return is(k, v, Op::neg) ? k.operands(k[k[v].inst])[0] : Value{}; }
}  // namespace

void AdjointEmitter::add(size_t at, Value term) {
    Accumulator& s = accumulators[at];
    s.touched = true;
    if (s.var)
        b.set(s.var, s.zero ? term : plus(b.get(s.var), term));
    else
        s.now = s.zero ? term : plus(s.now, term);
    s.zero = false;
}

/// Emits sum + term. Signs move outwards.
Value AdjointEmitter::plus(Value sum, Value term) {
    const Value minus_term = negated(to, term), minus_sum = negated(to, sum);
    if (minus_term && minus_sum) return b.op(Op::neg, {total(Op::add, minus_sum, minus_term)});
    if (minus_term) return total(Op::sub, sum, minus_term);
    if (minus_sum) return total(Op::sub, term, minus_sum);
    return total(Op::add, sum, term);
}

namespace {

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

}  // namespace

/// Emits sum + term or sum - term. f a + (f c) x becomes f (a + c x): several such sums do without f c, and a product can be
/// contracted with the addition. The same for (f a) x + (f c) y, except where f is a select, which may be zero because a x is
/// infinite, and except in narrow floats: f16 has too short a range without f.
Value AdjointEmitter::total(Op op, Value sum, Value term) {
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

/// Emits 2 x y. Where x is a product with a constant, the constant is doubled.
Value AdjointEmitter::twice(Value x, Value y) {
    const InstId source = to[x].inst;
    uint64_t bits = 0;
    if (source.id == none || to[source].op != Op::mul || !to.constant(to.operands(to[source])[1], bits))
        return b.op(Op::mul, {b.op(Op::add, {x, x}), y});
    const Value factor = to.operands(to[source])[0], constant = to.operands(to[source])[1],
                doubled = b.op(Op::add, {constant, constant});
    if (doubled == b.constant_float(to.type_of(x), -1)) return b.op(Op::neg, {b.op(Op::mul, {factor, y})});
    return b.op(Op::mul, {b.op(Op::mul, {factor, doubled}), y});
}

/// Adds factor * partial. Consecutive products with one factor become one product with the sum of the partial derivatives:
/// these are ready before the factor, for which the sweep waits.
void AdjointEmitter::add_product(size_t at, Value factor, Value partial) {
    const InstId made = to[partial].inst;
    const Op op = made.id == none ? Op::constant : to[made].op;
    const Value one = b.constant_float(to.type_of(factor), 1), minus_one = b.constant_float(to.type_of(factor), -1);
    if (accumulators[at].var || op == Op::div || op == Op::select || partial == one || partial == minus_one)
        return add(at, times(b, to, factor, partial));
    if (const Value positive = negated(to, factor)) factor = positive, partial = b.op(Op::neg, {partial});
    if (accumulators[at].factor != factor) {
        make_product(at);
    } else if (const Value minus = negated(to, partial)) {
        partial = b.op(Op::sub, {accumulators[at].partial, minus});
    } else {
        const Value first = negated(to, accumulators[at].partial);
        partial = first ? b.op(Op::sub, {partial, first}) : b.op(Op::add, {accumulators[at].partial, partial});
    }
    accumulators[at].factor = factor, accumulators[at].partial = partial, accumulators[at].touched = true;
}

void AdjointEmitter::make_product(size_t at) {
    const Value factor = accumulators[at].factor;
    accumulators[at].factor = {};
    if (factor) add(at, times(b, to, factor, accumulators[at].partial));
}

/// True if the adjoint of a product with a constant is itself a pending product: the constant is multiplied into the partial
/// derivative, and the product stays pending.
bool AdjointEmitter::passes_on(const Inst& i, int w) {
    const Accumulator product = accumulators[accumulator(from.result(i), w)];
    if (i.op != Op::mul || !product.zero || !product.factor) return false;
    const auto v = from.operands(i);
    uint64_t bits = 0;
    const size_t constant = from.constant(v[0], bits) ? 0 : 1;
    if (!from.constant(v[constant], bits)) return false;
    const Value by = b.constant(i.type, bits), positive = negated(to, product.partial);
    const Value partial = positive ? b.op(Op::neg, {b.op(Op::mul, {by, positive})}) : b.op(Op::mul, {by, product.partial});
    if (analysis.active(v[1 - constant])) add_product(accumulator(v[1 - constant], w), product.factor, partial);
    return true;
}

/// The sum so far; none where it is zero.
Value AdjointEmitter::take(size_t at) {
    make_product(at);
    const Accumulator& s = accumulators[at];
    if (s.zero) return {};
    return s.var ? b.get(s.var) : s.now;
}

void AdjointEmitter::open_accumulator(size_t at, Scalar type) {
    accumulators[at] = {};
    accumulators[at].var = b.var(zero(type));
}

/// Accumulators to which other blocks contribute are variables.
void AdjointEmitter::open_accumulators(BlockId block) {
    for (const Value v : active_in[block.id]) {
        if (from[v].inst.id == none) continue;  // a parameter of a loop: opened in front of the loop
        for (int w = 0; w < width; ++w) open_accumulator(accumulator(v, w), from.type_of(v));
    }
}

}  // namespace pumice::derive
