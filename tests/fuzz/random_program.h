// Random programs: kernels as trees of statements. random_record.h records them through the C++ language, random_run.h runs them
// on a device, and random_shrink.h makes them smaller. A tree stays valid when statements are dropped: variables and memories are
// declared at the beginning, and an index of a dropped loop is a constant.
#pragma once
#include <vector>

#include "core/ir/ops.h"
#include "tests/fuzz/random_types.h"

namespace fuzz {

using pumice::internal::Scalar;

/// The parts of the language that programs use; PUMICE_FUZZ_WITHOUT=name,name leaves some out.
enum class Part : uint8_t {
    structs,
    gaps,
    vectors,
    functions,
    narrow_indices,
    whiles,
    climbs,
    extreme_loops,
    together,
    privates,
    locals,
    local_sizes,
    groups,
    subgroups,
    atomics,
    wide,
    doubles,
    bfloats,
    equal_stores,
    dimensions,
    fixed_shapes,
    twins,
    calls,
    call_reads,
    views,
    leaves,
    smooth,
    bitcasts,
    indirect
};
inline constexpr const char* part_names[] = {
    "structs",  "gaps",     "vectors",      "functions",   "narrow_indices", "whiles",    "climbs",  "extreme_loops",
    "together", "privates", "locals",       "local_sizes", "groups",         "subgroups", "atomics", "wide",
    "doubles",  "bfloats",  "equal_stores", "dimensions",  "fixed_shapes",   "twins",     "calls",   "call_reads",
    "views",    "leaves",   "smooth",       "bitcasts",    "indirect"};

struct Options {
    std::vector<Scalar> scalars;  ///< that the device has
    int64_t max_group = 64;
    int statements = 14;   ///< about so many
    uint32_t without = 0;  ///< bits of Part
    /// Floats go through smooth functions and control nothing, as derivatives need it. Otherwise every fourth seed is smooth.
    bool only_smooth = false;
    bool has(Part part) const { return !(without >> int(part) & 1); }
    void leave_out(Part part) { without |= 1u << int(part); }
};
/// The parts that this device supports, without those in PUMICE_FUZZ_WITHOUT.
Options options_for(const pumice::Device& device);

struct Expr {
    enum Kind : uint8_t { constant, variable, loop_index, item, argument, load, op, cast, bitcast, select, call } kind = constant;
    Scalar type = Scalar::i32;
    int which = 0;      ///< variable, argument, memory, function, loop outwards, or an Item
    int part = 0;       ///< scalar of the variable or element; of an Item the dimension
    uint64_t bits = 0;  ///< of a constant
    pumice::ir::Op how = pumice::ir::Op::add;
    std::vector<Expr> of;
};
/// The indices of an item; all are i32.
enum class Item { global, global_linear, local, local_linear, group, group_linear, group_size, global_size };

struct Statement {
    enum Kind : uint8_t {
        set,       ///< scalar `part` of variable `which` = of[0]; with `updates`, += or the like
        together,  ///< the targets = of, all computed before the first is assigned
        whole,     ///< composite variable `which` = an operation `mode` on variables `targets` and scalar of[0]
        fetch,     ///< composite variable `which` = memory[of...]
        store,     ///< memory[of...].part = last of
        put,       ///< memory[of...] = composite variable targets[0]
        branch,    ///< if of[0] blocks[0], elif ...; else the block past the conditions
        loop,      ///< for [of0, of1) by of2 in `type`
        while_,    ///< while of[0], `mode` times at most
        climb,     ///< while memory[of0] < of1: memory[of0] grows by of2; body
        leave,     ///< `op`, where of[0] holds if there is one
        exchange,  ///< local[of0] = of1; barrier; scalar `part` of `which` = local[of2]; barrier
        count,     ///< local[of0] = of1; barrier; atomic at local[of2] by of3; barrier; variable = local[of4]; barrier
        atomic,    ///< memory[of0], by of1
        group,     ///< variable = group operation `mode` of of[0]
        subgroup   ///< a subgroup operation whose result does not depend on the subgroups' size
    } kind = set;
    int which = 0, part = 0, memory = 0, mode = 0;
    bool updates = false, unrolled = false;
    Scalar type = Scalar::i32;
    pumice::ir::Op op = pumice::ir::Op::add;
    pumice::ir::Atomic atom = pumice::ir::Atomic::add;
    std::vector<std::pair<int, int>> targets;  ///< variable and scalar
    std::vector<Expr> of;
    std::vector<std::vector<Statement>> blocks;
};
using Block = std::vector<Statement>;

struct Memory {
    enum Kind : uint8_t { parameter, local, private_ } kind = parameter;
    enum Use : uint8_t { input, owned, counted, flags, climbed } use = input;  ///< of a parameter
    int type = 0;
    std::vector<int64_t> extents;  ///< in elements, dimension 0 first
    Expr size;                     ///< of local memory, where it is computed from the group
    bool sized = false;            ///< ... which it is
    pumice::ir::Access access = pumice::ir::Access::in;
    pumice::ir::Atomic atom = pumice::ir::Atomic::add;  ///< the one kind of update of a counted array
    Expr own;  ///< the index of an item's first element, i32 or narrower; `each` of them follow
    int each = 1;
    bool by_dimension = false;  ///< an own array of the range's rank, indexed by the item's own indices
    bool turned = false;        ///< ... in the opposite order
    int view = 0;               ///< how the host takes the elements: 0 all, 1 a slice, 2 a strided view cloned, 3 a row
    int64_t count() const {
        int64_t n = 1;
        for (const int64_t e : extents) n *= e;
        return n;
    }
};

struct Argument {
    Scalar type = Scalar::i32;
    uint64_t bits = 0;
};

/// f(T a, T b, int c) -> T, or for a composite type f(S s, float x) -> S. Its first variables are its parameters.
struct FunctionTree {
    int type = 0;
    std::vector<int> variables;
    Block body;
    Expr result;
};

/// The range and group of a launch.
struct Shape {
    std::vector<int64_t> from, to, group;  ///< written order; an empty group: the device's choice
    bool static_group = false, static_range = false;
    int64_t beyond = -1;  ///< not negative: the tested device has an indirect range, with limits so far beyond the extents
    int rank() const { return int(to.size()); }
    int64_t items() const {
        int64_t n = 1;
        for (size_t d = 0; d < to.size(); ++d) n *= to[d] - from[d];
        return n;
    }
};

/// The actions of the host between and after launches.
struct Step {
    enum Kind : uint8_t { launch, twin, call, copy, fill } kind = launch;
    int memory = 0, other = 0;
    bool on_stream = false, reads = false;
};

struct Program {
    uint64_t seed = 0;
    bool smooth = false;  ///< contracting maths, compared within a tolerance
    Shape shape, twin;    ///< twin: a kernel of the same name with another shape
    std::vector<Memory> memories;
    std::vector<Argument> arguments;
    std::vector<int> variables;  ///< types
    std::vector<FunctionTree> functions;
    Block body;
    std::vector<Step> steps;
};

/// The program of a seed.
Program random_program(uint64_t seed, const Options& options);

}  // namespace fuzz
