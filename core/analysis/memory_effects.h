// Mod/ref information: which memories does a kernel read, and which does it write?
// Why: a load of memory that nothing writes gives the same value at any time, so it is uniform over the launch if its index is,
// and may be kept for later or computed again.
//
//   %1 = load arg2[%0] : f32                  # reads arg2
//   store arg1[%0], %1 : f32                  # writes arg1
//   %2 = atomic add local1[%0], %1 : f32      # reads and writes local1
//   %3 = group reduce_add local2, %1 : f32    # reads and writes local2, its scratch memory
//
// Method: one scan of all blocks, device functions included. The rows of core/ir/instructions.def say which instructions read and
// write.
// Cost: linear in the instructions, once; a query takes constant time.
// Limits: for the whole kernel and a whole memory, not for a path, an element or a member. Two array parameters may be the same
// array: core/analysis/alias.h says what is assumed.
// Textbook name: flow-insensitive mod/ref analysis (Banning, POPL 1979).
#pragma once
#include <vector>

#include "core/ir/structure.h"

namespace pumice::ir {

/// True for atomic additions and subtractions.
inline bool is_atomic_sum(const Inst& i) {
    return i.op == Op::atomic && (Atomic(i.immediate) == Atomic::add || Atomic(i.immediate) == Atomic::sub);
}

/// The memories that the instructions of a kernel's blocks access, device functions included. An atomic reads and writes; so does
/// a `group` its scratch memory. Two array parameters may be the same array: see alias.h.
class MemoryEffects {
public:
    explicit MemoryEffects(const Kernel& kernel) : read(kernel.memories.size()), written(kernel.memories.size()) {
        for (const Block& block : kernel.blocks)
            for (const InstId id : block.insts) add(kernel[id]);
    }
    /// The same of some instructions and of those in their blocks.
    MemoryEffects(const Kernel& kernel, std::span<const InstId> insts)
        : read(kernel.memories.size()), written(kernel.memories.size()) {
        for (const InstId id : insts) {
            add(kernel[id]);
            each_inside(kernel, kernel[id], [&](InstId inner) { add(kernel[inner]); });
        }
    }

    bool reads(MemoryId m) const { return read[m.id]; }
    bool writes(MemoryId m) const { return written[m.id]; }

private:
    void add(const Inst& i) {
        if (reads_memory(i.op) || i.op == Op::group) read[i.memory.id] = true;
        if (writes_memory(i.op) || i.op == Op::group) written[i.memory.id] = true;
    }

    std::vector<bool> read, written;
};

}  // namespace pumice::ir
