// The plan of the regions between barriers, made by cpu/emit/plan_barrier_regions.cpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/ir.h"
#include "cpu/packet/value_rep.h"

namespace pumice::cpu {

/// The place in which a value is saved that items need after a barrier (emit_barrier_regions.cpp).
struct ContextSave {
    bool outer = false;     ///< computed once for the group, outside of packets
    bool spilled = false;   ///< saved in the packet's part of the scratch memory, at `offset`
    bool exported = false;  ///< a slot has the value of the packets' first active items
    int64_t offset = -1;
    Alloca slot;
};

/// A loop that contains a barrier: it runs once for the group (emit_region_constructs.cpp).
struct BarrierRegionLoop {
    const ir::Inst* inst = nullptr;
    std::string latch, exit, body;
    std::string step;  ///< of a for
};

/// The regions between a kernel's barriers. Empty without barriers.
struct RegionPlan {
    std::vector<bool> around_barrier;        ///< by instruction: a construct around a barrier
    std::vector<int> inst_region;            ///< the region of each instruction
    std::vector<int> region_of;              ///< that of each value; -1: outside of packets
    std::vector<ContextSave> context_saves;  ///< by value
    bool packet_returns = false;             ///< items of a packet may return before others
    int64_t alive_offset = -1;  ///< of the mask of items that have not returned, in the packet's part of the scratch memory
    std::vector<BarrierRegionLoop> region_loops = {};  ///< the loops around barriers that are being emitted
};

}  // namespace pumice::cpu
