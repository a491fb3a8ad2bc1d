// Loop partial sums, code: partial sums into cells, and the interchanged loop.
//
// The contributions of an iteration to elements that all items share are products with uniform factors
// (contribution_products.cpp). The varying factors are summed up over the items, into one row of cells an iteration; a last
// kernel multiplies by the uniform factors and adds to the shadows (legality and an example: loop_partial_sums.cpp in
// autodiff/strategy).
//
//     given        dm[c] += dy * w[c] * e * x        dw[c] += dy * e
//     cells        cell[c][0] += dy * e              cell[c][1] += (dy * e) * x
//     total        dw[c] += cell[c][0]               dm[c] += cell[c][1] * w[c]
//
// Three kernels can be emitted: the adjoint with the loop in its place (SweepKind::partial_sums); or the adjoint without the
// loop, whose items hand the adjoints of the loop's results over in memory (before_interchanged), and the interchanged loop alone
// (interchanged), whose item takes one iteration and a chunk of items.
//
// Cost and limits: those of the products; one float type for all values that are handed over.
// Textbook names: loop interchange, partial reduction.
#include "autodiff/reverse/emit_loop_partial_sums.h"

#include <set>

#include "autodiff/sweep/adjoint_accumulators.h"
#include "autodiff/sweep/adjoint_reductions.h"
#include "autodiff/sweep/kept_values.h"
#include "autodiff/sweep/provide_values.h"

