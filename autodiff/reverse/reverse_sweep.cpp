// Reverse sweep: walks every block backwards and applies the adjoint rule of each instruction that moves derivatives.
//
// The rule of y = f(x) adds dy * df/dx to the adjoint of x (adjoint_accumulators.cpp, adjoint_term.cpp). An if is reversed by an
// if with the same condition; a loop by a loop that counts its iterations back. A loop that only carries sums, and tapes nothing,
// is reversed in its own order; one whose derivatives flow through a running minimum or maximum alone, by one iteration
// (argmax_reduction.cpp). The adjoint of a loop-carried value is a variable. At the start of a block, provide_values.cpp makes
// the values of the primal that its reverse needs: live, rematerialised, read from a variable, counted by induction, or popped
// from a tape. shadow_updates.cpp reverses accesses of memory.
//
//     primal                     reverse
//     %x = load arg1[%i]         %d = load d3[%i];  store d3[%i], 0
//     %y = sin %x                %t = mul %d, (cos %x)
//     store arg3[%i], %y         %s = load d1[%i];  store d1[%i], %s + %t
//
// Cost: proportional to the active instructions of the primal. Limits: as TapePlan has decided (tape.cpp).
// Textbook name: the adjoint (reverse) sweep; Griewank and Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapters 3
// and 4.
#include "autodiff/reverse/reverse_sweep.h"

#include "autodiff/analysis/canonical_form.h"
#include "autodiff/reverse/emit_loop_partial_sums.h"
#include "autodiff/reverse/emit_pairwise_loops.h"
#include "autodiff/rules/derivative_rules.h"
#include "autodiff/rules/subgroup_rules.h"
#include "autodiff/sweep/adjoint_accumulators.h"
#include "autodiff/sweep/adjoint_reductions.h"
#include "autodiff/sweep/adjoint_term.h"
#include "autodiff/sweep/kept_values.h"
#include "autodiff/sweep/provide_values.h"
#include "autodiff/sweep/shadow_updates.h"

