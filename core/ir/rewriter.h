// Copies a kernel through a Builder, so that a pass only handles what it changes.
#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/ir/builder.h"
#include "core/ir/ir.h"
#include "core/ir/structure.h"
#include "core/ir/structured.h"

namespace pumice::ir {

/// Emits a pure instruction of another kernel on these operands. Arguments and memories keep their numbers.
Value emit_like(Builder& b, const Inst& i, std::span<const Value> operands);

/// The base of passes: walks `from` in order and emits into `to`, where pure instructions are folded and numbered anew. A pass
/// overrides inst(), and calls copy() for unchanged instructions. Instructions with effects keep their order.
class Rewriter {
public:
    explicit Rewriter(const Kernel& kernel);
    virtual ~Rewriter() = default;
    Rewriter(const Rewriter&) = delete;
    Rewriter& operator=(const Rewriter&) = delete;

    Kernel run();

protected:
    /// Emits the replacement of one instruction, and maps its results.
    virtual void inst(InstId i) { copy(i); }
    /// Emits the body.
    virtual void body() { insts(BlockId{0}); }
    /// True if `to` keeps the memory.
    virtual bool keeps(MemoryId) const { return true; }
    /// True if `to` keeps the function. function() emits its body, after the new one is entered and its parameters are mapped.
    virtual bool keeps_function(const Function&) const { return true; }
    virtual void function(const Function& f) { insts(f.body); }
    bool in_function = false;  ///< the walk is inside a function's body

    /// Emits a construct's block, after the new one is entered and its parameters are mapped.
    virtual void block(const Inst& construct, int which) { insts(construct.blocks[which]); }

    /// Copies the instruction with mapped operands; its blocks go through block().
    void copy(InstId i);
    /// Emits the instructions of a block into the current one until that has a terminator.
    void insts(BlockId block);
    /// Emits the instructions of an arm into the current block; the arm's yield gives the results of the construct.
    void splice(const Inst& construct, BlockId arm);
    /// Emits a construct like `i` with other operands, and with parameters of these types for its (first) block. `fill` is called
    /// in each new block, with the block's position and parameters, and must end it.
    using Fill = std::function<void(int which, std::span<const Value> params)>;
    InstId control(const Inst& i, std::span<const Value> operands, std::span<const Scalar> params, const Fill& fill);
    /// Copies a construct with other operands; its blocks go through block(). Maps its results.
    InstId control(const Inst& i, std::span<const Value> operands);
    /// The types of a block's parameters.
    std::vector<Scalar> param_types(BlockId block) const;
    void map_params(BlockId block, std::span<const Value> now);

    /// `if condition { then() -> %1; yield %1 } else { yield otherwise }`; yields nothing if `otherwise` is none.
    template <class Then> Value choose(Value condition, Value otherwise, const Then& then) {
        return emit_if(b, to, condition, then, [&] { return otherwise; });
    }

    Value of(Value old) const;
    bool knows(Value old) const { return values[old.id].id != none; }
    std::vector<Value> of(std::span<const Value> old) const;
    void map(Value old, Value now) { values[old.id] = now; }
    void map_results(const Inst& old, InstId now);
    Value zero(Scalar type) { return b.constant(type, 0); }
    /// Number of items of the group that are inside the range along the axis.
    Value members_along(int axis);
    MemoryId of(MemoryId old) const { return memories[old.id]; }
    void map(MemoryId old, MemoryId now) { memories[old.id] = now; }

    const Kernel& from;
    Kernel to;
    Builder b;
    std::vector<Value> values;  ///< maps values of `from` to those of `to`

private:
    Value pure(const Inst& i);
    Value size(Value old);
    void copy_functions();

    std::vector<MemoryId> memories;   ///< likewise maps memories
    std::vector<uint32_t> functions;  ///< likewise functions
};

}  // namespace pumice::ir
