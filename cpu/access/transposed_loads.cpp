// Transposed loads: column-wise loads of `width` rows of a group are done together, as row loads and a register transpose.
//
// Why: in b(i, j) = a(j, i) the lanes of a packet (axis 0) read a column of a: a gather touches `width` cache lines for one
// element each, and again for the next row. The items of the next rows (axis 1) need the neighbours of these elements.
//
//     before, each of 8 rows:   %v = gather <8 x ptr> (a + lane * stride + row)
//     after, once for 8 rows:   %r0 = load <8 x float>, ptr a + 0 * stride     ... %r7; 8 x 8 transpose in registers
//                               store the 8 columns to a stack tile
//     after, each row:          %v = load <8 x float>, ptr tile + row          (in registers when the rows are unrolled)
//
// Local memory that a kernel uses only to stage such a transpose is put on the stack, where LLVM promotes it to registers. With
// alignment peeling a tile covers one packet more than the group's row (peeled_transposed_rows).
// Cost: a stack tile; code for full and partial groups. Limits: elements of at most 4 bytes; group extents along axes 0 and 1
// must be multiples of the width, and the width a multiple of 4; at most 4 such loads; memory that the region does not write;
// loads that every item of the region executes.
// Textbook: in-register matrix transpose (Eklundh 1972); vectorised tiled transpose.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/analysis/rematerialisation.h"
#include "core/interp/interp_program.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int most_bytes = 4;  ///< bytes of an element
constexpr int line_bytes = 64;
constexpr size_t most_transposed_loads = 4;  ///< transposed loads of a region
constexpr int most_steps = 16;               ///< instructions that an index may take to recompute
constexpr int64_t most_staged = 4096;        ///< bytes of a staging buffer on the stack
constexpr size_t most_unrolled = 32;         ///< instructions of a packet whose rows are unrolled
constexpr int bytes_ahead = 256;             ///< prefetch distance along rows, into the second-level cache

}  // namespace

// ---- which loads ----

/// True if a value is rematerialisable by cheap arithmetic, from the item's indices, from values of the launch and, unless
/// `anywhere`, from values that the group has outside packets; and from `given`.
bool LlvmEmitter::is_rematerialisable(Value v, int& steps, bool anywhere, Value given) const {
    // A uniform value costs little before the packets: LLVM computes it once for a row.
    const auto costly = [&](const Inst& i) { return is_costly(i) && !(anywhere && kind_of(k.result(i)) == ValueKind::uniform); };
    Rematerialisation cheaply(
        k, [&](const Inst& i) { return is_pure(i.op) && !costly(i); },
        [&](Value o) { return o == given || (!anywhere && has_barriers && context_saves[o.id].outer); });
    return cheaply.within(v, steps);
}

/// Rematerialises such a value in this packet.
void LlvmEmitter::rematerialise(Value v) {
    if (has_value[v.id]) return;
    const Inst& source = k[k[v].inst];
    for (const Value o : k.operands(source)) rematerialise(o);
    pure_value(source);
}

/// True if a load is contiguous along axis 1 and not along axis 0: a candidate for a transposed load.
bool LlvmEmitter::is_transposed_load(const Inst& i) const {
    if (!target.rules.has(Rule::transposed_loads) || i.op != Op::load) return false;
    const Memory& m = k[i.memory];
    if (m.kind == MemoryKind::private_ || i.type == Scalar::boolean) return false;
    if (int(m.element.size) != size_of(i.type) || size_of(i.type) > most_bytes) return false;
    const auto indices = indices_of(k, i);
    int steps = most_steps;
    if (index_step(i, indices.back(), 1) != 1 || !is_rematerialisable(indices.back(), steps)) return false;
    const auto step = index_step(i, indices.back());
    bool apart = !step || (*step != 0 && *step != 1);
    for (const Value v : indices.first(indices.size() - 1)) {
        if (index_step(i, v, 1) != 0 || !is_rematerialisable(v, steps)) return false;
        apart = apart || kind_of(v) != ValueKind::uniform;
    }
    return apart;
}

/// The transposed loads among instructions that every item executes, from memory that these instructions do not write.
std::vector<InstId> LlvmEmitter::find_transposed_loads(std::span<const InstId> insts) const {
    if (width % quad != 0 || variant.group[0] % width != 0 || variant.group[1] % width != 0) return {};
    bool all_run = true;
    std::vector<InstId> found;
    const std::vector<InstId> run = executed(insts);
    for (const InstId id : run) {
        if (all_run && is_transposed_load(k[id])) found.push_back(id);
        const auto note = [&](InstId i) { all_run = all_run && k[i].op != Op::return_; };
        note(id), each_inside(k, k[id], note);
    }
    const MemoryEffects effects(k, run);
    std::erase_if(found, [&](InstId id) { return effects.writes(k[id].memory); });
    if (found.size() > most_transposed_loads) found.clear();
    return found;
}

