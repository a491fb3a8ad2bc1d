// Cost model for the number of items in a packet: the device's width, fewer for shorter rows, two or four times as many where the
// code is latency-bound, one where lanes part and gather.
//
// Why: a chain of dependent floating-point instructions leaves the units idle for most of their latency. A packet of two vectors
// has two independent chains:
//
//     width 8:    %s1 = fma <8 x float> %s, %x, %c          one chain
//     width 16:   %s1 = fma <16 x float> %s, %x, %c         two registers of 8, so two chains in turn
//
// Latency-bound means: more arithmetic than `arithmetic_of_an_access` instructions for each vector that is loaded or stored, in a
// loop or in the whole kernel. Sums and bits of integers take one cycle and do not count. A gather counts as several accesses.
// A long loop is also latency-bound if the chain from a loop-carried value to its next one takes longer than all instructions of
// the iteration, and the registers hold what two vectors carry and use in the loop:
//
//     $for(k, range(n)) { value[k] = a * value[k + 1] + b * value[k]; price *= square; }     a product each iteration: 4 cycles
//
// A branch that goes either way costs as much as 30 instructions when it is mispredicted, and the chain of instructions up to its
// condition. Twice as many items share that wait. So a loop with such a branch, without gathers, takes two vectors under the same
// condition for registers:
//
//     $for(b, range(atoms)) { $if(type[b] < 2) { score += charge[b] / r; } }       a condition of loaded values each iteration
//
// The largest number of live vectors (register pressure) says how many would be spilled; the arithmetic must outweigh these, too.
// Four vectors need 32 registers and more arithmetic still. One item at a time (scalar_items) where that takes less time than
// packets by the model of packet_cost.cpp.
// Four vectors are never taken on processors that run the widest vectors in two passes (Target::splits_vectors: AVX-512 on Zen
// 4), which hides half of the latency already. Where atomics in memory of the thread go lane by lane (adds_lane_by_lane()), a
// packet has at most tuning::most_lanes_taken_apart lanes.
// Cost: compilation takes half as long again at twice the width, so only for kernels of at most 300 instructions.
// Limits: with subgroup operations the width is the device's, as a subgroup is a packet. With local memory and barriers, the
// width is never raised; with vectors of 64-bit lanes only for loops that wait.
// Textbook name: interleaving (the interleave count of LLVM's loop vectoriser) with a register-pressure estimate by live ranges.
#include <algorithm>
#include <map>
#include <set>

#include "core/passes/cross_loop_cse.h"
#include "cpu/access/contiguity_check.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/plan/tuning.h"
#include "cpu/plan/unroll_and_jam.h"
#include "cpu/width/choose_width.h"
#include "cpu/width/packet_cost.h"

