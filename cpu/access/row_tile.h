// Buffers the rows that the items of a packet iterate over, each over a row of its own.
#pragma once
#include <string>
#include <vector>

#include "cpu/packet/emitter_part.h"

namespace pumice::cpu {

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

class RowTiles : EmitterPart {
public:
    explicit RowTiles(const EmitterPart& all) : EmitterPart(all) {}

    std::vector<RowTile> tiles_of(ir::InstId loop) const;
    RowTiling open_tiles(ir::InstId loop);
    void fill_tiles(const ir::Inst& loop, RowTiling& t);
    void enter_tiles(const RowTiling& t);
    void flush_tiles(const RowTiling& t);

private:
    bool only_adds(const RowTile& t) const;
    std::string added(const RowTile& t, const std::string& type, const std::string& a, const std::string& b);
    bool is_row_access(ir::InstId i, ir::InstId loop) const;
    std::string address_at(const ir::Inst& i, ir::Value index, const std::string& now);
    void move_tile(const RowTile& t, const RowTiling& all, bool back);
    std::string row_address(const RowTile& t, const std::string& column, int lane, int bytes);
    void transpose(const RowTile& t, const RowTiling& all, int first);
    void transpose_back(const RowTile& t, const RowTiling& all, int first);
};

}  // namespace pumice::cpu
