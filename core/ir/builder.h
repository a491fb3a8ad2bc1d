// The IR builder: appends instructions to a kernel, with constant folding and value numbering.
#pragma once
#include <initializer_list>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// Emits at the end of the innermost entered block. Pure instructions are folded (only by identities that hold in IEEE
/// arithmetic) and value-numbered: equal computations give one value where the first dominates.
class Builder {
public:
    explicit Builder(Kernel& kernel) : k(kernel) {}

    /// A new, empty block with parameters of these types. enter() makes a block the insertion point, leave() restores the
    /// previous one.
    BlockId new_block(std::span<const Scalar> param_types = {});
    void enter(BlockId block);
    void leave();
    /// enter() and leave() for a function's body, in which no value of the code around it is visible.
    void enter_function(BlockId body);
    void leave_function();
    BlockId current() const { return scopes.back().block; }
    /// True if the current block already ends in a terminator.
    bool terminated() const;

    /// The source line that following instructions come from.
    Loc loc;

    Value constant(Scalar type, uint64_t bits);
    Value constant_int(Scalar type, int64_t value);
    Value constant_float(Scalar type, double value);
    Value constant_bool(bool value) { return constant(Scalar::boolean, value); }
    /// A scalar op; its row determines the result's type. Operand types must match the row (else library_bug).
    Value op(Op op, std::initializer_list<Value> operands) { return this->op(op, std::span(operands.begin(), operands.size())); }
    Value op(Op op, std::span<const Value> operands);
    Value select(Value condition, Value a, Value b);
    Value cast(Scalar to, Value a);
    Value bitcast(Scalar to, Value a);
    Value argument(int index, Scalar type);
    /// An index or size along an axis, or an index of the subgroup.
    Value index(Op which, int axis = 0);
    Value in_range();
    Value extent(MemoryId array, int axis);

    Value var(Value initial);
    Value get(Value variable);
    void set(Value variable, Value value);
    Value load(MemoryId m, uint32_t leaf, std::span<const Value> indices);
    /// The operands of a `sample`: the level of detail, the layer of a layered texture, the coordinates.
    Value sample(MemoryId m, uint32_t leaf, std::span<const Value> operands);
    void store(MemoryId m, uint32_t leaf, std::span<const Value> indices, Value value);
    Value atomic(MemoryId m, uint32_t leaf, Atomic what, std::span<const Value> indices, Value value);
    Value compare_exchange(MemoryId m, uint32_t leaf, std::span<const Value> indices, Value expected, Value desired);
    Value uniform(Value a);
    void barrier();
    /// Calls a function of the kernel; Kernel::result returns its results.
    InstId call(uint32_t function, std::span<const Value> arguments);
    /// `word`: index of the 32-bit word of a ballot, 0 to 3.
    Value subgroup(Subgroup what, std::span<const Value> operands, int word = 0);
    /// A reduction or scan of the group. The scratch memory has one element of x's type an item.
    Value group(Subgroup what, MemoryId scratch, Value x);
    /// print, or require with its condition first. Every call adds its format to the kernel's strings.
    void report(Op op, std::string format, std::span<const Value> operands);

    /// Appends a control instruction whose blocks are already filled. The arms' yields (if_) or the carried operands (for_,
    /// while_) determine its result types.
    InstId control(Op op, std::span<const Value> operands, std::initializer_list<BlockId> blocks);
    void terminate(Op op, std::span<const Value> operands = {});

    /// Appends an instruction without folding or numbering, and returns it. All functions above end here.
    InstId append(Inst inst, std::span<const Value> operands, std::span<const Scalar> result_types);

private:
    struct Key {
        Op op;
        Scalar type;
        uint32_t memory;
        uint64_t immediate;
        Value a, b, c;
        bool operator==(const Key&) const = default;
    };
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };
    struct BlockScope {
        BlockId block;
        std::vector<Key> added;
    };
    using Numbers = std::unordered_map<Key, Value, KeyHash>;
    struct Outside {
        std::vector<BlockScope> scopes;
        Numbers numbers;
    };

    Value pure(Inst inst, std::span<const Value> operands);
    Value numbered_or_new(Inst inst, std::span<const Value> operands);

    Kernel& k;
    std::vector<BlockScope> scopes;
    Numbers numbers;
    std::vector<Outside> outside;  ///< saved states of the code around each open function, which are invisible in it
};

/// The result type of a subgroup operation whose first operand has this type.
Scalar result_type(Subgroup what, Scalar operand);
/// The result type of a scalar op whose first operand has this type.
Scalar result_type(Op op, Scalar operand);

}  // namespace pumice::ir
