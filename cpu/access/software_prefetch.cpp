// Software prefetch: `llvm.prefetch` for what later packets, groups or iterations will load.
//
// Why: the hardware prefetcher follows a single fast stream too closely, stops at page boundaries, and cannot follow a loop that
// strides by pages or rows.
//
//     %v = load <8 x float>, ptr %p     =>   call void @llvm.prefetch.p0(ptr (%p + 192 bytes), i32 0, i32 3, i32 1)
//                                            %v = load <8 x float>, ptr %p
//
// The address of a later group or iteration is computed by rematerialising the access's index arithmetic with the group index,
// or the loop index, replaced by its later value (way_to, address_after). Of several loads of a stencil only the leading one
// prefetches: the others find their lines in a cache. A group with barriers whose rows are short, a tile, prefetches the rows
// behind its own, which are those of the next group. So does a short loop around barriers that reads a row in each iteration.
// Each row of a short loop is a stream from packet to packet: it is prefetched for later packets instead of later iterations,
// since hardware prefetchers may not follow that many streams. An innermost loop of a length that only the launch knows has two
// versions:
//
//     for %k = 0 to %n {        if (%n >= 32) the loop with prefetches of later iterations, else that with those of later packets
//
// Cost: one instruction for every two cache lines, plus index arithmetic of at most 16 instructions.
// Limits: arrays only, never gathers. Contiguous accesses are prefetched in variants for large arrays (Variant::streaming), and
// in all variants if a loop comes between them and those of the next packet; in loops around barriers also accesses with a
// constant stride above 256 bytes, or one known at launch only. Innermost loops must be `for` loops. Textbook: Mowry, Lam, Gupta,
// "Design and Evaluation of a Compiler Algorithm for Prefetching", ASPLOS 1992.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "core/analysis/loop_info.h"
#include "core/support/error.h"
#include "cpu/access/interleaved_group.h"
#include "cpu/access/software_prefetch.h"
#include "cpu/access/streaming_stores.h"
#include "cpu/address/addresses.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

using namespace ir;

namespace {

/// Prefetch distance of kernels without streaming stores. The hardware prefetcher restarts at each page, and earlier if a line of
/// the page has been touched shortly before. Measured bandwidth of one core: 13.5 GB/s without prefetch, 15 with a distance of 3
/// lines, 12.5 to 15 with 2 KB, depending on how page boundaries and unrolled loops meet.
constexpr int64_t bytes_ahead = 192;
/// Prefetch distance of kernels with streaming stores, which make the latency of loads longer. The distance is no multiple of 4
/// KB, since lines that far apart share a set of a first-level cache (64 sets of 64 bytes), and none of 1 KB, a common length of
/// rows: a line ahead would share its set with lines of later rows.
constexpr int64_t bytes_ahead_with_stores = 2816;
/// Prefetch distance of loads that a loop follows in their packet. Out-of-order execution does not get past the loop to the next
/// packet's loads, and one line at a time is too slow for hardware prefetchers to follow. Measured on an Intel Xeon with AVX-512,
/// arrays of 24 MB, 10 ms after the launch before: distances to six points 6.3 ms without prefetch, 2.2 ms with it; right after
/// the launch before 2.1 ms in both cases. Distances from 512 to 4096 bytes differ by 10 %. No multiple of 1 KB, as above.
constexpr int64_t bytes_ahead_of_loops = 1088;
constexpr int64_t bytes_of_groups_ahead = 2048;
constexpr int64_t bytes_between_groups = 128 << 10;  ///< what loops load until that group: an eighth of a second-level cache
constexpr int64_t least_iterations = 16;             ///< a loop of unknown length may be this long at least
constexpr int64_t iterations_ahead = 8, line_bytes = 64;
/// Iterations from which on a loop over rows prefetches later iterations. Measured on AMD Zen 4: a matrix of 12 rows is read
/// twice as fast without that; one of 3,000 rows takes the same time with and without it.
constexpr int64_t most_streams = 32;
/// Prefetch distance along the rows of a loop of fewer iterations. Measured on AMD Zen 4, a product with a sparse matrix of 12
/// columns of 700,000 rows: code for AVX2 0.43 ns an element instead of 1.17, for AVX-512 0.50 instead of 0.52. Distances from
/// 192 to 2048 differ by 15 %.
constexpr int64_t bytes_ahead_in_rows = 512;
constexpr size_t most_in_versions = 50;  ///< instructions of a loop that is emitted twice, with prefetches and without
constexpr int64_t least_rows = 8, most_row_bytes = 256;          ///< of a tile whose successor is prefetched
constexpr int64_t foreseen_bytes = 256;                          ///< largest stride that hardware prefetchers follow
constexpr int64_t most_items_apart = 4096, most_rows_apart = 8;  ///< reuse distance within which a line is still in a cache
constexpr int64_t unknown = int64_t(1) << 31;  ///< a stride that only the launch knows; known strides are clamped to it

/// Strides of values with respect to an induction variable: `moved` tells by how much it moves a value at once (a loop's index,
/// or a group's). With `limited`, a minimum or maximum moves like the side that does: a limit is reached at the rim alone.
class Strides {
public:
    Strides(const Kernel& kernel, std::function<int64_t(Value)> moved, bool limited = false)
        : k(kernel), moved(std::move(moved)), limited(limited) {}

