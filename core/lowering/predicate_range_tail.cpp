// Predication of the range's tail: effects and loads run under `if in_range`; barriers and their control flow do not.
// Why: a launch runs whole groups. Items past the range must have no effect, and yet reach every barrier.
//
//   %x = load arg2[%i] : f32               |  if %0 {                          # %0 = in_range
//   store local1[%l], %x : f32             |    %3 = load arg2[%2] : f32
//                                          |    store local1[%1], %3 : f32
//                                          |    yield
//                                          |  } else { yield }
//   barrier                                |  barrier
//   %p = max %m, %zero : i32               |  %7 = max %6, %5 : i32            # pure: for all items
//   %y = load local1[%p] : f32             |  if %0 {
//   store arg1[%i], %y : f32               |    %8 = load local1[%7] : f32
//                                          |    store arg1[%2], %8 : f32 ...
//
// Method: the backward slice of the control flow around barriers stays outside of the predicate. Other impure instructions are
// gathered into runs, one if each, with the pure instructions that use their results. The results of a run are zero past the
// range; a group operation gets its neutral element. Cost: linear.
// Limits: Error for a slice with an atomic or a subgroup operation. Loads in the slice run past the range, too. Later passes do
// not look across the ifs.
// Textbook name: if-conversion (Allen et al., POPL 1983), with program slicing (Weiser, 1981).
#include "core/lowering/predicate_range_tail.h"

#include <algorithm>

#include "core/analysis/backward_slice.h"
#include "core/analysis/uses.h"
#include "core/ir/ops.h"
#include "core/ir/rewriter.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// The backward slice of the control flow around barriers, which items past the range execute, too: the constructs
/// around barriers (all items enter their blocks) and around returns before barriers (whole groups return there, see
/// refuse_divergent_barriers), their conditions and bounds, the breaks and continues of the loops among them with the constructs
/// around these, and all that these values are computed from.
class UniformControl : public BackwardSlice {
public:
    UniformControl(const Kernel& kernel, const Structure& structure) : BackwardSlice(kernel, structure) {
        for (const InstId i : where.order()) {
            const bool decides = is_barrier(k[i].op) || (k[i].op == Op::return_ && is_before_barrier(i));
            if (const InstId construct = where.around(i); decides && construct.id != none) add(construct);
        }
        close();
        for (const InstId i : where.order())
            if (has(i)) check(k[i]);
    }

    /// True if the instruction is outside of the predicate: a barrier, a construct around a barrier (whose blocks are predicated
    /// in turn), or in the slice.
    bool operator[](InstId i) const { return has(i) || is_barrier(k[i].op); }

private:
    bool follows(const Inst& read) const override { return k[read.memory].kind == MemoryKind::private_; }
    /// The operand of a group operation is the neutral element past the range (contribute).
    bool needs_operands(const Inst& i) const override { return i.op != Op::group; }

    /// True if items that do not return at `i` may reach a barrier later.
    bool is_before_barrier(InstId i) const {
        const auto has_barrier = [&](InstId id) {
            return is_barrier(k[id].op) || any_inside(k, k[id], [&](InstId inner) { return is_barrier(k[inner].op); });
        };
        for (; i.id != none; i = where.around(i)) {
            const auto& block = k[where.block_of(i)].insts;
            if (std::any_of(std::ranges::find(block, i) + 1, block.end(), has_barrier)) return true;
            const InstId around = where.around(i);
            if (around.id != none && is_loop(k[around].op) && has_barrier(around)) return true;  // in a later iteration
        }
        return false;
    }

    void check(const Inst& i) const {
        if (!is_atomic(i.op) && i.op != Op::subgroup) return;
        fail("kernel \"", k.name, "\" (", k.where(k.loc), ") decides control flow around a barrier by the result of the ",
             is_atomic(i.op) ? "atomic" : "subgroup operation", " on line ", i.loc.line,
             ", which items past the range do not run; share the result through local memory, or use whole_groups");
    }
};

class PredicateRangeTail : public Rewriter {
public:
    explicit PredicateRangeTail(const Kernel& kernel)
        : Rewriter(kernel),
          where(kernel),
          slice(kernel, where),
          uses(kernel),
          in_run(kernel.insts.size()),
          was_in_run(kernel.insts.size()) {}

private:
    void body() override {
        if (contains_barrier(from)) {
            b.in_range();  // once, where it dominates every predicate
            runs(BlockId{0});
        } else {
            whole_body();
        }
        to.whole_groups = true;
    }

