// Forward mode (tangent-linear, Jacobian-vector products): every active value gets a tangent beside it, one for each direction.
//
// The rule of y = f(x) is ty = df/dx * tx. Loads, stores and atomics of active memory are repeated on the shadow. Ifs and
// loops carry the tangents in columns of their own, after the columns of the primal. Nothing is taped, and the order of the
// primal is kept.
//
//     primal                    forward                         (arg2 is the tangent of arg1)
//     %x = load arg1[%i]        %x = load arg1[%i];  %t = load arg2[%i]
//     %y = mul %x, %x           %y = mul %x, %x;     %p = mul %t, %x;  %u = add %p, %p
//     store arg1[%i], %y        store arg1[%i], %y;  store arg2[%i], %u
//
// Cost: about one to two times the operations of the primal for each direction.
// Limits: no atomic min, max or compare_exchange on active memory. An atomic on value and tangent is two steps: sums are
// right, an old value or an exchange only where one item at a time touches the element.
// See Griewank and Walther, "Evaluating Derivatives", chapter 3.
#include <algorithm>
#include <memory>

#include "autodiff/analysis/activity.h"
#include "autodiff/analysis/canonical_form.h"
#include "autodiff/analysis/shadows.h"
#include "autodiff/rules/derivative_rules.h"
#include "autodiff/rules/subgroup_rules.h"
#include "core/ir/named.h"
#include "core/ir/rewriter.h"
#include "core/passes/dead.h"
#include "core/passes/inlining.h"
#include "core/passes/simplify.h"
#include "core/support/error.h"

namespace pumice::derive {
namespace {

using namespace ir;

class Forward : public Rewriter {
public:
    Forward(const Kernel& kernel, const Signature& what)
        : Rewriter(kernel),
          signature(what),
          width(size_t(what.width)),
          where(kernel),
          analysis(kernel, what, where),
          tangents(kernel.values.size()) {}

private:
    using Tangents = std::vector<Value>;  ///< one a direction; empty if the value is not active

    void body() override {
        to.name = from.name + ".forward";
        shadows = std::make_unique<Shadows>(to, from, signature, analysis, false);
        insts(BlockId{0});
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        b.loc = i.loc;
        if (in_function) return copy(id);
        switch (i.op) {
            case Op::argument: return argument(i);
            case Op::load: copy(id); return load(i);
            case Op::store: copy(id); return store(i);
            case Op::atomic: return atomic(id);
            case Op::call: copy(id); return call(i);
            case Op::if_:
            case Op::for_:
            case Op::while_: return construct(i);
            case Op::yield: return leave(i, arms.back());
            case Op::test:
            case Op::break_:
            case Op::continue_: return leave(i, loops.back());
            default: break;
        }
        if (is_atomic(i.op) && analysis.active(i.memory, i.leaf))
            refuse(i, text("an atomic ", name_of(i.op), " of differentiated memory"));
        copy(id);
        if (i.result_count == 1 && analysis.active(from.result(i))) tangents[from.result(i).id] = pure(i);
    }

    [[noreturn]] void refuse(const Inst& i, const std::string& what) const {
        fail(named(from), " is differentiated through ", what, " on line ", i.loc.line, ", which has no derivative");
    }

    const Tangents& of_tangent(Value v) const { return tangents[v.id]; }
    /// The tangent for direction w; zero if there is none.
    Value tangent_or_zero(Value v, size_t w) { return tangents[v.id].empty() ? zero(from.type_of(v)) : tangents[v.id][w]; }

    void argument(const Inst& i) {
        const size_t p = size_t(i.immediate);
        map(from.result(i), b.argument(shadows->param(p), i.type));
        if (!analysis.active(from.result(i))) return;
        for (size_t w = 0; w < width; ++w) tangents[from.result(i).id].push_back(b.argument(shadows->tangent(p, int(w)), i.type));
    }

    Tangents pure(const Inst& i) {
        Tangents made;
        for (size_t w = 0; w < width; ++w) made.push_back(pure(i, w));
        return made;
    }

