// Reverse sweep: walks every block backwards and applies the adjoint rule of each instruction that moves derivatives.
//
// The rule of y = f(x) adds dy * df/dx to the adjoint of x (adjoint_accumulators.cpp); df/dx comes from the columns of
// ops.def. An if is reversed by an if with the same condition; a loop by a loop that counts its iterations back, or in its own
// order where it only carries sums. The adjoint of a loop-carried value is a variable. At the start of a block, provide()
// makes the values of the primal that its reverse needs: live, rematerialised, read from a variable, counted by induction, or
// popped from a tape (tape.cpp).
//
//     primal                     reverse
//     %x = load arg1[%i]         %d = load d3[%i];  store d3[%i], 0
//     %y = sin %x                %t = mul %d, (cos %x)
//     store arg3[%i], %y         %s = load d1[%i];  store d1[%i], %s + %t
//
// A store consumes the shadow of its element. The zero is held back until another access may meet the element, and at the latest
// until the next barrier, construct or end of a block. For a[i] = f(a[i]) the addition that follows replaces the zero, and one
// load and one store remain.
//
// Cost: proportional to the active instructions of the primal. Limits: atomics other than add and sub have no rule (tape.cpp).
// Textbook name: the adjoint (reverse) sweep; Griewank and Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapters 3
// and 4.
#include <algorithm>

#include "autodiff/analysis/canonical_form.h"
#include "autodiff/rules/derivative_rules.h"
#include "autodiff/rules/subgroup_rules.h"
#include "autodiff/sweep/adjoint_emitter.h"
#include "core/support/error.h"

