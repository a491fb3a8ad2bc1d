#include "core/ir/rewriter.h"
#include "core/passes/passes.h"

namespace pumice::ir {
namespace {

/// Before a loop is emitted, what it computes from values of the code around it is emitted in front. Outer loops come first,
/// so an invariant of a nest leaves the whole nest at once.
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
        // A while's test block runs at least once; a for's body where the bounds are known to give an iteration.
        const bool runs = loop.op == Op::while_ || surely_iterates(loop);
        for (int which = 0; which < 2 && loop.blocks[which].id != none; ++which)
            block_in_front(loop.blocks[which], runs && which == 0);
    }

    /// `runs`: the block's instructions surely execute, up to the first control flow that may leave.
    void block_in_front(BlockId block, bool runs) {
        for (const InstId id : from[block].insts) {
            const Inst& i = from[id];
            const bool movable = is_pure(i.op) || (runs && i.op == Op::load && from[i.memory].access == Access::in);
            if (movable && !knows(from.result(i)) && invariant(i)) copy(id);
            for (const BlockId inner : i.blocks)
                // A nested loop's first block runs as surely as the loop does.
                if (inner.id != none)
                    block_in_front(
                        inner, runs && inner == i.blocks[0] && (i.op == Op::while_ || (i.op == Op::for_ && surely_iterates(i))));
            runs = runs && !may_leave(i);
        }
    }

    bool invariant(const Inst& i) const {
        for (const Value v : from.operands(i))
            if (!knows(v)) return false;
        return true;
    }

    bool surely_iterates(const Inst& loop) const {
        uint64_t bits[3];
        const auto v = from.operands(loop);
        for (int o = 0; o < 3; ++o)
            if (!from.constant(v[o], bits[o])) return false;
        const Scalar type = from.type_of(v[0]);
        const int shift = 64 - 8 * size_of(type);
        const auto value = [&](int o) { return int64_t(bits[o] << shift) >> shift; };
        if (is_unsigned_int(type)) return bits[2] != 0 && bits[0] < bits[1];
        return value(2) > 0 ? value(0) < value(1) : value(2) < 0 && value(0) > value(1);
    }

    /// Whether what follows the instruction may be skipped.
    bool may_leave(const Inst& i) const {
        bool leaves = false;
        each_inside(from, i, [&](InstId inner) {
            const Op op = from[inner].op;
            leaves = leaves || op == Op::break_ || op == Op::continue_ || op == Op::return_;
        });
        return leaves;
    }
};

}  // namespace

Kernel hoist(const Kernel& kernel) { return Hoisting(kernel).run(); }

}  // namespace pumice::ir
