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
#include "cpu/access/software_prefetch.h"
#include "cpu/access/transposed_loads.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/frame_values.h"
#include "cpu/packet/memory_layout.h"
#include "cpu/packet/shuffles.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr size_t most_transposed_loads = 4;  ///< transposed loads of a region
constexpr int most_steps = 16;               ///< instructions that an index may take to recompute
constexpr int64_t most_staged = 4096;        ///< bytes of a staging buffer on the stack
constexpr size_t most_unrolled = 32;         ///< instructions of a packet whose rows are unrolled
constexpr int bytes_ahead = 256;             ///< prefetch distance along rows, into the second-level cache

}  // namespace

// ---- which loads ----

/// True if a load is contiguous along axis 1 and not along axis 0: a candidate for a transposed load.
bool TransposedLoads::is_transposed_load(const Inst& i) const {
    if (!target.rules.has(Rule::transposed_loads) || i.op != Op::load) return false;
    const Memory& m = k[i.memory];
    if (m.kind == MemoryKind::private_ || i.type == Scalar::boolean) return false;
    if (int(m.element.size) != size_of(i.type) || size_of(i.type) > most_bytes) return false;
    const auto indices = indices_of(k, i);
    int steps = most_steps;
    if (emit.addresses.index_step(i, indices.back(), 1) != 1 || !emit.pure.is_rematerialisable(indices.back(), steps))
        return false;
    const auto step = emit.addresses.index_step(i, indices.back());
    bool apart = !step || (*step != 0 && *step != 1);
    for (const Value v : indices.first(indices.size() - 1)) {
        if (emit.addresses.index_step(i, v, 1) != 0 || !emit.pure.is_rematerialisable(v, steps)) return false;
        apart = apart || packet.kind_of(v) != ValueKind::uniform;
    }
    return apart;
}

