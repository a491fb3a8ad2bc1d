// The addresses of arrays, and the places of local and private memory: in the scratch memory of the thread, or on the stack.
#pragma once
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

class MemoryLayout : EmitterPart {
public:
    explicit MemoryLayout(const EmitterPart& all) : EmitterPart(all) {}

    std::string memory_text(ir::MemoryId m);
    std::string private_text(ir::MemoryId m, uint32_t leaf);
    bool staged(ir::MemoryId m) const { return k[m].kind == ir::MemoryKind::local && memory_offsets[m.id] < 0; }
    /// True if no other thread accesses the memory in the launch.
    bool of_thread(ir::MemoryId m) const { return k[m].kind != ir::MemoryKind::array || plan.sum_lanes[m.id] > 0; }
    void lay_out_memories();
    void keep_area();

    std::string area_slot;                ///< with barriers, for debuggers: a slot that holds packet_area
    int64_t scratch_bytes = 0;            ///< of local memory
    int64_t read_past_end = 0;            ///< bytes that accesses may read past the end of local memory
    std::vector<int64_t> memory_offsets;  ///< local memory: offset in the scratch memory
    std::vector<std::vector<std::string>> private_names;
    std::vector<std::vector<int64_t>> private_offsets;
    int64_t packet_bytes = 0;  ///< of the packet's part of the scratch memory
    std::string packet_area;   ///< ptr: the packet's part of the scratch memory
};

}  // namespace pumice::cpu
