// Canonical form for the reverse sweep: control flow with one entry and one exit, by predication of break, continue and return.
//
// The reverse of an if or a loop is easy where the construct ends in one place. So constructs that are left early are rewritten:
// their results become variables, `live` says that the rest of the iteration runs, `run` that further iterations run. The
// variables are promoted to values again afterwards. A for with a break becomes a while with a counter; a for that only
// continues stays a for. A while keeps its test block where that is pure; else the test moves into the body.
//
//     %r = for %k = %a to %b step %s carry (%c = %x) {       while run && at < trip_count {
//       if %big { break %c } else { yield }                    live = true;  n = at;  at = n + 1
//       %d = sin %c                                    =>      if big { state = state; run = false; live = false }
//       yield %d                                               if live { state = sin(state) }
//     }                                                      }
//
// Cost: a predicate and a branch for each early exit. A for that became a while needs its number of iterations at run time,
// which may go to the tape.
// Limits: none in the IR; whole functions are inlined before (except those with a rule for reverse mode).
// See Allen, Kennedy, Porterfield and Warren, "Conversion of Control Dependence to Data Dependence", POPL 1983.
#include "autodiff/analysis/canonical_form.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "autodiff/analysis/activity.h"
#include "core/analysis/loop_info.h"
#include "core/ir/rewriter.h"
#include "core/passes/dead.h"
#include "core/passes/forward_stores.h"
#include "core/passes/promote.h"
#include "core/passes/simplify.h"

namespace pumice::derive {
namespace {

using namespace ir;

/// Rewrites constructs that are left early. Their carried and yielded values become variables. Two predicates replace the
/// jumps: `live` (the rest of this iteration runs) and `run` (further iterations run).
class Predication : public Rewriter {
public:
    explicit Predication(const Kernel& kernel) : Rewriter(kernel), where(kernel), leaves(kernel.insts.size()) {
        for (const InstId i : from.body().insts) find(i);
    }

private:
    /// A loop that is being rewritten, or the body of the kernel.
    struct ExitTarget {
        std::vector<Value> state;  ///< variables of the carried values
        Value live, run;           ///< run: none for a for without breaks
    };

    /// True if control may leave from inside the instruction to a place after its end.
    bool find(InstId id) {
        const Inst& i = from[id];
        bool any = is_jump(i.op);
        for (const BlockId block : i.owned())
            for (const InstId inner : from[block].insts) any = find(inner) || any;
        return leaves[id.id] = is_loop(i.op) ? returns_inside(i) : any;
    }

    bool returns_inside(const Inst& i) const {
        return any_inside(from, i, [&](InstId inner) { return from[inner].op == Op::return_; });
    }

    void body() override {
        const auto& block = from.body().insts;
        const bool early = std::ranges::any_of(block, [&](InstId i) { return is_control(from[i].op) && leaves[i.id]; });
        if (early) scopes.push_back({{}, b.var(b.constant_bool(true)), {}});
        sequence(block, 0);
        b.loc = from[block.back()].loc;
        b.terminate(Op::return_);
    }

    /// Emits the instructions of a block from the nth on. Instructions after an early exit are predicated by `live` of the scope.
    void sequence(const std::vector<InstId>& block, size_t n) {
        for (; n < block.size(); ++n) {
            const InstId id = block[n];
            if (is_terminator(from[id].op)) return end(from[id]);
            inst(id);
            if (!is_control(from[id].op) || !leaves[id.id]) continue;
            b.loc = from[id].loc;
            const auto rest = [&] {
                results(id);
                sequence(block, n + 1);
            };
            emit_if(b, to, b.get(scopes.back().live), rest, [] {});
            return;
        }
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (in_function) return copy(id);
        if (i.op == Op::uniform && is_float(i.type)) return map(from.result(i), of(from.operands(i)[0]));
        if (i.op == Op::if_ && leaves[id.id]) return if_(id);
        if (i.op == Op::for_ && (leaves[id.id] || !where.jumps_to(id).empty())) return for_(id);
        if (i.op == Op::while_ && (leaves[id.id] || !where.jumps_to(id).empty() || !simple(i))) return while_(id);
        copy(id);
    }

    /// A construct that is copied as it is may contain loops with early exits.
    void block(const Inst& construct, int which) override {
        if (in_function) return insts(construct.blocks[which]);
        plain.push_back(true);
        sequence(from[construct.blocks[which]].insts, 0);
        plain.pop_back();
    }

