// Copies a kernel through a Builder, so that a pass only writes what it changes.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/ir/builder.h"
#include "core/ir/ir.h"
#include "core/ir/structure.h"

namespace pumice::ir {

/// Emits a pure instruction of another kernel over these operands. An argument is the one of the same number, an extent that of the same
/// memory.
Value emit_like(Builder& b, const Inst& i, std::span<const Value> operands);

/// The base of passes: walks `from` in order and emits into `to`, where pure instructions are folded and numbered anew.
/// A pass overrides inst(), and calls copy() for what it leaves as it is. The order of everything with an effect is kept.
class Rewriter {
public:
    explicit Rewriter(const Kernel& kernel);
    virtual ~Rewriter() = default;
    Rewriter(const Rewriter&) = delete;
    Rewriter& operator=(const Rewriter&) = delete;

    Kernel run();

protected:
    /// Emits what one instruction becomes, and maps its results.
    virtual void inst(InstId i) { copy(i); }
    /// What the body becomes.
    virtual void body() { insts(BlockId{0}); }
    /// Whether `to` has the memory.
    virtual bool keeps(MemoryId) const { return true; }
    /// Whether `to` has the function, and what its body becomes, once the new one is entered and its parameters are mapped.
    virtual bool keeps_function(const Function&) const { return true; }
    virtual void function(const Function& f) { insts(f.body); }
    bool in_function = false;  ///< what is walked is the body of a function

    /// The contents of a construct's block, once the new one is entered and its parameters are mapped.
    virtual void block(const Inst& construct, int which) { insts(construct.blocks[which]); }

    /// The instruction as it is, with mapped operands; what its blocks hold goes through block().
    void copy(InstId i);
    /// The instructions of a block, into the current one, as long as it has no terminator.
    void insts(BlockId block);
    /// The instructions of an arm, into the current block; its yield gives the results of the construct.
    void splice(const Inst& construct, BlockId arm);
    /// Emits a construct like `i` over other operands, its (first) block with parameters of these types. `fill` is called in each
    /// new block, with the block's position and parameters, and ends it.
    using Fill = std::function<void(int which, std::span<const Value> params)>;
    InstId control(const Inst& i, std::span<const Value> operands, std::span<const Scalar> params, const Fill& fill);

    /// `if condition { then() -> %1; yield %1 } else { yield otherwise }`; without a value where there is no `otherwise`.
    template <class Then>
    Value choose(Value condition, Value otherwise, const Then& then) {
        Inst i;
        i.op = Op::if_;
        i.loc = b.loc;
        const InstId made = control(i, {&condition, 1}, {}, [&](int which, std::span<const Value>) {
            const Value given = which == 0 ? then() : otherwise;
            b.terminate(Op::yield, {&given, given ? 1u : 0u});
        });
        return otherwise ? to.result(to[made]) : Value{};
    }

    Value of(Value old) const;
    bool knows(Value old) const { return values[old.id].id != none; }
    std::vector<Value> of(std::span<const Value> old) const;
    void map(Value old, Value now) { values[old.id] = now; }
    void map_results(const Inst& old, InstId now);
    Value zero(Scalar type) { return b.constant(type, 0); }
    /// How many items of the group stand along the axis: groups at the end of a range are cut.
    Value members_along(int axis);
    MemoryId of(MemoryId old) const { return memories[old.id]; }
    void map(MemoryId old, MemoryId now) { memories[old.id] = now; }

    const Kernel& from;
    Kernel to;
    Builder b;

private:
    Value pure(const Inst& i);
    Value size(Value old);
    void copy_functions();
    void copy_control(InstId i);

    std::vector<Value> values;       ///< of `from`, in `to`
    std::vector<MemoryId> memories;  ///< likewise
    std::vector<uint32_t> functions; ///< likewise
};

}  // namespace pumice::ir
