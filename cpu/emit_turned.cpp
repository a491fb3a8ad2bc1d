// Loads whose neighbours are the next rows' items, not the same row's: as many rows as a packet has lanes take them together, as
// whole vectors that are transposed in registers. A gather would fetch each of the lines once for every row.
#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/interp_program.h"
#include "cpu/emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int element_bytes = 4;
constexpr size_t most_turned = 4;  ///< loads of a region
constexpr int most_steps = 16;     ///< to an index
constexpr int64_t most_staged = 4096;  ///< bytes
constexpr size_t most_unrolled = 32;  ///< instructions of a packet

}  // namespace

// ---- which loads ----

/// Whether a value follows by cheap arithmetic from the item's indices and what is there for the group.
bool Emitter::follows(Value v, int& steps) const {
    if (has_barriers && keeps[v.id].outer) return true;
    const InstId source = k[v].inst;
    if (source.id == none || !is_pure(k[source].op) || is_costly(k[source]) || --steps < 0) return false;
    const auto operands = k.operands(k[source]);
    return std::all_of(operands.begin(), operands.end(), [&](Value o) { return follows(o, steps); });
}

/// Makes such a value known in this packet.
void Emitter::follow(Value v) {
    if (has_value[v.id]) return;
    const Inst& source = k[k[v].inst];
    for (const Value o : k.operands(source)) follow(o);
    pure_value(source);
}

/// Whether a load's place grows by one element along axis 1, and by something else along axis 0.
bool Emitter::turns(const Inst& i) const {
    const Memory& m = k[i.memory];
    if (i.op != Op::load || m.kind == MemoryKind::private_ || i.type == Scalar::boolean) return false;
    if (int(m.element.size) != element_bytes || size_of(i.type) != element_bytes) return false;
    const auto indices = indices_of(k, i);
    const auto along = [&](Value v, size_t axis) {
        const AffineForm& f = affine.of(v);
        const Coefficient &local = f.local[axis], &global = f.global[axis];
        return f.known && local.constant() && global.constant() ? std::optional(local.factor + global.factor) : std::nullopt;
    };
    int steps = most_steps;
    if (along(indices.back(), 1) != 1 || !follows(indices.back(), steps)) return false;
    int64_t step = 0;
    bool apart = !affine.of(indices.back()).step(step) || (step != 0 && step != 1);
    for (const Value v : indices.first(indices.size() - 1)) {
        if (along(v, 1) != 0 || !follows(v, steps)) return false;
        apart = apart || kind_of(v) != Kind::uniform;
    }
    return apart;
}

/// Such loads among instructions that every item runs, of memory that they do not change.
std::vector<InstId> Emitter::turned_loads(std::span<const InstId> insts) const {
    if (width % quad != 0 || variant.group[0] % width != 0 || variant.group[1] % width != 0 || main) return {};
    std::vector<bool> changed(k.memories.size());
    bool all_run = true;
    const auto note = [&](InstId id) {
        const Inst& i = k[id];
        if (i.memory.id != none && i.op != Op::load && i.op != Op::extent) changed[i.memory.id] = true;
        all_run = all_run && i.op != Op::return_;
    };
    std::vector<InstId> found;
    for (const InstId id : executed(insts)) {
        if (all_run && turns(k[id])) found.push_back(id);
        note(id);
        each_inside(k, k[id], note);
    }
    std::erase_if(found, [&](InstId id) { return changed[k[id].memory.id]; });
    if (found.size() > most_turned) found.clear();
    return found;
}

/// Whether local memory does nothing but hold what is loaded so.
bool Emitter::only_turned(MemoryId m) const {
    bool any = false;
    for (const InstId id : uniformity.structure().order()) {
        const Inst& i = k[id];
        if (i.memory != m || i.op == Op::extent || i.op == Op::store) continue;
        if (!turns(i)) return false;
        any = true;
    }
    return any && k[m].kind == MemoryKind::local;
}

/// Such memory goes on the stack: where all of it is written out, LLVM leaves it in registers.
void Emitter::keep_staging_on_stack() {
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        if (!only_turned({m})) continue;
        const int64_t bytes = interp::local_elements(k, k[MemoryId{m}], variant.group) * k[MemoryId{m}].element.size;
        if (bytes <= most_staged) memory_places[m] = -1;
    }
    place_staging();
}

/// Groups without guards have memory of their own, or those that need masks would keep it out of registers.
void Emitter::place_staging() {
    for (uint32_t m = 0; m < k.memories.size(); ++m)
        if (staged({m})) allocas += text("  ", memory_text({m}), " = alloca [", most_staged, " x i8], align 64\n");
}

// ---- the rows ----

