// The plan of a kernel's packets: the decisions of the emitter before it prints.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/ir.h"
#include "cpu/packet/value_rep.h"

namespace pumice::cpu {

/// The form of an access in a full packet.
enum class AccessForm : uint8_t {
    uniform,       ///< one element for all lanes
    contiguous,    ///< a vector
    interleaved,   ///< whole vectors and shuffles, with the other accesses at the same stride
    lane_rows,     ///< short vectors of each lane's row, transposed
    row_tile,      ///< a buffer for rows that the lanes iterate over
    transposed,    ///< rows of several packets, transposed in registers
    checked,       ///< a vector if a test finds the lanes side by side, else a gather or scatter
    looked_up,     ///< elements of one or two vectors by the lanes' indices
    pattern,       ///< vectors and a shuffle: the lanes lie at constant distances
    strided,       ///< an access of a scalar for each lane, at one distance
    gathered,      ///< a gather or scatter
    atomic,        ///< an atomic operation: one for the packet, or lane by lane
    lane_private,  ///< an addition to places that each lane has for itself
    deferred,      ///< addends are kept for a horizontal add of several iterations
};

/// An access in a full packet.
struct AccessPlan {
    AccessForm form = AccessForm::gathered;
    int64_t stride = 0;              ///< interleaved: bytes from lane to lane; lane_rows: bytes of a row
    bool streams = false;            ///< non-temporal stores
    bool whole_in_interior = false;  ///< contiguous in interior packets, whatever the form is in others
};

/// An addition in an unrolled loop, to adjacent elements from one iteration to the next: its horizontal adds are done for several
/// iterations together (emit_private_sums.cpp).
struct DeferredReduction {
    ir::InstId loop;
    int64_t step = 0;  ///< of the address, in elements an iteration: 1 or -1
};

/// An index wrapped or clamped at the boundary (boundary_index.cpp).
struct BoundaryIndex {
    ir::Value value, interior;          ///< in the interior, `value` equals `interior` (for rem, its remainder does)
    ir::Op op;                          ///< a comparison, min, max or rem
    ir::Value x, limit;                 ///< compares the affine value `x` with `limit`
    bool x_first = true;                ///< order of the comparison's operands
    bool holds = false;                 ///< outcome of the comparison in the interior
    std::vector<ir::Value> inner = {};  ///< other boundary indices that must be in the interior, too
    ir::Value counter = {};             ///< of the loop that moves x, or none
};

/// A condition that an item must pass if it is to do anything (emit_guarded_rows.cpp).
struct RowGuard {
    enum class Kind : uint8_t {
        of_row,    ///< the condition is the same for the row
        compares,  ///< it is the comparison `x how limit`, or its negation
        follows,   ///< its outcome follows from other guards
    };
    ir::Value condition;
    bool holds = true;  ///< the outcome that passes
    Kind kind = Kind::of_row;
    ir::Op how = ir::Op::lt;  ///< the comparison that passes
    ir::Value x, limit;
    int step = 0;  ///< of x from item to item: 1 or -1
};

/// The place in which a value is saved that items need after a barrier (emit_barrier_regions.cpp).
struct ContextSave {
    bool outer = false;     ///< computed once for the group, outside of packets
    bool spilled = false;   ///< saved in the packet's part of the scratch memory, at `offset`
    bool exported = false;  ///< a stack slot has the value of the packets' first active items
    int64_t offset = -1;
};

/// The regions between a kernel's barriers. Empty without barriers.
struct RegionPlan {
    std::vector<bool> around_barrier;        ///< by instruction: a construct around a barrier
    std::vector<int> inst_region;            ///< the region of each instruction
    std::vector<int> region_of;              ///< that of each value; -1: outside of packets
    std::vector<ContextSave> context_saves;  ///< by value
    bool packet_returns = false;             ///< items of a packet may return before others
    int64_t alive_offset = -1;  ///< of the mask of items that have not returned, in the packet's part of the scratch memory
};

/// The decisions about a kernel's packets. The constructor of LlvmEmitter and plan_packets() make it from the kernel, the target
/// and the variant alone; the parts of the emitter read it.
struct PacketPlan {
    int width = 1;                          ///< items of a packet; Packet::width is that of the packet which is being emitted
    int wide = 1;                           ///< wide packets have `wide` times as many
    int64_t rows_together = 1;              ///< rows that run together
    const ir::Inst* main = nullptr;         ///< determines the alignment of a row's packets; null if packets begin with the range
    std::vector<ir::Value> row_values;      ///< what all packets of a row share, in order: computed before the row
    std::vector<RowGuard> row_guards;       ///< all effects of the kernel are under these comparisons
    std::vector<BoundaryIndex> boundaries;  ///< of a kernel without barriers: packets have an interior and a boundary version
    std::vector<ir::InstId> transposed_loads;  ///< of a kernel without barriers
    std::vector<int> sum_lanes;                ///< for each memory: 0, or the places of an element in the thread's private copy
    std::map<const ir::Inst*, DeferredReduction> deferred_reductions;
    RegionPlan regions;
    /// By instruction. For the dump alone: LoadsAndStores decides each access by the same functions when it prints, as masks and
    /// versions differ from packet to packet.
    std::vector<std::optional<AccessPlan>> accesses;

    bool is_row_value(ir::Value v) const { return std::ranges::find(row_values, v) != row_values.end(); }
};

/// The plan as lines of text, for PUMICE_DUMP=plan.
std::string print(const PacketPlan& plan, const ir::Kernel& k);

}  // namespace pumice::cpu
