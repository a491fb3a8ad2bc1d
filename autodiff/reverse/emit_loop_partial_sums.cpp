// Loop partial sums, code: contributions as sums of products, partial sums into cells, and the interchanged loop.
//
// A contribution to an element that all items share is expanded into products (distributivity). Each product is split into
// factors that are uniform over the items and a varying factor. The distinct varying factors of an iteration are summed up over
// the items, into one row of cells an iteration; a last kernel multiplies by the uniform factors and adds to the shadows
// (legality and an example: loop_partial_sums.cpp in autodiff/strategy).
//
//     given        dm[c] += dy * w[c] * e * x        dw[c] += dy * e
//     products     w[c] * (dy e x)                   1 * (dy e)
//     cells        cell[c][0] += dy * e              cell[c][1] += (dy * e) * x        the second reuses the first
//     total        dw[c] += cell[c][0]               dm[c] += cell[c][1] * w[c]
//
// Three kernels can be emitted: the adjoint with the loop in its place (SweepKind::partial_sums); or the adjoint without the
// loop, whose items hand the adjoints of the loop's results over in memory (before_interchanged), and the interchanged loop alone
// (interchanged), whose item takes one iteration and a chunk of items.
//
// Cost: at least 4 instructions an iteration must be saved in the first form. Limits: at most 8 products a term, no more cells
// than contributions, one float type for all contributions and all values that are handed over.
// Textbook names: distributivity, common factors, loop interchange, partial reduction.
#include <algorithm>
#include <set>

#include "autodiff/sweep/adjoint_emitter.h"

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
bool AdjointEmitter::same_for_items(Value v) {
    if (v == partial_sum_cells.index) return true;
    if (const auto known = partial_sum_cells.same.find(v.id); known != partial_sum_cells.same.end()) return known->second;
    bool same = false;
    if (to[v].inst.id != none) {
        const Inst& i = to[to[v].inst];
        const auto operands = to.operands(i);
        const bool read_only = i.memory.id < from.memories.size() && primal.loop_partial_sums.loads_unwritten(i);
        same =
            (is_launch_constant(i.op) || read_only) && std::ranges::all_of(operands, [&](Value o) { return same_for_items(o); });
    }
    return partial_sum_cells.same[v.id] = same;
}

/// True if there is a uniform factor that is not a constant, or a divisor.
bool AdjointEmitter::has_factor(const Product& p) const {
    uint64_t bits = 0;
    return !p.divisors.empty() || std::ranges::any_of(p.factors, [&](Value f) { return !to.constant(f, bits); });
}