    /// The stride of a value per step of the induction variable; empty if the value depends on it in another way than by
    /// arithmetic.
    std::optional<int64_t> of(Value v) {
        if (const auto known = strides.find(v.id); known != strides.end()) return known->second;
        const auto stride = found(v);
        return strides[v.id] = stride ? std::optional(std::clamp(*stride, -unknown, unknown)) : std::nullopt;
    }

private:
    std::optional<int64_t> found(Value v) {
        if (const int64_t by = moved(v)) return by;
        if (k[v].inst.id == none) return 0;
        const Inst& i = k[k[v].inst];
        if (!is_pure(i.op)) return std::nullopt;
        const auto v_of = k.operands(i);
        if (i.op == Op::cast) return of(v_of[0]);
        std::array<int64_t, 3> by{};
        bool grows = false;
        for (size_t o = 0; o < v_of.size(); ++o) {
            const auto stride = of(v_of[o]);
            if (!stride) return std::nullopt;
            by[o] = *stride, grows = grows || by[o] != 0;
        }
        if (!grows) return 0;
        if (i.op == Op::add) return by[0] + by[1];
        if (i.op == Op::sub) return by[0] - by[1];
        if (limited && (i.op == Op::min || i.op == Op::max) && (by[0] == 0 || by[1] == 0)) return by[0] + by[1];
        uint64_t bits = 0;
        if (i.op == Op::mul && by[1] == 0) return k.constant(v_of[1], bits) ? by[0] * int32_t(bits) : unknown;
        if (i.op == Op::mul && by[0] == 0) return k.constant(v_of[0], bits) ? by[1] * int32_t(bits) : unknown;
        return std::nullopt;
    }

    const Kernel& k;
    const std::function<int64_t(Value)> moved;
    const bool limited;
    std::map<uint32_t, std::optional<int64_t>> strides;
};

/// The axis of an array whose stride, in elements, is the product `step`: 1 for extent 0, 2 for extent 0 * extent 1; else -1.
int stride_axis(const Kernel& k, const IndexPolynomial::Product& step, MemoryId array) {
    uint64_t extents = 0;
    for (const uint32_t v : step) {
        const InstId source = k[Value{v}].inst;
        if (source.id == none || k[source].op != Op::extent || k[source].memory != array) return -1;
        extents |= uint64_t(1) << k[source].immediate;
    }
    return step.size() == 1 && extents == 1 ? 1 : step.size() == 2 && extents == 3 ? 2 : -1;
}

}  // namespace

/// Emits a prefetch. `locality`: 3 is the first-level cache, 2 the second.
void SoftwarePrefetch::emit_prefetch(const std::string& there, int locality) {
    if (there.empty() || !target.rules.has(Rule::software_prefetch)) return;
    out.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)");
    out.line(text("call void @llvm.prefetch.p0(ptr ", there, ", i32 0, i32 ", locality, ", i32 1)"));
}