    bool simple(const Inst& loop) const {
        const Block& test = from[loop.blocks[0]];
        for (const InstId id : test.insts)
            if (!is_pure(from[id].op) && from[id].op != Op::load && from[id].op != Op::test) return false;
        const auto handed = from.operands(last_inst(from, loop.blocks[0])).subspan(1);
        return std::ranges::all_of(handed, [&](Value v) {
            const ValueInfo& info = from[v];
            uint64_t bits = 0;
            return info.inst.id == none || where.block_of(info.inst) != loop.blocks[0] || from.constant(v, bits);
        });
    }

    // ---- ends of blocks ----

    void set_all(const std::vector<Value>& variables, std::span<const Value> values) {
        const std::vector<Value> now = of(values);
        for (size_t c = 0; c < now.size(); ++c) b.set(variables[c], now[c]);
    }

    void end(const Inst& i) {
        b.loc = i.loc;
        const auto v = from.operands(i);
        const Value no = b.constant_bool(false);
        switch (i.op) {
            case Op::yield:
            case Op::test:
                if (plain.back()) return b.terminate(i.op, of(v));
                return set_all(*yielded.back(), v);
            case Op::break_:
                set_all(scopes.back().state, v);
                b.set(scopes.back().run, no);
                return b.set(scopes.back().live, no);
            case Op::continue_: set_all(scopes.back().state, v); return b.set(scopes.back().live, no);
            default:  // return
                for (const ExitTarget& scope : scopes) {
                    b.set(scope.live, no);
                    if (scope.run) b.set(scope.run, no);
                }
        }
    }

    /// Reads the results of an if or loop that was rewritten.
    void results(InstId id) {
        const Inst& i = from[id];
        for (int r = 0; r < i.result_count; ++r) map(from.result(i, r), b.get(variables[id.id][size_t(r)]));
    }

    void if_(InstId id) {
        const Inst& i = from[id];
        b.loc = i.loc;
        std::vector<Value> given;
        for (int r = 0; r < i.result_count; ++r) given.push_back(b.var(zero(from.type_of(from.result(i, r)))));
        plain.push_back(false);
        yielded.push_back(&given);
        const Value condition = of(from.operands(i)[0]);
        const auto arm = [&](int which) { return [&, which] { sequence(from[i.blocks[which]].insts, 0); }; };
        emit_if(b, to, condition, arm(0), arm(1));
        plain.pop_back();
        yielded.pop_back();
        variables[id.id] = given;
    }

    // ---- loops ----

    ExitTarget open(const Inst& i, bool stops) {
        ExitTarget scope;
        for (const Value initial : from.operands(i).subspan(leading_operands(i.op))) scope.state.push_back(b.var(of(initial)));
        scope.live = b.var(b.constant_bool(true));
        if (stops) scope.run = b.var(b.constant_bool(true));
        return scope;
    }

    /// Emits the contents of an iteration. Yields inside it set the variables of the scope.
    void iteration(ExitTarget& scope, BlockId contents) {
        b.set(scope.live, b.constant_bool(true));
        plain.push_back(false);
        yielded.push_back(&scope.state);
        sequence(from[contents].insts, 0);
        plain.pop_back();
        yielded.pop_back();
    }
    void read_params(const Inst& i, const ExitTarget& scope) {
        const auto& params = from[i.blocks[0]].params;
        for (size_t c = 0; c < scope.state.size(); ++c) map(params[leading_params(i.op) + c], b.get(scope.state[c]));
    }

    void close(InstId id, std::vector<Value> state) {
        variables[id.id] = std::move(state);
        if (!leaves[id.id]) results(id);
    }

    void for_(InstId id) {
        const Inst& i = from[id];
        b.loc = i.loc;
        const auto& jumps = where.jumps_to(id);
        const bool stops = leaves[id.id] || std::ranges::any_of(jumps, [&](InstId j) { return from[j].op == Op::break_; });
        const std::vector<Value> bounds = of(from.operands(i).first(3));
        scopes.push_back(open(i, stops));
        const Value index = from[i.blocks[0]].params[0];
        if (!stops) {
            emit_for(b, to, bounds[0], bounds[1], bounds[2], [&](Value now) {
                map(index, now);
                read_params(i, scopes.back());
                iteration(scopes.back(), i.blocks[0]);
            });
        } else {
            const Value count = trip_count(b, to, bounds[0], bounds[1], bounds[2]);
            const Scalar counter = to.type_of(count);
            const Value at = b.var(zero(counter));
            looping([&] { return b.op(Op::and_, {b.get(scopes.back().run), b.op(Op::lt, {b.get(at), count})}); },
                    [&] {
                        const Value n = b.get(at);
                        b.set(at, b.op(Op::add, {n, b.constant_int(counter, 1)}));
                        map(index, b.op(Op::add, {bounds[0], b.op(Op::mul, {b.cast(from.type_of(index), n), bounds[2]})}));
                        read_params(i, scopes.back());
                        iteration(scopes.back(), i.blocks[0]);
                    });
        }
        const std::vector<Value> state = scopes.back().state;
        scopes.pop_back();
        close(id, state);
    }