namespace pumice::derive {

using namespace ir;

void LoopPartialSumsEmitter::sum_in_place(Value index, Value first, const std::function<void()>& reverse_iteration) {
    cells.index = index, cells.first = first;
    sum_contributions({}, reverse_iteration);
}

/// Reverses the iteration, and adds the products to cells or, in the interchanged loop, to `registers`.
void LoopPartialSumsEmitter::sum_contributions(std::span<const Value> registers, const std::function<void()>& reverse_iteration) {
    updates.diverted = &contributions;
    reverse_iteration();
    updates.diverted = nullptr;
    const std::vector<Value> sums = products.emit(contributions, kept.known, cells.index);
    state.gave_up = state.gave_up || sums.empty();
    cells.count = int64_t(sums.size());
    for (size_t n = 0; n < sums.size(); ++n) {
        if (!registers.empty())
            b.set(registers[n], b.op(Op::add, {b.get(registers[n]), sums[n]}));
        else
            add_to_cell(n, sums[n]);
    }
}

void LoopPartialSumsEmitter::add_to_cell(size_t n, Value part) {
    const Value row = b.op(Op::sub, {cells.index, cells.first}), length = b.constant_int(Scalar::i32, cells.count);
    const Value at = b.op(Op::add, {b.op(Op::mul, {row, length}), b.constant_int(Scalar::i32, int64_t(n))});
    b.atomic(cells.memory, 0, Atomic::add, {&at, 1}, part);
}

void LoopPartialSumsEmitter::add_loop_tapes(Scalar type) {
    cells.memory = Shadows::add_array(to, type, Access::inout, "loop_cells", "the cells of a loop's sums");
    if (sweep_kind != SweepKind::partial_sums)
        cells.passed_values = Shadows::add_array(to, type, Access::inout, "loop_values", "what items hand on to a loop's sums");
}

// ---- loop interchange ----

/// The values that items hand over, in addition to the adjoints of the results of the loop.
std::vector<Value> LoopPartialSumsEmitter::passed_values() const {
    std::vector<Value> found;
    for (const Value v : primal.loop_partial_sums.outside)
        if (!primal.loop_partial_sums.recomputable(v) && !primal.loop_partial_sums.by_iteration(v)) found.push_back(v);
    return found;
}

void LoopPartialSumsEmitter::pass_values(std::span<const Value> incoming) {
    std::vector<Value> values;
    for (const Value v : passed_values()) values.push_back(kept.provided(v));
    values.insert(values.end(), incoming.begin(), incoming.end());
    for (size_t n = 0; n < values.size(); ++n) {
        const Value at =
            b.op(Op::add, {b.op(Op::mul, {state.members.items, b.constant_int(Scalar::i32, int64_t(n))}), state.members.linear});
        b.store(cells.passed_values, 0, {&at, 1}, values[n]);
    }
}

/// A value of the body of the primal, for another item.
Value LoopPartialSumsEmitter::of_item(Value v, Value item) {
    const Inst& i = from[from[v].inst];
    if (i.op == Op::global_index) return item;
    std::vector<Value> operands;
    for (const Value o : from.operands(i)) operands.push_back(of_item(o, item));
    return i.op == Op::load ? b.load(i.memory, i.leaf, operands) : pure_of(i, operands);
}

void LoopPartialSumsEmitter::sum_in_chunks(const std::function<void()>& reverse_iteration) {
    const InstId id = primal.loop_partial_sums.loop;
    const Inst& loop = from[id];
    const Scalar type = from[InstId{primal.loop_partial_sums.loads[0]}].type;
    const std::vector<Value> values = passed_values();
    reductions.find_sums();
    add_loop_tapes(type);
    to.name += ".sums";
    to.rank = 2;
    to.group = {}, to.range = {};
    cells.first = of_item(from.operands(loop)[0], {});
    cells.index = b.op(Op::add, {cells.first, b.index(Op::global_index, 0)});
    const auto number = [&](int64_t n) { return b.constant_int(Scalar::i32, n); };
    const std::vector<Value> results = active_results(id);
    const int64_t columns = int64_t(values.size() + results.size() * size_t(width));
    for (const Value v : values) state.gave_up = state.gave_up || from.type_of(v) != type;
    for (const Value v : results) state.gave_up = state.gave_up || from.type_of(v) != type;
    if (state.gave_up || columns == 0) return void(state.gave_up = true);
    const Value items = b.op(Op::div, {b.extent(cells.passed_values, 0), number(columns)}), chunks = b.index(Op::global_size, 1);
    const Value length = b.op(Op::div, {b.op(Op::add, {items, b.op(Op::sub, {chunks, number(1)})}), chunks});
    const Value begin = b.op(Op::mul, {b.index(Op::global_index, 1), length}),
                end = b.op(Op::min, {items, b.op(Op::add, {begin, length})});
    // Uniform values are computed once, before the loop over items.
    for (const Value v : primal.loop_partial_sums.outside)
        if (primal.loop_partial_sums.by_iteration(v)) kept.ahead.insert(v.id), kept.known[v.id] = of_item(v, {});
    kept.known[from[loop.blocks[0]].params[0].id] = cells.index;
    for (const Value v : plan.values_of(loop.blocks[0]))
        if (plan.source_of(v) == ValueSource::rematerialised && primal.loop_partial_sums.by_iteration(v))
            kept.ahead.insert(v.id), kept.known[v.id] = provider.rematerialise(from[from[v].inst]);
    std::vector<Value> registers;
    for (size_t n = 0; n < primal.loop_partial_sums.loads.size() * size_t(width); ++n) registers.push_back(b.var(zero(type)));
    emit_for(begin, end, number(1), [&](Value item) {
        const auto column = [&](size_t n) {
            const Value at = b.op(Op::add, {b.op(Op::mul, {items, number(int64_t(n))}), item});
            return b.load(cells.passed_values, 0, {&at, 1});
        };
        size_t next = 0;
        for (const Value v : primal.loop_partial_sums.outside)
            if (!kept.ahead.count(v.id))
                kept.known[v.id] = primal.loop_partial_sums.recomputable(v) ? of_item(v, item) : column(next++);
        for (const Value result : results)
            for (int w = 0; w < width; ++w) {
                const Value param = from[loop.blocks[0]].params[1 + from[result].index];
                accumulators.open(accumulators.of(param, w), from.type_of(param));
                accumulators.add(accumulators.of(param, w), column(next++));
            }
        sum_contributions(registers, reverse_iteration);
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
    state.gave_up = state.gave_up || accumulators.touched_outside(inside);
    for (size_t n = 0; n < size_t(cells.count); ++n) add_to_cell(n, b.get(registers[n]));
}

std::vector<Value> LoopPartialSumsEmitter::active_results(InstId loop) const {
    std::vector<Value> found;
    for (const Value r : results_of(from, from[loop]))
        if (analysis.active(r) && analysis.active(from[from[loop].blocks[0]].params[1 + from[r].index])) found.push_back(r);
    return found;
}

// ---- from cells to shadows ----

/// A uniform value of the iteration `index`, in another kernel.
Value LoopPartialSumsEmitter::rebuild_for(Builder& at, const Kernel& k, Value v, Value index) const {
    const Kernel& made = *cells.swept;
    if (v == cells.index) return index;
    const Inst& i = made[made[v].inst];
    const auto now = [&] { return k.params[size_t(state.argument_of[i.memory.id])].memory; };
    std::vector<Value> operands;
    for (const Value o : made.operands(i)) operands.push_back(rebuild_for(at, k, o, index));
    if (i.op == Op::load) return at.load(now(), i.leaf, operands);
    if (i.op == Op::extent) return at.extent(now(), int(i.immediate));
    return emit_like(at, i, operands);
}

Kernel LoopPartialSumsEmitter::total_of_cells(const Kernel& filled) const {
    Kernel k = following(filled, ".total", 1);
    Builder at(k);
    at.loc = k.loc;
    at.enter(at.new_block());
    const Value row = at.index(Op::global_index, 0), index = at.op(Op::add, {row, rebuild_for(at, k, cells.first, {})});
    const Value start = at.op(Op::mul, {row, at.constant_int(Scalar::i32, cells.count)});
    const auto now = [&](MemoryId m) { return k.params[size_t(state.argument_of[m.id])].memory; };
    for (size_t g = 0; g < contributions.size(); ++g) {
        const ShadowUpdates::Contribution& contribution = contributions[g];
        at.loc = contribution.loc;
        Value sum;
        for (const ContributionProducts::WeightedSum& t : products.totals[g]) {
            const Value place = at.op(Op::add, {start, at.constant_int(Scalar::i32, int64_t(t.sum))});
            Value part = at.load(now(cells.memory), 0, {&place, 1});
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