void SoftwarePrefetch::prefetch(InstId id, const Address& a) {
    if (!target.rules.has(Rule::software_prefetch)) return;
    const Inst& i = k[id];
    if (a.how == Address::How::scattered || k[i.memory].kind != MemoryKind::array) return;
    const Structure& where = packet.uniformity.structure();
    const InstId loop = where.loop_around(id);
    if (loop.id != none) {
        if (k[loop].op == Op::for_) prefetch_iteration(i, loop, a);
        return;
    }
    if (a.how == Address::How::contiguous && i.op == Op::load && loads_rows_of_tile(i)) return prefetch_next_tile(i, a.pointer);
    const bool before_loop = is_before_loop(k.result(i));
    if ((!variant.streaming && !before_loop) || a.how != Address::How::contiguous || i.op != Op::load) return;
    const AffineForm& f = packet.affine.of(indices_of(k, i).back());
    // The address does not depend on the global index along axis 0, but may on the group: prefetches for the following groups,
    // which come along axis 0 first.
    if (f.known && f.global[0].zero()) {
        const auto moved = [&](Value v) { return packet.is_index(v, Op::group_index) || packet.is_index(v, Op::global_index); };
        const int64_t bytes = variant.group[0] * variant.group[1] * variant.group[2] * k[i.memory].element.size;
        if (Strides(k, moved).of(indices_of(k, i).back()) == unknown) return;
        return emit_prefetch(address_in_group(i, moved, int(std::max<int64_t>(bytes_of_groups_ahead / bytes, 1))));
    }
    // Lines that a leading load of the stencil has fetched are still in a cache; another prefetch would only cost time.
    const auto& beside = k[where.block_of(id)].insts;
    if (std::any_of(beside.begin(), beside.end(), [&](InstId other) { return is_leading_reference(k[other], i); })) return;
    prefetch_ahead(a.pointer, int64_t(size_of(i.type)) * width, before_loop);
}

/// True if a loop comes between this packet's load and the next one's: out-of-order execution does not reach that far.
bool SoftwarePrefetch::is_before_loop(Value loaded) const {
    const auto& beside = k[packet.uniformity.structure().block_of(loaded)].insts;
    return std::any_of(std::ranges::find(beside, k[loaded].inst), beside.end(), [&](InstId i) {
        return is_loop(k[i].op) || any_inside(k, k[i], [&](InstId inner) { return is_loop(k[inner].op); });
    });
}

/// True if a group loads short rows of an array, each from another line: the group that comes next on this thread loads what lies
/// behind them, and no hardware prefetcher follows so many rows.
bool SoftwarePrefetch::loads_rows_of_tile(const Inst& i) const {
    const Structure& where = packet.uniformity.structure();
    const int64_t bytes = variant.group[0] * k[i.memory].element.size;
    return packet.has_barriers && k[i.memory].kind == MemoryKind::array && variant.group[1] * variant.group[2] >= least_rows &&
           bytes <= most_row_bytes && where.loop_around(where.block_of(k.result(i))).id == none;
}

/// Prefetches the row of the next tile, where this one's is loaded from `address`.
void SoftwarePrefetch::prefetch_next_tile(const Inst& i, const std::string& address) {
    emit_prefetch(out.let(text("getelementptr i8, ptr ", address, ", i64 ", variant.group[0] * k[i.memory].element.size)));
}

/// Prefetches for a later packet, where this packet loads `bytes` bytes from `address`.
void SoftwarePrefetch::prefetch_ahead(const std::string& address, int64_t bytes, bool before_loop) {
    bool stores = false;
    for (uint32_t m = 0; m < k.memories.size(); ++m) stores = stores || emit.streams.only_written({m});
    // One prefetch for two lines: the hardware fetches the adjacent line, too.
    const int64_t ahead = variant.streaming && stores ? bytes_ahead_with_stores
                          : before_loop               ? bytes_ahead_of_loops
                                                      : bytes_ahead;
    for (int64_t at = 0; at < bytes; at += 2 * line_bytes)
        emit_prefetch(out.let(text("getelementptr i8, ptr ", address, ", i64 ", ahead + at)));
}

