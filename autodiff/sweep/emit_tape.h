// Code of the tape: pushes of the forward sweep and pops of the reverse sweep.
#pragma once
#include "autodiff/sweep/sweep_context.h"

namespace pumice::derive {

struct KeptValues;

class TapeEmitter : SweepContext {
public:
    TapeEmitter(const SweepContext& context, KeptValues& kept) : SweepContext(context), kept(kept) {}
    void add_stacks();
    /// At the end of a block of the primal's copy.
    void push(ir::BlockId block);
    /// At the start of the block's reverse.
    void pop(ir::BlockId block);
    /// Between the halves of a split derivative.
    void save_cursors();
    void restore_cursors();
    /// At the end of a counting kernel.
    void count_pushes();

private:
    struct Stack {
        Scalar type;
        std::optional<TapeBound> bound;
        TapeParameter::Sizing kind = TapeParameter::Sizing::fixed;  ///< fixed: private memory
        ir::MemoryId memory, offsets, final;
        ir::Value cursor, base;  ///< a variable; the offset of the item, if counted
        /// True if the final height is a known number. Otherwise, in halves, it lies in `final`.
        bool known_height() const { return bound && bound->exact && !bound->more; }
    };
    ir::Value address(const Stack& stack, ir::Value slot) const;

    KeptValues& kept;
    std::vector<Stack> stacks;
};

}  // namespace pumice::derive