/// Whether as many packets as there are lanes may be written one after the other: what was transposed then stays in registers.
bool Emitter::stays_short() const {
    const std::vector<InstId> all = executed(k[uniformity.structure().block_of(turned[0])].insts);
    return all.size() <= most_unrolled && std::none_of(all.begin(), all.end(), [&](InstId i) { return is_control(k[i].op); });
}

/// The packets of a whole group, as many rows at once as a packet has lanes.
void Emitter::turned_rows(const Body& body) {
    std::vector<std::string> tiles;
    const auto vectors = [&](InstId id) { return vector_type(memory_type(k[id].type)); };
    for (const InstId id : turned) tiles.push_back(alloca_of(text("[", width, " x ", vectors(id), "]"), "tile"));
    const auto blocks = [&](size_t axis) { return std::to_string(variant.group[axis] / width); };
    counted("z", std::to_string(variant.group[2]), [&](const std::string& z) {
        counted("rows", blocks(1), [&](const std::string& rows) {
            const std::string first = let(text("mul i32 ", rows, ", ", width));
            counted("columns", blocks(0), [&](const std::string& column) {
                local_at = {let(text("mul i32 ", column, ", ", width), "x"), first, z};
                packet({}, [&] {
                    for (size_t n = 0; n < turned.size(); ++n) fill_turned(k[turned[n]], tiles[n]);
                });
                const bool before = std::exchange(unrolled, unrolled || stays_short());
                for (const InstId id : turned) in_tiles[&k[id]];
                if (unrolled) open_walks(row_insts);
                along_walks([&] {
                    counted("row", std::to_string(width), [&](const std::string& row) {
                        local_at[1] = let(text("add i32 ", first, ", ", row));
                        for (size_t n = 0; n < turned.size(); ++n)
                            in_tiles[&k[turned[n]]] = let(text("getelementptr ", vectors(turned[n]), ", ptr ", tiles[n], ", i32 ", row), "p");
                        packet({}, body);
                        next_in_walks();
                    });
                });
                unrolled = before;
                for (const InstId id : turned) in_tiles.erase(&k[id]);
            });
        });
    });
}

/// The places of a load's lanes. Where no index is a vector, they are found one from the other.
std::vector<std::string> Emitter::lane_places(const Inst& load) {
    const bool wide = k[load.memory].kind == MemoryKind::array && variant.wide_offsets;
    const Scalar type = wide ? Scalar::i64 : Scalar::i32;
    const std::string t = scalar_type(type);
    const auto indices = indices_of(k, load);
    std::vector<std::string> places;
    if (std::any_of(indices.begin(), indices.end(), [&](Value v) { return kind_of(v) == Kind::vector || size_of(k.type_of(v)) < 4; })) {
        bool contiguous = false;
        int64_t more = 0;
        const std::string index = vector_of(offset(load, wide, contiguous, more), type);
        for (int lane = 0; lane < width; ++lane) places.push_back(pointer_to(load, t, extract(t, index, std::to_string(lane)), more));
        return places;
    }
    std::string first = "0", apart = "0";
    for (size_t d = 0; d < indices.size(); ++d) {
        const Held index = integer(indices[d], wide);
        const auto on = [&](const std::string& rows, const std::string& here) {
            const std::string row = let(text("mul ", t, " ", rows, ", ", extent_along(load.memory, d, wide)));
            return let(text("add ", t, " ", row, ", ", here));
        };
        first = d == 0 ? index.scalar : on(first, index.scalar);
        apart = d == 0 ? std::to_string(index.step) : on(apart, std::to_string(index.step));
    }
    places.push_back(pointer_to(load, t, first));
    while (int(places.size()) < width)
        places.push_back(let(text("getelementptr [", element_bytes, " x i8], ptr ", places.back(), ", ", t, " ", apart), "p"));
    return places;
}

/// What the packets of these rows load, a vector a row.
void Emitter::fill_turned(const Inst& load, const std::string& tile) {
    const bool before = std::exchange(bringing_in, true);  // what is computed here is kept for nobody
    for (const Value v : indices_of(k, load)) follow(v);
    const std::vector<std::string> places = lane_places(load);
    bringing_in = before;
    const std::string type = memory_type(load.type), v = vector_type(type);
    // Whole vectors at once: the rows of a large array may be so far apart that the first cache has no room for lines of them all.
    std::vector<std::string> rows;
    for (const std::string& row : places) rows.push_back(let(text("load ", v, ", ptr ", row, ", align ", element_bytes)));
    const std::vector<std::string> columns = transposed(type, rows);
    for (int c = 0; c < width; ++c) {
        const std::string place = let(text("getelementptr ", v, ", ptr ", tile, ", i64 ", c), "p");
        line(text("store ", v, " ", columns[size_t(c)], ", ptr ", place));
    }
}

}  // namespace pumice::cpu