    void whole_body() {
        const Inst& end = last_inst(from, BlockId{0});
        predicated(end.loc, {}, [&] {
            for (const InstId i : from.body().insts) {
                if (b.terminated()) return;
                if (&from[i] != &end) inst(i);
            }
        });
        b.loc = end.loc;
        b.terminate(Op::return_);
    }

    // ---- with barriers ----

    void block(const Inst& construct, int which) override {
        const InstId id = where.owner_of(construct.blocks[which]);
        if (slice[id])
            runs(construct.blocks[which]);
        else
            insts(construct.blocks[which]);
    }

    /// Emits the body, or a block of a construct around a barrier. Instructions that need the predicate are gathered into a run,
    /// with the pure instructions that use its results. Other pure instructions are emitted before the run. A barrier, the slice
    /// or a terminator ends it.
    void runs(BlockId id) {
        std::vector<InstId> run;
        for (const InstId i : from[id].insts) {
            const Inst& inst = from[i];
            if (is_pure(inst.op) && !uses_run(inst)) {
                copy(i);
            } else if (slice[i] || is_terminator(inst.op)) {
                flush(run);
                if (inst.op == Op::group)
                    contribute(inst);
                else
                    copy(i);
            } else {
                run.push_back(i);
                in_run[i.id] = true;
            }
        }
    }

    /// Emits a group operation, to which items past the range contribute the neutral element.
    void contribute(const Inst& i) {
        b.loc = i.loc;
        const Subgroup what = Subgroup(i.immediate);
        const uint64_t neutral = neutral_element(*combines(what), i.type);
        Value x = of(from.operands(i)[0]);
        // The result of a run is zero past the range, so a neutral element of zero needs no select.
        if (neutral != 0 || !is_zero_past_the_range(from.operands(i)[0])) {
            const Value otherwise = b.constant(i.type, neutral);
            x = b.select(b.in_range(), x, otherwise);
        }
        map(from.result(i), b.group(what, of(i.memory), x));
    }

    bool is_zero_past_the_range(Value v) const { return from[v].inst.id != none && was_in_run[from[v].inst.id]; }

    bool uses_run(const Inst& i) const {
        for (const Value v : from.operands(i)) {
            const InstId source = from[v].inst;
            if (source.id != none && in_run[source.id]) return true;
        }
        return false;
    }

    /// Emits a run under its predicate. Its results are zero past the range.
    void flush(std::vector<InstId>& run) {
        if (run.empty()) return;
        std::vector<Value> later;
        for (const InstId i : run)
            for (int r = 0; r < from[i].result_count; ++r)
                if (used_outside(from.result(from[i], r), where.block_of(i))) later.push_back(from.result(from[i], r));
        predicated(from[run.front()].loc, later, [&] {
            for (const InstId i : run)
                if (!b.terminated()) inst(i);
        });
        for (const InstId i : run) in_run[i.id] = false, was_in_run[i.id] = true;
        run.clear();
    }

    bool used_outside(Value v, BlockId block) const {
        return std::ranges::any_of(uses.of(v), [&](InstId user) {
            const InstId here = where.ancestor_in(block, user);
            return here.id == none || !in_run[here.id];
        });
    }

    /// `if in_range { emit(); yield results } else { yield zeros }`
    template <class Emit> void predicated(Loc loc, const std::vector<Value>& results, Emit emit) {
        b.loc = loc;
        const Value condition = b.in_range();
        Inst i;
        i.op = Op::if_;
        i.loc = loc;
        const InstId made = control(i, {&condition, 1}, {}, [&](int which, std::span<const Value>) {
            std::vector<Value> given;
            if (which == 0) emit();
            b.loc = loc;
            if (b.terminated()) return;
            for (const Value v : results) given.push_back(which == 0 ? of(v) : zero(from.type_of(v)));
            b.terminate(Op::yield, given);
        });
        for (size_t r = 0; r < results.size(); ++r) map(results[r], to.result(to[made], int(r)));
    }

    const Structure where;
    const UniformControl slice;
    const Uses uses;
    std::vector<bool> in_run;      ///< instructions of the current run
    std::vector<bool> was_in_run;  ///< instructions of earlier runs
};

}  // namespace

Kernel predicate_range_tail(const Kernel& kernel) {
    if (kernel.whole_groups) return kernel;
    if (!kernel.functions.empty()) library_bug("predicate_range_tail met a function; inlining must run first\n" + print(kernel));
    if (std::ranges::any_of(kernel.insts, [](const Inst& i) { return i.op == Op::var; }))
        library_bug("predicate_range_tail met a variable; promote must run first\n" + print(kernel));
    return PredicateRangeTail(kernel).run();
}

}  // namespace pumice::ir
