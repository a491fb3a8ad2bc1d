// Mod/ref information: which memories a kernel reads and writes.
#pragma once
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// The memories that the instructions of a kernel's blocks access, device functions included. An atomic reads and writes; so does a
/// `group` its scratch memory. Two array parameters may be the same array: see alias.h.
class MemoryEffects {
public:
    explicit MemoryEffects(const Kernel& kernel) : read(kernel.memories.size()), written(kernel.memories.size()) {
        for (const Block& block : kernel.blocks)
            for (const InstId id : block.insts) {
                const Inst& i = kernel[id];
                if (reads_memory(i.op) || i.op == Op::group) read[i.memory.id] = true;
                if (writes_memory(i.op) || i.op == Op::group) written[i.memory.id] = true;
            }
    }

    bool reads(MemoryId m) const { return read[m.id]; }
    bool writes(MemoryId m) const { return written[m.id]; }

private:
    std::vector<bool> read, written;
};

}  // namespace pumice::ir