namespace pumice::derive {

using namespace ir;

void ReverseSweep::reverse_body() {
    provider.provide(BlockId{0}, {});
    reductions.find_sums();
    accumulators.open_block(BlockId{0});
    reverse_block(BlockId{0});
    updates.flush();
}

void ReverseSweep::reverse_block(BlockId block) {
    const auto& insts = from[block].insts;
    for (auto at = insts.rbegin(); at != insts.rend(); ++at) {
        if (is_barrier(from[*at].op)) {
            updates.flush();
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

void ReverseSweep::reverse(InstId id) {
    const Inst& i = from[id];
    b.loc = i.loc;
    switch (i.op) {
        case Op::argument: return reverse_argument(i);
        case Op::load: return updates.reverse_load(id);
        case Op::store: return updates.reverse_store(i);
        case Op::atomic: return updates.reverse_atomic(i);
        case Op::call: return reverse_call(i);
        case Op::subgroup: return reverse_subgroup(i);
        case Op::if_: return reverse_if(i);
        case Op::for_:
        case Op::while_: return reverse_loop(id);
        default: return reverse_operation(i);
    }
}

void ReverseSweep::reverse_operation(const Inst& i) {
    const auto v = from.operands(i);
    const Value final = plan.final_min_max(i);
    for (int w = 0; w < width; ++w) {
        if (accumulators.passes_on(i, w)) continue;
        const Value adjoint = accumulators.take(from.result(i), w);
        if (!adjoint) continue;
        for (size_t o = 0; o < v.size(); ++o) {
            if (!analysis.active(v[o])) continue;
            if (final && plan.argmax_value(where.owner_of(from[v[0]].block))) {
                if (o == 1) accumulators.add(v[o], w, adjoint);
            } else if (final) {
                const Value operands[3] = {{}, kept.provided(v[1]), {}};
                accumulators.add(v[o], w, times_partial(b, to, i.op, int(o), operands, kept.provided(final), adjoint));
            } else if (const AdjointTerm term = term_of(*this, i, o, adjoint, [&](Value x) { return kept.provided(x); });
                       term.partial) {
                accumulators.add_product(accumulators.of(v[o], w), term.factor, term.partial);
            } else if (term.factor) {
                accumulators.add(v[o], w, term.factor);
            }
        }
    }
}

/// Lanes whose own result has no use take part as well.
void ReverseSweep::reverse_subgroup(const Inst& i) {
    const auto v = from.operands(i);
    const Subgroup what = Subgroup(i.immediate);
    std::vector<Value> operands(v.size());
    if (needs_operand(what)) operands[0] = kept.provided(v[0]);
    if (needs_lane(what)) operands[1] = kept.provided(v[1]);
    SubgroupRule rule(b, to, what, operands, needs_lane(what) && plan.one_for_subgroup(v[1]));
    for (int w = 0; w < width; ++w)
        if (const Value adjoint = accumulators.take(from.result(i), w)) accumulators.add(v[0], w, rule.adjoint(adjoint));
}

/// A sum over the group or a prefix sum. All items of the group take part. The transpose of a sum is a sum; the transpose of a
/// prefix sum is the prefix sum from the last item down, here with the items in mirrored order.
void ReverseSweep::reverse_group(const Inst& i) {
    const Subgroup what = Subgroup(i.immediate);
    bool synchronised = false;
    for (int w = 0; w < width; ++w) {
        const Value adjoint = accumulators.take(from.result(i), w);
        if (!adjoint) continue;
        synchronised = true;
        if (!is_scan(what)) {
            accumulators.add(from.operands(i)[0], w, b.group(what, i.memory, adjoint));
            continue;
        }
        const Value last = b.op(Op::sub, {state.members.count, b.constant_int(Scalar::i32, 1)}),
                    mirror = b.op(Op::sub, {last, state.members.rank});
        const auto mirrored = [&](Value x) {
            b.store(i.memory, 0, {&state.members.rank, 1}, x);
            b.barrier();
            const Value theirs = b.load(i.memory, 0, {&mirror, 1});
            b.barrier();
            return theirs;
        };
        accumulators.add(from.operands(i)[0], w, mirrored(b.group(what, i.memory, mirrored(adjoint))));
    }
    if (!synchronised) b.barrier();
}

/// Calls the reverse rule of the function with the parameters, the results, and an adjoint for every result.
void ReverseSweep::reverse_call(const Inst& i) {
    const auto v = from.operands(i);
    for (int w = 0; w < width; ++w) {
        std::vector<Value> arguments = kept.provided(v), adjoints;
        bool any = false;
        for (const Value r : results_of(from, i)) {
            const Value adjoint = analysis.active(r) ? accumulators.take(r, w) : Value{};
            any = any || adjoint;
            arguments.push_back(kept.provided(r));
            adjoints.push_back(adjoint ? adjoint : zero(from.type_of(r)));
        }
        if (!any) continue;
        arguments.insert(arguments.end(), adjoints.begin(), adjoints.end());
        const InstId made = b.call(from.functions[i.immediate].reverse, arguments);
        for (size_t o = 0; o < v.size(); ++o) accumulators.add(v[o], w, to.result(to[made], int(o)));
    }
}

void ReverseSweep::reverse_argument(const Inst& i) {
    const size_t p = size_t(i.immediate);
    for (int w = 0; w < width; ++w)
        if (const Value adjoint = accumulators.take(from.result(i), w))
            accumulators.add(reductions.sum(state.shadows->scalar(p, w), 0, {}, i.type), adjoint);
}

void ReverseSweep::reverse_if(const Inst& i) {
    updates.flush();
    std::vector<Value> adjoints(size_t(i.result_count) * size_t(width));
    for (int r = 0; r < i.result_count; ++r)
        for (int w = 0; w < width; ++w)
            if (analysis.active(from.result(i, r))) adjoints[size_t(r * width + w)] = accumulators.take(from.result(i, r), w);
    const auto before = accumulators.state();
    std::vector<Accumulators::Accumulator> after_then;
    const Value condition = kept.provided(from.operands(i)[0]);
    BlockId arms[2];
    for (int which = 0; which < 2; ++which) {
        accumulators.restore(before);
        b.enter(arms[which] = b.new_block());
        const BlockId block = i.blocks[which];
        provider.provide(block, {});
        accumulators.open_block(block);
        const auto yielded = from.operands(last_inst(from, block));
        for (int r = 0; r < i.result_count; ++r)
            for (int w = 0; w < width; ++w)
                if (const Value adjoint = adjoints[size_t(r * width + w)]) accumulators.add(yielded[size_t(r)], w, adjoint);
        reverse_block(block);
        updates.flush();
        b.terminate(Op::yield);
        b.leave();
        if (which == 0) after_then = accumulators.state();
    }
    accumulators.join_arms(before, after_then);
    b.loc = i.loc;
    b.control(Op::if_, {&condition, 1}, {arms[0], arms[1]});
}

void ReverseSweep::reverse_contents(InstId id, Value iteration) {
    const Inst& i = from[id];
    const BlockId contents = plan.home(i.blocks[0]);
    const auto& params = from[i.blocks[0]].params;
    const uint32_t leading = leading_params(i.op);
    provider.provide(contents, iteration);
    accumulators.open_block(contents);
    std::vector<std::pair<uint32_t, Value>> incoming;  // of columns
    for (uint32_t c = 0; c < i.result_count; ++c)
        for (int w = 0; w < width && analysis.active(params[leading + c]); ++w)
            incoming.emplace_back(c, accumulators.variable_of(params[leading + c], w));
    for (size_t n = 0; n < incoming.size(); ++n) accumulators.clear(params[leading + incoming[n].first], int(n % size_t(width)));
    const auto next = from.operands(last_inst(from, contents));
    for (size_t n = 0; n < incoming.size(); ++n)
        accumulators.add(next[incoming[n].first], int(n % size_t(width)), incoming[n].second);
    reverse_block(contents);
    if (i.op == Op::while_) reverse_block(i.blocks[0]);
    updates.flush();
}

void ReverseSweep::reverse_loop(InstId id) {
    const Inst& i = from[id];
    updates.flush();
    const auto& params = from[i.blocks[0]].params;
    const uint32_t leading = leading_params(i.op), bounds = leading_operands(i.op);
    const auto operands = from.operands(i);
    // The adjoint of a result flows into the value that the loop ends with: a parameter, or a value of the code around.
    std::vector<std::pair<size_t, Value>> initial;  // of accumulators
    for (uint32_t c = 0; c < i.result_count; ++c) {
        const Value result = from.result(i, int(c));
        const Value ends = i.op == Op::for_ ? params[leading + c] : from.operands(last_inst(from, i.blocks[0]))[1 + c];
        for (int w = 0; w < width && analysis.active(result); ++w)
            if (const Value adjoint = accumulators.take(result, w); adjoint && analysis.active(ends))
                initial.emplace_back(accumulators.of(ends, w), adjoint);
    }
    std::vector<uint32_t> active;
    for (uint32_t c = 0; c < i.result_count; ++c)
        if (analysis.active(params[leading + c])) active.push_back(c);
    for (const uint32_t c : active)
        for (int w = 0; w < width; ++w)
            accumulators.open(accumulators.of(params[leading + c], w), from.type_of(params[leading + c]));
    for (const auto& [at, adjoint] : initial) accumulators.add(at, adjoint);

    const auto before = accumulators.begin_loop();
    const auto one_iteration = [&](Value iteration) {
        if (i.op == Op::for_ && plan.source_of(params[0]) != ValueSource::unneeded) {
            const Value index = b.op(Op::mul, {b.cast(from.type_of(params[0]), iteration), kept.provided(operands[2])});
            kept.known[params[0].id] = b.op(Op::add, {kept.provided(operands[0]), index});
        }
        reverse_contents(id, iteration);
    };
    if (plan.argmax_value(id)) {
        const Value last = b.get(kept.last_attained.at(id.id));
        emit_if(b.op(Op::ge, {last, zero(to.type_of(last))}), [&] { one_iteration(last); });
    } else if (partial_sums.sums(id) && sweep_kind == SweepKind::before_interchanged) {
        partial_sums.add_loop_tapes(from[InstId{primal.loop_partial_sums.loads[0]}].type);
        std::vector<Value> incoming;
        for (const Value result : partial_sums.active_results(id))
            for (int w = 0; w < width; ++w) incoming.push_back(accumulators.variable_of(params[leading + from[result].index], w));
        partial_sums.pass_values(incoming);
    } else if (plan.any_order(id)) {
        if (partial_sums.sums(id)) partial_sums.add_loop_tapes(from[InstId{primal.loop_partial_sums.loads[0]}].type);
        pairwise.reverse_loop(id, [&](Value index) {
            kept.known[params[0].id] = index;
            if (partial_sums.sums(id))
                partial_sums.sum_in_place(index, kept.provided(operands[0]), [&] { reverse_contents(id, {}); });
            else
                reverse_contents(id, {});
        });
    } else {
        const auto count_of_for = [&] {
            const Value step = kept.provided(operands[2]), limit = kept.provided(operands[1]), start = kept.provided(operands[0]);
            return trip_count(b, to, start, limit, step);
        };
        const Value count = i.op == Op::while_ ? kept.counts.at(id.id) : count_of_for();
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
    accumulators.end_loop(before);
    for (const uint32_t c : active)
        for (int w = 0; w < width; ++w) {
            accumulators.assume_nonzero(accumulators.of(params[leading + c], w));
            if (analysis.active(operands[bounds + c]))
                accumulators.add(operands[bounds + c], w, accumulators.take(params[leading + c], w));
        }
}

}  // namespace pumice::derive
