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
// Method: mark and sweep. Roots are writes to arrays, barriers, calls, print, require and early returns. A value needs its
// instruction, an instruction its operands and the construct around it, a loop its bounds and its jumps, a read of local or
// private memory all writes to it. A column (a result and the loop parameter that carries it, see Structure) is needed as a
// whole or not at all.
// Cost: a worklist visits each value and instruction once: linear, but for variables (before promote), each of which scans the
// kernel.
// Limits: a loop is taken to end, so one without effects goes. Memory is all or nothing: one read keeps every store to it.
// Everything that a function yields is needed, whatever its callers use, and calls always stay.
// Textbook name: mark-and-sweep dead-code elimination (Cytron et al., TOPLAS 1991, section 7.1).
#include "core/passes/dead.h"

#include <numeric>

#include "core/ir/rewriter.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// The mark phase: what the effects of a kernel need. A load is no effect; a loop is taken to end.
class Liveness {
public:
    explicit Liveness(const Kernel& kernel)
        : k(kernel),
          where(kernel),
          insts(k.insts.size()),
          values(k.values.size()),
          memories(k.memories.size()),
          stores(k.memories.size()),
          unreachable(k.insts.size()) {
        for (size_t m = 0; m < k.memories.size(); ++m) memories[m] = k.memories[m].kind == MemoryKind::array;
        find_unreachable(BlockId{0}, false);
        for (const Function& f : k.functions) find_unreachable(f.body, false);
        for (const InstId i : where.order()) start(i);
        for (const InstId i : where.function_order()) start(i);
        // Callers are not examined: everything that a function yields is needed.
        for (const Function& f : k.functions)
            for (const Value v : k.operands(last_inst(k, f.body))) need(v);
        for (uint32_t m = 0; m < memories.size(); ++m)
            if (memories[m])
                for (const InstId i : stores[m]) need_unless_unreachable(i);
        while (!open.empty()) {
            const Value v = open.back();
            open.pop_back();
            follow(v);
        }
    }

    bool needed(InstId i) const { return insts[i.id]; }
    bool needed(Value v) const { return values[v.id]; }
    bool needed(MemoryId m) const { return memories[m.id] || touched(m); }
    bool is_unreachable(InstId i) const { return unreachable[i.id]; }
    /// True if column `c` of a construct is needed.
    bool column(const Inst& i, uint32_t c) const {
        if (needed(k.result(i, int(c)))) return true;
        return is_loop(i.op) && needed(k[i.blocks[0]].params[leading_params(i.op) + c]);
    }

private:
    bool touched(MemoryId m) const {
        for (const InstId i : stores[m.id])
            if (insts[i.id]) return true;
        return false;
    }

    void start(InstId i) {
        const Op op = k[i].op;
        // An early return is an effect; the return at the end of the body needs nothing.
        const bool effect = has_trait(op, traits::synchronises | traits::reports | traits::effect) ||
                            (op == Op::return_ && where.around(i).id != none);
        if (writes_memory(op)) stores[k[i].memory.id].push_back(i);
        if (effect && !unreachable[i.id]) need(i);
    }

    void find_unreachable(BlockId block, bool already) {
        for (const InstId i : k[block].insts) {
            unreachable[i.id] = already;
            for (const BlockId b : k[i].owned()) find_unreachable(b, already);
            already = already || never_falls_through(k, k[i]);
        }
    }

    void need(Value v) {
        if (values[v.id]) return;
        values[v.id] = true;
        open.push_back(v);
    }
    void need_unless_unreachable(InstId i) {
        if (!unreachable[i.id]) need(i);
    }

    void need(InstId i) {
        if (insts[i.id]) return;
        insts[i.id] = true;
        const Inst& inst = k[i];
        if (where.around(i).id != none) need(where.around(i));
        const auto v = k.operands(inst);
        if (is_loop(inst.op)) {
            for (uint32_t o = 0; o < leading_operands(inst.op); ++o) need(v[o]);
            if (inst.op == Op::while_) need(k.operands(last_inst(k, inst.blocks[0]))[0]);
            for (const InstId jump : where.jumps_to(i)) need_unless_unreachable(jump);
        } else if (!is_terminator(inst.op)) {
            // The operands of a terminator are needed column by column (need_column).
            for (const Value operand : v) need(operand);
        }
        if (reads_memory(inst.op) || inst.op == Op::group) read(inst.memory);
    }

    /// A needed instruction reads the memory, so all writes to it are needed.
    void read(MemoryId m) {
        if (memories[m.id]) return;
        memories[m.id] = true;
        for (const InstId i : stores[m.id]) need_unless_unreachable(i);
    }

    void follow(Value v) {
        const ValueInfo& info = k[v];
        if (info.inst.id == none) {
            const InstId loop = where.owner_of(info.block);
            if (loop.id == none) return;  // a function's parameter
            need(loop);
            const uint32_t leading = leading_params(k[loop].op);
            if (info.index >= leading) need_column(loop, info.index - leading);
            return;
        }
        const Inst& inst = k[info.inst];
        need(info.inst);
        if (is_control(inst.op)) need_column(info.inst, info.index);
        // A variable that is read needs its sets.
        if (inst.op == Op::var) need_sets(v);
    }

    void need_column(InstId construct, uint32_t c) {
        where.each_source(construct, c, [&](Value v, InstId by) {
            if (!unreachable[by.id]) need(v);
        });
    }

    void need_sets(Value variable) {
        for (const auto& order : {where.order(), where.function_order()})
            for (const InstId i : order)
                if (k[i].op == Op::set && k.operands(k[i])[0] == variable) need_unless_unreachable(i);
    }

    const Kernel& k;
    Structure where;
    std::vector<bool> insts, values;
    std::vector<bool> memories;               ///< true for arrays, and memories that a needed instruction reads
    std::vector<std::vector<InstId>> stores;  ///< by memory: its stores and atomics
    std::vector<bool> unreachable;
    std::vector<Value> open;
};

class DeadCode : public Rewriter {
public:
    explicit DeadCode(const Kernel& kernel) : Rewriter(kernel), live(kernel) {}

private:
    bool keeps(MemoryId m) const override { return live.needed(m); }
    void function(const Function& f) override {
        arms.emplace_back(f.results.size());
        std::iota(arms.back().begin(), arms.back().end(), 0u);
        insts(f.body);
        arms.pop_back();
    }

    void inst(InstId id) override {
        const Inst& i = from[id];
        if (is_terminator(i.op)) return terminator(id);
        if (!live.needed(id)) return;
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

    const Liveness live;
    std::vector<std::vector<uint32_t>> arms,
        loops;  ///< by construct and by loop around the current instruction: columns that stay
};

}  // namespace

Kernel dead(const Kernel& kernel) { return DeadCode(kernel).run(); }

}  // namespace pumice::ir
