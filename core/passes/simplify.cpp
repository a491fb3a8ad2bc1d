#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

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

    // ---- identities, one a line; those with a constant operand are the Builder's ----

    /// The value that the instruction's result equals, if one is known without computing it; for every operand, NaN included.
    Value identity(const Inst& i, const std::vector<Value>& v) {
        const Scalar type = to.type_of(v[0]);
        const bool twice = v.size() == 2 && v[0] == v[1] && !is_float(type);
        switch (i.op) {
            case Op::sub:
            case Op::xor_: return twice ? zero(type) : Value{};  // x - x = x ^ x = 0
            case Op::eq:
            case Op::le:
            case Op::ge: return twice ? b.constant_bool(true) : Value{};  // x == x
            case Op::ne:
            case Op::lt:
            case Op::gt: return twice ? b.constant_bool(false) : Value{};  // x != x
            case Op::neg:
            case Op::not_: return operand_of(v[0], i.op);  // --x = x, !!x = x
            case Op::select: return select(v);
            case Op::bitcast: return same_bits(i.type, v[0]);
            default: return {};
        }
    }

    /// The operand of `v` where it is this op's result.
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

    /// A bitcast back to the type that a bitcast came from.
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
        if (made.op != Op::if_) return;  // no arm yields: the results are constants that nobody reaches
        for (int r = 0; r < i.result_count; ++r)
            if (const Value same = on_every_way(made, r, before)) map(from.result(i, r), same);
    }

    /// What every arm that yields gives as result `r`: one constant, or one value of the code around (which is older).
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

    /// A carried value that no iteration changes is the initial one, inside and after the loop. (Its column is left to dead.)
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
        const auto v = from.operands(i);
        const Value first = of(v[0]), limit = of(v[1]);
        if (first == limit) return true;
        uint64_t from_bits = 0, to_bits = 0, step = 0;
        if (!to.constant(of(v[2]), step)) return false;
        if (step == 0) return true;
        if (!to.constant(first, from_bits) || !to.constant(limit, to_bits)) return false;
        const Scalar type = to.type_of(first);
        if (is_unsigned_int(type)) return from_bits >= to_bits;
        const int shift = 64 - 8 * size_of(type);
        const auto value = [&](uint64_t bits) { return int64_t(bits << shift) >> shift; };
        return value(step) > 0 ? value(from_bits) >= value(to_bits) : value(from_bits) <= value(to_bits);
    }

    void ends_at_once(const Inst& i) {
        for (int r = 0; r < i.result_count; ++r) map(from.result(i, r), initial(i, uint32_t(r)));
    }

    bool never_enters(const Inst& i) const {
        uint64_t bits = 1;
        return from.constant(from.operands(last_inst(from, i.blocks[0]))[0], bits) && !bits;
    }

    /// The test block still runs once.
    void tests_once(const Inst& i) {
        const auto initial = of(from.operands(i));
        for (size_t p = 0; p < initial.size(); ++p) map(from[i.blocks[0]].params[p], initial[p]);
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
