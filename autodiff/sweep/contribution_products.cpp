// Products of contributions: contributions of an iteration as sums of products, of which the items sum up the varying factors.
//
// A contribution to an element that all items share is expanded into products (distributivity). Each product is split into
// factors that are uniform over the items and a varying factor. The distinct varying factors are emitted; the uniform ones are
// left for the kernel that combines the sums.
//
//     given        dm[c] += dy * w[c] * e * x        dw[c] += dy * e
//     products     w[c] * (dy e x)                   1 * (dy e)
//     emitted      dy * e                            (dy * e) * x        the second reuses the first
//
// Cost: at least 4 instructions an iteration must be saved where the loop stays in its place. Limits: at most 8 products a term,
// no more products than contributions, one float type.
// Textbook names: distributivity, common factors.
#include "autodiff/sweep/contribution_products.h"

#include <algorithm>

namespace pumice::derive {

using namespace ir;

namespace {
constexpr size_t most_products = 8;  ///< products of one term
constexpr int least_saved = 4;       ///< instructions an iteration: cells need another kernel

std::vector<uint32_t> ids_of(const std::vector<Value>& values) {
    std::vector<uint32_t> ids;
    for (const Value v : values) ids.push_back(v.id);
    return ids;
}
}  // namespace

/// True if a value of the new kernel is uniform over the items in one iteration.
bool ContributionProducts::same_for_items(Value v) {
    if (v == index) return true;
    if (const auto known = same.find(v.id); known != same.end()) return known->second;
    bool all = false;
    if (to[v].inst.id != none) {
        const Inst& i = to[to[v].inst];
        const auto operands = to.operands(i);
        const bool read_only = i.memory.id < from.memories.size() && primal.loop_partial_sums.loads_unwritten(i);
        all =
            (is_launch_constant(i.op) || read_only) && std::ranges::all_of(operands, [&](Value o) { return same_for_items(o); });
    }
    return same[v.id] = all;
}

/// Expands the value into a sum of products. Values of the primal are not expanded, nor are sums without a uniform factor:
/// expanding differences would cost digits.
std::vector<ContributionProducts::Product> ContributionProducts::products_of(Value v) {
    if (same_for_items(v)) return {{{v}, {}, {}, false}};
    const std::vector<Product> itself{{{}, {}, {v}, false}};
    if (to[v].inst.id == none || of_primal.count(v.id)) return itself;
    const Inst& i = to[to[v].inst];
    const auto operands = to.operands(i);
    std::vector<Product> all;
    if (i.op == Op::neg || i.op == Op::add || i.op == Op::sub) {
        for (size_t o = 0; o < operands.size(); ++o)
            for (Product& p : products_of(operands[o])) {
                if (i.op == Op::neg || (i.op == Op::sub && o == 1)) p.minus = !p.minus;
                all.push_back(std::move(p));
            }
        // A uniform factor that is not a constant, or a divisor.
        const auto has_factor = [&](const Product& p) {
            uint64_t bits = 0;
            return !p.divisors.empty() || std::ranges::any_of(p.factors, [&](Value f) { return !to.constant(f, bits); });
        };
        if (i.op != Op::neg && std::ranges::none_of(all, has_factor)) return itself;
    } else if (i.op == Op::mul) {
        for (const Product& x : products_of(operands[0]))
            for (const Product& y : products_of(operands[1])) {
                Product p = x;
                p.minus = x.minus != y.minus;
                p.factors.insert(p.factors.end(), y.factors.begin(), y.factors.end());
                p.divisors.insert(p.divisors.end(), y.divisors.begin(), y.divisors.end());
                p.varying.insert(p.varying.end(), y.varying.begin(), y.varying.end());
                all.push_back(std::move(p));
            }
    } else if (i.op == Op::div && same_for_items(operands[1])) {
        all = products_of(operands[0]);
        for (Product& p : all) p.divisors.push_back(operands[1]);
    }
    return all.empty() || all.size() > most_products ? itself : all;
}

/// The number of varying instructions that only the contributions need.
int ContributionProducts::cost_of(std::span<const ShadowUpdates::Contribution> contributions) const {
    std::set<uint32_t> seen;
    const auto walk = [&](const auto& self, Value v) -> void {
        if (same.count(v.id) && same.at(v.id)) return;
        if (to[v].inst.id == none || of_primal.count(v.id) || !is_scalar_op(to[to[v].inst].op) || !seen.insert(v.id).second)
            return;
        for (const Value o : to.operands(to[to[v].inst])) self(self, o);
    };
    for (const ShadowUpdates::Contribution& g : contributions) walk(walk, g.term);
    return int(seen.size());
}

/// The product of values, later values first. A product of all but one of them is reused where it exists.
Value ContributionProducts::product_of(const std::vector<Value>& values) {
    if (values.size() == 1) return values[0];
    const auto without = [&](size_t n) {
        std::vector<Value> others = values;
        others.erase(others.begin() + long(n));
        return others;
    };
    size_t last = values.size() - 1;
    for (size_t n = 0; n < values.size(); ++n)
        if (products.count(ids_of(without(n)))) last = n;
    const auto [made, anew] = products.try_emplace(ids_of(values));
    if (anew) made->second = b.op(Op::mul, {product_of(without(last)), values[last]});
    return made->second;
}

std::vector<Value> ContributionProducts::emit(std::span<const ShadowUpdates::Contribution> contributions,
                                              const std::vector<Value>& known, Value iteration) {
    index = iteration;
    of_primal.clear(), same.clear();
    for (const Value v : known)
        if (v) of_primal.insert(v.id);
    std::vector<std::vector<Value>> sums;
    totals.clear(), products.clear();
    for (const ShadowUpdates::Contribution& g : contributions) {
        std::vector<WeightedSum> total;
        for (Product& p : products_of(g.term)) {
            if (p.varying.empty() || to.type_of(g.term) != to.type_of(contributions[0].term)) return {};
            std::ranges::sort(p.varying, [](Value x, Value y) { return x.id > y.id; });
            const auto at = std::ranges::find(sums, p.varying);
            total.push_back({std::move(p.factors), std::move(p.divisors), p.minus, size_t(at - sums.begin())});
            if (at == sums.end()) sums.push_back(std::move(p.varying));
        }
        totals.push_back(std::move(total));
    }
    const int cost = cost_of(contributions);
    const size_t before = to.insts.size();
    std::vector<size_t> order;
    for (size_t n = 0; n < sums.size(); ++n) order.push_back(n);
    std::ranges::stable_sort(order, [&](size_t x, size_t y) { return sums[x].size() < sums[y].size(); });
    std::vector<Value> made(sums.size());
    for (const size_t n : order) made[n] = product_of(sums[n]);
    const int saved = cost - int(to.insts.size() - before);
    if (sums.size() > contributions.size() || (sweep_kind == SweepKind::partial_sums && saved < least_saved)) return {};
    return made;
}

}  // namespace pumice::derive