/// The transposed loads among instructions that every item executes, from memory that these instructions do not write.
std::vector<InstId> TransposedLoads::find_transposed_loads(std::span<const InstId> insts) const {
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
bool TransposedLoads::only_transposed_loads(MemoryId m) const {
    bool any = false;
    for (const InstId id : packet.uniformity.structure().order()) {
        const Inst& i = k[id];
        if (i.memory != m || i.op == Op::extent || i.op == Op::store) continue;
        if (!is_transposed_load(i)) return false;
        any = true;
    }
    return any && k[m].kind == MemoryKind::local;
}

/// Puts staging buffers on the stack: after unrolling, LLVM promotes them to registers.
void TransposedLoads::keep_staging_on_stack() {
    for (uint32_t m = 0; m < k.memories.size(); ++m) {
        if (!only_transposed_loads({m})) continue;
        const int64_t bytes = interp::local_elements(k, k[MemoryId{m}], variant.group) * k[MemoryId{m}].element.size;
        if (bytes <= most_staged) emit.memory.memory_offsets[m] = -1;
    }
    for (uint32_t m = 0; m < k.memories.size(); ++m)
        if (emit.memory.staged({m}))
            out.allocas += text("  ", emit.memory.memory_text({m}), " = alloca [", most_staged, " x i8], align 64\n");
}

// ---- the rows ----

/// True if the packets of `width` rows are few enough instructions to be unrolled: the transposed columns then stay in registers.
bool TransposedLoads::stays_short() const {
    const std::vector<InstId> all = executed(k[packet.uniformity.structure().block_of(transposed_loads[0])].insts);
    return all.size() <= most_unrolled && std::none_of(all.begin(), all.end(), [&](InstId i) { return is_control(k[i].op); });
}

/// True if the addresses of a load's lanes have a common step from lane to lane.
bool TransposedLoads::steps_evenly(const Inst& load) const {
    const auto indices = indices_of(k, load);
    return std::all_of(indices.begin(), indices.end(), [&](Value v) {
        const AffineForm& f = packet.affine.of(v);
        int steps = most_steps;
        const int bits = emit.addresses.index_bits(load, v);
        // A step that only the launch knows is a multiplication, which must be exact in all bits of the offset.
        const bool multiplies = f.bits >= (k[load.memory].kind == MemoryKind::array && variant.wide_offsets ? 64 : bits);
        const auto known = [&](const Coefficient& c) {
            return c.constant() || (multiplies && emit.pure.is_rematerialisable(c.times, steps));
        };
        return f.known && f.bits >= bits && known(f.local[0]) && known(f.global[0]);
    });
}

/// The step of such an index from lane to lane, as an LLVM value.
std::string TransposedLoads::step_of(Value index, bool wide) {
    const AffineForm& f = packet.affine.of(index);
    const std::string t = wide ? "i64" : "i32";
    if (const auto constant = f.step(std::min(f.bits, wide ? 64 : 32))) return std::to_string(*constant);
    std::string sum = "0";
    for (const Coefficient& c : {f.local[0], f.global[0]}) {
        if (c.zero()) continue;
        const int64_t factor = wide ? c.factor : int32_t(c.factor);
        std::string step = std::to_string(factor);
        if (!c.constant()) {
            emit.pure.rematerialise(c.times);
            step = out.let(text("mul ", t, " ", emit.addresses.integer(c.times, wide).scalar, ", ", factor));
        }
        sum = out.let(text("add ", t, " ", sum, ", ", step));
    }
    return sum;
}

/// The addresses of a load's lanes. `steps` gives an i1 for each lane: false repeats the address of the lane before it.
std::vector<std::string> TransposedLoads::lane_addresses(const Inst& load, const std::function<std::string(int lane)>& steps) {
    const bool wide = k[load.memory].kind == MemoryKind::array && variant.wide_offsets;
    const Scalar type = wide ? Scalar::i64 : Scalar::i32;
    const std::string t = out.scalar_type(type);
    const auto indices = indices_of(k, load);
    std::vector<std::string> addresses;
    if (!steps_evenly(load)) {
        bool contiguous = false;
        int64_t more = 0;
        const std::string index = packet.vector_of(emit.addresses.offset(load, wide, contiguous, more), type);
        for (int lane = 0; lane < width; ++lane)
            addresses.push_back(emit.addresses.pointer_to(load, t, out.extract(t, index, std::to_string(lane)), more));
        return addresses;
    }
    std::string first = "0", apart = "0";
    for (size_t d = 0; d < indices.size(); ++d) {
        ValueRep index = emit.addresses.integer(indices[d], wide);
        if (index.kind == ValueKind::vector) index.scalar = out.extract(t, index.vector, "0");
        const std::string step = step_of(indices[d], wide);
        const auto on = [&](const std::string& rows, const std::string& here) {
            const std::string row = out.let(text("mul ", t, " ", rows, ", ", emit.frame.extent_along(load.memory, d, wide)));
            return out.let(text("add ", t, " ", row, ", ", here));
        };
        first = d == 0 ? index.scalar : on(first, index.scalar);
        apart = d == 0 ? step : on(apart, step);
    }
    addresses.push_back(emit.addresses.pointer_to(load, t, first));
    while (int(addresses.size()) < width) {
        const std::string step =
            steps ? out.let(text("select i1 ", steps(int(addresses.size())), ", ", t, " ", apart, ", ", t, " 0")) : apart;
        addresses.push_back(
            out.let(text("getelementptr [", size_of(load.type), " x i8], ptr ", addresses.back(), ", ", t, " ", step), "p"));
    }
    return addresses;
}

/// Fills the tile: one vector for each row, consecutive rows `row_stride` vectors apart.
void TransposedLoads::fill_transposed(const Inst& load, const std::string& tile, int64_t row_stride,
                                      const std::function<std::string(int lane)>& steps) {
    const bool before = std::exchange(packet.restoring, true);  // values computed here are not saved for other regions
    for (const Value v : indices_of(k, load)) emit.pure.rematerialise(v);
    const std::vector<std::string> addresses = lane_addresses(load, steps);
    packet.restoring = before;
    const std::string type = out.memory_type(load.type), v = out.vector_type(type);
    // Loads whole vectors before the transpose: the rows of a large array may map to so few sets that the first-level cache
    // cannot hold a line of each.
    std::vector<std::string> rows;
    for (const std::string& row : addresses)
        rows.push_back(out.let(text("load ", v, ", ptr ", row, ", align ", size_of(load.type))));
    if (variant.streaming && k[load.memory].kind == MemoryKind::array)
        for (const std::string& row : addresses)
            emit.prefetches.emit_prefetch(out.let(text("getelementptr i8, ptr ", row, ", i64 ", bytes_ahead), "p"), 2);
    const std::vector<std::string> columns = emit.shuffles.transposed(type, rows);
    for (int c = 0; c < width; ++c) {
        const std::string address = out.let(text("getelementptr ", v, ", ptr ", tile, ", i64 ", c * row_stride), "p");
        out.line(text("store ", v, " ", columns[size_t(c)], ", ptr ", address));
    }
}

/// The instructions, with the bodies of ifs whose condition is known to hold for all items.
std::vector<InstId> TransposedLoads::executed(std::span<const InstId> insts) const {
    std::vector<InstId> all;
    for (const InstId id : insts) {
        const Inst& i = k[id];
        const Value condition = i.op == Op::if_ ? k.operands(i)[0] : Value{};
        const InstId source = condition ? k[condition].inst : InstId{};
        if (!condition || !emit.pure.all_in_range || source.id == none || k[source].op != Op::in_range) {
            all.push_back(id);
            continue;
        }
        const std::vector<InstId> inner = executed(k[i.blocks[0]].insts);
        all.insert(all.end(), inner.begin(), inner.end());
    }
    return all;
}

}  // namespace pumice::cpu
