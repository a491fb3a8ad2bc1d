// DCE (dead-code elimination), aggressive: an instruction is dead unless an effect needs it, through values, memory or control
// flow.
// Why: every other pass leaves its unused code to this one, and less code is less to compile and to execute.
//
//   %x = load arg2[%n] : f32                    |
//   %y = mul %x, %x : f32                       |
//   %a = atomic add arg4[%i], %n : i32          |  %2 = atomic add arg4[%0], %1 : i32
//   %b = add %a, %n : i32                       |
//   %l = load arg2[%i] : f32                    |  %3 = load arg2[%0] : f32
//   barrier                                     |  barrier
//   store arg1[%i], %l : f32                    |  store arg1[%0], %3 : f32
//
// Method: mark and sweep. Roots are writes to arrays, barriers, calls, print, require and early returns. Marked is the backward
// slice of these (core/analysis/backward_slice.h), in which a read of local or private memory needs all writes to it.
// Cost: that of the slice, and one copy of the kernel.
// Limits: a loop is taken to end, so one without effects goes. Memory is all or nothing: one read keeps every store to it.
// Everything that a function yields is needed, whatever its callers use, and calls always stay.
// Textbook name: mark-and-sweep dead-code elimination (Cytron et al., TOPLAS 1991, section 7.1).
#include "core/passes/dead.h"

#include <algorithm>
#include <numeric>

#include "core/analysis/backward_slice.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

/// The mark phase: what the effects of a kernel need. A load is no effect; a loop is taken to end.
class Liveness : public BackwardSlice {
public:
    Liveness(const Kernel& kernel, const Structure& structure) : BackwardSlice(kernel, structure), unreachable(k.insts.size()) {
        find_unreachable(BlockId{0}, false);
        for (const Function& f : k.functions) find_unreachable(f.body, false);
        for (const auto* order : {&where.order(), &where.function_order()})
            for (const InstId i : *order)
                if (has_effect(i)) add(i);
        // Callers are not examined: everything that a function yields is needed.
        for (const Function& f : k.functions)
            for (const Value v : k.operands(last_inst(k, f.body))) add(v);
        for (uint32_t m = 0; m < k.memories.size(); ++m)
            if (k.memories[m].kind == MemoryKind::array) add_writes({m});
        close();
    }

    bool is_unreachable(InstId i) const { return unreachable[i.id]; }
    bool keeps(MemoryId m) const {
        return is_read(m) || std::ranges::any_of(writes[m.id], [&](InstId i) { return has(i); });
    }
    /// True if column `c` of a construct is needed.
    bool column(const Inst& i, uint32_t c) const {
        if (has(k.result(i, int(c)))) return true;
        return is_loop(i.op) && has(k[i.blocks[0]].params[leading_params(i.op) + c]);
    }

private:
    bool follows(const Inst&) const override { return true; }
    bool never_runs(InstId i) const override { return unreachable[i.id]; }

    /// An early return is an effect; the return at the end of the body needs nothing.
    bool has_effect(InstId i) const {
        const Op op = k[i].op;
        return has_trait(op, traits::synchronises | traits::reports | traits::effect) ||
               (op == Op::return_ && where.around(i).id != none);
    }

    void find_unreachable(BlockId block, bool already) {
        for (const InstId i : k[block].insts) {
            unreachable[i.id] = already;
            for (const BlockId b : k[i].owned()) find_unreachable(b, already);
            already = already || never_falls_through(k, k[i]);
        }
    }

    std::vector<bool> unreachable;
};

class DeadCode : public Rewriter {
public:
    explicit DeadCode(const Kernel& kernel) : Rewriter(kernel), where(kernel), live(kernel, where) {}

private:
    bool keeps(MemoryId m) const override { return live.keeps(m); }
    void function(const Function& f) override {
        arms.emplace_back(f.results.size());
        std::iota(arms.back().begin(), arms.back().end(), 0u);
        insts(f.body);
        arms.pop_back();
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (is_terminator(i.op)) return terminator(id);
        if (!live.has(id)) return;
        if (is_control(i.op)) return construct(i);
        copy(id);
    }

    std::vector<uint32_t> columns(const Inst& i) const {
        std::vector<uint32_t> kept;
        for (uint32_t c = 0; c < i.result_count; ++c)
            if (live.column(i, c)) kept.push_back(c);
        return kept;
    }

    void construct(const Inst& i) {
        const auto kept = columns(i);
        const auto v = from.operands(i);
        const auto& old = from[i.blocks[0]].params;
        const uint32_t leading = leading_params(i.op), bounds = leading_operands(i.op);
        std::vector<Value> operands = of(v.first(bounds));
        std::vector<Scalar> params;
        if (leading) params.push_back(from.type_of(old[0]));
        for (const uint32_t c : kept) {
            if (!is_loop(i.op)) break;
            operands.push_back(of(v[bounds + c]));
            params.push_back(from.type_of(old[leading + c]));
        }
        arms.push_back(kept);
        if (is_loop(i.op)) loops.push_back(kept);
        const InstId made = control(i, operands, params, [&](int which, std::span<const Value> now) {
            if (leading) map(old[0], now[0]);
            for (size_t n = 0; n + leading < now.size(); ++n) map(old[leading + kept[n]], now[leading + n]);
            insts(i.blocks[which]);
        });
        arms.pop_back();
        if (is_loop(i.op)) loops.pop_back();
        for (size_t n = 0; n < kept.size(); ++n) map(from.result(i, int(kept[n])), to.result(to[made], int(n)));
    }

    void terminator(InstId id) {
        const Inst& i = from[id];
        const auto v = from.operands(i);
        std::vector<Value> operands;
        const auto append = [&](Value value) {
            // Unreachable: the operand's instruction may have been removed, and any value will do.
            operands.push_back(live.is_unreachable(id) ? zero(from.type_of(value)) : of(value));
        };
        if (i.op == Op::test) append(v[0]);
        if (i.op != Op::return_)
            for (const uint32_t c : i.op == Op::yield ? arms.back() : loops.back()) append(v[c + (i.op == Op::test)]);
        b.loc = i.loc;
        b.terminate(i.op, operands);
    }

    const Structure where;
    const Liveness live;
    std::vector<std::vector<uint32_t>> arms,
        loops;  ///< by construct and by loop around the current instruction: columns that stay
};

}  // namespace

Kernel dead(const Kernel& kernel) { return DeadCode(kernel).run(); }

}  // namespace pumice::ir
