// Constant folding, algebraic identities, CSE (value numbering), and control flow that constants decide.
// Why: promote and predicate_range_tail expose such code, and forward_stores compares indices by value number.
//
//   %s1 = select %nc, %i, %n : i32       |  %9 = select %7, %2, %0 : i32       # %nc = not %c: operands swapped
//   %d = sub %s1, %s1 : i32              |  %10 = constant 0 : i32
//   %bits = bitcast %mm : u32            |  %12 = bitcast %1 : u32             # %mm = neg (neg %x)
//   %back = bitcast %bits : f32          |                                     # %1 itself
//   %g = sub %x, %x : f32                |  %13 = sub %1, %1 : f32             # may be NaN: stays
//
// The Builder folds constants and numbers pure instructions while the Rewriter copies, each where the first occurrence
// dominates the second; this file adds identities of two non-constant operands, ifs with a constant condition, results and
// carried values that are equal on every path, and loops without iterations. Only identities that hold for every operand apply
// (NaN and -0 included). Instructions that become unused are left to `dead`.
// Cost: one walk; each result and carried value looks at all its sources. Linear in the kernel's operands for each level of
// nesting.
// Limits: one sweep, no fixpoint: a carried value that turns out to be invariant only in the result needs a second run. No
// reassociation, no conditional constant propagation through loops.
// Textbook name: dominator-based value numbering (Briggs, Cooper, Simpson, "Value numbering", 1997).
#include "core/passes/simplify.h"

#include "core/analysis/loop_info.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

