// The layout of a bundle, one file (NAME.pumice): kernels as SPIR-V and as a table of native functions, with everything that a
// host must know to launch them; and programs (program_format.h).
//
//   Header | Section table | sections, each an array of records of one kind, aligned to 8 bytes
//
// Records are plain structs of little-endian integers. A record refers to others by the first one and their number, counted in
// the section of their kind; to text by its offset in the section `text`, where each text ends with a zero byte. Text 0 is "".
//
// Versions: a reader takes files of its own version and of all earlier ones. A later version may append fields to a record, and
// kinds of sections. The section table has the size of a record in the file: missing fields read as 0, so that 0 always means "as
// before".
// Fields are never removed or moved.
// Safety: bundle.cpp and program_checks.cpp check all sizes, numbers and references once, when a bundle is opened. The checksum
// finds damage, not malice.
// Both sides include this file: ship/ writes, runtime/ reads. It includes nothing of the library.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pumice_rt {

constexpr char bundle_magic[8] = {'P', 'U', 'M', 'I', 'C', 'E', '\x1a', '\n'};
constexpr uint32_t bundle_version = 1;

struct BundleHeader {
    char magic[8];
    uint32_t version;
    uint32_t section_count;
    uint64_t bytes;     ///< of the whole file
    uint64_t checksum;  ///< checksum() of all bytes after the header
};

/// FNV-1a with 64 bits, over words of 8 bytes (Fowler, Noll and Vo; the last word is filled up with zeros).
inline uint64_t checksum(const void* data, uint64_t bytes) {
    const unsigned char* at = static_cast<const unsigned char*>(data);
    uint64_t hash = 0xcbf29ce484222325u ^ bytes;
    const auto add = [&hash](uint64_t word) {
        hash = (hash ^ word) * 0x100000001b3u;
        hash ^= hash >> 32;
    };
    uint64_t i = 0, word = 0;
    for (; bytes - i >= 8; i += 8) {
        __builtin_memcpy(&word, at + i, 8);  // little-endian, like the records
        add(word);
    }
    word = 0;
    if (bytes > i) {
        __builtin_memcpy(&word, at + i, size_t(bytes - i));
        add(word);
    }
    return hash;
}

enum class SectionKind : uint32_t {
    text,          ///< bytes
    words,         ///< uint32_t: SPIR-V modules
    kernels,       ///< KernelRecord
    parameters,    ///< ParameterRecord
    leaves,        ///< LeafRecord
    modules,       ///< ModuleRecord
    bindings,      ///< BindingRecord
    fields,        ///< FieldRecord
    sized_locals,  ///< SizedLocalRecord
    size_steps,    ///< SizeStepRecord
    natives,       ///< NativeRecord
    sums,          ///< SumRecord
    stores,        ///< StoreRecord
    formats,       ///< FormatRecord
    locals,        ///< LocalRecord
    // Of programs: runtime/bundle/program_format.h
    programs,            ///< ProgramRecord
    program_sizes,       ///< ProgramSizeRecord
    program_parameters,  ///< ProgramParameterRecord
    entries,             ///< EntryRecord
    entry_arguments,     ///< EntryArgumentRecord
    results,             ///< ResultRecord
    expressions,         ///< ExpressionRecord
    buffers,             ///< BufferRecord
    commands,            ///< CommandRecord
    command_arguments,   ///< CommandArgumentRecord
    data,                ///< bytes: constants of programs
    count
};

struct SectionRecord {
    uint32_t kind;  ///< SectionKind; unknown ones are skipped
    uint32_t record_bytes;
    uint64_t offset;  ///< from the start of the file
    uint64_t count;   ///< records
};

/// Records [first, first + count) of another section.
struct RecordRange {
    uint32_t first, count;
};

/// The numbers of scalar types are those of pumice_type.
constexpr uint32_t type_struct = 64, type_count = 13;
enum class Access : uint32_t { in, out, inout, count };

