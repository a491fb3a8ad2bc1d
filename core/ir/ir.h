// The intermediate representation: flat SSA with structured regions.
//
// A Kernel holds its instructions in one vector; operands are in a pool; a Value is an index into the table of values. Every
// value is one scalar. Control flow owns blocks: `if` has two, `for` one, `while` two. Values carried around a loop or out of an
// if are block parameters and operands of the block's terminator.
//
// Axes are counted from the fastest: axis 0 is the last index of a range or an array (Vulkan's x), in every instruction that
// names one. `a(i, j, k)` is load operands in the written order i, j, k.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/format/image_format.h"
#include "core/ir/op.h"
#include "core/ir/type.h"

namespace pumice::ir {

enum class Atomic : uint8_t { add, sub, min, max, and_, or_, xor_, exchange };
/// Operations on the active items of a subgroup. Reductions and scans follow the order of the lanes; add, mul, min, max take
/// numbers, and, or, xor integers and bools. A lane that is read must be active.
// clang-format off
enum class Subgroup : uint8_t {
    reduce_add, reduce_mul, reduce_min, reduce_max, reduce_and, reduce_or, reduce_xor,  ///< (x): of all items
    inclusive_add, inclusive_mul, inclusive_min, inclusive_max, inclusive_and, inclusive_or, inclusive_xor,
                      ///< (x): up to the item
    exclusive_add, exclusive_mul, exclusive_min, exclusive_max, exclusive_and, exclusive_or, exclusive_xor,
                      ///< (x): before the item; the first has the neutral element: 0, 1, the largest and the smallest value
                      ///< (infinities), all ones, 0, 0
    broadcast,        ///< (x, i32 lane): the lane's x; the same lane for all
    broadcast_first,  ///< (x): x of the lowest active lane
    shuffle,          ///< (x, i32 lane): the lane's x
    shuffle_xor,      ///< (x, i32 mask): x of lane ^ mask; the item's own past the subgroup's size
    shuffle_up,       ///< (x, i32 d): x of lane - d, d >= 0; the item's own below lane 0
    shuffle_down,     ///< (x, i32 d): x of lane + d, d >= 0; the item's own past the subgroup's size
    any, all,         ///< (bool): bool
    ballot,           ///< (bool); leaf: word w of 4: u32, bit b is the condition of lane 32 w + b, 0 for an inactive lane
    elect,            ///< (): bool, true for the lowest active lane
};
// clang-format on
/// The hint of a `for` to a device, in Inst::immediate: none, unroll the loop, or leave it rolled since few iterations are
/// expected.
enum class LoopHint : uint8_t { none, unroll, rolled };
enum class Access : uint8_t { in, out, inout };  ///< of an array parameter; local and private memory is inout
enum class MemoryKind : uint8_t { array, local, private_ };

/// Limit of the dimensions of arrays and ranges. Devices have 3 axes: see Kernel::folded.
inline constexpr int max_rank = 6;

inline constexpr uint32_t none = ~0u;
struct Value {
    uint32_t id = none;
    bool operator==(const Value&) const = default;
    explicit operator bool() const { return id != none; }
};
struct InstId {
    uint32_t id = none;
    bool operator==(const InstId&) const = default;
};
struct BlockId {
    uint32_t id = none;
    bool operator==(const BlockId&) const = default;
};
struct MemoryId {
    uint32_t id = none;
    bool operator==(const MemoryId&) const = default;
};

/// A line of the user's source: an index into Kernel::files, and a line number (0: unknown).
struct Loc {
    uint32_t file = 0;
    uint32_t line = 0;
    bool operator==(const Loc&) const = default;
};

struct Inst {
    Op op = Op::return_;
    Scalar type = Scalar::boolean;  ///< of the first result; of the stored leaf for store; of the variable for set
    uint8_t result_count = 0;       ///< results are the values first_result, first_result + 1, ...
    uint8_t unused = 0;
    Loc loc;
    uint32_t first_operand = 0, operand_count = 0;  ///< in Kernel::pool
    uint32_t first_result = none;
    BlockId blocks[2];
    MemoryId memory;
    uint32_t leaf = 0;
    uint64_t immediate = 0;
    /// The blocks that it owns.
    std::span<const BlockId> owned() const { return {blocks, size_t(blocks[0].id != none) + size_t(blocks[1].id != none)}; }
};

struct ValueInfo {
    Scalar type = Scalar::boolean;
    InstId inst;         ///< the instruction that yields it; or
    BlockId block;       ///< the block whose parameter it is
    uint32_t index = 0;  ///< index of the result or parameter
};

struct Block {
    std::vector<Value> params;
    std::vector<InstId> insts;
};

/// An array or image parameter, a local array or a private array.
struct Memory {
    MemoryKind kind = MemoryKind::array;
    std::string name;  ///< "arg1", "local1", ...
    Element element;
    int rank = 1;  ///< dimensions; a load takes that many indices, or one linear index
    Access access = Access::inout;
    int argument = -1;             ///< arrays: the parameter's index
    std::vector<int64_t> extents;  ///< local and private: written order, static; empty for a size known at launch
    Value size;                    ///< local, if extents is empty: element count, made of group_size and constants only (i32)
    Loc loc;
    ImageInfo image{};  ///< of an image parameter: its elements are texels, and an access has an index for each dimension
};

/// The value of a scalar parameter: an argument of the launch, or the start or extent of its range along a dimension.
enum class ParameterOrigin : uint8_t { argument, range_start, range_extent };

/// The parameter of the user's function to which a parameter of the kernel belongs. A parameter of struct type becomes several
/// parameters of the kernel. For messages and manifests: no code depends on it, and no cache key contains it.
struct ParameterIdentity {
    std::string name{};  ///< of the user's parameter, an identifier of C; "" if it has none
    int number = 0;      ///< of the user's parameter, from 1; 0: as the position in Kernel::params
    std::string path{};  ///< of the member, if the user's parameter is a struct: "mesh.position"
    // In a derivative:
    int shadow_of = -1;  ///< index of the parameter whose shadow, adjoint or tangent this is, which has number and path; -1: none
    int direction = -1;  ///< of a shadow in a batch, from 0; -1 without batch
    int order = 1;       ///< of a shadow: 1 in a derivative, 2 in the derivative of a derivative
    bool extra = false;  ///< belongs to no parameter of the user: a tape, cells of sums, an end of a range
    bool operator==(const ParameterIdentity&) const = default;
};

/// A kernel parameter, in order: an array (index of its Memory) or a scalar. Errors count them from 1.
struct Parameter {
    bool is_array = false;
    Scalar type = Scalar::f32;  ///< scalars
    MemoryId memory;            ///< arrays
    std::string label{};        ///< in messages; "": Kernel::label makes it of the identity. Not part of kernel text
    ParameterOrigin origin = ParameterOrigin::argument;
    int dimension = 0;  ///< of the range, from the slowest; i32
    ParameterIdentity identity{};
    bool operator==(const Parameter&) const = default;
};

/// A device function. Its body is a block that sees only its parameters and the kernel's memories, and that ends in a yield.
/// Callees come before callers, so that there is no recursion. A memory that only one function uses belongs to it: every call has
/// its own.
struct Function {
    std::string name;  ///< unique in the kernel
    Loc loc;
    BlockId body;
    std::vector<Scalar> results;  ///< types of what the body yields
    // Rules that replace its derivatives, as indices of functions; `none` where it is differentiated by its body.
    uint32_t reverse = none;  ///< (parameters..., results..., adjoints of the results...) -> an adjoint for each parameter
    uint32_t forward = none;  ///< (parameters..., tangents of the parameters...) -> a tangent for each result
    bool inactive = false;    ///< its results have no derivative
    bool has_rule() const { return reverse != none || forward != none || inactive; }
};

enum class Math : uint8_t {
    contract,  ///< a device may fuse and reassociate within GLSL's rules (the default)
    strict,    ///< + - * / sqrt fma are bit-identical on every device
    fast,      ///< contract, and functions of f32 may be the device's own, with its accuracy (docs/language.md)
};

struct Kernel {
    std::string name;
    std::vector<std::string> files;
    std::vector<std::string> strings;  ///< formats of print and require
    Loc loc;                           ///< of the definition
    bool whole_groups = false;         ///< items past the range run too
    Math math = Math::contract;
    int rank = 0;  ///< of its ranges; 0: any
    /// Number of range dimensions folded into axis 2: rank 3 and folded 2 is a range of 4. Groups have extent 1 along them.
    int folded = 1;
    int dimensions() const { return rank == 0 ? 0 : rank + folded - 1; }  ///< of its ranges; 0: any
    // Extents fixed at definition, axis 0 first; zeros where the launch gives them. They make group_size, global_size and
    // group_count constants. The rank is then not 0, and axes past it have extent 1.
    std::array<int64_t, 3> group{}, range{};
    std::vector<Parameter> params;
    std::vector<Memory> memories;
    std::vector<Inst> insts;
    std::vector<Value> pool;
    std::vector<ValueInfo> values;
    std::vector<Block> blocks;        ///< blocks[0] is the body
    std::vector<Function> functions;  ///< callees before callers