class Simplification : public Rewriter {
public:
    explicit Simplification(const Kernel& kernel) : Rewriter(kernel), where(kernel) {}

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        const auto v = from.operands(i);
        b.loc = i.loc;
        if (i.op == Op::if_) return if_(id);
        if (i.op == Op::for_ && runs_no_iteration(i)) return ends_at_once(i);
        if (i.op == Op::while_ && never_enters(i)) return tests_once(i);
        if (is_loop(i.op)) return loop(id);
        if (is_pure(i.op) && !v.empty())
            if (const Value same = identity(i, of(v))) return map(from.result(i), same);
        copy(id);
    }

    // ---- identities, one per line; the Builder applies those with a constant operand ----

    /// An existing value that equals the instruction's result for every operand, NaN included; none if there is no such
    /// identity.
    Value identity(const Inst& i, const std::vector<Value>& v) {
        const Scalar type = to.type_of(v[0]);
        const bool equal = v.size() == 2 && v[0] == v[1], twice = equal && !is_float(type);
        switch (i.op) {
            case Op::sub:
            case Op::xor_: return twice ? zero(type) : Value{};  // x - x = x ^ x = 0
            case Op::eq:
            case Op::le:
            case Op::ge: return twice ? b.constant_bool(true) : Value{};   // x == x
            case Op::ne: return twice ? b.constant_bool(false) : Value{};  // x != x
            case Op::lt:
            case Op::gt: return equal ? b.constant_bool(false) : Value{};  // x < x: of a NaN, too
            case Op::neg:
            case Op::not_: return operand_of(v[0], i.op);  // --x = x, !!x = x
            case Op::select: return select(v);
            case Op::bitcast: return same_bits(i.type, v[0]);
            default: return {};
        }
    }

    /// The first operand of the instruction that defines `v`, if that is an `op`; else none.
    Value operand_of(Value v, Op op) const {
        const InstId source = to[v].inst;
        return source.id != none && to[source].op == op ? to.operands(to[source])[0] : Value{};
    }

    Value select(const std::vector<Value>& v) {
        uint64_t a = 0, c = 0;
        const bool constants = to.type_of(v[1]) == Scalar::boolean && to.constant(v[1], a) && to.constant(v[2], c);
        if (constants && a && !c) return v[0];                                                   // c ? true : false = c
        if (constants && !a && c) return b.op(Op::not_, {v[0]});                                 // c ? false : true = !c
        if (const Value inner = operand_of(v[0], Op::not_)) return b.select(inner, v[2], v[1]);  // !c ? x : y = c ? y : x
        return {};
    }

    /// The source of a bitcast whose result is cast back to the source's type.
    Value same_bits(Scalar type, Value v) const {
        const Value inner = operand_of(v, Op::bitcast);
        return inner && to.type_of(inner) == type ? inner : Value{};
    }

    // ---- control flow ----

    void if_(InstId id) {
        const Inst& i = from[id];
        const Value condition = of(from.operands(i)[0]);
        uint64_t bits = 0;
        if (to.constant(condition, bits)) return splice(i, i.blocks[bits ? 0 : 1]);
        const uint32_t before = uint32_t(to.values.size());
        copy(id);
        const Inst made = to[to[b.current()].insts.back()];
        if (made.op != Op::if_) return;  // no arm yields, so the code after it is unreachable
        for (int r = 0; r < i.result_count; ++r)
            if (const Value same = on_every_way(made, r, before)) map(from.result(i, r), same);
    }

    /// The value that every yielding arm gives as result `r`: one constant, or one value defined before the if (its id is below
    /// `before`). None if the arms differ.
    Value on_every_way(const Inst& made, int r, uint32_t before) {
        Value first;
        for (const BlockId arm : made.blocks) {
            const Inst& last = last_inst(to, arm);
            if (last.op != Op::yield) continue;
            const Value v = to.operands(last)[r];
            if (!first) first = v;
            uint64_t x = 0, y = 0;
            const bool equal = v == first || (to.constant(v, x) && to.constant(first, y) && x == y);
            if (!equal) return {};
        }
        if (!first || first.id < before) return first;
        uint64_t bits = 0;
        return to.constant(first, bits) ? b.constant(to.type_of(first), bits) : Value{};
    }

    /// Replaces a carried value that no iteration changes by the initial value, inside and after the loop. `dead` removes its
    /// column.
    void loop(InstId id) {
        const Inst& i = from[id];
        copy(id);
        for (uint32_t c = 0; c < i.result_count; ++c)
            if (never_changes(id, c)) map(from.result(i, int(c)), initial(i, c));
    }
    void block(const Inst& i, int which) override {
        if (is_loop(i.op) && which == 0)
            for (uint32_t c = 0; c < i.result_count; ++c)
                if (never_changes(where.owner_of(i.blocks[0]), c)) map(param(i, c), initial(i, c));
        insts(i.blocks[which]);
    }
    bool never_changes(InstId loop, uint32_t c) const {
        const Inst& i = from[loop];
        bool same = true;
        where.each_source(loop, c, [&](Value v, InstId) { same = same && (v == param(i, c) || initial_operand(i, c) == v); });
        return same;
    }
    Value param(const Inst& i, uint32_t c) const { return from[i.blocks[0]].params[leading_params(i.op) + c]; }
    Value initial_operand(const Inst& i, uint32_t c) const { return from.operands(i)[leading_operands(i.op) + c]; }
    Value initial(const Inst& i, uint32_t c) const { return of(initial_operand(i, c)); }

    bool runs_no_iteration(const Inst& i) const {
        const std::vector<Value> v = of(from.operands(i).first(3));
        uint64_t step = 1;
        return v[0] == v[1] || (to.constant(v[2], step) && step == 0) || constant_trip_count(to, v) == 0;
    }

    void ends_at_once(const Inst& i) {
        for (int r = 0; r < i.result_count; ++r) map(from.result(i, r), initial(i, uint32_t(r)));
    }

    bool never_enters(const Inst& i) const {
        uint64_t bits = 1;
        return from.constant(from.operands(last_inst(from, i.blocks[0]))[0], bits) && !bits;
    }

    /// A while whose condition is constant false: emits the test block, which still runs once.
    void tests_once(const Inst& i) {
        map_params(i.blocks[0], of(from.operands(i)));
        for (const InstId id : from[i.blocks[0]].insts) {
            if (b.terminated()) return;
            if (from[id].op != Op::test) {
                inst(id);
                continue;
            }
            const auto values = of(from.operands(from[id]));
            for (int r = 0; r < i.result_count; ++r) map(from.result(i, r), values[size_t(r) + 1]);
        }
    }

    const Structure where;
};

}  // namespace

Kernel simplify(const Kernel& kernel) { return Simplification(kernel).run(); }

}  // namespace pumice::ir