    void while_(InstId id) {
        const Inst& i = from[id];
        b.loc = i.loc;
        scopes.push_back(open(i, true));
        looping([&] { return b.get(scopes.back().run); },
                [&] {
                    read_params(i, scopes.back());
                    const Inst& test = last_inst(from, i.blocks[0]);
                    for (const InstId t : from[i.blocks[0]].insts)
                        if (&from[t] != &test) inst(t);
                    const std::vector<Value> v = of(from.operands(test));
                    b.loc = test.loc;
                    emit_if(
                        b, to, v[0], [&] { iteration(scopes.back(), i.blocks[1]); },
                        [&] {
                            for (size_t c = 1; c < v.size(); ++c) b.set(scopes.back().state[c - 1], v[c]);
                            b.set(scopes.back().run, b.constant_bool(false));
                        });
                });
        const std::vector<Value> state = scopes.back().state;
        scopes.pop_back();
        close(id, state);
    }

    template <class Condition, class Body> void looping(Condition condition, Body fill) {
        const Loc loc = b.loc;
        const BlockId test = b.new_block(), body = b.new_block();
        b.enter(test);
        const Value goes = condition();
        b.terminate(Op::test, {&goes, 1});
        b.enter(body);
        fill();
        b.terminate(Op::yield);
        b.leave();
        b.leave();
        b.loc = loc;
        b.control(Op::while_, {}, {test, body});
    }

    const Structure where;
    std::vector<bool> leaves;
    std::deque<ExitTarget> scopes;             ///< of the body, if any, then of the loops that are being rewritten
    std::vector<bool> plain{true};             ///< by construct around the current instruction: true if it is copied as it is
    std::vector<std::vector<Value>*> yielded;  ///< of the others: the variables that their yields set
    std::unordered_map<uint32_t, std::vector<Value>> variables;  ///< of rewritten constructs: their results
};

}  // namespace

Value trip_count(Builder& b, const Kernel& k, Value from, Value to, Value step) {
    // The distance is exact in unsigned arithmetic, for every index type.
    const Scalar type = k.type_of(from);
    const auto widen = [&](Value v) {
        if (size_of(type) >= 4) return v;
        return b.cast(Scalar::i32, v);
    };
    from = widen(from), to = widen(to), step = widen(step);
    const Scalar wide = k.type_of(from);
    const Scalar plain = size_of(wide) == 8 ? Scalar::u64 : Scalar::u32, counter = size_of(wide) == 8 ? Scalar::i64 : Scalar::i32;
    const Value none_left = b.constant(plain, 0), one = b.constant_int(plain, 1);
    const auto count = [&](Value low, Value high, Value stride) {
        const Value distance = b.op(Op::sub, {b.cast(plain, high), b.cast(plain, low)});
        if (stride == one) return b.select(b.op(Op::lt, {low, high}), distance, none_left);
        const Value steps = b.op(Op::add, {b.op(Op::div, {b.op(Op::sub, {distance, one}), stride}), one});
        return b.select(b.op(Op::lt, {low, high}), steps, none_left);
    };
    const Value zero = b.constant(wide, 0);
    const Value up = count(from, to, b.cast(plain, step));
    const Value down = is_unsigned_int(wide) ? none_left : count(to, from, b.cast(plain, b.op(Op::neg, {step})));
    const Value downward = b.select(b.op(Op::lt, {step, zero}), down, none_left), upward = b.op(Op::gt, {step, zero});
    return b.cast(counter, b.select(upward, up, downward));
}

Kernel forwarded(const Kernel& kernel) { return dead(ir::forward_stores(dead(simplify(promote(kernel))))); }

Kernel canonical(const Kernel& kernel) {
    // Store-to-load forwarding runs first, so that each value is loaded and taped once. Predication adds variables, so
    // promotion runs again.
    return dead(simplify(promote(Predication(forwarded(with_rules(kernel, true))).run())));
}

}  // namespace pumice::derive