/// The same for an interleaved access group outside of loops, unless a leading load prefetches for all its members.
void SoftwarePrefetch::prefetch_interleaved(const InterleavedGroup& s, const std::string& address) {
    if (!target.rules.has(Rule::software_prefetch)) return;
    const Structure& where = packet.uniformity.structure();
    const Inst& i = *s.accesses[0].first;
    const BlockId block = where.block_of(k.result(i));
    if (where.loop_around(block).id != none) return;
    const bool before_loop = is_before_loop(k.result(i));
    if ((!variant.streaming && !before_loop) || k[i.memory].kind != MemoryKind::array ||
        packet.affine.of(indices_of(k, i).back()).global[0].zero())
        return;
    const auto leads_all = [&](InstId other) {
        const auto same = [&](const auto& a) { return a.first == &k[other]; };
        return std::none_of(s.accesses.begin(), s.accesses.end(), same) &&
               emit.groups.stride_of(k[other]) == emit.groups.stride_of(i) && is_leading_reference(k[other], i);
    };
    const auto& beside = k[block].insts;
    if (std::none_of(beside.begin(), beside.end(), leads_all))
        prefetch_ahead(address, int64_t(s.stride) * s.bytes * width, before_loop);
}

/// The distance of two loads of one array, in items along the axes of the range; empty if it is unknown.
std::optional<std::array<int64_t, 3>> SoftwarePrefetch::items_between(const Inst& a, const Inst& b) const {
    std::array<int64_t, 3> between{};
    const auto to = indices_of(k, a), from = indices_of(k, b);
    for (size_t d = 0; d < to.size(); ++d) {
        const size_t last = to.size() - 1 - d;
        const IndexPolynomial apart = difference(k, to[d], from[d]);
        between[last] += apart.constant;
        const IndexPolynomial whole = polynomial_of(k, to[d]);
        for (const auto& [step, times] : apart.coefficients) {
            if (times == 0) continue;
            int axis = whole.axis_of(k, step);
            if (axis < 0) axis = stride_axis(k, step, a.memory);
            if (axis < 0 || to.size() > 1) return std::nullopt;
            between[size_t(axis)] += times;
        }
    }
    uint32_t axes = 0;
    for (const Value v : to) axes |= axes_of(k, v, false);
    for (int axis = 0; axis < 3; ++axis)
        if (between[size_t(axis)] != 0 && !(axes & (1u << axis))) return std::nullopt;
    return between;
}

/// Group reuse (Mowry, Lam, Gupta 1992): true if `leading` loads, for items that run shortly before, the lines that `trailing`
/// later finds in a cache.
bool SoftwarePrefetch::is_leading_reference(const Inst& leading, const Inst& trailing) const {
    if (leading.op != Op::load || leading.memory != trailing.memory || &leading == &trailing) return false;
    const auto between = items_between(leading, trailing);
    if (!between) return false;
    const auto& [items, rows, planes] = *between;
    if (std::abs(items) > most_items_apart || std::max(std::abs(rows), std::abs(planes)) > most_rows_apart) return false;
    if (planes != 0 || rows != 0 || items != 0) return (planes != 0 ? planes : rows != 0 ? rows : items) > 0;
    return &leading < &trailing;
}

/// True if an iteration of a loop moves the access too far for the hardware prefetcher.
bool SoftwarePrefetch::strides_far(const Inst& i, InstId loop) const {
    const Value index = k[k[loop].blocks[0]].params[0];
    const auto stride = Strides(k, [&](Value v) { return v == index; }).of(indices_of(k, i).back());
    return packet.running.all() && stride && std::abs(*stride) * int64_t(k[i.memory].element.size) > foreseen_bytes;
}

