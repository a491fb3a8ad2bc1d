// What the emitter knows of what it writes: values, masks, accesses, loops.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// How the items of a packet hold a value.
enum class Kind : uint8_t {
    uniform,  ///< one scalar for all
    affine,   ///< one scalar, of lane 0; it grows by a constant from lane to lane
    vector,
};

/// A value as LLVM text. `scalar` is set unless the kind is vector, `vector` where it is.
struct Held {
    Kind kind = Kind::uniform;
    std::string scalar, vector;
    int64_t step = 0;
};

/// What `!llvm.loop` names where a loop is to be unrolled in full.
constexpr const char* unrolled_in_full = "distinct !{$, !{!\"llvm.loop.unroll.full\"}}";

/// The items of a packet that run; all of them where there is no text.
struct Mask {
    std::string text;
    int first = 0;          ///< where not 0: they are the packet's first items, so many
    std::string from = {}, to = {};  ///< where set: i32s, they are the lanes from the one on and before the other
    bool all() const { return text.empty(); }
    bool operator==(const Mask&) const = default;
};

/// A place on the stack for what control flow carries. LLVM turns them into phis.
struct Slot {
    std::string name;
    Kind kind = Kind::uniform;
    Scalar type = Scalar::f32;
    int64_t step = 0;
};

/// Where an access goes, as LLVM text (emit_memory.cpp).
struct Place {
    enum class How { scalar, contiguous, scattered } how = How::scalar;
    std::string pointer;  ///< a ptr, or a vector of them
    int align = 1;
};

/// Accesses at a constant stride from lane to lane, which move vectors together (interleaved_group.cpp).
struct Strided {
    std::vector<std::pair<const ir::Inst*, int>> accesses;  ///< in order; and which word of each lane's they move
    int64_t first = 0;    ///< bytes from the first access's place to the first word
    int stride = 0;       ///< words from lane to lane
    int bytes = 0;        ///< of a word
    int lanes = 0;        ///< of the vectors that move
};

/// Stores that wait for the last of them.
struct Joining {
    Strided all;
    std::string place;
    std::vector<std::string> given;
};

/// A place of a loop's body, for some iterations: in each, a vector of what the items have there (row_tile.cpp).
struct Tile {
    std::vector<const ir::Inst*> accesses;
    bool loads = false, stores = false;
    bool adds = false;   ///< to what was there, which then is not fetched: the tile takes what is added
    std::string memory;  ///< a vector an iteration, that of the lowest index first
    std::vector<std::string> rows;  ///< a ptr for each lane: the place at the loop's first index
};

/// The tiles of a loop (row_tile.cpp).
struct Tiling {
    std::vector<Tile> tiles;
    int step = 0;            ///< of the loop: 1 or -1
    std::string first;       ///< the loop's first index
    ir::Value index;         ///< of the loop
    std::string stop;        ///< i32 on the stack: the index behind the tile's last iteration
    std::string lowest, count;  ///< i32s: its lowest index, and its iterations
    std::string column;      ///< from the first index to the lowest, an i64
};

/// A place that grows from row to row (pointer_strength_reduction.cpp).
struct Walk {
    std::string first;  ///< ptr: the place in the first row
    std::string pitch;  ///< bytes to the next row's, an i64
    std::string slot;   ///< where the row's place is kept, for the packet at `x`
    std::string x;
};

/// The adds of one instruction in the last iterations of a loop, to elements side by side: a vector each (emit_private_sums.cpp).
struct Row {
    ir::InstId loop;
    int64_t step = 0;                    ///< of the place, in elements an iteration: 1 or -1
    std::string vectors, last, filled;   ///< width of them; the last place; how many there are (the loop's)
    ir::Value factor;                    ///< where products are added: what is the same in all iterations,
    ir::InstId load;                     ///< and where the other factor comes from
    std::vector<std::string> lines;      ///< of it, transposed, for the region that is being written
};

/// A loop within a packet (emit_control.cpp).
struct Loop {
    const ir::Inst* inst = nullptr;
    bool masked = false;   ///< its jumps are masks
    bool tracked = false;  ///< items leave it at different times
    Mask entered;
    std::vector<Slot> carried, results;
    std::vector<bool> captured;  ///< the results that are used
    Slot alive, continued, left;
    std::string latch, exit;
    std::string body;  ///< of a while, where its test block goes on
};

/// An if whose arms are masks (emit_branches.cpp).
struct Arm {
    const ir::Inst* inst = nullptr;
    std::vector<Slot> results;
    Mask only;  ///< whose results are written
};

/// An index bent at a rim (boundary_index.cpp).
struct Bend {
    ir::Value value, straight;  ///< the latter is what the former is away from the rim (of rem: its rest is),
    ir::Op op;                  ///< a comparison, min, max or rem
    ir::Value x, limit;         ///< as the one, which counts on from lane to lane, compares with the other
    bool x_first = true;        ///< of the comparison's operands
    bool holds = false;         ///< the comparison, away from the rim
    std::vector<ir::Value> inner = {};  ///< bent values that are taken to be straight for this one to be
};

/// Where a value is kept that items need behind a barrier (emit_barrier_regions.cpp).
struct Keep {
    bool outer = false;     ///< computed once for the group, outside of packets
    bool spilled = false;   ///< in the packet's part of the scratch memory, from `place` on
    bool exported = false;  ///< a slot has what the packets' first items computed
    int64_t place = -1;
    Slot slot;
};

/// A loop with a barrier inside: it runs once for the group (emit_region_constructs.cpp).
struct OpenLoop {
    const ir::Inst* inst = nullptr;
    std::string latch, exit, body;
    std::string step;  ///< of a for
};

}  // namespace pumice::cpu