/// True if local memory is only a staging buffer: all its loads are transposed loads.
bool LlvmEmitter::only_transposed_loads(MemoryId m) const {
    bool any = false;
    for (const InstId id : uniformity.structure().order()) {
        const Inst& i = k[id];
        if (i.memory != m || i.op == Op::extent || i.op == Op::store) continue;
        if (!is_transposed_load(i)) return false;
        any = true;
    }
    return any && k[m].kind == MemoryKind::local;
}

/// Puts staging buffers on the stack: after unrolling, LLVM promotes them to registers.
void LlvmEmitter::keep_staging_on_stack() {
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        if (!only_transposed_loads({m})) continue;
        const int64_t bytes = interp::local_elements(k, k[MemoryId{m}], variant.group) * k[MemoryId{m}].element.size;
        if (bytes <= most_staged) memory_offsets[m] = -1;
    }
    for (uint32_t m = 0; m < k.memories.size(); ++m)
        if (staged({m})) allocas += text("  ", memory_text({m}), " = alloca [", most_staged, " x i8], align 64\n");
}

// ---- the rows ----

/// True if the packets of `width` rows are few enough instructions to be unrolled: the transposed columns then stay in registers.
bool LlvmEmitter::stays_short() const {
    const std::vector<InstId> all = executed(k[uniformity.structure().block_of(transposed_loads[0])].insts);
    return all.size() <= most_unrolled && std::none_of(all.begin(), all.end(), [&](InstId i) { return is_control(k[i].op); });
}

/// The packets of a full group, `width` rows at a time. In each row, packets whose columns share a cache line run one after
/// another.
void LlvmEmitter::transposed_rows(const Body& body) {
    std::vector<std::string> tiles;
    const auto vectors = [&](InstId id) { return vector_type(memory_type(k[id].type)); };
    const auto blocks = [&](size_t axis) { return variant.group[axis] / width; };
    const int64_t together = std::gcd(blocks(0), std::max(1, line_bytes / (width * most_bytes)));
    for (const InstId id : transposed_loads)
        tiles.push_back(alloca_of(text("[", width * together, " x ", vectors(id), "]"), "tile"));
    const auto address = [&](size_t n, const std::string& at) {
        return let(text("getelementptr ", vectors(transposed_loads[n]), ", ptr ", tiles[n], ", i32 ", at), "p");
    };
    const auto each_block = [&](const std::string& x, const std::function<void(const std::string& block)>& act) {
        if (together == 1) return act("0");
        counted("block", std::to_string(together), [&](const std::string& block) {
            local_at[0] = let(text("add i32 ", x, ", ", let(text("mul i32 ", block, ", ", width))), "x");
            act(block);
        });
        local_at[0] = x;
    };
    counted("z", std::to_string(variant.group[2]), [&](const std::string& z) {
        counted("rows", std::to_string(blocks(1)), [&](const std::string& rows) {
            const std::string first = let(text("mul i32 ", rows, ", ", width));
            counted("columns", std::to_string(blocks(0) / together), [&](const std::string& column) {
                const std::string x = let(text("mul i32 ", column, ", ", width * together), "x");
                local_at = {x, first, z};
                each_block(x, [&](const std::string& block) {
                    packet({}, [&] {
                        for (size_t n = 0; n < transposed_loads.size(); ++n)
                            fill_transposed(k[transposed_loads[n]], address(n, block), together);
                    });
                });
                const bool before = std::exchange(unrolled, unrolled || stays_short());
                for (const InstId id : transposed_loads) in_tiles[&k[id]];
                counted("row", std::to_string(width), [&](const std::string& row) {
                    local_at[1] = let(text("add i32 ", first, ", ", row));
                    const std::string begin = let(text("mul i32 ", row, ", ", together));
                    each_block(x, [&](const std::string& block) {
                        const std::string at = let(text("add i32 ", begin, ", ", block));
                        for (size_t n = 0; n < transposed_loads.size(); ++n) in_tiles[&k[transposed_loads[n]]] = address(n, at);
                        packet({}, body);
                    });
                });
                unrolled = before;
                for (const InstId id : transposed_loads) in_tiles.erase(&k[id]);
            });
        });
    });
}

