// Backward slice: the instructions that compute what some roots need, through values, control flow and memory.
// Why: a pass that drops, repeats or moves code needs all that its roots depend on, and no more.
//
//   %s = for %k = %a to %b step %one carry (%c = %x) {     root %s: the loop, its bounds %a, %b and %one, the column (%x, %d)
//     %l = load local1[%k] : f32                           %d: the load; if it is followed, the stores to local1
//     %d = add %c, %l : f32
//     store arg1[%k], %l : f32                             not in the slice
//     yield %d
//   }
//
// Method: a worklist of values. A value needs its instruction; an instruction its operands and the construct around it; a
// construct its condition or bounds, and a loop its jumps. A column (a result and the loop parameter that carries it, see
// Structure) is needed as a whole or not at all. A variable needs its sets. The user says which reads need all writes to
// their memory, and gives the roots.
// Cost: linear in the values and instructions, and in the sets for each variable (before promote).
// Limits: a loop is taken to end. Memory is all or nothing: reads and writes are not matched by index. Parameters of functions
// end the slice: callers are not examined.
// Textbook name: backward program slice (Weiser, 1981); the mark phase of dead-code elimination (Cytron et al., TOPLAS 1991).
#pragma once
#include <vector>

#include "core/ir/structure.h"

namespace pumice::ir {

/// The base of slices. A derived class adds the roots, then calls close().
class BackwardSlice {
public:
    BackwardSlice(const BackwardSlice&) = delete;
    BackwardSlice& operator=(const BackwardSlice&) = delete;

    bool has(InstId i) const { return insts[i.id]; }
    bool has(Value v) const { return values[v.id]; }
    /// True if the slice has all writes to the memory.
    bool is_read(MemoryId m) const { return memories[m.id]; }

protected:
    BackwardSlice(const Kernel& kernel, const Structure& structure);
    virtual ~BackwardSlice() = default;

    /// True if a read in the slice needs the writes to its memory.
    virtual bool follows(const Inst& read) const = 0;
    /// True if an instruction that is no construct needs its operands.
    virtual bool needs_operands(const Inst&) const { return true; }
    /// True if the instruction never executes, so that nothing needs it.
    virtual bool never_runs(InstId) const { return false; }

    void add(InstId i);
    void add(Value v);
    void add_writes(MemoryId m);
    /// Adds all that the slice needs so far.
    void close();

    const Kernel& k;
    const Structure& where;
    std::vector<std::vector<InstId>> writes;  ///< by memory: its stores and atomics

private:
    void follow(Value v);
    void add_column(InstId construct, uint32_t c);

    std::vector<bool> insts, values, memories;
    std::vector<InstId> sets;
    std::vector<Value> open;
};

}  // namespace pumice::ir
