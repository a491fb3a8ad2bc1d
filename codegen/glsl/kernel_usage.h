// Memory accesses and device features of a kernel. The GLSL emitter needs them before it writes the first line.
#pragma once
#include <vector>

#include "core/analysis/uses.h"
#include "core/ir/structure.h"

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

    const ir::Uses uses;
    const ir::Structure structure;
    std::vector<OfMemory> memories;
    std::vector<bool> evaluated;  ///< per value: the shader uses it for more than the sizes of local memory
    bool global_axis[3] = {};     ///< per axis: the global index is used, by global_index, print or require
    uint32_t in_range_uses = 0;
    bool reports = false;         ///< prints or requires something
    uint32_t subgroup_needs = 0;  ///< bits of Subgroups

    /// Some array has a cross-item dependence, so a barrier has to order buffers too.
    bool buffers_exchange() const;
};

}  // namespace pumice::codegen