struct KernelRecord {
    uint32_t name, source;  ///< text; "saxpy.cpp:12"
    uint32_t hash;          ///< text: of the IR, 32 hex digits
    uint32_t rank;          ///< dimensions of its ranges, at most 3 after folding; 0: any
    uint32_t folded;        ///< dimensions folded into axis 2 (1: none)
    uint32_t flags;
    static constexpr uint32_t whole_groups = 1, reports = 2, movable = 4, swapped = 8, asks_range = 16, clears = 32,
                              mostly_stores = 64,
                              internal = 128;  ///< internal: of programs alone, without a function in the headers
    uint32_t group[3];                         ///< fixed extents of groups, axis 0 first; zeros: the launch chooses
    uint32_t range[3];                         ///< fixed extents of the range
    RecordRange parameters, modules, natives, formats, locals;
    // For the CPU's choice of a native variant:
    uint32_t stencil;        ///< bit set of the axes along which neighbours load the same elements
    int32_t across;          ///< the parameter whose rows are along axis 1, or -1
    uint32_t jammed_rows;    ///< rows that are worth running together; 1: none
    RecordRange stores;      ///< for alignment peeling: of which arrays rows should begin at cache lines
    uint32_t private_bytes;  ///< bytes of private memory an item
};

struct ParameterRecord {
    uint32_t name;       ///< text; may be empty
    uint32_t path;       ///< text: the member of the C++ parameter, if that is a struct
    uint32_t parameter;  ///< number of the C++ parameter, from 1
    uint32_t is_array;
    uint32_t type;    ///< of a scalar; of an array's elements (type_struct: see leaves)
    uint32_t access;  ///< of an array
    uint32_t rank;    ///< of an array
    uint32_t element_bytes;
    RecordRange leaves;  ///< the scalars in an element of an array
    uint32_t origin;     ///< 0: an argument of the launch; 1, 2: start and extent of the range along `dimension`
    uint32_t dimension;
    uint32_t added_to;  ///< the kernel only adds to this array
    // Of such an array: item i adds only to the elements bounds[i + bounds_offset] to bounds[i + bounds_offset + 1] - 1 of one
    // dimension.
    uint32_t bounds;  ///< 1 + the parameter with the bounds; 0: none is known
    int32_t bounds_offset;
};

struct LeafRecord {
    uint32_t path;  ///< text
    uint32_t type;
    uint32_t offset;  ///< bytes in the element
};

/// A size that depends on the group: steps of a computation, the last of which is the result.
struct SizeStepRecord {
    uint32_t op;           ///< SizeOp
    uint32_t operands[2];  ///< earlier steps, counted from the first one of the computation
    uint32_t axis;
    uint32_t bits, is_unsigned;  ///< 32: the result wraps around in a type of 32 bits
    int64_t constant;
};
enum class SizeOp : uint32_t {
    constant,
    group_size,
    add,
    sub,
    mul,
    div,
    mod,
    min,
    max,
    shift_left,
    shift_right,
    bit_and,
    bit_or,
    bit_xor,
    count
};

/// A local array of a kernel.
struct LocalRecord {
    uint32_t element_bytes;
    RecordRange steps;  ///< the number of elements
};

/// Properties of a device that a module depends on. A module runs on devices that have all properties of its `wants`.
namespace property {
constexpr uint64_t int8 = 1ull << 0, int16 = 1ull << 1, int64 = 1ull << 2, float16 = 1ull << 3, float64 = 1ull << 4,
                   byte_storage = 1ull << 5, short_storage = 1ull << 6, int64_atomics = 1ull << 7,
                   local_int64_atomics = 1ull << 8, float_atomics = 1ull << 9, local_float_atomics = 1ull << 10,
                   device_addresses = 1ull << 11, scalar_layout = 1ull << 12,
                   // Subgroup operations, by VkSubgroupFeatureFlagBits
    subgroup_basic = 1ull << 16, subgroup_vote = 1ull << 17, subgroup_arithmetic = 1ull << 18, subgroup_ballot = 1ull << 19,
                   subgroup_shuffle = 1ull << 20, subgroup_relative = 1ull << 21, subgroup_int64 = 1ull << 22,
                   linear_subgroups = 1ull << 23, packed_subgroups = 1ull << 24,
                   // Correct behaviour, which some drivers lack
    barriers = 1ull << 32,           ///< memory barriers work in divergent control flow
    ordered_atomics = 1ull << 33,    ///< atomics order all memory
    all_iterations = 1ull << 34,     ///< loops run to their end
    no_idle_lanes = 1ull << 35,      ///< lanes without an item do not keep loops running; wanted by older bundles
    signed_order = 1ull << 36,       ///< signed 64-bit comparisons are right
    unsigned_to_float = 1ull << 37,  ///< u32 to f32 rounds once
    precise_unrolled = 1ull << 38,   ///< NoContraction holds in unrolled loops
    bit_merges = 1ull << 39,         ///< (a & m) | (b & ~m), folded zeros and stores at counters are right
    conversions = 1ull << 40,        ///< rounding conversions are kept
    rounded_division = 1ull << 41,   ///< division and square root round correctly
    locks = 1ull << 42,              ///< a work-item may spin on a lock
    idle_lanes = 1ull << 43,         ///< no subgroup has items of two rows: where lanes without an item leave, no item does
    // Float modes of f32, as FloatModes of the library
    float_specials = 1ull << 48, float_subnormals = 1ull << 49, float_to_even = 1ull << 50,
                   cheap_private = 1ull << 51,  ///< private memory costs less than recomputation
    double_specials = 1ull << 52;               ///< a float mode of f64
}  // namespace property

