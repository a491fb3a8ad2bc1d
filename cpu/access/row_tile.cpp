// Row tiles: strided loads of a reduction along rows, replaced by contiguous loads and a register transpose.
//
// Why: in a loop in which every item goes along a row of its own (a reduction of matrix rows), the lanes' addresses are a whole
// row apart. A gather per iteration touches `width` cache lines for one element each. Tile: 16 iterations are moved at once.
//
//     before, each iteration:   %v = gather <8 x ptr> (row[lane] + k)                       8 lines, 8 elements used
//     after, every 16th:        for each lane: 4 loads <4 x float> from row[lane] + k0      one line a lane, all of it used
//                               register transpose; 16 stores <8 x float> to the tile (stack)
//     after, each iteration:    %v = load <8 x float>, ptr tile + (k - k0)
//
// Stores go the other way after the 16 iterations. A tile that only accumulates (x[i] += a) is not loaded first: the loop sees
// -0.0 or 0, and the sums are added to the row on the way back. Iterations left over (fewer than 16) use gather and scatter.
// Cost: a stack tile of 16 vectors; the loop's trip test is duplicated (a loop over tiles around one over iterations).
// Limits: `for` loops with a step of 1 or -1 and uniform bounds that all lanes of a whole packet run, without jumps; elements of
// 4 or 8 bytes; at most 4 tiles a loop; memory that the loop stores to must be accessed by one tile only.
// Textbook: strip-mining with a transposed buffer (packing, as in GotoBLAS: Goto and van de Geijn 2008).
#include <algorithm>
#include <cmath>

#include "core/support/error.h"
#include "cpu/access/loads_and_stores.h"
#include "cpu/access/masked_accesses.h"
#include "cpu/access/row_tile.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/address/addresses.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int columns = 16;       ///< iterations of a tile: one or two cache lines of each row
constexpr size_t most_tiles = 4;  ///< tiles of a loop
constexpr int tiles_ahead = 2;    ///< prefetch distance in tiles

int element_bytes(const RowTile& t) { return size_of(t.accesses[0]->type); }

}  // namespace

// ---- which loops ----

/// Legality of one access: the lanes' addresses are not adjacent, and each lane goes along its row by one element an iteration.
bool RowTiles::is_row_access(InstId id, InstId loop) const {
    const Inst& i = k[id];
    const Memory& m = k[i.memory];
    if ((i.op != Op::load && i.op != Op::store) || packet.uniformity.structure().around(id) != loop) return false;
    if (m.kind != MemoryKind::array || plan.sum_lanes[i.memory.id] > 0) return false;
    if (int(m.element.size) != size_of(i.type) || (size_of(i.type) != 4 && size_of(i.type) != 8)) return false;
    const auto indices = indices_of(k, i);
    const auto grows = [&](Value v) { return emit.loops.growth(v, loop, emit.addresses.index_bits(i, v)); };
    if (grows(indices.back()) != grows(k[k[loop].blocks[0]].params[0])) return false;
    bool apart = false;
    for (const Value v : indices.first(indices.size() - 1)) {
        if (grows(v) != 0) return false;
        apart = apart || packet.kind_of(v) != ValueKind::uniform;
    }
    const auto step = emit.addresses.index_step(i, indices.back());
    if (!apart && (step ? std::abs(*step) <= 1 : packet.kind_of(indices.back()) != ValueKind::vector)) return false;
    return emit.prefetches.way_to(i, [&](Value v) { return v == k[k[loop].blocks[0]].params[0]; }).has_value();
}