/// True if each iteration of a loop accesses another row of an array of several dimensions, from the same place of the row on.
bool SoftwarePrefetch::changes_row(const Inst& i, InstId loop) const {
    const Value index = k[k[loop].blocks[0]].params[0];
    Strides strides(k, [&](Value v) { return v == index; });
    const auto indices = indices_of(k, i);
    return packet.running.all() && strides.of(indices.back()) == 0 &&
           std::any_of(indices.begin(), indices.end() - 1, [&](Value v) { return strides.of(v).value_or(0) != 0; });
}

/// The same as prefetch() for a load of a row that begins at `begin`, in a packet that has tested that its lanes lie side by
/// side. `begin_again` computes the address from the values that the packet has then.
void SoftwarePrefetch::prefetch_row(const Inst& i, const std::string& begin, const std::function<std::string()>& begin_again) {
    if (!target.rules.has(Rule::software_prefetch)) return;
    if (loads_rows_of_tile(i)) return prefetch_next_tile(i, begin);
    const Structure& where = packet.uniformity.structure();
    const InstId loop = where.loop_around(where.block_of(k.result(i)));
    if (!packet.has_barriers || k[i.memory].kind != MemoryKind::array || loop.id == none || k[loop].op != Op::for_) return;
    if (!plan.regions.around_barrier[loop.id] || !(variant.streaming || strides_far(i, loop))) return;
    const Value index = k[k[loop].blocks[0]].params[0];
    std::string there;
    if (const auto way = way_to(i, [&](Value v) { return v == index; }))
        with_later_values(
            *way, [&] { move_index(k[loop], packet.region_loops.back().step, variant.streaming ? 2 : 1); },
            [&] { there = begin_again(); });
    prefetch_group_or_iteration(i, loop, begin, there);
}

/// Prefetches what a later group loads in this iteration, if it lies behind what this group loads from `address`, and if the
/// second-level cache keeps it until then; else what this group loads in a later iteration, from `later`.
///
///     for row in 0 .. 16 { x = cost[row, 224 * group + item]; barrier }     each row is read on by the next group, 16 rows later
///
/// The rows of a short loop lie far from each other, and each is read from its beginning to its end by the groups in turn. A
/// prefetch for a later iteration comes late, and is wasted in the last one.
void SoftwarePrefetch::prefetch_group_or_iteration(const Inst& i, InstId loop, const std::string& address,
                                                   const std::string& later) {
    const auto moved = [&](Value v) {
        return packet.is_index(v, Op::group_index) ? 1 : packet.is_index(v, Op::global_index) ? variant.group[0] : 0;
    };
    const int64_t size = k[i.memory].element.size, bytes = variant.group[0] * variant.group[1] * variant.group[2] * size;
    const auto stride = Strides(k, moved, true).of(indices_of(k, i).back());
    const auto step = constant_integer(k, k.operands(k[loop])[2]);
    const bool next = stride && *stride > 0 && *stride <= variant.group[0] && step && *step > 0 && *step < 1 << 20;
    if (!next) return emit_prefetch(later);
    const int64_t groups = std::max<int64_t>(bytes_of_groups_ahead / (*stride * size), 1);
    const int64_t most = bytes_between_groups / (groups * bytes);  // iterations
    const int64_t trips = emit.loops.constant_trips(loop);
    if (trips >= 0 ? trips > most : most < least_iterations) return emit_prefetch(later);
    std::string there = out.let(text("getelementptr i8, ptr ", address, ", i64 ", groups * *stride * size));
    if (trips < 0 && !later.empty()) {
        const BarrierRegionLoop& l = packet.region_loops.back();
        const std::string type = out.scalar_type(k.type_of(k[k[loop].blocks[0]].params[0]));
        const std::string far = out.let(text("sub ", type, " ", l.to, ", ", l.from));
        const std::string is_short = out.let(text("icmp sle ", type, " ", far, ", ", most * int64_t(*step)));
        there = out.let(text("select i1 ", is_short, ", ptr ", there, ", ptr ", later));
    }
    emit_prefetch(there, 2);
}