struct ModuleRecord {
    uint64_t wants;     ///< property bits
    uint32_t features;  ///< of `wants`, those that the kernel cannot do without: bits 0 to 4
    uint32_t flags;
    static constexpr uint32_t asks_full_groups = 1, asks_at_origin = 2, shifted = 4, subgroups = 8;
    RecordRange words;
    RecordRange bindings, push, block;  ///< push and block: FieldRecord
    uint32_t push_bytes, block_bytes;
    uint32_t local_bytes;
    RecordRange sized_locals;
};

struct BindingRecord {
    int32_t argument;  ///< parameter of the kernel; or one of the numbers below
    static constexpr int32_t argument_block = -1, locks = -2, ring = -3;
    static constexpr uint32_t lock_count = 4096;
    uint32_t binding;
    uint32_t access;
};

struct FieldRecord {
    uint32_t kind;   ///< FieldKind
    uint32_t index;  ///< parameter
    uint32_t axis;
    uint32_t offset;
    uint32_t type;
};
/// Bytes of a field: small scalars are widened to 32 bits.
constexpr uint32_t field_bytes(uint32_t type) { return type == 4 || type == 8 || type == 11 ? 8 : 4; }
/// The kinds of codegen::Field::Kind, in that order.
enum class FieldKind : uint32_t { start, end, size, group_base, group_count, argument, extent, address, first, launch, count };

struct SizedLocalRecord {
    uint32_t constant;  ///< id of the specialisation constant
    uint32_t element_bytes;
    uint32_t in_words;  ///< 1: the shader's array is of 32-bit words
    RecordRange steps;
};

/// Levels of instruction sets, by which a native variant is chosen at start.
enum class NativeLevel : uint32_t { x86_64_v2 = 2, x86_64_v3 = 3, x86_64_v4 = 4, aarch64 = 100, riscv64 = 200, generic = 1000 };

/// A native function of a kernel for one level and one kind of launch.
struct NativeRecord {
    uint32_t level;
    uint32_t entry;  ///< its number in pumice_library::code
    uint32_t group[3];
    uint32_t flags;
    static constexpr uint32_t streaming = 1, peeled = 2, wide_offsets = 4, vector_functions = 8, no_tail = 16;
    uint32_t sum_kind;  ///< 0: atomics, 1: a copy a thread, 2: a copy a thread with places for lanes
    uint32_t width;     ///< items a packet
    uint64_t scratch_bytes;
    RecordRange sums;
    float group_ns;  ///< estimated nanoseconds of a group
};

/// An array of which each thread gets a private copy.
struct SumRecord {
    uint32_t parameter;
    uint32_t type;
    uint32_t lanes;
};

/// The access by which alignment peeling is judged: the first element of a row is `offset` elements after that of the range's
/// first item. `known` 0: unknown.
struct StoreRecord {
    uint32_t parameter;
    uint32_t known;
    int64_t offset;
};

/// A format of print or require, with the types of its values.
struct FormatRecord {
    uint32_t text;
    uint32_t is_requirement;
    uint32_t source;    ///< text: "saxpy.cpp:14"
    RecordRange types;  ///< LeafRecord: only the types count
    uint32_t index;     ///< the number in the ring's records
};

}  // namespace pumice_rt