/// The tiles of a loop; none unless all lanes run all its iterations. A tile with stores is the only access to its memory in the
/// loop.
std::vector<RowTile> RowTiles::tiles_of(InstId id) const {
    if (!target.rules.has(Rule::row_tiles)) return {};
    const Inst& loop = k[id];
    if (loop.op != Op::for_ || width % quad != 0 || !packet.running.all()) return {};
    if (packet.diverges(id) || !packet.uniformity.structure().jumps_to(id).empty() || emit.loops.unrolls(id)) return {};
    const auto v = k.operands(loop);
    const Value index = k[loop.blocks[0]].params[0];
    const auto step = emit.loops.growth(index, id, 32);
    const int64_t trips = emit.loops.constant_trips(id);
    const bool by_one = step && (*step == 1 || (*step == -1 && is_signed_int(k.type_of(index))));
    if (size_of(k.type_of(index)) != 4 || !by_one || packet.kind_of(index) != ValueKind::uniform ||
        packet.kind_of(v[1]) != ValueKind::uniform)
        return {};
    if (trips >= 0 && trips < columns) return {};
    std::vector<RowTile> tiles;
    std::vector<bool> stored(k.memories.size());
    std::vector<int> others(k.memories.size());
    bool stays = true;
    each_inside(k, loop, [&](InstId inner) {
        const Inst& i = k[inner];
        stays = stays && i.op != Op::return_ && !is_barrier(i.op);
        if (i.memory.id == none || i.op == Op::extent) return;
        if (i.op != Op::load) stored[i.memory.id] = true;
        if (!is_row_access(inner, id)) return void(++others[i.memory.id]);
        const auto same = std::find_if(tiles.begin(), tiles.end(), [&](const RowTile& t) {
            const auto a = indices_of(k, i), b = indices_of(k, *t.accesses[0]);
            return t.accesses[0]->memory == i.memory && t.accesses[0]->leaf == i.leaf &&
                   std::equal(a.begin(), a.end(), b.begin(), b.end());
        });
        RowTile& t = same != tiles.end() ? *same : tiles.emplace_back();
        t.accesses.push_back(&i);
        (i.op == Op::load ? t.loads : t.stores) = true;
    });
    std::vector<int> of_memory(k.memories.size());
    for (const RowTile& t : tiles) ++of_memory[t.accesses[0]->memory.id];
    std::erase_if(tiles, [&](const RowTile& t) {
        const MemoryId m = t.accesses[0]->memory;
        return stored[m.id] && (others[m.id] > 0 || of_memory[m.id] > 1);
    });
    if (!stays || tiles.size() > most_tiles) return {};
    for (RowTile& t : tiles)
        if (only_adds(t)) t.adds = true, t.loads = false;
    return tiles;
}

/// True if the tile is an accumulator: an iteration only adds to its element or subtracts from it, as in x[i] += a.
bool RowTiles::only_adds(const RowTile& t) const {
    // The sum of partial sums rounds differently, by too much in a narrow float.
    if (is_narrow_float(t.accesses[0]->type)) return false;
    if (t.accesses.size() != 2 || t.accesses[0]->op != Op::load || t.accesses[1]->op != Op::store) return false;
    const Value loaded = k.result(*t.accesses[0]), sum = k.operands(*t.accesses[1]).back();
    const InstId made = k[sum].inst;
    if (made.id == none || packet.uses.count(loaded) != 1 || packet.uses.count(sum) != 1) return false;
    const auto v = k.operands(k[made]);
    return (k[made].op == Op::add && (v[0] == loaded || v[1] == loaded)) || (k[made].op == Op::sub && v[0] == loaded);
}

std::string RowTiles::added(const RowTile& t, const std::string& type, const std::string& a, const std::string& b) {
    return out.let(text(is_float(t.accesses[0]->type) ? "fadd " : "add ", type, " ", a, ", ", b));
}

// ---- the loop ----

RowTiling RowTiles::open_tiles(InstId id) {
    RowTiling t;
    t.tiles = tiles_of(id);
    if (t.tiles.empty()) return t;
    t.index = k[k[id].blocks[0]].params[0];
    t.first = packet.scalar(k.operands(k[id])[0]);
    t.step = int(*emit.loops.growth(t.index, id, 32));
    t.stop = out.alloca_of("i32", "stop");
    for (RowTile& tile : t.tiles) {
        const Inst& i = *tile.accesses[0];
        tile.memory = out.alloca_of(text("[", columns, " x ", out.vector_type(out.memory_type(i.type)), "]"), "tile");
        const std::string first = address_at(i, t.index, t.first);
        for (int lane = 0; lane < width; ++lane) tile.rows.push_back(out.extract("ptr", first, std::to_string(lane)));
    }
    return t;
}