/// Expands the value into a sum of products. Values of the primal are not expanded, nor are sums without a uniform factor:
/// expanding differences would cost digits.
std::vector<AdjointEmitter::Product> AdjointEmitter::products_of(Value v) {
    if (same_for_items(v)) return {{{v}, {}, {}, false}};
    const std::vector<Product> itself{{{}, {}, {v}, false}};
    if (to[v].inst.id == none || partial_sum_cells.of_primal.count(v.id)) return itself;
    const Inst& i = to[to[v].inst];
    const auto operands = to.operands(i);
    std::vector<Product> all;
    if (i.op == Op::neg || i.op == Op::add || i.op == Op::sub) {
        for (size_t o = 0; o < operands.size(); ++o)
            for (Product& p : products_of(operands[o])) {
                if (i.op == Op::neg || (i.op == Op::sub && o == 1)) p.minus = !p.minus;
                all.push_back(std::move(p));
            }
        if (i.op != Op::neg && std::ranges::none_of(all, [&](const Product& p) { return has_factor(p); })) return itself;
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
int AdjointEmitter::cost_of_contributions() const {
    std::set<uint32_t> seen;
    const auto walk = [&](const auto& self, Value v) -> void {
        if (partial_sum_cells.same.count(v.id) && partial_sum_cells.same.at(v.id)) return;
        if (to[v].inst.id == none || partial_sum_cells.of_primal.count(v.id) || !is_scalar_op(to[to[v].inst].op) ||
            !seen.insert(v.id).second)
            return;
        for (const Value o : to.operands(to[to[v].inst])) self(self, o);
    };
    for (const Contribution& g : partial_sum_cells.contributions) walk(walk, g.term);
    return int(seen.size());
}

/// The product of values, later values first. A product of all but one of them is reused where it exists.
Value AdjointEmitter::product_of(const std::vector<Value>& values) {
    if (values.size() == 1) return values[0];
    const auto without = [&](size_t n) {
        std::vector<Value> others = values;
        others.erase(others.begin() + long(n));
        return others;
    };
    size_t last = values.size() - 1;
    for (size_t n = 0; n < values.size(); ++n)
        if (partial_sum_cells.made.count(ids_of(without(n)))) last = n;
    const auto [made, anew] = partial_sum_cells.made.try_emplace(ids_of(values));
    if (anew) made->second = b.op(Op::mul, {product_of(without(last)), values[last]});
    return made->second;
}

/// Emits the varying products of the iteration. Gives none where the strategy does not pay.
std::vector<Value> AdjointEmitter::sums_of_contributions() {
    PartialSumCells& cells = partial_sum_cells;
    std::vector<std::vector<Value>> sums;
    cells.totals.clear(), cells.made.clear();
    for (const Contribution& g : cells.contributions) {
        std::vector<WeightedSum> total;
        for (Product& p : products_of(g.term)) {
            if (p.varying.empty() || to.type_of(g.term) != to.type_of(cells.contributions[0].term)) return {};
            std::ranges::sort(p.varying, [](Value x, Value y) { return x.id > y.id; });
            const auto at = std::ranges::find(sums, p.varying);
            total.push_back({std::move(p.factors), std::move(p.divisors), p.minus, size_t(at - sums.begin())});
            if (at == sums.end()) sums.push_back(std::move(p.varying));
        }
        cells.totals.push_back(std::move(total));
    }
    const int cost = cost_of_contributions();
    const size_t before = to.insts.size();
    std::vector<size_t> order;
    for (size_t n = 0; n < sums.size(); ++n) order.push_back(n);
    std::ranges::stable_sort(order, [&](size_t x, size_t y) { return sums[x].size() < sums[y].size(); });
    std::vector<Value> made(sums.size());
    for (const size_t n : order) made[n] = product_of(sums[n]);
    const int saved = cost - int(to.insts.size() - before);
    if (sums.size() > cells.contributions.size() || (sweep_kind == SweepKind::partial_sums && saved < least_saved)) return {};
    return made;
}

/// At the end of the iteration: adds the products to cells or, in the interchanged loop, to `registers`.
void AdjointEmitter::add_contribution(std::span<const Value> registers) {
    PartialSumCells& cells = partial_sum_cells;
    cells.of_primal.clear(), cells.same.clear();
    for (const Value v : known)
        if (v) cells.of_primal.insert(v.id);
    const std::vector<Value> sums = sums_of_contributions();
    gave_up = gave_up || sums.empty();
    cells.count = int64_t(sums.size());
    for (size_t n = 0; n < sums.size(); ++n) {
        if (!registers.empty())
            b.set(registers[n], b.op(Op::add, {b.get(registers[n]), sums[n]}));
        else
            add_to_cell(n, sums[n]);
    }
}

void AdjointEmitter::add_to_cell(size_t n, Value part) {
    const Value row = b.op(Op::sub, {partial_sum_cells.index, partial_sum_cells.first}),
                length = b.constant_int(Scalar::i32, partial_sum_cells.count);
    const Value at = b.op(Op::add, {b.op(Op::mul, {row, length}), b.constant_int(Scalar::i32, int64_t(n))});
    b.atomic(partial_sum_cells.memory, 0, Atomic::add, {&at, 1}, part);
}

/// The tapes for the cells and, with loop interchange, for the values that items hand over.
void AdjointEmitter::add_loop_tapes(Scalar type) {
    partial_sum_cells.memory = Shadows::add_array(to, type, Access::inout, "loop_cells", "the cells of a loop's sums");
    if (sweep_kind != SweepKind::partial_sums)
        partial_sum_cells.passed_values =
            Shadows::add_array(to, type, Access::inout, "loop_values", "what items hand on to a loop's sums");
}

// ---- loop interchange ----

/// The values that items hand over, in addition to the adjoints of the results of the loop.
std::vector<Value> AdjointEmitter::passed_values() const {
    std::vector<Value> found;
    for (const Value v : primal.loop_partial_sums.outside)
        if (!primal.loop_partial_sums.recomputable(v) && !primal.loop_partial_sums.by_iteration(v)) found.push_back(v);
    return found;
}

/// Replaces the reversed loop: stores the values that are handed over. `incoming`: the adjoints of all results of the loop.
void AdjointEmitter::pass_values(std::span<const Value> incoming) {
    std::vector<Value> values;
    for (const Value v : passed_values()) values.push_back(provided(v));
    values.insert(values.end(), incoming.begin(), incoming.end());
    for (size_t n = 0; n < values.size(); ++n) {
        const Value at =
            b.op(Op::add, {b.op(Op::mul, {members().items, b.constant_int(Scalar::i32, int64_t(n))}), members().linear});
        b.store(partial_sum_cells.passed_values, 0, {&at, 1}, values[n]);
    }
}

/// A value of the body of the primal, for another item.
Value AdjointEmitter::of_item(Value v, Value item) {
    const Inst& i = from[from[v].inst];
    if (i.op == Op::global_index) return item;
    std::vector<Value> operands;
    for (const Value o : from.operands(i)) operands.push_back(of_item(o, item));
    return i.op == Op::load ? b.load(i.memory, i.leaf, operands) : pure_of(i, operands);
}

/// The body of the interchanged loop: each item reverses one iteration for a chunk of the items of the primal.
void AdjointEmitter::sum_in_chunks() {
    const InstId id = primal.loop_partial_sums.loop;
    const Inst& loop = from[id];
    const Scalar type = from[InstId{primal.loop_partial_sums.loads[0]}].type;
    const std::vector<Value> values = passed_values();
    find_sums();
    add_loop_tapes(type);
    to.name += ".sums";
    to.rank = 2;
    to.group = {}, to.range = {};
    partial_sum_cells.first = of_item(from.operands(loop)[0], {});
    partial_sum_cells.index = b.op(Op::add, {partial_sum_cells.first, b.index(Op::global_index, 0)});
    const auto number = [&](int64_t n) { return b.constant_int(Scalar::i32, n); };
    const std::vector<Value> results = active_results(id);
    const int64_t columns = int64_t(values.size() + results.size() * size_t(width));
    for (const Value v : values) gave_up = gave_up || from.type_of(v) != type;
    for (const Value v : results) gave_up = gave_up || from.type_of(v) != type;
    if (gave_up || columns == 0) return void(gave_up = true);
    const Value items = b.op(Op::div, {b.extent(partial_sum_cells.passed_values, 0), number(columns)}),
                chunks = b.index(Op::global_size, 1);
    const Value length = b.op(Op::div, {b.op(Op::add, {items, b.op(Op::sub, {chunks, number(1)})}), chunks});
    const Value begin = b.op(Op::mul, {b.index(Op::global_index, 1), length}),
                end = b.op(Op::min, {items, b.op(Op::add, {begin, length})});
    // Uniform values are computed once, before the loop over items.
    for (const Value v : primal.loop_partial_sums.outside)
        if (primal.loop_partial_sums.by_iteration(v)) ahead.insert(v.id), known[v.id] = of_item(v, {});
    known[from[loop.blocks[0]].params[0].id] = partial_sum_cells.index;
    for (const Value v : plan.values_of(loop.blocks[0]))
        if (plan.source_of(v) == ValueSource::rematerialised && primal.loop_partial_sums.by_iteration(v))
            ahead.insert(v.id), known[v.id] = rematerialise(from[from[v].inst]);
    std::vector<Value> registers;
    for (size_t n = 0; n < primal.loop_partial_sums.loads.size() * size_t(width); ++n) registers.push_back(b.var(zero(type)));
    emit_for(begin, end, number(1), [&](Value item) {
        const auto column = [&](size_t n) {
            const Value at = b.op(Op::add, {b.op(Op::mul, {items, number(int64_t(n))}), item});
            return b.load(partial_sum_cells.passed_values, 0, {&at, 1});
        };
        size_t next = 0;
        for (const Value v : primal.loop_partial_sums.outside)
            if (!ahead.count(v.id)) known[v.id] = primal.loop_partial_sums.recomputable(v) ? of_item(v, item) : column(next++);
        for (const Value result : results)
            for (int w = 0; w < width; ++w) {
                const Value param = from[loop.blocks[0]].params[1 + from[result].index];
                open_accumulator(accumulator(param, w), from.type_of(param));
                add(accumulator(param, w), column(next++));
            }
        keep_back = true;
        reverse_contents(id, {});
        keep_back = false;
        add_contribution(registers);
    });
    // No other adjoint may flow out of the loop.
    std::set<uint32_t> inside;
    const auto add_params = [&](const Inst& i) {
        for (const BlockId block : i.owned())
            for (const Value p : from[block].params) inside.insert(p.id);
    };
    add_params(loop);
    each_inside(from, loop, [&](InstId i) {
        for (const Value r : results_of(from, from[i])) inside.insert(r.id);
        add_params(from[i]);
    });
    for (size_t s = 0; s < accumulators.size(); ++s)
        gave_up = gave_up || (accumulators[s].touched && !inside.count(uint32_t(s / size_t(width))));
    for (size_t n = 0; n < size_t(partial_sum_cells.count); ++n) add_to_cell(n, b.get(registers[n]));
}

std::vector<Value> AdjointEmitter::active_results(InstId loop) const {
    std::vector<Value> found;
    for (const Value r : results_of(from, from[loop]))
        if (analysis.active(r) && analysis.active(from[from[loop].blocks[0]].params[1 + from[r].index])) found.push_back(r);
    return found;
}

// ---- from cells to shadows ----

/// A uniform value of the iteration `index`, in another kernel.
Value AdjointEmitter::rebuild_for(Builder& at, const Kernel& k, Value v, Value index) const {
    const Kernel& made = *partial_sum_cells.swept;
    if (v == partial_sum_cells.index) return index;
    const Inst& i = made[made[v].inst];
    const auto now = [&] { return k.params[size_t(argument_of[i.memory.id])].memory; };
    std::vector<Value> operands;
    for (const Value o : made.operands(i)) operands.push_back(rebuild_for(at, k, o, index));
    if (i.op == Op::load) return at.load(now(), i.leaf, operands);
    if (i.op == Op::extent) return at.extent(now(), int(i.immediate));
    return emit_like(at, i, operands);
}

/// The kernel that combines the cells: each item takes the cells of one iteration and adds the results to the shadows; with the
/// parameters of the kernel that filled them.
Kernel AdjointEmitter::total_of_cells(const Kernel& filled) const {
    Kernel k = following(filled, ".total", 1);
    Builder at(k);
    at.loc = k.loc;
    at.enter(at.new_block());
    const Value row = at.index(Op::global_index, 0),
                index = at.op(Op::add, {row, rebuild_for(at, k, partial_sum_cells.first, {})});
    const Value start = at.op(Op::mul, {row, at.constant_int(Scalar::i32, partial_sum_cells.count)});
    const auto now = [&](MemoryId m) { return k.params[size_t(argument_of[m.id])].memory; };
    for (size_t g = 0; g < partial_sum_cells.contributions.size(); ++g) {
        const Contribution& contribution = partial_sum_cells.contributions[g];
        at.loc = contribution.loc;
        Value sum;
        for (const WeightedSum& t : partial_sum_cells.totals[g]) {
            const Value place = at.op(Op::add, {start, at.constant_int(Scalar::i32, int64_t(t.sum))});
            Value part = at.load(now(partial_sum_cells.memory), 0, {&place, 1});
            for (const Value f : t.factors) part = at.op(Op::mul, {part, rebuild_for(at, k, f, index)});
            for (const Value d : t.divisors) part = at.op(Op::div, {part, rebuild_for(at, k, d, index)});
            sum = sum ? at.op(t.minus ? Op::sub : Op::add, {sum, part}) : t.minus ? at.op(Op::neg, {part}) : part;
        }
        std::vector<Value> place;
        for (const Value v : contribution.indices) place.push_back(rebuild_for(at, k, v, index));
        at.atomic(now(contribution.memory), contribution.leaf, Atomic::add, place, sum);
    }
    at.terminate(Op::return_);
    at.leave();
    return k;
}

}  // namespace pumice::derive
