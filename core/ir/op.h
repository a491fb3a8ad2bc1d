// The instructions of the IR and their traits. Scalar ops are the rows of ops.def, the others those of instructions.def.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace pumice::ir {

enum class Op : uint16_t {
#define OP1(name, ...) name,
#define OP2(name, ...) name,
#define OP3(name, ...) name,
#include "core/ir/ops.def"
#define INSTRUCTION(name, ...) name,
#include "core/ir/instructions.def"
#undef INSTRUCTION
};
inline constexpr int scalar_op_count = int(Op::constant);
inline constexpr int op_count = int(Op::return_) + 1;
constexpr bool is_scalar_op(Op op) { return int(op) < scalar_op_count; }

/// The operands of an instruction in kernel text, between its name and its type.
enum class Layout : uint8_t {
    values,          ///< `%0, %1`
    literal,         ///< `1.5`
    parameter,       ///< `arg3`
    axis,            ///< `0`
    memory_axis,     ///< `arg1, 0`
    element,         ///< `arg1[%0, %1].mass, %2`: the operands after the indices come last
    atomic_element,  ///< `add arg1[%0], %1`
    function,        ///< `"f" %0, %1`
    subgroup,        ///< `reduce_add %0`
    group,           ///< `reduce_add local1, %0`
    format,          ///< `"i={}", %0`
    if_,
    for_,
    while_,  ///< a construct with blocks
};

/// Bits of InstructionRow::traits.
namespace traits {
inline constexpr unsigned
    pure = 1,  ///< without effect; the result depends on the operands and the item alone: may be numbered, moved and dropped
    given = 2 | pure,   ///< the launch gives it to each item: an index, a size, a scalar argument
    reads = 4,          ///< an element of memory
    writes = 8,         ///< an element of memory
    synchronises = 16,  ///< all items of the group arrive
    reports = 32,       ///< hands values to the host
    effect = 64,        ///< may have any effect
    terminates = 128,   ///< ends its block
    // The largest set of items over which the result is the same, if the operands are: all items of the launch, unless
    by_group = 256,     ///< those of a group
    by_subgroup = 512,  ///< those of a subgroup
    by_item = 1024;     ///< one item
}  // namespace traits

/// One row of instructions.def.
struct InstructionRow {
    std::string_view name;  ///< in kernel text
    Layout layout = Layout::values;
    std::string_view operands, result;  ///< types, as instructions.def describes them
    unsigned traits = 0;
    std::string_view doc;

    /// The number of operands, less the indices of an element; -1 where it varies.
    constexpr int operand_count() const {
        if (operands == "...") return -1;
        int count = operands.empty() || operands.starts_with("indices") ? 0 : 1;
        for (const char c : operands) count += c == ' ';
        return count;
    }
    /// True if kernel text gives a type, though there may be no result.
    constexpr bool states_type() const { return !result.empty() || operands.ends_with("T"); }
    constexpr bool names_element() const { return layout == Layout::element || layout == Layout::atomic_element; }
    constexpr bool names_memory() const { return names_element() || layout == Layout::memory_axis || layout == Layout::group; }
    /// The number of blocks that the instruction owns.
    constexpr int blocks() const {
        return layout == Layout::for_ ? 1 : layout == Layout::if_ || layout == Layout::while_ ? 2 : 0;
    }
};

constexpr std::string_view without_underscore(std::string_view enumerator) {
    if (enumerator.ends_with('_')) enumerator.remove_suffix(1);
    return enumerator;
}

inline constexpr auto instruction_rows = [] {
    using namespace traits;
    using enum Layout;
    return std::array{
#define INSTRUCTION(name, layout, operands, result, traits, doc) \
    InstructionRow{without_underscore(#name), layout, operands, result, traits, doc},
#include "core/ir/instructions.def"
#undef INSTRUCTION
    };
}();
static_assert(instruction_rows.size() == size_t(op_count - scalar_op_count));

/// The row of a structural instruction.
constexpr const InstructionRow& instruction_row(Op op) { return instruction_rows[size_t(int(op) - scalar_op_count)]; }
constexpr Layout layout_of(Op op) { return is_scalar_op(op) ? Layout::values : instruction_row(op).layout; }
/// True if the instruction has one of these traits. Scalar ops are pure.
constexpr bool has_trait(Op op, unsigned any) {
    return ((is_scalar_op(op) ? traits::pure : instruction_row(op).traits) & any) != 0;
}

/// True for what a launch gives each item without computing: its indices, sizes, and the scalars it is launched with.
constexpr bool is_given(Op op) { return has_trait(op, traits::given & ~traits::pure); }
/// True for instructions without effect whose result depends on their operands and the item alone, so that they can be numbered,
/// moved and dropped: scalar ops, constant, select, casts, arguments, indices, extents.
constexpr bool is_pure(Op op) { return has_trait(op, traits::pure); }
/// True for if, for and while, which own blocks.
constexpr bool is_construct(Op op) { return !is_scalar_op(op) && instruction_row(op).blocks() > 0; }
constexpr bool is_terminator(Op op) { return has_trait(op, traits::terminates); }
/// True if all items of the group arrive at the instruction.
constexpr bool is_barrier(Op op) { return has_trait(op, traits::synchronises); }
constexpr bool reads_memory(Op op) { return has_trait(op, traits::reads); }
constexpr bool writes_memory(Op op) { return has_trait(op, traits::writes); }
/// True for instructions that read or write an element of memory; they have indices and a leaf.
constexpr bool accesses_memory(Op op) { return has_trait(op, traits::reads | traits::writes); }
/// True for instructions that read and write an element of memory in one step.
constexpr bool is_atomic(Op op) { return reads_memory(op) && writes_memory(op); }
/// True for print and require.
constexpr bool is_report(Op op) { return has_trait(op, traits::reports); }

/// The name in kernel text: "add", "if", "global_index", ...
std::string_view name_of(Op op);

}  // namespace pumice::ir
