// Values and adjoints of the item at other indices, for the strategies that gather.
//
// `value` emits a value of the primal for the item at other indices, `adjoint` its adjoint, by recursion over its users: the
// reverse sweep of one value, for one other item, pulled instead of pushed.
//
//     y[i] = sin(x[i - 1])      adjoint of the load, for the item e + 1:
//                               %d = load dy[e + 1];  %x = load x[e];  %d * (cos %x)
//
// where_it_runs() puts code under the conditions under which the item there reaches a block.
// Cost: the slice of the adjoint, once for each load. Limits: no loops, barriers or private memory on the way (contributions.h);
// a strategy gives up where its code grows too long.
#include "autodiff/reverse/elsewhere.h"

#include "autodiff/rules/derivative_rules.h"
#include "autodiff/sweep/adjoint_term.h"
#include "autodiff/sweep/factored_sums.h"

namespace pumice::derive {

using namespace ir;

void ElsewhereEmitter::where_it_runs(Elsewhere& there, BlockId block, BlockId around,
                                     const std::function<void(Elsewhere&)>& fill) {
    if (block == around) return fill(there);
    const InstId owner = where.owner_of(block);
    where_it_runs(there, where.block_of(owner), around, [&](Elsewhere& outside) {
        const Value condition = value(outside, from.operands(from[owner])[0]);
        Elsewhere inside = outside;  // values that are computed inside are not visible afterwards
        emit_if(from[owner].blocks[0] == block ? condition : b.op(Op::not_, {condition}), [&] { fill(inside); });
    });
}

/// True if the code has grown too long. It is thrown away then.
bool ElsewhereEmitter::too_long() {
    state.gave_up = state.gave_up || to.insts.size() > code_begins + code_limit;
    return state.gave_up;
}

/// For a square (x - y)^2 of a pair: emits (y - x)^2, which is equal, and which the item has computed for itself if it computes
/// the same with x and y exchanged. None for other instructions.
Value ElsewhereEmitter::square_of(Elsewhere& there, const Inst& i) {
    const auto v = from.operands(i);
    if (sweep_kind != SweepKind::pairwise || i.op != Op::mul || v[0] != v[1]) return {};
    if (from[v[0]].inst.id == none || from[from[v[0]].inst].op != Op::sub) return {};
    const auto difference = from.operands(from[from[v[0]].inst]);
    const Value x = value(there, difference[0]), y = value(there, difference[1]), turned = b.op(Op::sub, {y, x});
    return b.op(Op::mul, {turned, turned});
}

Value ElsewhereEmitter::value(Elsewhere& there, Value v) {
    if (too_long()) return zero(from.type_of(v));
    if (const auto found = there.values.find(v.id); found != there.values.end()) return found->second;
    const InstId id = from[v].inst;
    const Inst& i = from[id];
    Value made;
    if (i.op == Op::global_index) {
        made = there.indices[size_t(i.immediate)];
    } else if (i.op == Op::if_) {
        const Value result = b.var(zero(from.type_of(v)));
        for (const BlockId arm : {i.blocks[0], i.blocks[1]})
            where_it_runs(there, arm, where.block_of(id), [&](Elsewhere& inside) {
                b.set(result, value(inside, from.operands(last_inst(from, arm))[from[v].index]));
            });
        made = b.get(result);
    } else if (const Value square = square_of(there, i)) {
        made = square;
    } else {
        std::vector<Value> operands;
        for (const Value operand : from.operands(i)) operands.push_back(value(there, operand));
        b.loc = i.loc;
        made = i.op == Op::load ? b.load(i.memory, i.leaf, operands) : pure_of(i, operands);
    }
    return there.values[v.id] = made;
}

/// The contribution of one user to the adjoint of a value there. The code stands in the block of the user. None where nothing
/// flows.
Value ElsewhereEmitter::contribution_of(Elsewhere& there, InstId user, size_t o, int w) {
    const Inst& i = from[user];
    const auto operands = from.operands(i);
    if (i.op == Op::store) {
        if (o + 1 != operands.size()) return {};
        std::vector<Value> indices;
        for (const Value index : indices_of(from, i)) indices.push_back(value(there, index));
        return b.load(state.shadows->of(i.memory, w), i.leaf, indices);
    }
    if (is_scalar_op(i.op) && vanishes(i.op, int(o))) return {};
    const Value result = i.op == Op::yield ? from.result(from[where.around(user)], int(o)) : from.result(i);
    const Value given = analysis.active(result) ? adjoint(there, result, w) : Value{};
    if (!given || i.op == Op::yield) return given;
    b.loc = i.loc;
    const AdjointTerm term = term_of(*this, i, o, given, [&](Value x) { return value(there, x); });
    return term.partial ? times(b, to, term.factor, term.partial) : term.factor;
}

Value ElsewhereEmitter::adjoint(Elsewhere& there, Value v, int w) {
    if (too_long()) return {};
    if (const auto found = there.adjoints.find({v.id, w}); found != there.adjoints.end()) return found->second;
    const BlockId home = where.block_of(from[v].inst);
    Value sum;
    for (const auto& [id, o] : primal.gather.users(v)) {
        const InstId user = id;
        const size_t operand = o;
        Value term;
        if (where.block_of(user) == home) {
            term = contribution_of(there, user, operand, w);
        } else {
            const Value inside = b.var(zero(from.type_of(v)));
            where_it_runs(there, where.block_of(user), home, [&](Elsewhere& in_arm) {
                if (const Value given = contribution_of(in_arm, user, operand, w)) b.set(inside, given);
            });
            term = b.get(inside);
        }
        if (term) sum = sum ? plus(b, to, sum, term) : term;
    }
    return there.adjoints[{v.id, w}] = sum;
}

}  // namespace pumice::derive
