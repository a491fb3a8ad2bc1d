// Adjoint accumulators: the adjoints that the reverse sweep holds, factored while they are built up.
//
// Each active value has an accumulator for each direction. A value that is used in its own block only has an SSA value as its
// sum; other accumulators are variables. Products are not added as they come. A sum of products of one adjoint becomes one
// product with the sum of the partial derivatives, which are ready before the adjoint is (add_product); factored_sums.cpp takes
// common factors out of other sums. Both are the distributive law.
//
//     y = 1.1 x - 0.4 x z, adjoint dy:
//     plain       dx = dy * 1.1;  dx = dx - dy * (0.4 * z)
//     factored    dx = dy * (1.1 - 0.4 * z)
//
// Cost: none at run time: fewer multiplications and a shorter dependence chain.
// Limits: consecutive products with one factor only, and no variables.
#include "autodiff/sweep/adjoint_accumulators.h"

#include "autodiff/rules/derivative_rules.h"
#include "autodiff/sweep/factored_sums.h"

namespace pumice::derive {

using namespace ir;

Accumulators::Accumulators(const SweepContext& context)
    : SweepContext(context), all(from.values.size() * size_t(width)), active_in(from.blocks.size()) {
    std::vector<bool> crosses(from.values.size());  // values with a use in another block
    for (const InstId id : where.order())
        for (const Value v : from.operands(from[id]))
            if (plan.home(v) != plan.home(where.block_of(id))) crosses[v.id] = true;
    for (uint32_t v = 0; v < from.values.size(); ++v) {
        if (where.block_of(Value{v}).id != none && analysis.active(Value{v}) && crosses[v])
            active_in[plan.home(Value{v}).id].push_back({v});
    }
}

void Accumulators::add(size_t at, Value term) {
    Accumulator& s = all[at];
    s.touched = true;
    if (s.var)
        b.set(s.var, s.zero ? term : plus(b, to, b.get(s.var), term));
    else
        s.now = s.zero ? term : plus(b, to, s.now, term);
    s.zero = false;
}

void Accumulators::add_product(size_t at, Value factor, Value partial) {
    const InstId made = to[partial].inst;
    const Op op = made.id == none ? Op::constant : to[made].op;
    const Value one = b.constant_float(to.type_of(factor), 1), minus_one = b.constant_float(to.type_of(factor), -1);
    if (all[at].var || op == Op::div || op == Op::select || partial == one || partial == minus_one)
        return add(at, times(b, to, factor, partial));
    if (const Value positive = negated(to, factor)) factor = positive, partial = b.op(Op::neg, {partial});
    if (all[at].factor != factor) {
        make_product(at);
    } else if (const Value minus = negated(to, partial)) {
        partial = b.op(Op::sub, {all[at].partial, minus});
    } else {
        const Value first = negated(to, all[at].partial);
        partial = first ? b.op(Op::sub, {partial, first}) : b.op(Op::add, {all[at].partial, partial});
    }
    all[at].factor = factor, all[at].partial = partial, all[at].touched = true;
}

void Accumulators::make_product(size_t at) {
    const Value factor = all[at].factor;
    all[at].factor = {};
    if (factor) add(at, times(b, to, factor, all[at].partial));
}

bool Accumulators::passes_on(const Inst& i, int w) {
    const Accumulator product = all[of(from.result(i), w)];
    if (i.op != Op::mul || !product.zero || !product.factor) return false;
    const auto v = from.operands(i);
    uint64_t bits = 0;
    const size_t constant = from.constant(v[0], bits) ? 0 : 1;
    if (!from.constant(v[constant], bits)) return false;
    const Value by = b.constant(i.type, bits), positive = negated(to, product.partial);
    const Value partial = positive ? b.op(Op::neg, {b.op(Op::mul, {by, positive})}) : b.op(Op::mul, {by, product.partial});
    if (analysis.active(v[1 - constant])) add_product(of(v[1 - constant], w), product.factor, partial);
    return true;
}

Value Accumulators::take(size_t at) {
    make_product(at);
    const Accumulator& s = all[at];
    if (s.zero) return {};
    return s.var ? b.get(s.var) : s.now;
}

void Accumulators::open(size_t at, Scalar type) {
    all[at] = {};
    all[at].var = b.var(zero(type));
}

void Accumulators::open_block(BlockId block) {
    for (const Value v : active_in[block.id]) {
        if (from[v].inst.id == none) continue;  // a parameter of a loop: opened in front of the loop
        for (int w = 0; w < width; ++w) open(of(v, w), from.type_of(v));
    }
}

void Accumulators::clear(Value v, int w) {
    Accumulator& s = all[of(v, w)];
    b.set(s.var, zero(from.type_of(v)));
    s.zero = true;
}

void Accumulators::join_arms(const std::vector<Accumulator>& before, const std::vector<Accumulator>& after_then) {
    for (size_t s = 0; s < before.size(); ++s) {
        const bool touched = all[s].touched || after_then[s].touched;
        all[s].zero = all[s].zero && after_then[s].zero;
        if (!before[s].var) all[s] = before[s];
        all[s].touched = touched;
    }
}

std::vector<Accumulators::Accumulator> Accumulators::begin_loop() {
    std::vector<Accumulator> before = all;
    for (Accumulator& s : all)
        if (s.var) s.zero = false, s.touched = false;
    return before;
}

void Accumulators::end_loop(const std::vector<Accumulator>& before) {
    for (size_t s = 0; s < before.size(); ++s) {
        const bool touched = all[s].touched;
        all[s] = before[s];
        all[s].touched = before[s].touched || touched;
        if (all[s].var) all[s].zero = before[s].zero && !touched;
    }
}

size_t Accumulators::new_sum() {
    all.emplace_back();
    return all.size() - 1;
}

bool Accumulators::touched_outside(const std::set<uint32_t>& values) const {
    for (size_t s = 0; s < all.size(); ++s)
        if (all[s].touched && !values.count(uint32_t(s / size_t(width)))) return true;
    return false;
}

}  // namespace pumice::derive