/// Code before the iterations of a tile (at least one): loads the tile and prefetches a later one.
void RowTiles::fill_tiles(const Inst& loop, RowTiling& t) {
    const std::string from = packet.scalar(t.index), to = packet.scalar(k.operands(loop)[1]);
    const std::string left = out.let(t.step > 0 ? text("sub i32 ", to, ", ", from) : text("sub i32 ", from, ", ", to));
    out.declare("declare i32 @llvm.umin.i32(i32, i32)");
    t.count = out.let(text("call i32 @llvm.umin.i32(i32 ", left, ", i32 ", columns, ")"));
    const std::string end = out.let(text(t.step > 0 ? "add" : "sub", " i32 ", from, ", ", t.count));
    t.lowest = t.step > 0 ? from : out.let(text("add i32 ", end, ", 1"));
    out.line(text("store i32 ", end, ", ptr ", t.stop));
    // The column is a difference of two loop indices. It may exceed i32.
    const auto wide = [&](const std::string& i) {
        return out.let(text(is_signed_int(k.type_of(t.index)) ? "sext" : "zext", " i32 ", i, " to i64"));
    };
    t.column = out.let(text("sub i64 ", wide(t.lowest), ", ", wide(t.first)));
    const std::string ahead = out.let(text("add i64 ", t.column, ", ", t.step * columns * tiles_ahead));
    for (const RowTile& tile : t.tiles) {
        for (int lane = 0; lane < width && (tile.loads || tile.adds); ++lane)
            emit.prefetches.emit_prefetch(row_address(tile, ahead, lane, 0));
        if (tile.loads) move_tile(tile, t, false);
    }
}

/// Code after the iterations of a tile: stores it back.
void RowTiles::flush_tiles(const RowTiling& t) {
    for (const RowTile& tile : t.tiles) {
        if (tile.stores) move_tile(tile, t, true);
        for (const Inst* i : tile.accesses) emit.accesses.in_tiles.erase(i);
    }
}

/// Computes, for each access of the iteration, the address of its vector in the tile.
void RowTiles::enter_tiles(const RowTiling& t) {
    const std::string column = out.let(text("sub i32 ", packet.scalar(t.index), ", ", t.lowest));
    for (const RowTile& tile : t.tiles) {
        const std::string address = out.let(text("getelementptr ", out.vector_type(out.memory_type(tile.accesses[0]->type)),
                                                 ", ptr ", tile.memory, ", i32 ", column),
                                            "p");
        for (const Inst* i : tile.accesses) emit.accesses.in_tiles[i] = tile.adds && i->op == Op::load ? "" : address;
    }
}

// ---- from rows to tiles and back ----

void RowTiles::move_tile(const RowTile& t, const RowTiling& all, bool back) {
    const std::string whole = out.label("whole"), part = out.label("part"), end = out.label("moved");
    out.branch(out.let(text("icmp eq i32 ", all.count, ", ", columns)), whole, part);
    out.start(whole);
    for (int lane = 0; lane < width; lane += std::min(width, columns))
        back ? transpose_back(t, all, lane) : transpose(t, all, lane);
    out.jump(end);
    out.start(part);
    const Inst& i = *t.accesses[0];
    const std::string type = out.memory_type(i.type), v = out.vector_type(type);
    out.counted("column", all.count, [&](const std::string& column) {
        const std::string here = out.let(text("getelementptr ", v, ", ptr ", t.memory, ", i32 ", column), "p");
        const Address there{Address::How::scattered,
                            address_at(i, all.index, out.let(text("add i32 ", all.lowest, ", ", column))), element_bytes(t)};
        const std::string value = !back || t.adds ? emit.masked.masked_read(type, there, "splat (i1 true)") : "";
        if (!back) return out.line(text("store ", v, " ", value, ", ptr ", here));
        const std::string changed = out.let(text("load ", v, ", ptr ", here)),
                          now = t.adds ? added(t, v, value, changed) : changed;
        emit.masked.masked_write(type, now, there, "splat (i1 true)");
    });
    out.start(end);
}

/// The lanes' addresses in the iteration with index `now`: a vector of ptr.
std::string RowTiles::address_at(const Inst& i, Value index, const std::string& now) {
    const auto way = emit.prefetches.way_to(i, [&](Value v) { return v == index; });
    const auto set_index = [&] { packet.values[index.id] = {ValueKind::uniform, now, "", 0}, packet.has_value[index.id] = true; };
    return emit.prefetches.address_after(i, *way, set_index).pointer;
}