namespace pumice::derive {

using namespace ir;

// ---- values of the primal ----

Value AdjointEmitter::provided(Value v) const {
    const Value now = known[v.id];
    if (!now)
        library_bug(
            text("the reverse sweep of kernel \"", from.name, "\" uses value ", v.id, " before it has it\n", print(from)));
    return now;
}

std::vector<Value> AdjointEmitter::provided(std::span<const Value> v) const {
    std::vector<Value> all;
    for (const Value one : v) all.push_back(provided(one));
    return all;
}

Value AdjointEmitter::rematerialise(const Inst& i) {
    b.loc = i.loc;
    if (i.op == Op::load) return b.load(i.memory, i.leaf, provided(indices_of(from, i)));
    return pure_of(i, provided(from.operands(i)));
}

/// Emits a pure instruction of the primal with other operands.
Value AdjointEmitter::pure_of(const Inst& i, std::span<const Value> v) {
    if (i.op == Op::argument) return b.argument(shadows->param(size_t(i.immediate)), i.type);
    return emit_like(b, i, v);
}

/// Makes the values of the primal that the reverse of a block needs, at its start. `iteration` is the number of the iteration,
/// if the block is the body of a loop.
void AdjointEmitter::provide(BlockId block, Value iteration) {
    pop(block);
    // A value that is read from refilled memory comes after the fill, as in the primal.
    const auto& insts = from[block].insts;
    const auto place = [&](InstId id) { return std::ranges::find(insts, id); };
    std::vector<InstId> fills = plan.refills(block);
    std::ranges::sort(fills, [&](InstId x, InstId y) { return place(x) < place(y); });
    size_t filled = 0;
    for (const Value v : plan.values_of(block)) {
        const ValueInfo& info = from[v];
        if (const auto at = place(info.inst); at != insts.end())
            while (filled < fills.size() && place(fills[filled]) < at) refill(fills[filled++]);
        switch (plan.source_of(v)) {
            case ValueSource::live:
                if (info.inst.id != none) known[v.id] = of(v);
                break;
            case ValueSource::rematerialised:
                if (!ahead.count(v.id)) known[v.id] = rematerialise(from[info.inst]);
                break;
            case ValueSource::variable: known[v.id] = b.get(variables[v.id]); break;
            case ValueSource::induction: {
                const Inst& loop = from[where.owner_of(info.block)];
                const Value first =
                    provided(from.operands(loop)[leading_operands(loop.op) + info.index - leading_params(loop.op)]);
                // The definition of the increment may come after the parameter; a constant is emitted again.
                const Value by = plan.increment(v);
                uint64_t bits = 0;
                const Value step = from.constant(by, bits) ? b.constant(info.type, bits) : provided(by);
                known[v.id] = b.op(Op::add, {first, b.op(Op::mul, {b.cast(info.type, iteration), step})});
                break;
            }
            case ValueSource::taped:
            case ValueSource::unneeded: break;
        }
    }
    for (const InstId loop : plan.counts_of(block))
        if (plan.count_source(loop) == ValueSource::variable) counts[loop.id] = b.get(count_variables.at(loop.id));
    while (filled < fills.size()) refill(fills[filled++]);
}

/// Emits a store of the primal again, or a loop of stores.
void AdjointEmitter::refill(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    if (i.op == Op::store)
        return void(b.store(i.memory, i.leaf, provided(indices_of(from, i)), provided(from.operands(i).back())));
    const BlockId body = i.blocks[0];
    const Value index = from[body].params[0];
    const Scalar type = from.type_of(index);
    control(i, provided(from.operands(i)), {&type, 1}, [&](int, std::span<const Value> params) {
        known[index.id] = params[0];
        for (const InstId inner : from[body].insts) {
            const Inst& e = from[inner];
            if (e.op == Op::yield) continue;
            if (is_pure(e.op) || e.op == Op::load)
                known[from.result(e).id] = rematerialise(e);
            else
                refill(inner);
        }
        b.terminate(Op::yield);
    });
}

// ---- control flow ----

void AdjointEmitter::reverse_body() {
    provide(BlockId{0}, {});
    find_sums();
    open_accumulators(BlockId{0});
    reverse_block(BlockId{0});
    flush();
    if (gathers()) gather_all();
    reduce_sums();
}

void AdjointEmitter::reverse_block(BlockId block) {
    const auto& insts = from[block].insts;
    for (auto at = insts.rbegin(); at != insts.rend(); ++at) {
        if (is_barrier(from[*at].op)) {
            flush();
            b.loc = from[*at].loc;
            if (from[*at].op == Op::group && analysis.moves(*at))
                reverse_group(from[*at]);
            else
                b.barrier();
        } else if (analysis.moves(*at)) {
            reverse(*at);
        }
    }
}

void AdjointEmitter::reverse(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    switch (i.op) {
        case Op::argument: return reverse_argument(i);
        case Op::load: return reverse_load(id);
        case Op::store: return reverse_store(i);
        case Op::atomic: return reverse_atomic(i);
        case Op::call: return reverse_call(i);
        case Op::subgroup: return reverse_subgroup(i);
        case Op::if_: return reverse_if(i);
        case Op::for_:
        case Op::while_: return reverse_loop(id);
        default: return reverse_operation(i);
    }
}

namespace {

/// The value x x, where the instruction is x x x; none otherwise.
Value square_in_cube(const Kernel& k, const Inst& i) {
    if (i.op != Op::mul) return {};
    const auto v = k.operands(i);
    for (size_t o = 0; o < 2; ++o) {
        const InstId made = k[v[o]].inst;
        if (made.id != none && k[made].op == Op::mul && k.operands(k[made])[0] == v[1 - o] && k.operands(k[made])[1] == v[1 - o])
            return v[o];
    }
    return {};
}

}  // namespace

/// The term that an instruction without effects gives to the adjoint of operand `o`. `get` gives values of the primal.
AdjointEmitter::AdjointTerm AdjointEmitter::term_of(const Inst& i, size_t o, Value adjoint,
                                                    const std::function<Value(Value)>& get) {
    const auto v = from.operands(i);
    if (is_scalar_op(i.op) && vanishes(i.op, int(o))) return {};
    if (i.op == Op::cast) return {b.cast(from.type_of(v[0]), adjoint)};
    if (i.op == Op::select) {
        const Value condition = get(v[0]), nothing = zero(i.type);
        return {o == 1 ? b.select(condition, adjoint, nothing) : b.select(condition, nothing, adjoint)};
    }
    const bool careful = primal.discardable[from.result(i).id];
    if (i.op == Op::mul && v[0] == v[1]) {
        if (o == 1) return {};
        const Value term = twice(adjoint, get(v[0]));
        return {careful ? unless_zero(adjoint, term) : term};
    }
    if (const Value square = square_in_cube(from, i)) {
        if (v[o] == square) return {};
        const Value term = b.op(Op::mul, {b.op(Op::mul, {adjoint, b.constant_float(i.type, 3)}), get(square)});
        return {careful ? unless_zero(adjoint, term) : term};
    }
    Value operands[3];
    const unsigned what = uses(i.op, int(o));
    for (size_t n = 0; n < v.size(); ++n)
        if (what & (1u << n)) operands[n] = get(v[n]);
    const Value result = what & uses_result ? get(from.result(i)) : Value{};
    const Value partial = emit_partial(b, i.op, int(o), std::span<const Value>(operands, v.size()), result, to.type_of(adjoint));
    if (careful && what) return {unless_zero(adjoint, times(b, to, adjoint, partial))};
    return {adjoint, partial};
}

void AdjointEmitter::reverse_operation(const Inst& i) {
    const auto v = from.operands(i);
    const Value final = plan.final_min_max(i);
    for (int w = 0; w < width; ++w) {
        if (passes_on(i, w)) continue;
        const Value adjoint = take(accumulator(from.result(i), w));
        if (!adjoint) continue;
        for (size_t o = 0; o < v.size(); ++o) {
            if (!analysis.active(v[o])) continue;
            if (final && plan.argmax_value(where.owner_of(from[v[0]].block))) {
                if (o == 1) add(v[o], w, adjoint);
            } else if (final) {
                const Value operands[3] = {{}, provided(v[1]), {}};
                add(v[o], w, times_partial(b, to, i.op, int(o), operands, provided(final), adjoint));
            } else if (const AdjointTerm term = term_of(i, o, adjoint, [&](Value x) { return provided(x); }); term.partial) {
                add_product(accumulator(v[o], w), term.factor, term.partial);
            } else if (term.factor) {
                add(v[o], w, term.factor);
            }
        }
    }
}

/// Lanes whose own result has no use take part as well.
void AdjointEmitter::reverse_subgroup(const Inst& i) {
    const auto v = from.operands(i);
    const Subgroup what = Subgroup(i.immediate);
    std::vector<Value> operands(v.size());
    if (needs_operand(what)) operands[0] = provided(v[0]);
    if (needs_lane(what)) operands[1] = provided(v[1]);
    SubgroupRule rule(b, to, what, operands, needs_lane(what) && plan.one_for_subgroup(v[1]));
    for (int w = 0; w < width; ++w)
        if (const Value adjoint = take(accumulator(from.result(i), w))) add(v[0], w, rule.adjoint(adjoint));
}

/// A sum over the group or a prefix sum. All items of the group take part. The transpose of a sum is a sum; the transpose of a
/// prefix sum is the prefix sum from the last item down, here with the items in mirrored order.
void AdjointEmitter::reverse_group(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    bool synchronised = false;
    for (int w = 0; w < width; ++w) {
        const Value adjoint = take(accumulator(from.result(i), w));
        if (!adjoint) continue;
        synchronised = true;
        if (!is_scan(what)) {
            add(from.operands(i)[0], w, b.group(what, i.memory, adjoint));
            continue;
        }
        const Value last = b.op(Op::sub, {members().count, b.constant_int(Scalar::i32, 1)}),
                    mirror = b.op(Op::sub, {last, members().rank});
        const auto mirrored = [&](Value x) {
            b.store(i.memory, 0, {&members().rank, 1}, x);
            b.barrier();
            const Value theirs = b.load(i.memory, 0, {&mirror, 1});
            b.barrier();
            return theirs;
        };
        add(from.operands(i)[0], w, mirrored(b.group(what, i.memory, mirrored(adjoint))));
    }
    if (!synchronised) b.barrier();
}

/// Calls the reverse rule of the function with the parameters, the results, and an adjoint for every result.
void AdjointEmitter::reverse_call(const Inst& i) {
    const auto v = from.operands(i);
    for (int w = 0; w < width; ++w) {
        std::vector<Value> arguments = provided(v), adjoints;
        bool any = false;
        for (const Value r : results_of(from, i)) {
            const Value adjoint = analysis.active(r) ? take(accumulator(r, w)) : Value{};
            any = any || adjoint;
            arguments.push_back(provided(r));
            adjoints.push_back(adjoint ? adjoint : zero(from.type_of(r)));
        }
        if (!any) continue;
        arguments.insert(arguments.end(), adjoints.begin(), adjoints.end());
        const InstId made = b.call(from.functions[i.immediate].reverse, arguments);
        for (size_t o = 0; o < v.size(); ++o) add(v[o], w, to.result(to[made], int(o)));
    }
}

void AdjointEmitter::reverse_argument(const Inst& i) {
    const size_t p = size_t(i.immediate);
    for (int w = 0; w < width; ++w)
        if (const Value adjoint = take(accumulator(from.result(i), w))) add(sum(shadows->scalar(p, w), 0, {}, i.type), adjoint);
}

void AdjointEmitter::reverse_if(const Inst& i) {
    flush();
    std::vector<Value> adjoints(size_t(i.result_count) * size_t(width));
    for (int r = 0; r < i.result_count; ++r)
        for (int w = 0; w < width; ++w)
            if (analysis.active(from.result(i, r))) adjoints[size_t(r * width + w)] = take(accumulator(from.result(i, r), w));
    const std::vector<Accumulator> before = accumulators;
    std::vector<Accumulator> after_then;
    const Value condition = provided(from.operands(i)[0]);
    BlockId arms[2];
    for (int which = 0; which < 2; ++which) {
        accumulators = before;
        b.enter(arms[which] = b.new_block());
        const BlockId block = i.blocks[which];
        provide(block, {});
        open_accumulators(block);
        const auto yielded = from.operands(last_inst(from, block));
        for (int r = 0; r < i.result_count; ++r)
            for (int w = 0; w < width; ++w)
                if (const Value adjoint = adjoints[size_t(r * width + w)]) add(yielded[size_t(r)], w, adjoint);
        reverse_block(block);
        flush();
        b.terminate(Op::yield);
        b.leave();
        if (which == 0) after_then = std::move(accumulators);
    }
    // After the if: an accumulator is zero where both arms leave it zero. An accumulator that is no variable belongs to one of
    // the arms.
    for (size_t s = 0; s < before.size(); ++s) {
        const bool touched = accumulators[s].touched || after_then[s].touched;
        accumulators[s].zero = accumulators[s].zero && after_then[s].zero;
        if (!before[s].var) accumulators[s] = before[s];
        accumulators[s].touched = touched;
    }
    b.loc = i.loc;
    b.control(Op::if_, {&condition, 1}, {arms[0], arms[1]});
}

/// Reverses one iteration of the loop. The index of a for is known.
void AdjointEmitter::reverse_contents(InstId id, Value iteration) {
    const Inst& i = from[id];
    const BlockId contents = plan.home(i.blocks[0]);
    const auto& params = from[i.blocks[0]].params;
    const uint32_t leading = leading_params(i.op);
    provide(contents, iteration);
    open_accumulators(contents);
    std::vector<std::pair<uint32_t, Value>> incoming;  // of columns
    for (uint32_t c = 0; c < i.result_count; ++c)
        for (int w = 0; w < width && analysis.active(params[leading + c]); ++w)
            incoming.emplace_back(c, b.get(accumulators[accumulator(params[leading + c], w)].var));
    for (size_t n = 0; n < incoming.size(); ++n) {
        const Value param = params[leading + incoming[n].first];
        Accumulator& s = accumulators[accumulator(param, int(n % size_t(width)))];
        b.set(s.var, zero(from.type_of(param)));
        s.zero = true;
    }
    const auto next = from.operands(last_inst(from, contents));
    for (size_t n = 0; n < incoming.size(); ++n) add(next[incoming[n].first], int(n % size_t(width)), incoming[n].second);
    reverse_block(contents);
    if (i.op == Op::while_) reverse_block(i.blocks[0]);
    flush();
}

void AdjointEmitter::reverse_loop(InstId id) {
    const Inst& i = from[id];
    flush();
    const auto& params = from[i.blocks[0]].params;
    const uint32_t leading = leading_params(i.op), bounds = leading_operands(i.op);
    const auto operands = from.operands(i);
    // The adjoint of a result flows into the value that the loop ends with: a parameter, or a value of the code around.
    std::vector<std::pair<size_t, Value>> initial;  // of accumulators
    for (uint32_t c = 0; c < i.result_count; ++c) {
        const Value result = from.result(i, int(c));
        const Value ends = i.op == Op::for_ ? params[leading + c] : from.operands(last_inst(from, i.blocks[0]))[1 + c];
        for (int w = 0; w < width && analysis.active(result); ++w)
            if (const Value adjoint = take(accumulator(result, w)); adjoint && analysis.active(ends))
                initial.emplace_back(accumulator(ends, w), adjoint);
    }
    std::vector<uint32_t> active;
    for (uint32_t c = 0; c < i.result_count; ++c)
        if (analysis.active(params[leading + c])) active.push_back(c);
    for (const uint32_t c : active)
        for (int w = 0; w < width; ++w) open_accumulator(accumulator(params[leading + c], w), from.type_of(params[leading + c]));
    for (const auto& [at, adjoint] : initial) add(at, adjoint);

    const std::vector<Accumulator> before = accumulators;
    for (Accumulator& s : accumulators)
        if (s.var) s.zero = false, s.touched = false;
    const auto one_iteration = [&](Value iteration) {
        if (i.op == Op::for_ && plan.source_of(params[0]) != ValueSource::unneeded) {
            const Value index = b.op(Op::mul, {b.cast(from.type_of(params[0]), iteration), provided(operands[2])});
            known[params[0].id] = b.op(Op::add, {provided(operands[0]), index});
        }
        reverse_contents(id, iteration);
    };
    if (plan.argmax_value(id)) {
        const Value last = b.get(last_attained.at(id.id));
        emit_if(b.op(Op::ge, {last, zero(to.type_of(last))}), [&] { one_iteration(last); });
    } else if (sums_loop(id) && sweep_kind == SweepKind::before_interchanged) {
        add_loop_tapes(from[InstId{primal.loop_partial_sums.loads[0]}].type);
        std::vector<Value> incoming;
        for (const Value result : active_results(id))
            for (int w = 0; w < width; ++w)
                incoming.push_back(b.get(accumulators[accumulator(params[leading + from[result].index], w)].var));
        pass_values(incoming);
    } else if (plan.any_order(id)) {
        if (sums_loop(id)) add_loop_tapes(from[InstId{primal.loop_partial_sums.loads[0]}].type);
        reverse_pairwise_loop(id, [&](Value index) {
            known[params[0].id] = index;
            if (sums_loop(id)) partial_sum_cells.index = index, partial_sum_cells.first = provided(operands[0]), keep_back = true;
            reverse_contents(id, {});
            if (sums_loop(id)) keep_back = false, add_contribution({});
        });
    } else {
        const auto count_of_for = [&] {
            const Value step = provided(operands[2]), limit = provided(operands[1]), start = provided(operands[0]);
            return trip_count(b, to, start, limit, step);
        };
        const Value count = i.op == Op::while_ ? counts.at(id.id) : count_of_for();
        const Scalar counter = to.type_of(count);
        // Lanes in step count back from the largest trip count of the subgroup; each joins in at its own last iteration.
        const bool in_step = plan.in_step(id);
        const Value most = in_step ? b.subgroup(Subgroup::reduce_max, {&count, 1}) : count,
                    minus_one = b.constant_int(counter, -1);
        emit_for(b.op(Op::add, {most, minus_one}), minus_one, minus_one, [&](Value iteration) {
            if (in_step)
                emit_if(b.op(Op::lt, {iteration, count}), [&] { one_iteration(iteration); });
            else
                one_iteration(iteration);
        });
    }
    for (size_t s = 0; s < before.size(); ++s) {
        const bool touched = accumulators[s].touched;
        accumulators[s] = before[s];
        accumulators[s].touched = before[s].touched || touched;
        if (accumulators[s].var) accumulators[s].zero = before[s].zero && !touched;
    }
    for (const uint32_t c : active)
        for (int w = 0; w < width; ++w) {
            Accumulator& s = accumulators[accumulator(params[leading + c], w)];
            s.zero = false;
            if (analysis.active(operands[bounds + c])) add(operands[bounds + c], w, take(accumulator(params[leading + c], w)));
        }
}

// ---- memory ----

void AdjointEmitter::reverse_load(InstId id) {
    const Inst& i = from[id];
    if (!analysis.active(i.memory, i.leaf)) return;
    for (int w = 0; w < width; ++w)
        if (const Value adjoint = take(accumulator(from.result(i), w))) accumulate(id, w, adjoint);
}

void AdjointEmitter::reverse_store(const Inst& i) {
    const std::vector<Value> indices = provided(indices_of(from, i));
    for (int w = 0; w < width; ++w) {
        const MemoryId shadow = shadows->of(i.memory, w);
        const MemoryLocation location{shadow, i.leaf, indices};
        bool overwritten = false;  // a later store to the same element has consumed the shadow
        for (const PendingZero& p : pending) overwritten = overwritten || must_alias({p.memory, p.leaf, p.indices}, location);
        if (overwritten) continue;
        flush(shadow, i.leaf, indices, false);
        const Value adjoint = b.load(shadow, i.leaf, indices);
        if (!gathers() && sweep_kind != SweepKind::pairwise) pending.push_back({shadow, i.leaf, indices, adjoint});
        add(from.operands(i).back(), w, adjoint);
    }
}

void AdjointEmitter::reverse_atomic(const Inst& i) {
    const Value value = from.operands(i).back();
    if (!analysis.active(value)) return;
    const std::vector<Value> indices = provided(indices_of(from, i));
    for (int w = 0; w < width; ++w) {
        const MemoryId shadow = shadows->of(i.memory, w);
        flush(shadow, i.leaf, indices, true);
        const Value adjoint = b.load(shadow, i.leaf, indices);
        add(value, w, Atomic(i.immediate) == Atomic::sub ? b.op(Op::neg, {adjoint}) : adjoint);
    }
}

void AdjointEmitter::accumulate(InstId load, int w, Value term) {
    const Inst& i = from[load];
    if ((gathers() && primal.gather.has(i.memory)) || taken_by_others(load)) return;
    const MemoryId shadow = shadows->of(i.memory, w);
    const Accumulation how = accumulation(from, where, analysis, load, &limits);
    const Accumulated note{i.loc, from[i.memory].name, how};
    if (w == 0) accumulated.push_back(note);
    if (how == Accumulation::group) return add(sum(shadow, i.leaf, indices_of(from, i), i.type), term);
    const std::vector<Value> indices = provided(indices_of(from, i));
    if (keep_back && primal.loop_partial_sums.has(load))
        return partial_sum_cells.contributions.push_back({shadow, i.leaf, indices, term, b.loc});
    // Items of several iterations add to one element.
    if (sweep_kind == SweepKind::interchanged && how == Accumulation::plain) gave_up = true;
    const MemoryLocation location{shadow, i.leaf, indices};
    for (size_t p = 0; p < pending.size(); ++p) {
        if (!must_alias({pending[p].memory, pending[p].leaf, pending[p].indices}, location)) continue;
        // The held-back zero of this element and the addition become one store of the term. If the term is the value that was
        // loaded, nothing has to be stored.
        const bool unchanged = pending[p].loaded == term;
        pending.erase(pending.begin() + long(p));
        if (!unchanged) b.store(shadow, i.leaf, indices, term);
        return;
    }
    flush(shadow, i.leaf, indices, true);
    if (how == Accumulation::atomic)
        b.atomic(shadow, i.leaf, Atomic::add, indices, term);
    else
        b.store(shadow, i.leaf, indices, b.op(Op::add, {b.load(shadow, i.leaf, indices), term}));
}

/// Emits the zeros that were held back.
void AdjointEmitter::flush() {
    for (const PendingZero& p : pending) b.store(p.memory, p.leaf, p.indices, zero(to[p.memory].element.leaves[p.leaf].type));
    pending.clear();
}

/// Emits the zeros of elements that an access to this element may alias.
void AdjointEmitter::flush(MemoryId memory, uint32_t leaf, std::span<const Value> indices, bool also_same) {
    const MemoryLocation location{memory, leaf, indices};
    std::erase_if(pending, [&](const PendingZero& p) {
        const MemoryLocation kept{p.memory, p.leaf, p.indices};
        if (!may_alias(to, kept, location) || (!also_same && must_alias(kept, location))) return false;
        b.store(p.memory, p.leaf, p.indices, zero(to[p.memory].element.leaves[p.leaf].type));
        return true;
    });
}

}  // namespace pumice::derive
