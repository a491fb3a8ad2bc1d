// The structure of a kernel: the block and construct around each instruction, and the flow of values through control flow.
#pragma once
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// Positions and jumps of a kernel's instructions. Valid only for the kernel as it was at construction.
class Structure {
public:
    explicit Structure(const Kernel& kernel);

    /// The block of an instruction; `none` for one in no block (a pass has removed it).
    BlockId block_of(InstId i) const { return blocks[i.id]; }
    /// The block of the instruction that yields a value, or whose parameter the value is.
    BlockId block_of(Value v) const { return k[v].inst.id == none ? k[v].block : block_of(k[v].inst); }
    /// The construct that owns a block; `none` for the body, and for the bodies of functions.
    InstId owner_of(BlockId b) const { return owners[b.id]; }
    /// The construct around an instruction; `none` directly in a body.
    InstId around(InstId i) const { return owner_of(block_of(i)); }
    /// The innermost loop around an instruction, or a block; `none` outside of loops.
    InstId loop_around(InstId i) const { return loop_around(block_of(i)); }
    InstId loop_around(BlockId b) const;
    /// True if a value is a parameter of the construct's blocks, or is defined in them.
    bool defined_in(InstId construct, Value v) const;
    /// The breaks and continues of this loop.
    const std::vector<InstId>& jumps_to(InstId loop) const { return jumps[loop.id]; }
    /// All instructions of the kernel's body, in the order of the text; and those of its functions.
    const std::vector<InstId>& order() const { return in_order; }
    const std::vector<InstId>& function_order() const { return in_functions; }
    /// The instruction of `block` that is `i` or contains it; `none` if there is none.
    InstId ancestor_in(BlockId block, InstId i) const;

    /// Column c of a construct is its result c together with the loop parameter that carries it. Calls f(Value, InstId) with each
    /// value that may become it, and the instruction that passes it on: the construct, a yield, test, break or continue.
    template <class F> void each_source(InstId construct, uint32_t column, F f) const;

private:
    void walk(BlockId block, InstId loop, std::vector<InstId>& order);

    const Kernel& k;
    std::vector<BlockId> blocks;
    std::vector<InstId> owners, in_order, in_functions;
    std::vector<std::vector<InstId>> jumps;
};

inline bool is_loop(Op op) { return op == Op::for_ || op == Op::while_; }
inline bool is_control(Op op) { return op == Op::if_ || is_loop(op); }
/// Number of loop parameters before the first carried one: the index of a for.
inline uint32_t leading_params(Op op) { return op == Op::for_ ? 1 : 0; }
/// Number of operands of a construct before the first initial value.
inline uint32_t leading_operands(Op op) { return op == Op::for_ ? 3 : op == Op::if_ ? 1 : 0; }

inline const Inst& last_inst(const Kernel& k, BlockId b) { return k[k[b].insts.back()]; }

/// True if control never reaches the code after the instruction: a terminator, or an if whose arms both leave.
bool never_falls_through(const Kernel& k, const Inst& i);
/// Calls f(InstId) for every instruction in the blocks of `i`, in the order of the text.
template <class F> void each_inside(const Kernel& k, const Inst& i, F&& f) {
    for (const BlockId b : i.owned())
        for (const InstId inner : k[b].insts) {
            f(inner);
            each_inside(k, k[inner], f);
        }
}
/// True if `holds(InstId)` is true for some instruction in the blocks of `i`.
template <class P> bool any_inside(const Kernel& k, const Inst& i, P&& holds) {
    for (const BlockId b : i.owned())
        for (const InstId inner : k[b].insts)
            if (holds(inner) || any_inside(k, k[inner], holds)) return true;
    return false;
}

template <class F> void Structure::each_source(InstId construct, uint32_t column, F f) const {
    const Inst& i = k[construct];
    if (is_loop(i.op)) f(k.operands(i)[leading_operands(i.op) + column], construct);
    for (const BlockId b : i.owned()) {
        const Inst& last = last_inst(k, b);
        if (last.op == Op::yield) f(k.operands(last)[column], k[b].insts.back());
        if (last.op == Op::test) f(k.operands(last)[1 + column], k[b].insts.back());
    }
    for (const InstId jump : jumps[construct.id]) f(k.operands(k[jump])[column], jump);
}

}  // namespace pumice::ir
