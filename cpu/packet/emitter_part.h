// The parts of the LLVM emitter: what they share, and how they reach each other.
#pragma once
#include <functional>

#include "cpu/packet/llvm_text.h"
#include "cpu/packet/packet.h"
#include "cpu/packet/packet_plan.h"

namespace pumice::cpu {

class Addresses;
class Atomics;
class BarrierRegions;
class BoundaryIndices;
class Branches;
class Casts;
class ContiguityChecks;
class FrameValues;
class GroupOperations;
class GuardedRows;
class InteriorVersions;
class InterleavedGroups;
class IterationSpaceNarrowing;
class LanePatterns;
class LaneRows;
class LoadsAndStores;
class LoopFacts;
class MaskedAccesses;
class MaskedControl;
class MathFunctions;
class MemoryLayout;
class PacketCost;
class PacketRows;
class PacketSubgroup;
class PrivateSums;
class PureValues;
class RegionInteriors;
class RegionPlanner;
class RegisterLookups;
class RowLookups;
class RowTiles;
class ScalarOps;
class Shuffles;
class SoftwarePrefetch;
class StreamingStores;
class StridedLanes;
class TransposedLoads;
class TransposedRows;
class VectorAdds;
class WidePackets;
class WidthChoice;

/// The parts, from the lowest up. A part includes the headers of the parts that it calls; parts of one folder may call each
/// other, and those of a folder never call those of a later one (tests/layering).
struct EmitterParts {
    Shuffles& shuffles;                  ///< shuffles and transposes of vectors
    RegisterLookups& lookups;            ///< elements of vectors by indices of the lanes
    FrameValues& frame;                  ///< values of the launch frame
    MemoryLayout& memory;                ///< places of memories
    LoopFacts& loops;                    ///< facts about loops
    Casts& casts;                        ///< conversions between types
    ScalarOps& ops;                      ///< operations of core/ir/ops.def
    MathFunctions& math;                 ///< mathematical functions
    PureValues& pure;                    ///< pure instructions
    Addresses& addresses;                ///< addresses of accesses
    BoundaryIndices& boundaries;         ///< wrapped and clamped indices
    MaskedAccesses& masked;              ///< accesses under masks
    LoadsAndStores& accesses;            ///< loads and stores
    ContiguityChecks& contiguity;        ///< accesses that are contiguous in most packets
    InterleavedGroups& groups;           ///< accesses at one stride by whole vectors
    LanePatterns& patterns;              ///< lanes at constant distances
    RowLookups& row_lookups;             ///< loads from short rows of local memory
    LaneRows& lane_rows;                 ///< adjacent words of rows
    StridedLanes& strided;               ///< lanes at one distance
    SoftwarePrefetch& prefetches;        ///< prefetches
    StreamingStores& streams;            ///< non-temporal stores
    RowTiles& tiles;                     ///< rows that items iterate over, through a buffer
    TransposedLoads& transposed;         ///< loads along axis 1 for several rows together
    Atomics& atomics;                    ///< atomic operations, lane by lane or together
    VectorAdds& vector_adds;             ///< adds of whole elements
    PrivateSums& sums;                   ///< private copies and deferred adds
    GroupOperations& group_ops;          ///< reductions and scans of groups
    PacketSubgroup& subgroups;           ///< subgroup operations, reports
    WidthChoice& widths;                 ///< the width of packets
    WidePackets& wide_packets;           ///< packets of more items for narrow elements
    PacketCost& costs;                   ///< the time of packets and items
    MaskedControl& control;              ///< blocks, loops, jumps
    Branches& branches;                  ///< ifs
    PacketRows& rows;                    ///< packets of a group's rows
    GuardedRows& guarded;                ///< rows with guards
    InteriorVersions& versions;          ///< interior and boundary versions
    RegionInteriors& region_interiors;   ///< interior and boundary versions in regions
    TransposedRows& transposed_rows;     ///< rows with transposed loads
    RegionPlanner& planner;              ///< the plan of regions
    IterationSpaceNarrowing& narrowing;  ///< regions of the first items of rows
    BarrierRegions& regions;             ///< regions between barriers
};

/// Emits what a loop or a version contains.
using Body = std::function<void()>;

/// A part of the emitter, and what all parts share: the kernel, what it is compiled for, the text, the packet and its
/// plan.
class EmitterPart {
public:
    EmitterPart(Packet& packet, LlvmText& out, PacketPlan& plan, EmitterParts& emit)
        : k(packet.k),
          target(packet.target),
          variant(packet.variant),
          width(packet.width),
          packet(packet),
          out(out),
          plan(plan),
          emit(emit) {}

protected:
    const ir::Kernel& k;
    const Target& target;
    const Variant& variant;
    const int& width;  ///< of the packet that is being emitted, in items
    Packet& packet;
    LlvmText& out;
    PacketPlan& plan;
    EmitterParts& emit;
};

}  // namespace pumice::cpu