/// Prefetch for a later iteration of a loop, for loads and accumulations. In a loop around barriers all packets of the group run
/// before the next iteration, so one iteration is a long distance; with a large stride prefetching pays off for arrays of any
/// size.
void SoftwarePrefetch::prefetch_iteration(const Inst& i, InstId loop, const Address& a) {
    if (packet.has_barriers && plan.regions.around_barrier[loop.id]) {
        if (!strides_far(i, loop) && !(variant.streaming && a.how == Address::How::contiguous)) return;
        const std::string later = address_in_iteration(i, k[loop], packet.region_loops.back().step, variant.streaming ? 2 : 1);
        return a.how == Address::How::contiguous && i.op == Op::load ? prefetch_group_or_iteration(i, loop, a.pointer, later)
                                                                     : emit_prefetch(later);
    }
    const Value step = k.operands(k[loop])[2];
    if (!variant.streaming || a.how != Address::How::contiguous) return;
    const int64_t trips = emit.loops.constant_trips(loop);
    if ((trips >= 0 && trips < most_streams) || in_version == Version::few_iterations) {
        if (strides_far(i, loop) || changes_row(i, loop))
            emit_prefetch(out.let(text("getelementptr i8, ptr ", a.pointer, ", i64 ", bytes_ahead_in_rows)));
        return;
    }
    if (!packet.has_value[step.id] || packet.values[step.id].kind != ValueKind::uniform) return;
    emit_prefetch(address_in_iteration(i, k[loop], iterations_ahead_in(k[loop]), 1));
}

/// An i1: true if the loop, which comes next, has so many iterations that prefetches pay off. "" if there need not be a version
/// for each case: nothing in the loop prefetches, the number of iterations is constant, or the loop is long anyway.
std::string SoftwarePrefetch::has_many_iterations(InstId id) {
    const Inst& loop = k[id];
    if (!target.rules.has(Rule::software_prefetch) || !variant.streaming || loop.op != Op::for_ || packet.has_barriers) return "";
    if (!packet.running.all() || emit.loops.constant_trips(id) >= 0 ||
        packet.kind_of(k[loop.blocks[0]].params[0]) != ValueKind::uniform)
        return "";
    const auto& body = k[loop.blocks[0]].insts;
    const auto prefetches = [&](InstId i) {
        return k[i].op == Op::load && k[k[i].memory].kind == MemoryKind::array && emit.addresses.lies_in_row(k[i]);
    };
    if (body.size() > most_in_versions || std::ranges::any_of(body, [&](InstId i) { return is_control(k[i].op); }) ||
        std::ranges::none_of(body, prefetches))
        return "";
    return trips_above(loop, most_streams);
}

/// The distance of the prefetched iteration from the current one, in the type of the loop's index. 0 for a short loop, which
/// prefetches of later iterations disturb.
std::string SoftwarePrefetch::iterations_ahead_in(const Inst& loop) {
    const auto v = k.operands(loop);
    const std::string type = out.scalar_type(k.type_of(v[2]));
    const std::string far = out.let(text("mul ", type, " ", packet.values[v[2].id].scalar, ", ", iterations_ahead));
    const std::string many = in_version == Version::many_iterations ? "" : trips_above(loop, most_streams);
    return many.empty() ? far : out.let(text("select i1 ", many, ", ", type, " ", far, ", ", type, " 0"));
}

/// An i1: the loop, which steps by 1, has at least `least` iterations; "" if its bounds are not known here.
std::string SoftwarePrefetch::trips_above(const Inst& loop, int64_t least) {
    const auto v = k.operands(loop);
    const std::string type = out.scalar_type(k.type_of(v[2]));
    const auto known = [&](Value bound) {
        return packet.has_value[bound.id] && packet.values[bound.id].kind == ValueKind::uniform;
    };
    if (unit_step(k, loop) != 1 || !known(v[0]) || !known(v[1])) return "";
    const std::string trips =
        out.let(text("sub ", type, " ", packet.values[v[1].id].scalar, ", ", packet.values[v[0].id].scalar));
    return out.let(text("icmp sge ", type, " ", trips, ", ", least));
}