/// The same with alignment peeling, where each row is peeled by a number of its own: the tile starts one packet before the group.
/// Addresses of items outside of the range are replaced by those of the nearest item inside.
void LlvmEmitter::peeled_transposed_rows(const Body& body) {
    const int64_t blocks = variant.group[0] / width + 1;
    std::vector<std::string> tiles;
    const auto vectors = [&](InstId id) { return vector_type(memory_type(k[id].type)); };
    for (const InstId id : transposed_loads)
        tiles.push_back(alloca_of(text("[", width * blocks, " x ", vectors(id), "]"), "tile"));
    const std::string base = let(text("mul i32 ", group_at[0], ", ", variant.group[0]));
    const std::string first = let(text("sub i32 ", most_peeled, ", ", base));  // of the range, in the coordinates of peeled_row
    const std::string last = let(text("add i32 ", first, ", ", let(text("sub i32 ", axis_text("extent", 0), ", 1"))));
    counted("z", std::to_string(variant.group[2]), [&](const std::string& z) {
        counted("rows", std::to_string(variant.group[1] / width), [&](const std::string& rows) {
            const std::string top = let(text("mul i32 ", rows, ", ", width));
            counted("block", std::to_string(blocks), [&](const std::string& block) {
                const std::string x =
                    let(text("add i32 ", let(text("mul i32 ", block, ", ", width)), ", ", most_peeled - width), "x");
                local_at = {clamped(x, first, last), top, z};
                const auto fill = [&](const std::function<std::string(int lane)>& steps) {
                    packet({}, [&] {
                        for (size_t n = 0; n < transposed_loads.size(); ++n) {
                            const std::string row = let(
                                text("getelementptr ", vectors(transposed_loads[n]), ", ptr ", tiles[n], ", i32 ", block), "p");
                            fill_transposed(k[transposed_loads[n]], row, blocks, steps);
                        }
                    });
                };
                const std::string interior = label("interior"), boundary = label("boundary"), filled = label("filled");
                const std::string end = let(text("add i32 ", x, ", ", width - 1));
                const std::string from = let(text("icmp eq i32 ", x, ", ", local_at[0])),
                                  to = let(text("icmp sle i32 ", end, ", ", last));
                branch(let(text("and i1 ", from, ", ", to)), interior, boundary);
                start(interior);
                fill({});
                jump(filled);
                start(boundary);
                fill([&](int lane) {
                    const std::string before = let(text("add i32 ", let(text("sub i32 ", x, ", ", first)), ", ", lane - 1));
                    return let(text("icmp ult i32 ", before, ", ", let(text("sub i32 ", last, ", ", first))));
                });
                start(filled);
            });
            counted("row", std::to_string(width), [&](const std::string& row) {
                local_at[1] = let(text("add i32 ", top, ", ", row));
                const std::string row_begin = let(text("mul i32 ", row, ", ", blocks * width));
                peeled_row([&] {
                    const std::string x =
                        let(text("add i32 ", row_begin, ", ", let(text("sub i32 ", local_at[0], ", ", most_peeled - width))));
                    for (size_t n = 0; n < transposed_loads.size(); ++n) {
                        const int bytes = size_of(k[transposed_loads[n]].type);
                        const std::string row_address =
                            let(text("getelementptr [", bytes, " x i8], ptr ", tiles[n], ", i32 ", x), "p");
                        in_tiles[&k[transposed_loads[n]]] = text(row_address, ", align ", bytes);
                    }
                    body();
                });
            });
            for (const InstId id : transposed_loads) in_tiles.erase(&k[id]);
        });
    });
}

/// min(max(x, least), most) of i32 values.
std::string LlvmEmitter::clamped(const std::string& x, const std::string& least, const std::string& most) {
    declare("declare i32 @llvm.smin.i32(i32, i32)");
    declare("declare i32 @llvm.smax.i32(i32, i32)");
    const std::string above = let(text("call i32 @llvm.smax.i32(i32 ", x, ", i32 ", least, ")"));
    return let(text("call i32 @llvm.smin.i32(i32 ", above, ", i32 ", most, ")"));
}

/// True if the addresses of a load's lanes have a common step from lane to lane.
bool LlvmEmitter::steps_evenly(const Inst& load) const {
    const auto indices = indices_of(k, load);
    return std::all_of(indices.begin(), indices.end(), [&](Value v) {
        const AffineForm& f = affine.of(v);
        int steps = most_steps;
        const int bits = index_bits(load, v);
        // A step that only the launch knows is a multiplication, which must be exact in all bits of the offset.
        const bool multiplies = f.bits >= (k[load.memory].kind == MemoryKind::array && variant.wide_offsets ? 64 : bits);
        const auto known = [&](const Coefficient& c) {
            return c.constant() || (multiplies && is_rematerialisable(c.times, steps));
        };
        return f.known && f.bits >= bits && known(f.local[0]) && known(f.global[0]);
    });
}