    const Inst& operator[](InstId i) const { return insts[i.id]; }
    const Block& operator[](BlockId b) const { return blocks[b.id]; }
    const ValueInfo& operator[](Value v) const { return values[v.id]; }
    const Memory& operator[](MemoryId m) const { return memories[m.id]; }
    Scalar type_of(Value v) const { return values[v.id].type; }
    std::span<const Value> operands(const Inst& i) const { return {pool.data() + i.first_operand, i.operand_count}; }
    Value result(const Inst& i, int k = 0) const { return Value{i.first_result + uint32_t(k)}; }
    const Block& body() const { return blocks[0]; }
    /// True if `v` is a constant; sets its bits.
    bool constant(Value v, uint64_t& bits) const {
        const InstId d = values[v.id].inst;
        if (d.id == none || insts[d.id].op != Op::constant) return false;
        bits = insts[d.id].immediate;
        return true;
    }
    /// The user's parameter to which parameter `index` belongs, from 1; 0 if it belongs to none.
    int number_of(size_t index) const;
    /// The path of parameter `index` in the user's parameter; "" unless that is a struct.
    const std::string& path_of(size_t index) const;
    /// The name of parameter `index` in messages: `argument 2`, `argument 2 ("x")`, `the shadow of argument 2 ("x")`; for the
    /// member of a struct `argument 1 (position)`, or `argument 1 ("particles.position")`.
    std::string label(size_t index) const;
    /// "saxpy.cpp:12" (the file's name without folders), or "?" if unknown.
    std::string where(Loc loc) const;
};

/// The kernel without names and numbers of the user's parameters: the same code.
Kernel without_identities(Kernel kernel);

/// The indices of an access: one (linear, row-major) or as many as the memory has dimensions.
inline std::span<const Value> indices_of(const Kernel& k, const Inst& i) {
    return k.operands(i).first(i.operand_count - uint32_t(instruction_row(i.op).operand_count()));
}

/// The op by which a reduction or scan combines values: add, mul, min, max, and, or, xor; nothing for other operations.
std::optional<Op> combines(Subgroup what);
constexpr bool is_scan(Subgroup what) { return what >= Subgroup::inclusive_add && what <= Subgroup::exclusive_xor; }
/// True when an instruction, or anything in its blocks, is a barrier.
bool contains_barrier(const Kernel& k, const Inst& i);
/// True when any instruction of the kernel is a barrier.
bool contains_barrier(const Kernel& k);

/// The results of a call or a construct, in order.
inline std::vector<Value> results_of(const Kernel& k, const Inst& i) {
    std::vector<Value> all;
    for (int r = 0; r < i.result_count; ++r) all.push_back(k.result(i, r));
    return all;
}

/// Kernel text; docs/ir.md defines the format. print(parse(print(k))) == print(k).
std::string print(const Kernel& kernel);
/// A comment for an instruction's line, or "". `name` gives a value's name in the text.
using Note = std::function<std::string(InstId, const std::function<std::string(Value)>& name)>;
/// The same with comments; parses to the same kernel.
std::string print(const Kernel& kernel, const Note& note);
/// A constant as in kernel text: "true", "-3", "1.5".
std::string constant_text(Scalar type, uint64_t bits);
/// One instruction, as in the kernel's text.
std::string print(const Kernel& kernel, const Inst& inst);
/// Parses kernel text; throws Error with the line and what was expected.
Kernel parse(std::string_view text);
/// Checks every rule of the IR. Returns "" or the first broken rule with the instruction printed.
std::string verify(const Kernel& kernel);

}  // namespace pumice::ir
