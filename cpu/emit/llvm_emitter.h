// The class that writes the LLVM module of a kernel.
#pragma once
#include <array>
#include <memory>
#include <string>

#include "cpu/access/contiguity_check.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/lane_patterns.h"
#include "cpu/access/lane_rows.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/access/row_lookups.h"
#include "cpu/access/row_tile.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/access/streaming_stores.h"
#include "cpu/access/strided_lanes.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/address/addresses.h"
#include "cpu/address/boundary_index.h"
#include "cpu/arithmetic/emit_math_functions.h"
#include "cpu/arithmetic/emit_scalar_ops.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/control/emit_branches.h"
#include "cpu/control/emit_masked_control.h"
#include "cpu/emit/emit_barrier_regions.h"
#include "cpu/emit/emit_iteration_space_narrowing.h"
#include "cpu/emit/emit_module.h"
#include "cpu/emit/plan_barrier_regions.h"
#include "cpu/packet/emit_casts.h"
#include "cpu/packet/frame_values.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/register_lookups.h"
#include "cpu/packet/shuffles.h"
#include "cpu/reduction/emit_atomics.h"
#include "cpu/reduction/emit_group_operations.h"
#include "cpu/reduction/emit_packet_subgroup.h"
#include "cpu/reduction/emit_private_sums.h"
#include "cpu/reduction/vector_adds.h"
#include "cpu/rows/emit_guarded_rows.h"
#include "cpu/rows/emit_packet_rows.h"
#include "cpu/rows/interior_versions.h"
#include "cpu/rows/region_interiors.h"
#include "cpu/rows/transposed_rows.h"
#include "cpu/width/choose_wide_packets.h"
#include "cpu/width/choose_width.h"
#include "cpu/width/packet_cost.h"

namespace pumice::cpu {

/// Writes the module of a kernel: the function that runs groups, and its entry point. Owns the parts of the emitter
/// (cpu/packet/emitter_part.h).
///
/// Values that are uniform in a packet are scalars, others vectors of the packet's width; with width 1 all are scalars. Uniform
/// conditions become branches, others masks. Values leave a construct through slots, never as SSA names, so that blocks of the
/// text may be in any order.
class LlvmEmitter {
public:
    LlvmEmitter(const ir::Kernel& kernel, const Target& target, const Variant& variant, PacketUse use = PacketUse::plain);
    /// Completes the plan, for the emitter of a module.
    void plan_packets();
    /// Adds the forms of accesses in a full packet, for the dump: forms that several accesses share come first.
    const PacketPlan& plan_accesses();
    /// Prints the module by the plan.
    Emitted module();

private:
    // The plan (plan_packets.cpp).
    void plan_jammed_rows();
    bool transposes() const;
    AccessPlan form_of(const ir::Inst& i) const;
    std::optional<int64_t> step_in_interior(ir::Value v, int depth = 0) const;
    // The module and its groups (emit_entry_points.cpp).
    void function();
    void declare_variables();
    int64_t kept_bytes() const;
    void first_group();
    void next_group();
    void place_group();
    void group();
    void group_without_barriers();
    std::string parameters(bool call);
    // Rows that run together (emit_jammed_rows.cpp).
    std::string jammed_rows_function(LlvmEmitter& plain);
    void jammed_rows(const std::array<std::string, 3>& counts, bool trimmed, const Body& body);
    std::string jammed_group_function(LlvmEmitter& plain);
    void call_jammed_group();
    std::string function_of_group(LlvmEmitter& plain, const std::string& name, const std::string& more, const Body& code);
    std::string arguments_of_group();

    LlvmText out;
    Packet packet;
    PacketPlan plan;
    const ir::Kernel& k = packet.k;
    const Target& target = packet.target;
    const Variant& variant = packet.variant;
    const int& width = packet.width;

    EmitterPart all{packet, out, plan, emit};
    Shuffles shuffles{all};
    RegisterLookups lookups{all};
    FrameValues frame{all};
    MemoryLayout memory{all};
    LoopFacts loops{all};
    Casts casts{all};
    ScalarOps ops{all};
    MathFunctions math{all};
    PureValues pure{all};
    Addresses addresses{all};
    BoundaryIndices boundaries{all};
    MaskedAccesses masked{all};
    LoadsAndStores accesses{all};
    ContiguityChecks contiguity{all};
    InterleavedGroups groups{all};
    LanePatterns patterns{all};
    RowLookups row_lookups{all};
    LaneRows lane_rows{all};
    StridedLanes strided{all};
    SoftwarePrefetch prefetches{all};
    StreamingStores streams{all};
    RowTiles tiles{all};
    TransposedLoads transposed{all};
    Atomics atomics{all};
    VectorAdds vector_adds{all};
    PrivateSums sums{all};
    GroupOperations group_ops{all};
    PacketSubgroup subgroups{all};
    WidthChoice widths{all};
    WidePackets wide_packets{all};
    PacketCost costs{all};
    MaskedControl control{all};
    Branches branches{all};
    PacketRows rows{all};
    GuardedRows guarded{all};
    InteriorVersions versions{all};
    RegionInteriors region_interiors{all};
    TransposedRows transposed_rows{all};
    RegionPlanner planner{all};
    IterationSpaceNarrowing narrowing{all};
    BarrierRegions regions{all};
    EmitterParts emit{
        shuffles,         lookups,         frame,        memory,    loops,      casts,    ops,         math,        pure,
        addresses,        boundaries,      masked,       accesses,  contiguity, groups,   patterns,    row_lookups, lane_rows,
        strided,          prefetches,      streams,      tiles,     transposed, atomics,  vector_adds, sums,        group_ops,
        subgroups,        widths,          wide_packets, costs,     control,    branches, rows,        guarded,     versions,
        region_interiors, transposed_rows, planner,      narrowing, regions};

    std::string module_text;
    std::array<std::string, 3> group_slots;  ///< slots that count Packet::group_at
    /// Rows that run together: their kernel (cpu/plan/unroll_and_jam.h) and its emitter; null if each runs alone.
    std::unique_ptr<const ir::Kernel> jammed_kernel;
    std::unique_ptr<LlvmEmitter> jam;
};

}  // namespace pumice::cpu