namespace pumice::cpu {

using namespace ir;

namespace {

constexpr int arithmetic_of_an_access = 8;  ///< arithmetic instructions per vector access, above which arithmetic dominates
constexpr int arithmetic_of_a_spill = 2;    ///< arithmetic instructions per spilled vector, above which a spill does no harm
constexpr int access_of_four = 20, spill_of_four = 1;  ///< the same for packets of four vectors, which hide more latency
constexpr int moves_of_a_gather = 4;                   ///< time of a gather or scatter, in vector accesses
constexpr int seen_ahead = 100;                        ///< instructions per vector, beyond the reach of out-of-order execution
constexpr size_t most_doubled = 300;  ///< instructions of a kernel; doubling the width makes compilation half as long again
constexpr int spare_registers = 6;    ///< for constants and short-lived temporaries

}  // namespace

void WidthChoice::choose_width() {
    // The subgroup's size is the device's.
    if (std::any_of(k.insts.begin(), k.insts.end(), [](const Inst& i) { return asks_subgroup(i.op); })) return;
    while (width > 1 && width / 2 >= variant.group[0]) packet.width /= 2;
    if (width > 1 && target.rules.has(Rule::scalar_items) && emit.costs.gains_by_scalar_items()) {
        packet.width = 1;
        return;
    }
    if (adds_lane_by_lane()) packet.width = std::min(width, tuning::most_lanes_taken_apart);
    // With barriers, only tiled loops gain by more vectors; kernels with tiles or tables in local memory did not where measured,
    // and what is known of lanes holds for packets of the device's width (alignment_of in packet_values.cpp).
    const bool shares = packet.has_barriers && std::any_of(k.memories.begin(), k.memories.end(),
                                                           [](const Memory& m) { return m.kind == MemoryKind::local; });
    const auto& order = packet.uniformity.structure().order();
    if (width == 1 || width != target.width || shares || !target.rules.has(Rule::interleaving) || order.size() > most_doubled)
        return;
    const bool doubles = variant.group[0] >= 2 * width && any_loop_waits();
    if (has_long_lanes()) {  // two or more of the processor's vectors already
        if (doubles) packet.width *= 2;
        return;
    }
    const int registers = packet.vector_registers(), alive = vectors_alive();
    const auto spilled = [&](int vectors) { return std::max(0, vectors * alive + spare_registers - registers); };
    // Four vectors only for loops and long straight-line code, since elsewhere out-of-order execution overlaps packets, and only
    // with enough registers. The partial packet of a long row is a small part. Lane-private sums would outgrow the cache.
    const bool could = registers == 32 && !target.splits_vectors && !packet.has_barriers && variant.group[0] >= 8 * width &&
                       variant.sums != Privatisation::lanes;
    const bool in_line = spilled(2) == 0 && waits(order, 0, arithmetic_of_an_access, false);
    const bool loops = std::any_of(order.begin(), order.end(), [&](InstId i) { return is_loop(k[i].op); });
    const bool long_line = !loops && waits(order, std::max(seen_ahead, spill_of_four * spilled(4)), access_of_four, false);
    if (could && (long_line || loop_waits(4, spilled(4))))
        packet.width *= 4;
    else if (doubles || (variant.group[0] >= 2 * width && ((in_line && !packet.has_barriers) || loop_waits(2, spilled(2)))))
        packet.width *= 2;
}

/// True if atomics in memory of the thread go lane by lane.
bool WidthChoice::adds_lane_by_lane() const {
    const auto& order = packet.uniformity.structure().order();
    return std::any_of(order.begin(), order.end(), [&](InstId id) {
        const Inst& i = k[id];
        const bool atomic = i.op == Op::atomic || i.op == Op::compare_exchange;
        return atomic && k[i.memory].kind != MemoryKind::array && lane_by_lane(i);
    });
}

/// True if an access goes lane by lane, in private memory, too.
bool WidthChoice::lane_by_lane(const Inst& i) const {
    const auto indices = indices_of(k, i);
    return !emit.contiguity.checks_contiguity(i) &&
           std::any_of(indices.begin(), indices.end(), [&](Value v) { return packet.kind_of(v) == ValueKind::vector; });
}

/// True if such an access is a gather or scatter of an array or of local memory.
bool WidthChoice::gathers(const Inst& i) const { return k[i.memory].kind != MemoryKind::private_ && lane_by_lane(i); }

/// True if any vector has 64 bits a lane, so that a packet already takes two vectors.
bool WidthChoice::has_long_lanes() const {
    const auto is_long = [&](Value v) { return packet.kind_of(v) == ValueKind::vector && size_of(k.type_of(v)) > 4; };
    const auto& order = packet.uniformity.structure().order();
    return std::any_of(order.begin(), order.end(), [&](InstId i) {
        for (int r = 0; r < k[i].result_count; ++r)
            if (is_long(k.result(k[i], r))) return true;
        return false;
    });
}

/// True if the instructions are latency-bound, so that several vectors take hardly longer than one: arithmetic with a latency of
/// several cycles (of floats, and products; with `floats`, of floats alone) exceeds `of_an_access` times the vectors moved, and
/// also `least`.
bool WidthChoice::waits(std::span<const InstId> insts, int least, int of_an_access, bool floats) const {
    int arithmetic = 0, accesses = 0;
    for (const InstId id : insts) {
        const Inst& i = k[id];
        const auto v = k.operands(i);
        if (is_pure(i.op))
            arithmetic += packet.kind_of(k.result(i)) == ValueKind::vector && (is_float(i.type) || (!floats && i.op == Op::mul))
                              ? instructions_of(i)
                              : 0;
        else if (!is_control(i.op) && !is_terminator(i.op) &&
                 std::any_of(v.begin(), v.end(), [&](Value o) { return packet.varying(o); }))
            accesses += i.memory.id != none && gathers(i) ? moves_of_a_gather : 1;
    }
    return arithmetic > std::max({least, of_an_access * accesses, 4});
}

/// True if a loop is latency-bound through its loop-carried values, even with the spilled vectors. A packet of four vectors waits
/// longer for its last lane if lanes leave one by one; only the latency of float arithmetic makes up for that.
bool WidthChoice::loop_waits(int vectors, int spilled) const {
    const auto& order = packet.uniformity.structure().order();
    const bool four = vectors == 4;
    return std::any_of(order.begin(), order.end(), [&](InstId id) {
        if (!is_loop(k[id].op)) return false;
        std::vector<InstId> inside;
        each_inside(k, k[id], [&](InstId i) { inside.push_back(i); });
        const bool one_by_one = packet.uniformity.parting(id) > Scope::group;
        return waits(inside, (four ? spill_of_four : arithmetic_of_a_spill) * spilled,
                     four ? access_of_four : arithmetic_of_an_access, four && one_by_one);
    });
}

/// True if a loop waits, and no rows run together, which have a chain each (cpu/plan/unroll_and_jam.cpp).
bool WidthChoice::any_loop_waits() const {
    const auto& order = packet.uniformity.structure().order();
    const bool any = packet.use != PacketUse::jammed_rows &&
                     std::ranges::any_of(order, [&](InstId id) { return is_loop(k[id].op) && innermost_loop_waits(id); });
    return any && (variant.group[1] < 2 || !target.rules.has(Rule::unroll_and_jam) || rows_worth_jamming(k) == 1);
}

/// True for an if of a loop that is a branch and may go either way in each iteration: its items part, or its condition depends on
/// what the iteration loads.
bool WidthChoice::branches_either_way(const Inst& branch, std::span<const InstId> loop) const {
    const Value condition = k.operands(branch)[0];
    if (packet.kind_of(condition) == ValueKind::vector)
        return !std::ranges::all_of(branch.blocks, [&](BlockId arm) { return packet.is_cheap_arm(arm); });
    std::set<uint32_t> loaded;  // values that depend on a load of the iteration
    for (const InstId id : loop) {
        const Inst& i = k[id];
        if (i.op == Op::load || std::ranges::any_of(k.operands(i), [&](Value v) { return loaded.count(v.id) > 0; }))
            for (int r = 0; r < i.result_count; ++r) loaded.insert(k.result(i, r).id);
    }
    return loaded.count(condition.id) > 0;
}

/// True if an innermost loop of many iterations waits for a chain of loop-carried values or for branches, and the registers hold
/// two vectors of all that it carries and uses.
bool WidthChoice::innermost_loop_waits(InstId loop) const {
    if (packet.diverges(loop)) return false;
    const auto vectors_of = [&](Scalar type) {
        return std::max(1, width * size_of(computed_type(type)) / packet.register_bytes());
    };
    std::vector<InstId> inside;
    each_inside(k, k[loop], [&](InstId i) { inside.push_back(i); });
    std::set<uint32_t> used, made;  // vectors from outside of the loop, and loop-carried ones; all values of the loop
    int held = 0;
    double cycles = 0;
    bool gathered = false, branches = false;
    for (const InstId id : inside) {
        const Inst& i = k[id];
        if (is_loop(i.op) || is_barrier(i.op)) return false;
        for (int r = 0; r < i.result_count; ++r) made.insert(k.result(i, r).id);
        for (const Value v : k.operands(i))
            if (packet.kind_of(v) == ValueKind::vector && made.count(v.id) == 0 && used.insert(v.id).second)
                held += vectors_of(k.type_of(v));
        if (is_pure(i.op) && packet.kind_of(k.result(i)) == ValueKind::vector) {
            const bool divides = is_float(i.type) && (i.op == Op::div || i.op == Op::sqrt || i.op == Op::rsqrt);
            const double each = divides ? tuning::latency * tuning::part_of_division : tuning::independent_vector_instruction;
            cycles += instructions_of(i) * vectors_of(i.type) * each;
        }
        if (i.memory.id != none && i.op != Op::extent) {
            gathered = gathered || gathers(i);
            cycles += (gathers(i) ? width : vectors_of(i.type)) * tuning::independent_vector_instruction;
        }
        branches = branches || (i.op == Op::if_ && branches_either_way(i, inside));
    }
    const double passes = target.splits_vectors ? 2 : 1;
    return 2 * held + spare_registers <= packet.vector_registers() &&
           (longest_chain(loop) > passes * cycles || (branches && !gathered)) &&
           cycles * emit.loops.iterations_of(loop) > seen_ahead * tuning::independent_vector_instruction;
}

/// Cycles from a loop-carried vector to its next value, along the longest chain of arithmetic.
double WidthChoice::longest_chain(InstId loop) const {
    const Block &first = k[k[loop].owned().front()], &body = k[k[loop].owned().back()];
    const Inst& end = k[body.insts.back()];
    if (end.op != Op::yield) return 0;  // a jump
    const auto next = k.operands(end);
    const size_t counters = k[loop].op == Op::for_ ? 1 : 0;
    double longest = 0;
    for (size_t n = 0; n < next.size(); ++n) {
        const Value carried = first.params[counters + n];
        if (packet.kind_of(carried) != ValueKind::vector) continue;
        std::map<uint32_t, double> since{{carried.id, 0}};  // cycles of the values that depend on it
        each_inside(k, k[loop], [&](InstId id) {
            const Inst& i = k[id];
            const auto operands = k.operands(i);
            if (i.op == Op::test)  // the body of a while sees its values
                for (size_t v = 0; v < body.params.size(); ++v)
                    if (const auto at = since.find(operands[v + 1].id); at != since.end()) since[body.params[v].id] = at->second;
            if (!is_pure(i.op)) return;
            double start = -1;
            for (const Value v : operands)
                if (const auto at = since.find(v.id); at != since.end()) start = std::max(start, at->second);
            const bool slow = is_float(i.type) || i.op == Op::mul;
            if (start >= 0) since[k.result(i).id] = start + instructions_of(i) * (slow ? tuning::latency : 1);
        });
        if (const auto at = since.find(next[n].id); at != since.end()) longest = std::max(longest, at->second);
    }
    return longest;
}

/// Positions of the instructions and values in the order of the kernel.
WidthChoice::LiveRanges WidthChoice::live_ranges() const {
    const auto& where = packet.uniformity.structure();
    const auto& order = where.order();
    LiveRanges live{std::vector<int>(k.insts.size()), std::vector<int>(k.insts.size()), std::vector<int>(k.values.size()),
                    std::vector<int>(k.values.size(), -1)};
    for (int n = 0; n < int(order.size()); ++n) {
        live.at[order[size_t(n)].id] = live.end[order[size_t(n)].id] = n;
        for (InstId c = where.around(order[size_t(n)]); c.id != none; c = where.around(c)) live.end[c.id] = n;
    }
    // A construct's result is live from its end on, a loop's parameter all through the loop.
    for (const InstId id : order) {
        for (int r = 0; r < k[id].result_count; ++r) live.from[k.result(k[id], r).id] = live.end[id.id];
        for (const BlockId b : k[id].owned())
            for (const Value p : k[b].params) live.from[p.id] = live.at[id.id], live.to[p.id] = live.end[id.id];
    }
    for (const InstId id : order)
        for (const Value v : k.operands(k[id])) {
            int last = live.at[id.id];
            for (InstId c = where.around(id); c.id != none; c = where.around(c))
                if (is_loop(k[c].op) && live.at[c.id] > live.from[v.id]) last = live.end[c.id];  // live in each iteration
            live.to[v.id] = std::max(live.to[v.id], last);
        }
    return live;
}

/// The largest number of registers live at one point from `first` to `last`, at `factor` times the width, of the values that
/// `counts` tells.
int WidthChoice::most_alive(const LiveRanges& live, int first, int last, int factor,
                            const std::function<bool(Value)>& counts) const {
    std::vector<int> change(size_t(last - first) + 2);
    for (size_t n = 0; n < k.values.size(); ++n) {
        const Value v{uint32_t(n)};
        const int from = std::max(live.from[n], first), to = std::min(live.to[n], last + 1);
        if (live.to[n] < live.from[n] || to < from || packet.kind_of(v) != ValueKind::vector || !counts(v)) continue;
        const int registers = std::max(1, factor * width * size_of(k.type_of(v)) / packet.register_bytes());
        change[size_t(from - first)] += registers, change[size_t(to - first)] -= registers;
    }
    int alive = 0, most = 0;
    for (const int c : change) most = std::max(most, alive += c);
    return most;
}

/// True for a product that becomes one instruction with the sum that uses it.
bool WidthChoice::becomes_fma(Value product) const {
    const InstId source = k[product].inst;
    const bool fused = target.isa == Isa::avx2 || target.isa == Isa::avx512 || target.isa == Isa::neon;
    if (!fused || k.math == Math::strict || source.id == none || k[source].op != Op::mul || !is_float(k[source].type))
        return false;
    const auto users = packet.uses.of(product);
    return users.size() == 1 && (k[users[0]].op == Op::add || k[users[0]].op == Op::sub);
}

/// The largest number of vectors live at one point of the kernel; with `factor`, of registers at `factor` times the width.
int WidthChoice::vectors_alive(int factor) const {
    return most_alive(live_ranges(), 0, int(packet.uniformity.structure().order().size()) - 1, factor,
                      [](Value) { return true; });
}

/// The largest number of vectors live at one point of an innermost loop, of the values that it uses: others are spilled once, not
/// in each iteration.
int WidthChoice::vectors_alive_in_loops() const {
    const LiveRanges live = live_ranges();
    int most = 0;
    for (const InstId id : packet.uniformity.structure().order()) {
        const auto loops = [&](InstId i) { return is_loop(k[i].op); };
        if (!is_loop(k[id].op) || any_inside(k, k[id], loops)) continue;
        std::set<uint32_t> used;
        for (const BlockId b : k[id].owned())
            for (const Value p : k[b].params) used.insert(p.id);
        each_inside(k, k[id], [&](InstId i) {
            for (const Value v : k.operands(k[i])) used.insert(v.id);
        });
        const auto counts = [&](Value v) { return used.count(v.id) > 0 && !becomes_fma(v); };
        most = std::max(most, most_alive(live, live.at[id.id], live.end[id.id], 1, counts));
    }
    return most;
}

}  // namespace pumice::cpu
