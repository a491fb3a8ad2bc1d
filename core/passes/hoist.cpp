// LICM (loop-invariant code motion): pure instructions with invariant operands move in front of the loop, as do some loads.
// Why: index arithmetic and scalar work that does not depend on the iteration is done once.
//
//   for %k = %zero to %n step %one {          |  %5 = mul %0, %4 : i32
//     %a = mul %i, %two : i32                 |  %7 = mul %1, %6 : i32
//     %b = add %a, %k : i32                   |  %8 = add %7, %5 : i32
//     for %l = %zero to %k step %one {        |  for %10 = %2 to %1 step %3 {
//       %c = mul %n, %three : i32             |    %11 = add %5, %10 : i32
//       %d = add %c, %a : i32                 |    %12 = add %11, %7 : i32
//       %e = add %b, %c : i32                 |    for %13 = %2 to %10 step %3 {
//       %f = lt %l, %e : bool                 |      %14 = lt %13, %12 : bool
//
// Outer loops come first, so an invariant leaves the whole nest at once; %12 leaves the inner loop only. Pure instructions move
// speculatively, out of conditions and of loops that may run no iteration: they cannot fault. A load moves only out of an `in`
// array, and only if it surely executes: in a while's test block, or in a for with constant bounds and at least one iteration,
// before anything may leave the iteration, and not out of an if.
// Cost: each loop scans all its contents: O(instructions * nesting depth). No cost model: a hoisted value lives over the whole
// loop.
// Limits: no loads of written arrays or of local and private memory, even where no store interferes; no sinking; no stores.
// Textbook name: code motion (Aho et al., "Compilers", section 9.5; Muchnick, section 13.2).
#include "core/passes/hoist.h"

#include "core/analysis/loop_info.h"
#include "core/ir/rewriter.h"

namespace pumice::ir {
namespace {

/// Emits the invariants of a loop in front of it, then the loop without them.
class Hoisting : public Rewriter {
public:
    using Rewriter::Rewriter;

private:
    void inst(InstId id) override {
        const Inst& i = from[id];
        if (is_pure(i.op) && knows(from.result(i))) return;  // it was hoisted
        if (i.op == Op::load && knows(from.result(i))) return;
        if (is_loop(i.op)) in_front(i);
        copy(id);
    }

    void in_front(const Inst& loop) {
        // A while's test block runs at least once. A for's body does if its bounds are constants that give an iteration.
        const bool runs = surely_iterates(loop);
        for (int which = 0; which < 2 && loop.blocks[which].id != none; ++which)
            block_in_front(loop.blocks[which], runs && which == 0);
    }

    /// `runs`: the block's instructions surely execute, up to the first construct that contains a jump or return.
    void block_in_front(BlockId block, bool runs) {
        for (const InstId id : from[block].insts) {
            const Inst& i = from[id];
            const bool movable = is_pure(i.op) || (runs && i.op == Op::load && from[i.memory].access == Access::in);
            if (movable && !knows(from.result(i)) && invariant(i)) copy(id);
            for (const BlockId inner : i.blocks)
                // The first block of a while, or of a for that surely iterates, executes whenever the loop does.
                if (inner.id != none) block_in_front(inner, runs && inner == i.blocks[0] && surely_iterates(i));
            runs = runs && !may_leave(i);
        }
    }

    bool invariant(const Inst& i) const {
        for (const Value v : from.operands(i))
            if (!knows(v)) return false;
        return true;
    }

    bool surely_iterates(const Inst& i) const { return i.op == Op::while_ || constant_trip_count(from, i).value_or(0) > 0; }

    /// True if the instruction contains a jump or return, so that the instructions after it may be skipped.
    bool may_leave(const Inst& i) const {
        return any_inside(from, i, [&](InstId inner) { return is_jump(from[inner].op); });
    }
};

}  // namespace

Kernel hoist(const Kernel& kernel) { return Hoisting(kernel).run(); }

}  // namespace pumice::ir