/// The address of a column in a lane's row, plus `bytes`.
std::string RowTiles::row_address(const RowTile& t, const std::string& column, int lane, int bytes) {
    const std::string address =
        out.let(text("getelementptr [", element_bytes(t), " x i8], ptr ", t.rows[size_t(lane)], ", i64 ", column), "p");
    return bytes == 0 ? address : out.let(text("getelementptr i8, ptr ", address, ", i64 ", bytes), "p");
}

/// Loads and transposes the rows of up to 16 lanes, `first` and following, into the tile.
void RowTiles::transpose(const RowTile& t, const RowTiling& all, int first) {
    const std::string type = out.memory_type(t.accesses[0]->type), four = text("<", quad, " x ", type, ">");
    const int lanes = std::min(width - first, columns);
    const std::vector<std::string> vectors = emit.shuffles.transposed(type, lanes, columns, [&](int lane, int column) {
        return out.let(text("load ", four, ", ptr ", row_address(t, all.column, first + lane, column * element_bytes(t)),
                            ", align ", element_bytes(t)));
    });
    const std::string whole = text("<", lanes, " x ", type, ">");
    for (int c = 0; c < columns; ++c) {
        const std::string address =
            out.let(text("getelementptr i8, ptr ", t.memory, ", i64 ", (c * width + first) * element_bytes(t)), "p");
        out.line(text("store ", whole, " ", vectors[size_t(c)], ", ptr ", address, ", align 16"));
    }
}

/// The inverse of transpose(): transposes 4 x 4 blocks, then assembles each row from the blocks and stores it.
void RowTiles::transpose_back(const RowTile& t, const RowTiling& all, int first) {
    const std::string type = out.memory_type(t.accesses[0]->type);
    const int lanes = std::min(width - first, columns), blocks = lanes / quad;
    const std::string whole = text("<", lanes, " x ", type, ">");
    std::array<std::array<std::string, quad>, columns / quad> parts;
    for (int q = 0; q < columns / quad; ++q) {
        for (int c = 0; c < quad; ++c) {
            const int offset = ((q * quad + c) * width + first) * element_bytes(t);
            parts[size_t(q)][size_t(c)] =
                out.let(text("load ", whole, ", ptr ", out.let(text("getelementptr i8, ptr ", t.memory, ", i64 ", offset), "p"),
                             ", align 16"));
        }
        emit.shuffles.transpose_blocks(parts[size_t(q)], type, lanes);
    }
    const auto picked = [&](const std::string& a, const std::string& b, std::vector<int> from) {  // blocks of a, then of b
        return emit.shuffles.shuffled(type, lanes, a, b, lanes,
                                      [&](int lane) { return from[size_t(lane / quad)] * quad + lane % quad; });
    };
    const auto put = [&](const std::string& v, int lane, int column) {
        const std::string address = row_address(t, all.column, first + lane, column * element_bytes(t));
        const std::string now =
            t.adds ? added(t, whole, out.let(text("load ", whole, ", ptr ", address, ", align ", element_bytes(t))), v) : v;
        out.line(text("store ", whole, " ", now, ", ptr ", address, ", align ", element_bytes(t)));
    };
    for (int r = 0; r < quad; ++r) {
        const auto row = [&](int q) { return parts[size_t(q)][size_t(r)]; };
        if (blocks == 1)
            for (int q = 0; q < columns / quad; ++q) put(row(q), r, q * quad);
        if (blocks == 2)
            for (int b = 0; b < 2; ++b)
                for (int q = 0; q < columns / quad; q += 2) put(picked(row(q), row(q + 1), {b, 2 + b}), r + b * quad, q * quad);
        if (blocks != 4) continue;
        for (int odd = 0; odd < 2; ++odd) {
            const std::vector<int> apart{odd, odd + 2, odd + 4, odd + 6};
            const std::string low = picked(row(0), row(1), apart), high = picked(row(2), row(3), apart);
            put(picked(low, high, {0, 2, 4, 6}), r + odd * quad, 0);
            put(picked(low, high, {1, 3, 5, 7}), r + (odd + 2) * quad, 0);
        }
    }
}

}  // namespace pumice::cpu
