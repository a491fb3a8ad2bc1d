// Use counts, liveness and memory usage of a kernel, which the GLSL emitter needs before it writes the first line.
#pragma once
#include <vector>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// The subgroup capabilities that the instruction needs: bits of Subgroups.
uint32_t subgroup_needs(const ir::Kernel& k, const ir::Inst& i);

struct Usage {
    struct OfMemory {
        bool loaded = false, stored = false;  ///< atomics do both
        bool small_atomics = false;           ///< atomics on 8 or 16 bits
        bool wide_atomics = false;            ///< atomics on 64 bits
        bool cross_item_dependent =
            false;                        ///< an array through which the items of a group exchange data (cross_item_dependence.h)
        bool nested = false;              ///< local or private memory of several dimensions, accessed by all indices only
        std::vector<bool> touched;        ///< per leaf: loaded, stored or updated
        std::vector<bool> float_atomics;  ///< per leaf: float add or sub, for which a device may have an instruction
        std::vector<bool> bit_atomics;    ///< per leaf: other float atomics, which always operate on the bits
    };

    explicit Usage(const ir::Kernel& k);

    std::vector<int> uses;           ///< per value: operands of live instructions that name it
    std::vector<bool> live;          ///< per instruction: it has an effect, or something live needs its result
    std::vector<ir::BlockId> block;  ///< per instruction: its block
    std::vector<ir::BlockId> user;   ///< per value: the block of one live user
    std::vector<OfMemory> memories;
    bool global_axis[3] = {};  ///< per axis: the global index is used, by global_index, in_range, print or require
    int in_range_uses = 0;
    bool reports = false;         ///< prints or requires something
    uint32_t subgroup_needs = 0;  ///< bits of Subgroups

    /// Some array has a cross-item dependence, so a barrier has to order buffers too.
    bool buffers_exchange() const;
};

}  // namespace pumice::codegen
