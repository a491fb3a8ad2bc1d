#include "cpu/terms.h"

#include <algorithm>
#include <iterator>

namespace pumice::cpu {

namespace {
constexpr int most_depth = 8;                       ///< of sums of sums
constexpr size_t most_terms = 4, most_factors = 4;  ///< of sums that are multiplied out,
constexpr int64_t most_times = 1 << 20;             ///< and of their numbers

/// Whether it is worth multiplying out.
bool short_enough(const Terms& sum) {
    const auto small = [](int64_t number) { return number >= -most_times && number <= most_times; };
    return sum.counts.size() <= most_terms && small(sum.constant) &&
           std::all_of(sum.counts.begin(), sum.counts.end(),
                       [&](const auto& term) { return small(term.second) && term.first.size() <= most_factors; });
}

Terms product_of(const Terms& a, const Terms& b) {
    Terms all;
    all.constant = a.constant * b.constant;
    for (const auto& [product, times] : a.counts) all.counts[product] += times * b.constant;
    for (const auto& [product, times] : b.counts) all.counts[product] += times * a.constant;
    for (const auto& [left, left_times] : a.counts)
        for (const auto& [right, right_times] : b.counts) {
            Terms::Product both;
            std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
            all.counts[both] += left_times * right_times;
        }
    return all;
}

}  // namespace

void Terms::add(const ir::Kernel& k, ir::Value v, int64_t times, int depth) {
    const ir::InstId source = k[v].inst;
    uint64_t bits = 0;
    if (k.constant(v, bits)) {
        constant += times * (size_of(k.type_of(v)) == 4 ? int64_t(int32_t(bits)) : int64_t(bits));
    } else if (source.id != ir::none && (k[source].op == ir::Op::add || k[source].op == ir::Op::sub) && depth < most_depth) {
        add(k, k.operands(k[source])[0], times, depth + 1);
        add(k, k.operands(k[source])[1], k[source].op == ir::Op::add ? times : -times, depth + 1);
    } else {
        Terms whole;
        whole.counts[{v.id}] = 1;
        if (source.id != ir::none && k[source].op == ir::Op::mul && depth < most_depth) {
            Terms factors[2];
            for (const size_t o : {0, 1}) factors[o].add(k, k.operands(k[source])[o], 1, depth + 1);
            if (short_enough(factors[0]) && short_enough(factors[1])) whole = product_of(factors[0], factors[1]);
        }
        constant += times * whole.constant;
        for (const auto& [product, count] : whole.counts) counts[product] += times * count;
    }
}

bool Terms::is_constant() const {
    return std::all_of(counts.begin(), counts.end(), [](const auto& term) { return term.second == 0; });
}

int Terms::axis_of(const ir::Kernel& k, const Product& step) const {
    int axis = -1;
    for (const auto& [product, times] : counts) {
        Product rest;
        std::set_difference(product.begin(), product.end(), step.begin(), step.end(), std::back_inserter(rest));
        if (times != 1 || product.size() != step.size() + 1 || rest.size() != 1) continue;
        const ir::InstId place = k[ir::Value{rest[0]}].inst;
        if (place.id == ir::none || k[place].op != ir::Op::global_index) continue;
        if (axis >= 0) return -1;
        axis = int(k[place].immediate);
    }
    return axis;
}

Terms difference(const ir::Kernel& k, ir::Value to, ir::Value from) {
    Terms apart;
    apart.add(k, to, 1);
    apart.add(k, from, -1);
    // What 32 bits hold comes back to the same after 2^32.
    if (size_of(k.type_of(to)) == 4) {
        apart.constant = int32_t(apart.constant);
        for (auto& [product, times] : apart.counts) times = int32_t(times);
    }
    return apart;
}

std::optional<int64_t> past_item(const ir::Kernel& k, ir::Value index, int axis) {
    Terms terms;
    terms.add(k, index, 1);
    std::erase_if(terms.counts, [](const auto& term) { return term.second == 0; });
    if (terms.counts.size() != 1 || terms.counts.begin()->second != 1 || terms.counts.begin()->first.size() != 1) return std::nullopt;
    const ir::InstId source = k[ir::Value{terms.counts.begin()->first[0]}].inst;
    const bool item = source.id != ir::none && k[source].op == ir::Op::global_index && int(k[source].immediate) == axis;
    return item ? std::optional(terms.constant) : std::nullopt;
}

}  // namespace pumice::cpu
