// Static counts: the executions of each instruction of a kernel by a work-item, and the bytes and operations that follow.
// Why: the trace divides them by the time of a launch, explain() prints them line by line.
//
//   %3 = load arg2[%1] : f32            # 1 time: reads 4 bytes
//   %7 = for %5 = %0 to %6 step %1 {    # %6 = 8: the body 8 times
//     %8 = fma %a, %b, %c : f32         # 8 times: 16 operations
//   if %9 { ... }                       # %9 is not known: between 0 times and once
//
// Method: one walk over the constructs. Bounds and conditions are evaluated from constants and from what the launch gives (scalar
// arguments, sizes, extents). If a condition is not known, both arms are executed between never and always; if a trip count is
// not known, the body is executed without limit. After a jump, the rest of its loop (of the kernel, after a return) may be
// skipped. So `least` and `most` are bounds of the executions of every item, and equal in a kernel without data-dependent control
// flow. Cost: linear in the instructions. Limits: a loop whose bounds differ between items has no known trip count; calls must
// have been inlined. Field's name: static profile estimation, here with bounds instead of probabilities (Wu and Larus, MICRO
// 1994).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::tools {

/// The values that a launch gives, as far as they are known.
struct LaunchFacts {
    std::array<int64_t, 3> extent{}, group{};        ///< items, axis 0 first; 0: not known
    std::vector<std::optional<uint64_t>> arguments;  ///< bits of scalar parameters, one a parameter; may be empty
    /// Extents of array parameters, axis 0 first, one a parameter; may be empty.
    std::vector<std::array<int64_t, ir::max_rank>> extents;
};

/// A number between two bounds; `most` may be infinite.
struct Bounds {
    double least = 0, most = 0;
    bool exact() const { return least == most; }
    Bounds& operator+=(const Bounds& b) {
        least += b.least, most += b.most;
        return *this;
    }
    Bounds operator*(double n) const { return {n == 0 ? 0 : least * n, n == 0 ? 0 : most * n}; }
    bool operator==(const Bounds&) const = default;
};

/// An operation is a scalar op of ops.def; fma counts as two. Operations on floats and on integers and bools apart. Casts,
/// selects and indices are no operations.
int float_operations(const ir::Kernel& kernel, const ir::Inst& inst);
int integer_operations(const ir::Kernel& kernel, const ir::Inst& inst);
/// Bytes of arrays that an item reads and writes by one execution.
int64_t bytes_read(const ir::Kernel& kernel, const ir::Inst& inst);
int64_t bytes_written(const ir::Kernel& kernel, const ir::Inst& inst);

/// Counts for one work-item.
class KernelCounts {
public:
    explicit KernelCounts(const ir::Kernel& kernel, const LaunchFacts& facts = {});

    /// The number of times an item executes the instruction.
    const Bounds& times(ir::InstId i) const { return executed[i.id]; }
    Bounds float_operations() const { return floats; }
    Bounds integer_operations() const { return integers; }
    Bounds bytes_read() const { return read; }
    Bounds bytes_written() const { return written; }
    /// Bytes of one array parameter.
    Bounds bytes_read(ir::MemoryId array) const { return read_of[array.id]; }
    Bounds bytes_written(ir::MemoryId array) const { return written_of[array.id]; }
    /// True if the counts may depend on the value that the launch gives this scalar parameter.
    bool depends_on(size_t argument) const { return asked_arguments[argument]; }

private:
    Bounds walk(ir::BlockId block, Bounds flow);
    Bounds control(ir::InstId id, Bounds flow);
    std::optional<uint64_t> known(ir::Value v);
    std::optional<uint64_t> given(const ir::Inst& i);
    std::optional<double> trips(const ir::Inst& loop);
    void add_up();

    const ir::Kernel& k;
    const LaunchFacts facts;
    std::vector<Bounds> executed, read_of, written_of;
    std::vector<std::optional<uint64_t>> values;
    std::vector<bool> asked, asked_arguments;
    Bounds floats, integers, read, written;
};

}  // namespace pumice::tools
