// Data structures of the emitter: values, masks, accesses, loops.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// The representation of a value in a packet.
enum class ValueKind : uint8_t {
    uniform,  ///< one scalar for all lanes
    affine,   ///< lane 0's scalar, and a constant step from lane to lane
    vector,
};

/// A value as LLVM text: in `vector` for a vector, else in `scalar`.
struct ValueRep {
    ValueKind kind = ValueKind::uniform;
    std::string scalar, vector;
    int64_t step = 0;
};

/// The node for `!llvm.loop` that asks for full unrolling.
constexpr const char* unrolled_in_full = "distinct !{$, !{!\"llvm.loop.unroll.full\"}}";

/// The active items of a packet; empty text means all.
struct Mask {
    std::string text;
    int first = 0;                   ///< if not 0: the active items are the packet's first `first` ones
    std::string from = {}, to = {};  ///< if set: i32s, the active lanes are those in [from, to)
    bool all() const { return text.empty(); }
    bool operator==(const Mask&) const = default;
};

/// A stack slot for a value that control flow carries. LLVM's mem2reg turns it into phis.
struct Alloca {
    std::string name;
    ValueKind kind = ValueKind::uniform;
    Scalar type = Scalar::f32;
    int64_t step = 0;
};

/// The address of an access, as LLVM text (emit_loads_and_stores.cpp).
struct Address {
    enum class How { scalar, contiguous, scattered } how = How::scalar;
    std::string pointer;  ///< a ptr, or a vector of ptrs
    int align = 1;
};

/// An access, and its distance in bytes from another one.
struct AccessAt {
    const ir::Inst* inst;
    int64_t at;
};

/// An interleaved group: accesses at one constant stride, moved together by whole vectors (interleaved_group.cpp). Or, `apart`,
/// accesses to adjacent words of the lanes' rows, which lie anywhere (lane_rows.cpp).
struct InterleavedGroup {
    std::vector<std::pair<const ir::Inst*, int>> accesses;  ///< in order; with the word of each lane's element that they access
    int64_t first = 0;                                      ///< offset in bytes from the first access to the first word
    int stride = 0;                                         ///< words from lane to lane; `apart`: words of a row
    int bytes = 0;                                          ///< size of a word
    int lanes = 0;                                          ///< of the whole vectors
    bool apart = false;
};

/// Stores of an interleaved group, delayed until the last of them.
struct PendingGroupStore {
    InterleavedGroup all;
    std::string address;
    std::vector<std::string> rows;  ///< addresses of the lanes' rows
    std::vector<std::string> given;
};

/// Adds to the scalars of one element, delayed until the last of them (vector_adds.cpp).
struct PendingVectorAdd {
    std::vector<const ir::Inst*> all;
    std::vector<std::string> addends;  ///< by leaf
    size_t given = 0;
};

/// A buffer for an access of a loop's body: for each of some iterations, a vector with the elements of all items (row_tile.cpp).
struct RowTile {
    std::vector<const ir::Inst*> accesses;
    bool loads = false, stores = false;
    bool adds = false;              ///< for additions: the tile collects the addends, and old values are not loaded first
    std::string memory;             ///< one vector an iteration, that of the lowest index first
    std::vector<std::string> rows;  ///< a ptr for each lane: the address at the loop's first index
};

/// The tiles of a loop (row_tile.cpp).
struct RowTiling {
    std::vector<RowTile> tiles;
    int step = 0;               ///< the loop's step: 1 or -1
    std::string first;          ///< the loop's first index
    ir::Value index;            ///< the loop's index
    std::string stop;           ///< i32 on the stack: the index after the tile's last iteration
    std::string lowest, count;  ///< i32s: the tile's lowest index, and its number of iterations
    std::string column;         ///< distance from the first index to the lowest, an i64
};

/// The addends of one instruction in the last iterations of an unrolled loop, to adjacent elements: a vector each
/// (emit_private_sums.cpp).
struct DeferredReduction {
    ir::InstId loop;
    int64_t step = 0;                   ///< step of the address, in elements an iteration: 1 or -1
    std::string vectors, last, filled;  ///< `width` vectors; the last address; the number of vectors filled (in the loop)
};

/// Cycles of an item: as a lane of a packet, and alone (packet_cost.cpp).
struct ItemTime {
    double in_packet = 0, alone = 0;
    ItemTime& operator+=(const ItemTime& other) {
        in_packet += other.in_packet, alone += other.alone;
        return *this;
    }
    ItemTime operator*(double times) const { return {in_packet * times, alone * times}; }
};

/// A condition that an item must pass if it is to do anything (emit_guarded_rows.cpp).
struct RowGuard {
    ir::Value condition;
    bool holds;  ///< the outcome that passes
    /// The comparison `x how limit` that passes; if_: the condition is the same for the row; and_: it follows from other guards.
    ir::Op how;
    ir::Value x, limit;
    int step = 0;  ///< of x from item to item: 1 or -1
};

/// The items of a row that pass its guards: i32s, and an i1 that tells if they are known.
struct PassingItems {
    std::string first, end, exact;
};

/// A loop within a packet (emit_masked_control.cpp).
struct LoopState {
    const ir::Inst* inst = nullptr;
    bool masked = false;   ///< its jumps are masked
    bool tracked = false;  ///< items leave it at different times
    Mask entered;
    std::vector<Alloca> carried, results;
    std::vector<bool> captured;  ///< the results that are used
    Alloca alive, continued, left;
    std::string latch, exit;
    std::string body;  ///< of a while: the block after the test
};

/// An if with masked arms (emit_branches.cpp).
struct Arm {
    const ir::Inst* inst = nullptr;
    std::vector<Alloca> results;
    Mask only;  ///< the items whose results are written
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

}  // namespace pumice::cpu