    Value pure(const Inst& i, size_t w) {
        const auto v = from.operands(i);
        if (i.op == Op::select) {
            const Value other = tangent_or_zero(v[2], w), chosen = tangent_or_zero(v[1], w);
            return b.select(of(v[0]), chosen, other);
        }
        if (i.op == Op::cast) return b.cast(i.type, tangent_or_zero(v[0], w));
        if (i.op == Op::uniform) return tangent_or_zero(v[0], w);
        if (i.op == Op::group) return b.group(Subgroup(i.immediate), of(i.memory), tangent_or_zero(v[0], w));  // a linear map
        if (i.op == Op::subgroup) {
            const std::vector<Value> operands = of(v);
            return SubgroupRule(b, to, Subgroup(i.immediate), operands, false).tangent(tangent_or_zero(v[0], w));
        }
        Value sum;
        for (size_t o = 0; o < v.size(); ++o) {
            if (of_tangent(v[o]).empty() || vanishes(i.op, int(o))) continue;
            if (has_none(i.op, int(o))) refuse(i, text("the op ", name_of(i.op)));
            const Value term = times_partial(b, to, i.op, int(o), of(v), of(from.result(i)), of_tangent(v[o])[w]);
            sum = sum ? add(sum, term) : term;
        }
        return sum ? sum : zero(i.type);
    }

    /// Emits x + y; x + -z becomes x - z.
    Value add(Value x, Value y) {
        const InstId source = to[y].inst;
        if (source.id != none && to[source].op == Op::neg) return b.op(Op::sub, {x, to.operands(to[source])[0]});
        return b.op(Op::add, {x, y});
    }

    /// Calls the forward rule of the function with the parameters and a tangent for every parameter.
    void call(const Inst& i) {
        const auto results = results_of(from, i);
        if (std::ranges::none_of(results, [&](Value r) { return analysis.active(r); })) return;
        if (signature.as_reverse) return call_reverse(i);
        for (size_t w = 0; w < width; ++w) {
            std::vector<Value> arguments = of(from.operands(i));
            for (const Value v : from.operands(i)) arguments.push_back(tangent_or_zero(v, w));
            const InstId made = b.call(from.functions[i.immediate].forward, arguments);
            for (size_t r = 0; r < results.size(); ++r)
                if (analysis.active(results[r])) tangents[results[r].id].push_back(to.result(to[made], int(r)));
        }
    }

    /// Calls the reverse rule of the function for each result: the sum of the adjoints of the parameters times their tangents.
    void call_reverse(const Inst& i) {
        const auto v = from.operands(i);
        const auto results = results_of(from, i);
        for (const Value r : results) {
            if (!analysis.active(r)) continue;
            std::vector<Value> arguments = of(v), adjoints;
            for (const Value other : results) {
                arguments.push_back(of(other));
                adjoints.push_back(other == r ? b.constant_float(from.type_of(r), 1) : zero(from.type_of(other)));
            }
            arguments.insert(arguments.end(), adjoints.begin(), adjoints.end());
            const InstId made = b.call(from.functions[i.immediate].reverse, arguments);
            for (size_t w = 0; w < width; ++w) {
                Value sum;
                for (size_t o = 0; o < v.size(); ++o) {
                    if (of_tangent(v[o]).empty()) continue;
                    const Value term = b.op(Op::mul, {to.result(to[made], int(o)), of_tangent(v[o])[w]});
                    const Value cast = b.cast(from.type_of(r), term);
                    sum = sum ? add(sum, cast) : cast;
                }
                tangents[r.id].push_back(sum ? sum : zero(from.type_of(r)));
            }
        }
    }

    // ---- memory ----

    bool shadowed(const Inst& i) const { return analysis.active(i.memory, i.leaf) && shadows->of(i.memory, 0).id != none; }

    void load(const Inst& i) {
        if (!shadowed(i) || !analysis.active(from.result(i))) return;
        for (size_t w = 0; w < width; ++w)
            tangents[from.result(i).id].push_back(b.load(shadows->of(i.memory, int(w)), i.leaf, of(indices_of(from, i))));
    }

