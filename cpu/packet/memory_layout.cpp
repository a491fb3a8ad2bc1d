// Addresses of memories: arrays, local memory and private memory.
//
// Why: local memory lies in the scratch memory of the thread, each array from a cache line on. Private memory is on the stack if
// that of a packet takes at most 32 KiB in all, and the kernel has no barriers: LLVM then promotes what it can to registers.
// Otherwise it lies in the packet's part of the scratch memory. With barriers each packet has a part, since it must survive them;
// without, all packets use one part in turn.
//
//     scratch memory of a thread:   local 0 | local 1 | packet 0: private arrays, saved values | packet 1 | ...
//
// Cost: none at run time. Limits: a private array is lane-interleaved: element e of lane l is at e * width + l.
// Textbook name: frame layout; scalar expansion of private arrays (MCUDA, Stratton et al. 2008).
#include "cpu/packet/memory_layout.h"
#include "core/interp/interp_program.h"
#include "core/support/error.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int64_t line_bytes = 64;
constexpr int64_t most_private_on_stack = 32 << 10;  ///< bytes of a packet's private memory
int64_t rounded_up(int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; }
}  // namespace

/// Lays out the scratch memory: local arrays, then (with barriers) what packets save. Private memory is on the stack if it fits.
void MemoryLayout::lay_out_memories() {
    memory_offsets.assign(k.memories.size(), -1);
    private_names.resize(k.memories.size());
    private_offsets.resize(k.memories.size());
    const int most = width * plan.wide;  // items of a packet
    int64_t private_bytes = 0;
    for (const Memory& m : k.memories) {
        if (m.kind != MemoryKind::private_) continue;
        for (const Leaf& l : m.element.leaves)
            private_bytes += interp::local_elements(k, m, variant.group) * size_of(l.type) * most;
    }
    const bool on_stack = !packet.has_barriers && private_bytes <= most_private_on_stack;
    for (size_t at = 0; at < k.memories.size(); ++at) {
        const Memory& m = k.memories[at];
        if (m.kind == MemoryKind::array) continue;
        const int64_t elements = interp::local_elements(k, m, variant.group);
        if (m.kind == MemoryKind::local) {
            memory_offsets[at] = scratch_bytes;
            scratch_bytes = rounded_up(scratch_bytes + elements * m.element.size, line_bytes);
            continue;
        }
        for (const Leaf& l : m.element.leaves) {
            const int64_t bytes = rounded_up(elements * size_of(l.type) * most, line_bytes);
            if (on_stack) {
                const std::string array = out.name("private");
                out.allocas += text("  ", array, " = alloca [", elements * most, " x ", out.memory_type(l.type), "], align 64\n");
                private_names[at].push_back(array);
            } else {
                private_offsets[at].push_back(packet_bytes);
                packet_bytes += bytes;
            }
        }
    }
}

std::string MemoryLayout::memory_text(MemoryId m) {
    if (k[m].kind == MemoryKind::array) return text("%array", k[m].argument);
    return text("%local", m.id);
}

std::string MemoryLayout::private_text(MemoryId m, uint32_t leaf) {
    if (!private_names[m.id].empty()) return private_names[m.id][leaf];
    return out.let(text("getelementptr i8, ptr ", packet_area, ", i64 ", private_offsets[m.id][leaf]), "private");
}

void MemoryLayout::keep_area() {
    if (!area_slot.empty()) out.line(text("store ptr ", packet_area, ", ptr ", area_slot));
}

}  // namespace pumice::cpu