/// The step of such an index from lane to lane, as an LLVM value.
std::string LlvmEmitter::step_of(Value index, bool wide) {
    const AffineForm& f = affine.of(index);
    const std::string t = wide ? "i64" : "i32";
    if (const auto constant = f.step(std::min(f.bits, wide ? 64 : 32))) return std::to_string(*constant);
    std::string sum = "0";
    for (const Coefficient& c : {f.local[0], f.global[0]}) {
        if (c.zero()) continue;
        const int64_t factor = wide ? c.factor : int32_t(c.factor);
        std::string step = std::to_string(factor);
        if (!c.constant()) {
            rematerialise(c.times);
            step = let(text("mul ", t, " ", integer(c.times, wide).scalar, ", ", factor));
        }
        sum = let(text("add ", t, " ", sum, ", ", step));
    }
    return sum;
}

/// The addresses of a load's lanes. `steps` gives an i1 for each lane: false repeats the address of the lane before it.
std::vector<std::string> LlvmEmitter::lane_addresses(const Inst& load, const std::function<std::string(int lane)>& steps) {
    const bool wide = k[load.memory].kind == MemoryKind::array && variant.wide_offsets;
    const Scalar type = wide ? Scalar::i64 : Scalar::i32;
    const std::string t = scalar_type(type);
    const auto indices = indices_of(k, load);
    std::vector<std::string> addresses;
    if (!steps_evenly(load)) {
        bool contiguous = false;
        int64_t more = 0;
        const std::string index = vector_of(offset(load, wide, contiguous, more), type);
        for (int lane = 0; lane < width; ++lane)
            addresses.push_back(pointer_to(load, t, extract(t, index, std::to_string(lane)), more));
        return addresses;
    }
    std::string first = "0", apart = "0";
    for (size_t d = 0; d < indices.size(); ++d) {
        ValueRep index = integer(indices[d], wide);
        if (index.kind == ValueKind::vector) index.scalar = extract(t, index.vector, "0");
        const std::string step = step_of(indices[d], wide);
        const auto on = [&](const std::string& rows, const std::string& here) {
            const std::string row = let(text("mul ", t, " ", rows, ", ", extent_along(load.memory, d, wide)));
            return let(text("add ", t, " ", row, ", ", here));
        };
        first = d == 0 ? index.scalar : on(first, index.scalar);
        apart = d == 0 ? step : on(apart, step);
    }
    addresses.push_back(pointer_to(load, t, first));
    while (int(addresses.size()) < width) {
        const std::string step =
            steps ? let(text("select i1 ", steps(int(addresses.size())), ", ", t, " ", apart, ", ", t, " 0")) : apart;
        addresses.push_back(
            let(text("getelementptr [", size_of(load.type), " x i8], ptr ", addresses.back(), ", ", t, " ", step), "p"));
    }
    return addresses;
}

/// Fills the tile: one vector for each row, consecutive rows `row_stride` vectors apart.
void LlvmEmitter::fill_transposed(const Inst& load, const std::string& tile, int64_t row_stride,
                                  const std::function<std::string(int lane)>& steps) {
    const bool before = std::exchange(restoring, true);  // values computed here are not saved for other regions
    for (const Value v : indices_of(k, load)) rematerialise(v);
    const std::vector<std::string> addresses = lane_addresses(load, steps);
    restoring = before;
    const std::string type = memory_type(load.type), v = vector_type(type);
    // Loads whole vectors before the transpose: the rows of a large array may map to so few sets that the first-level cache
    // cannot hold a line of each.
    std::vector<std::string> rows;
    for (const std::string& row : addresses) rows.push_back(let(text("load ", v, ", ptr ", row, ", align ", size_of(load.type))));
    if (variant.streaming && k[load.memory].kind == MemoryKind::array)
        for (const std::string& row : addresses)
            emit_prefetch(let(text("getelementptr i8, ptr ", row, ", i64 ", bytes_ahead), "p"), 2);
    const std::vector<std::string> columns = transposed(type, rows);
    for (int c = 0; c < width; ++c) {
        const std::string address = let(text("getelementptr ", v, ", ptr ", tile, ", i64 ", c * row_stride), "p");
        line(text("store ", v, " ", columns[size_t(c)], ", ptr ", address));
    }
}

}  // namespace pumice::cpu