    void store(const Inst& i) {
        if (!shadowed(i)) return;
        for (size_t w = 0; w < width; ++w)
            b.store(shadows->of(i.memory, int(w)), i.leaf, of(indices_of(from, i)), tangent_or_zero(from.operands(i).back(), w));
    }

    /// An exchange of value and tangent is not one atomic step: it is meaningful only where one item at a time touches the
    /// element.
    void atomic(InstId id) {
        const Inst& i = from[id];
        copy(id);
        if (!shadowed(i)) return;
        const Atomic what = Atomic(i.immediate);
        if (what == Atomic::min || what == Atomic::max)
            refuse(i, text("an atomic ", what == Atomic::min ? "min" : "max", " on differentiated memory"));
        const Value value = from.operands(i).back();
        const bool wanted = analysis.active(from.result(i));
        if (of_tangent(value).empty() && !wanted && what != Atomic::exchange) return;
        for (size_t w = 0; w < width; ++w) {
            const Value old =
                b.atomic(shadows->of(i.memory, int(w)), i.leaf, what, of(indices_of(from, i)), tangent_or_zero(value, w));
            if (wanted) tangents[from.result(i).id].push_back(old);
        }
    }

    // ---- control flow: the columns of the tangents follow all columns of the primal ----

    using Columns = std::vector<uint32_t>;

    void construct(const Inst& i) {
        Columns active;
        for (uint32_t c = 0; c < i.result_count; ++c)
            if (analysis.column(i, c)) active.push_back(c);
        const auto v = from.operands(i);
        const auto& old = from[i.blocks[0]].params;
        const uint32_t leading = leading_params(i.op), bounds = leading_operands(i.op);
        std::vector<Value> operands = of(v);
        std::vector<Scalar> params;
        for (const Value p : old) params.push_back(from.type_of(p));
        for (const uint32_t c : active) {
            if (!is_loop(i.op)) break;
            for (size_t w = 0; w < width; ++w) {
                operands.push_back(tangent_or_zero(v[bounds + c], w));
                params.push_back(from.type_of(v[bounds + c]));
            }
        }
        arms.push_back(active);
        if (is_loop(i.op)) loops.push_back(active);
        const InstId made = control(i, operands, params, [&](int which, std::span<const Value> now) {
            for (size_t p = 0; p < old.size() && which == 0; ++p) map(old[p], now[p]);
            for (size_t n = 0; is_loop(i.op) && which == 0 && n < active.size(); ++n) {
                Tangents& t = tangents[old[leading + active[n]].id];
                t.clear();
                for (size_t w = 0; w < width; ++w) t.push_back(now[old.size() + n * width + w]);
            }
            insts(i.blocks[which]);
        });
        arms.pop_back();
        if (is_loop(i.op)) loops.pop_back();
        map_results(i, made);
        if (to[made].result_count < i.result_count + active.size() * width) return;  // no arm yields, so nothing follows
        for (size_t n = 0; n < active.size(); ++n)
            for (size_t w = 0; w < width; ++w)
                tangents[from.result(i, int(active[n])).id].push_back(to.result(to[made], int(i.result_count + n * width + w)));
    }

    void leave(const Inst& i, const Columns& active) {
        const auto v = from.operands(i);
        std::vector<Value> operands = of(v);
        for (const uint32_t c : active)
            for (size_t w = 0; w < width; ++w) operands.push_back(tangent_or_zero(v[c + (i.op == Op::test)], w));
        b.terminate(i.op, operands);
    }

    const Signature& signature;
    const size_t width;
    const Structure where;
    const Analysis analysis;
    std::unique_ptr<Shadows> shadows;
    std::vector<Tangents> tangents;    ///< of values of `from`
    std::vector<Columns> arms, loops;  ///< the active columns of the constructs, and of the loops, around the current instruction
};

}  // namespace

Kernel forward(const Kernel& primal, const Signature& signature) {
    check(primal, signature, false);
    const Kernel k = forwarded(with_rules(primal, signature.as_reverse));
    return in_order(dead(simplify(inlining(Forward(k, signature).run()))));
}

}  // namespace pumice::derive