/// The address of the access in the group `further` groups on along axis 0; `moved` names the values that change with the group.
/// "" if the address is the same, or costly to compute.
std::string SoftwarePrefetch::address_in_group(const Inst& i, const std::function<bool(Value)>& moved, int further) {
    const std::string group = packet.group_at[0], first = packet.origin[0];
    const std::string there = pointer_after(i, moved, [&] {
        packet.group_at[0] = out.let(text("add i32 ", group, ", ", further));
        packet.origin[0] = out.let(text("add i32 ", first, ", ", further * variant.group[0]));
    });
    packet.group_at[0] = group, packet.origin[0] = first;
    return there;
}

/// The address of the access `later` iterations of a `for` with this step later.
std::string SoftwarePrefetch::address_in_iteration(const Inst& i, const Inst& loop, const std::string& step, int64_t later) {
    const Value index = k[loop.blocks[0]].params[0];
    if (packet.kind_of(index) == ValueKind::vector) return "";
    return pointer_after(i, [&](Value v) { return v == index; }, [&] { move_index(loop, step, later); });
}

/// Replaces the counter of a `for` with this step by its value `later` iterations later.
void SoftwarePrefetch::move_index(const Inst& loop, const std::string& step, int64_t later) {
    const Value index = k[loop.blocks[0]].params[0];
    const std::string type = out.scalar_type(k.type_of(index));
    const std::string on = later == 1 ? step : out.let(text("mul ", type, " ", step, ", ", later));
    // A counter that overflows gives no address, which a prefetch may be given.
    packet.values[index.id].scalar = out.let(text("add nsw ", type, " ", packet.values[index.id].scalar, ", ", on));
}

/// The instructions of the access's index arithmetic that depend on the values that `moved` names, in order; empty if there are
/// none, or if they are costly.
std::optional<SoftwarePrefetch::Way> SoftwarePrefetch::way_to(const Inst& i, const std::function<bool(Value)>& moved) const {
    Way way;
    const std::function<bool(Value, bool&)> follow = [&](Value v, bool& depends) {
        const InstId source = k[v].inst;
        depends = moved(v);
        if (source.id == none || !is_pure(k[source].op)) return true;
        bool any = depends;
        for (const Value o : k.operands(k[source])) {
            bool here = false;
            if (!follow(o, here)) return false;
            any = any || here;
        }
        depends = any;
        if (any && std::find(way.begin(), way.end(), source) == way.end()) way.push_back(source);
        return way.size() <= 16 && !(any && packet.is_costly(k[source]));
    };
    bool depends = false, all = true;
    for (const Value v : indices_of(k, i)) {
        bool here = false;
        all = all && follow(v, here);
        depends = depends || here;
    }
    if (!all || !depends) return std::nullopt;
    return way;
}

/// Emits `body` after `move` has changed some values: recomputes the instructions `way` with them.
void SoftwarePrefetch::with_later_values(const Way& way, const std::function<void()>& move, const std::function<void()>& body) {
    const auto before = std::make_tuple(packet.values, packet.has_value, packet.restoring);
    packet.restoring = true;  // values computed here are not saved for other regions
    move();
    for (const InstId source : way) emit.pure.pure_value(k[source]);
    body();
    std::tie(packet.values, packet.has_value, packet.restoring) = before;
}

/// The address of the access after `move` has changed some values.
Address SoftwarePrefetch::address_after(const Inst& i, const Way& way, const std::function<void()>& move) {
    Address there;
    with_later_values(way, move, [&] { there = emit.addresses.access(i); });
    return there;
}

/// The same as a ptr; "" if way_to() finds nothing, or if the access is a gather.
std::string SoftwarePrefetch::pointer_after(const Inst& i, const std::function<bool(Value)>& moved,
                                            const std::function<void()>& move) {
    const auto way = way_to(i, moved);
    if (!way) return "";
    const Address there = address_after(i, *way, move);
    return there.how == Address::How::scattered ? "" : there.pointer;
}

}  // namespace pumice::cpu
