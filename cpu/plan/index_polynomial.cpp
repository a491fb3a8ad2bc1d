// Symbolic index analysis: an index as a multivariate polynomial over SSA values, in wrapping arithmetic.
//
// Why: two accesses may be merged, prefetched once or called a stencil only if the distance of their indices is known.
//
//     %a = mul %row, %columns                       polynomial of %b: 1 * %row * %columns + 1 * %i - 1
//     %b = sub (add %a, %i), 1                      polynomial of %d: 1 * %row * %columns + 1 * %i + %columns
//     %d = add (mul (add %row, 1), %columns), %i    difference d - b: 1 * %columns + 1
//
// Products are multiplied out, so that (row + 1) * columns and row * columns have comparable terms. Coefficients wrap modulo
// 2^64 and are reduced modulo 2^n at the end: exact for n-bit arithmetic.
// Cost: linear in the arithmetic of the index, within the limits below. Limits: only add, sub, mul and constants are taken apart,
// to a depth of 8; products of sums of more than 4 terms stay opaque; casts, divisions and types below 32 bits are opaque.
// Textbook: symbolic analysis, as scalar evolution (SCEV) in LLVM; chains of recurrences (Bachmann, Wang, Zima 1994).
#include "cpu/plan/index_polynomial.h"

#include <algorithm>
#include <iterator>

#include "core/analysis/loop_info.h"

namespace pumice::cpu {

using ir::wrapped, ir::wrapping_add, ir::wrapping_mul;

namespace {
constexpr int most_depth = 8;                       ///< of nested sums and products
constexpr size_t most_terms = 4, most_factors = 4;  ///< of sums that are multiplied out: terms, factors a term,
constexpr int64_t most_times = 1 << 20;             ///< and magnitude of coefficients

/// True if a sum is small enough to be multiplied out.
bool short_enough(const IndexPolynomial& sum) {
    const auto small = [](int64_t number) { return number >= -most_times && number <= most_times; };
    return sum.coefficients.size() <= most_terms && small(sum.constant) &&
           std::all_of(sum.coefficients.begin(), sum.coefficients.end(),
                       [&](const auto& term) { return small(term.second) && term.first.size() <= most_factors; });
}

IndexPolynomial product_of(const IndexPolynomial& a, const IndexPolynomial& b) {
    IndexPolynomial all;
    all.constant = wrapping_mul(a.constant, b.constant);
    const auto add = [&](const IndexPolynomial::Product& of, int64_t times) {
        all.coefficients[of] = wrapping_add(all.coefficients[of], times);
    };
    for (const auto& [factors, times] : a.coefficients) add(factors, wrapping_mul(times, b.constant));
    for (const auto& [factors, times] : b.coefficients) add(factors, wrapping_mul(times, a.constant));
    for (const auto& [left, left_times] : a.coefficients)
        for (const auto& [right, right_times] : b.coefficients) {
            IndexPolynomial::Product both;
            std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
            add(both, wrapping_mul(left_times, right_times));
        }
    return all;
}

}  // namespace

void IndexPolynomial::add(const ir::Kernel& k, ir::Value v, int64_t times, int depth) {
    const ir::InstId source = k[v].inst;
    const int bits = 8 * size_of(k.type_of(v));
    const ir::Op op = source.id == ir::none || bits < 32 || depth >= most_depth ? ir::Op::get : k[source].op;
    uint64_t number = 0;
    if (k.constant(v, number)) {
        constant = wrapping_add(constant, wrapping_mul(times, wrapped(int64_t(number), bits)));
    } else if (op == ir::Op::add || op == ir::Op::sub) {
        add(k, k.operands(k[source])[0], times, depth + 1);
        add(k, k.operands(k[source])[1], op == ir::Op::add ? times : wrapping_mul(times, -1), depth + 1);
    } else {
        IndexPolynomial whole;
        whole.coefficients[{v.id}] = 1;
        if (op == ir::Op::mul) {
            IndexPolynomial factors[2];
            for (const size_t o : {0, 1}) factors[o].add(k, k.operands(k[source])[o], 1, depth + 1);
            if (short_enough(factors[0]) && short_enough(factors[1])) whole = product_of(factors[0], factors[1]);
        }
        constant = wrapping_add(constant, wrapping_mul(times, whole.constant));
        for (const auto& [factors, count] : whole.coefficients)
            coefficients[factors] = wrapping_add(coefficients[factors], wrapping_mul(times, count));
    }
}

void IndexPolynomial::cut(int bits) {
    constant = wrapped(constant, bits);
    for (auto& [factors, times] : coefficients) times = wrapped(times, bits);
    std::erase_if(coefficients, [](const auto& term) { return term.second == 0; });
}

IndexPolynomial polynomial_of(const ir::Kernel& k, ir::Value v) {
    IndexPolynomial all;
    all.add(k, v, 1);
    all.cut(8 * size_of(k.type_of(v)));
    return all;
}

bool IndexPolynomial::is_constant() const { return coefficients.empty(); }

int IndexPolynomial::axis_of(const ir::Kernel& k, const Product& step) const {
    int axis = -1;
    for (const auto& [product, times] : coefficients) {
        Product rest;
        std::set_difference(product.begin(), product.end(), step.begin(), step.end(), std::back_inserter(rest));
        if (times != 1 || product.size() != step.size() + 1 || rest.size() != 1) continue;
        const ir::InstId factor = k[ir::Value{rest[0]}].inst;
        if (factor.id == ir::none || k[factor].op != ir::Op::global_index) continue;
        if (axis >= 0) return -1;
        axis = int(k[factor].immediate);
    }
    return axis;
}

IndexPolynomial difference(const ir::Kernel& k, ir::Value to, ir::Value from) {
    IndexPolynomial apart;
    apart.add(k, to, 1);
    apart.add(k, from, -1);
    apart.cut(8 * std::min(size_of(k.type_of(to)), size_of(k.type_of(from))));
    return apart;
}

std::optional<int64_t> offset_from_item(const ir::Kernel& k, ir::Value index, int axis) {
    const IndexPolynomial polynomial = polynomial_of(k, index);
    if (polynomial.coefficients.size() != 1 || polynomial.coefficients.begin()->second != 1 ||
        polynomial.coefficients.begin()->first.size() != 1)
        return std::nullopt;
    const ir::InstId source = k[ir::Value{polynomial.coefficients.begin()->first[0]}].inst;
    const bool item = source.id != ir::none && k[source].op == ir::Op::global_index && int(k[source].immediate) == axis;
    return item ? std::optional(polynomial.constant) : std::nullopt;
}

uint32_t axes_of(const ir::Kernel& k, ir::Value v, bool groups, int depth) {
    const ir::InstId source = k[v].inst;
    if (source.id == ir::none || depth > most_depth || !ir::is_pure(k[source].op)) return 0;
    const ir::Inst& i = k[source];
    if (i.op == ir::Op::global_index || (groups && i.op == ir::Op::group_index)) return 1u << i.immediate;
    uint32_t axes = 0;
    for (const ir::Value o : k.operands(i)) axes |= axes_of(k, o, groups, depth + 1);
    return axes;
}

}  // namespace pumice::cpu
