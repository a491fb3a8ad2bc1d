// Records of programs in a bundle: host programs (docs/shipping.md, "Programs") as lists of commands with sizes and scalars as
// expressions.
//
//   ProgramRecord  sizes, parameters, entries
//   EntryRecord    one way to run the program on one class of devices: expressions, buffers, commands, arguments, results
//
// Each number in a command is the number of an expression of its entry: a constant, a function of the sizes and of the totals of
// scans, or, for a scalar argument of a kernel, a function of the program's scalars. An expression refers to earlier ones only.
#pragma once
#include "runtime/bundle/bundle_format.h"

namespace pumice_rt {

constexpr uint32_t no_index = UINT32_MAX;

struct ProgramRecord {
    uint32_t name, source;   ///< text; "heat.cpp:12"
    RecordRange sizes;       ///< ProgramSizeRecord
    RecordRange parameters;  ///< ProgramParameterRecord
    RecordRange entries;     ///< EntryRecord
};

/// A size that the caller gives when it creates the program: at least `least`, and a multiple of `step` above it.
struct ProgramSizeRecord {
    uint32_t name;  ///< text
    uint32_t unused;
    int64_t least, step, example;
};

/// An extent of a parameter: times * size + plus.
struct ProgramExtent {
    uint32_t size;  ///< number of a size, or no_index: a constant
    uint32_t unused;
    int64_t times, plus;
};

struct ProgramParameterRecord {
    uint32_t name;  ///< text
    uint32_t is_array;
    uint32_t type;  ///< of a scalar; of an array's elements
    uint32_t element_bytes;
    uint32_t rank;
    uint32_t access;  ///< Access, of an array
    uint32_t active;  ///< the gradient has a derivative by it
    uint32_t unused;
    ProgramExtent extents[6];  ///< dimension 0 first
};

enum class EntryKind : uint32_t { forward, gradient, count };

struct EntryRecord {
    uint32_t kind;     ///< EntryKind
    uint32_t devices;  ///< bit set of the devices that it is made for
    static constexpr uint32_t on_cpu = 1, on_vulkan = 2;
    RecordRange expressions;  ///< ExpressionRecord
    RecordRange buffers;      ///< BufferRecord
    RecordRange commands;     ///< CommandRecord
    RecordRange arguments;    ///< EntryArgumentRecord
    RecordRange results;      ///< ResultRecord
    uint32_t primal;          ///< gradient: the number of commands that run the primal; the others are the reverse sweep
    uint32_t scans, sums;
};

/// The arguments of one run, in order.
struct EntryArgumentRecord {
    uint32_t parameter;
    uint32_t is_shadow;
    uint32_t written;  ///< commands write to the array
};

/// A number that the run gives to the caller: the derivative by a scalar.
struct ResultRecord {
    uint32_t parameter;
    uint32_t type;
    uint32_t expression;
};

enum class BufferKind : uint32_t { temporary, argument, count };

/// Memory that commands use. A temporary one lives from its first to its last command.
struct BufferRecord {
    uint32_t kind;
    uint32_t argument;  ///< number of the entry's argument
    uint32_t bytes;     ///< expression; of a temporary buffer
};

enum class CommandKind : uint32_t {
    allocate,  ///< `to`: its bytes become 0 if `flags` has `zeroed`, else any
    fill,      ///< `to`, with `pattern`
    write,     ///< constants of the section `data`, from byte `data` on, to `to`
    copy,      ///< `from` to `to`
    launch,
    scan,  ///< i32 counts in `to` become their exclusive prefix sums; the total is scan_total `index`, at most `data`
    sum,   ///< the scalar of type `type` at `from` becomes sum `index`
    count
};

struct CommandRecord {
    uint32_t kind;  ///< CommandKind
    uint32_t flags;
    static constexpr uint32_t zeroed = 1;
    /// A launch over an indirect range: its last argument is an array of six i32, the extents, axis 0 first, and the numbers of
    /// groups of the size `group`. The kernel itself leaves items past the extents out; devices may leave out their groups.
    static constexpr uint32_t counted = 2;
    uint32_t to, from;                       ///< buffers
    uint32_t to_offset, from_offset, bytes;  ///< expressions
    uint32_t pattern_bytes;
    uint64_t pattern[2];
    uint64_t data;
    uint32_t index, type;
    uint32_t kernel;
    uint32_t rank;
    uint32_t start[3], extent[3];  ///< expressions, axis 0 first
    uint32_t group[3];             ///< items; zeros: the device chooses
    RecordRange arguments;         ///< CommandArgumentRecord, one for each parameter of the kernel
};

struct CommandArgumentRecord {
    uint32_t buffer;         ///< of an array; no_index: an array without elements
    uint32_t offset, bytes;  ///< expressions
    uint32_t extents[6];     ///< expressions, axis 0 first
    uint32_t scalar;         ///< expression
};

enum class ExpressionOp : uint32_t {
    constant,    ///< bits
    size,        ///< number `index` of the program
    scan_total,  ///< number `index` of the entry
    scalar,      ///< argument `index` of the entry
    sum,         ///< number `index` of the entry
    // Integers of 64 bits
    int_add,
    int_mul,
    int_floor_div,
    // f32 and f64, by `type`
    add,
    sub,
    mul,
    div,
    neg,
    abs,
    sign,
    sqrt,
    rsqrt,
    min,
    max,
    eq,  ///< comparisons give 0 or 1
    ne,
    lt,
    le,
    gt,
    ge,
    select,    ///< operands: condition, value if it is not 0, value if it is
    convert,   ///< from the type `index`
    call,      ///< function `index` of unary_functions
    call_two,  ///< function `index` of binary_functions
    count
};

// Functions of C's <math.h>, by their names for double; those for float end in f. New ones are appended. Arrays of characters:
// the loader would have to relocate pointers.
constexpr char unary_functions[][6] = {"exp",   "exp2",  "expm1", "log",  "log2", "log10", "log1p", "sin",
                                       "cos",   "tan",   "asin",  "acos", "atan", "sinh",  "cosh",  "tanh",
                                       "asinh", "acosh", "atanh", "erf",  "erfc", "floor", "ceil",  "trunc"};
constexpr char binary_functions[][6] = {"pow", "atan2", "hypot"};
constexpr uint32_t unary_count = sizeof unary_functions / sizeof *unary_functions;
constexpr uint32_t binary_count = sizeof binary_functions / sizeof *binary_functions;

/// Operands that an expression has; the other fields of ExpressionRecord::operands are 0 and mean nothing.
constexpr uint32_t operand_count(ExpressionOp op) {
    if (op <= ExpressionOp::sum) return 0;
    if (op == ExpressionOp::select) return 3;
    return op == ExpressionOp::convert || op == ExpressionOp::call || (op >= ExpressionOp::neg && op <= ExpressionOp::rsqrt) ? 1
                                                                                                                             : 2;
}

struct ExpressionRecord {
    uint32_t op, type;
    uint32_t operands[3];  ///< earlier expressions of the entry
    uint32_t index;
    uint64_t bits;
};

}  // namespace pumice_rt
