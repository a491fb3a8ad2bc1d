// Facts about loops that several parts ask for: trip counts, what grows by a constant, which jumps are masked.
//
//     for %i = 0 to 24 step 1       constant_trips: 24; growth(%i * 4): 4 an iteration
//     if %x { break }               masked_jump: %x differs between the items of a packet, so some of them stay in the loop
//
// Why: a loop whose jumps are masked tracks its active items; one with a short constant trip count and deferred adds is unrolled.
// Cost: a walk over the loop's body for each question.
// Limits: growth() knows sums, differences, casts and products by constants. A loop of unknown length counts as
// tuning::iterations iterations in cost models.
// Textbook name: trip counts and induction variables (Muchnick, chapter 14).
#include <algorithm>

#include "core/analysis/loop_info.h"
#include "cpu/packet/loop_facts.h"
#include "cpu/plan/tuning.h"

namespace pumice::cpu {

using namespace ir;

/// True if only some items of the packet may take the jump.
bool LoopFacts::masked_jump(InstId id) const {
    if (width == 1) return false;
    if (k[id].op == Op::return_) return plan.regions.packet_returns || packet.uniformity.control(id) == Scope::item;
    return packet.uniformity.jump(id) == Scope::item;
}

/// True if items of the packet may be inactive after the construct, removed by masked jumps.
bool LoopFacts::loses(const Inst& i) const {
    return any_inside(k, i, [&](InstId inner) {
        const Op op = k[inner].op;
        if (op == Op::return_) return masked_jump(inner);
        if (op != Op::break_ && op != Op::continue_) return false;
        // A jump of a loop inside the construct does not leave it.
        const InstId loop = packet.uniformity.structure().loop_around(inner);
        const bool stays = any_inside(k, i, [&](InstId other) { return other == loop; });
        return !stays && &k[loop] != &i && loop_masks(loop);
    });
}

/// True if any jump of a loop is masked: then all of them are.
bool LoopFacts::loop_masks(InstId loop) const {
    const auto& jumps = packet.uniformity.structure().jumps_to(loop);
    return std::any_of(jumps.begin(), jumps.end(), [&](InstId j) { return masked_jump(j); });
}

/// The step of an integer, modulo 2^bits, from one iteration of a `for` to the next, if it is a constant. The loop's index does
/// not wrap. A value computed from it wraps in the bits of its type, so its step is unknown modulo more bits.
std::optional<int64_t> LoopFacts::growth(Value v, InstId loop, int bits) const {
    const Structure& where = packet.uniformity.structure();
    const auto constant = [&](Value c) -> std::optional<int64_t> {
        uint64_t number = 0;
        if (!k.constant(c, number)) return std::nullopt;
        return wrapped(int64_t(number), bits_of(k.type_of(c)));
    };
    if (k[loop].op != Op::for_) return std::nullopt;
    if (v == k[k[loop].blocks[0]].params[0]) return constant(k.operands(k[loop])[2]);
    if (!where.defined_in(loop, v)) return 0;
    if (k[v].inst.id == none || where.block_of(v) != k[loop].blocks[0]) return std::nullopt;
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    std::vector<int64_t> of;
    bool grows = false;
    for (const Value o : operands) {
        if (!is_int(k.type_of(o))) return std::nullopt;
        const auto one = growth(o, loop, bits);
        if (!one) return std::nullopt;
        of.push_back(*one), grows = grows || *one != 0;
    }
    if (!grows) return is_pure(i.op) ? std::optional<int64_t>(0) : std::nullopt;
    if (!is_int(i.type)) return std::nullopt;
    const auto widens = [&](Scalar from) {
        return size_of(i.type) > size_of(from) && (is_signed_int(i.type) || is_unsigned_int(from));
    };
    if (8 * size_of(i.type) < bits && !(i.op == Op::cast && widens(k.type_of(operands[0])))) return std::nullopt;
    switch (i.op) {
        case Op::add: return int64_t(uint64_t(of[0]) + uint64_t(of[1]));
        case Op::sub: return int64_t(uint64_t(of[0]) - uint64_t(of[1]));
        case Op::cast: return of[0];
        case Op::mul:
            for (size_t o = 0; o < 2; ++o)
                if (const auto factor = constant(operands[o]);
                    factor && std::abs(*factor) < 1 << 20 && std::abs(of[1 - o]) < 1 << 20)
                    return *factor * of[1 - o];
            return std::nullopt;
        default: return std::nullopt;
    }
}

/// The trip count of a `for` with constant bounds and a step of 1 or -1; else -1.
int64_t LoopFacts::constant_trips(InstId loop) const {
    if (k[loop].op != Op::for_) return -1;
    const auto step = constant_integer(k, k.operands(k[loop])[2]);
    const auto trips = constant_trip_count(k, k[loop]);
    return trips && (*step == 1 || *step == -1) && *trips < 1 << 20 ? *trips : -1;
}

/// True for loops with deferred reductions: unrolled in full, they keep the vectors in registers.
bool LoopFacts::unrolls(InstId loop) const {
    return std::any_of(plan.deferred_reductions.begin(), plan.deferred_reductions.end(),
                       [&](const auto& deferred) { return deferred.second.loop == loop; });
}

/// The iterations of a loop: of one that begins at an item's index and has a constant end and step, those of the first item.
double LoopFacts::iterations_of(InstId id) const {
    const int64_t trips = constant_trips(id);
    if (trips >= 0) return double(trips);
    if (k[id].op != Op::for_) return tuning::iterations;
    const auto v = k.operands(k[id]);
    const InstId step = k[v[2]].inst;
    const bool by_group = step.id != none && k[step].op == Op::group_size;
    const auto end = constant_integer(k, v[1]), by = constant_integer(k, v[2]);
    const double to = end ? double(*end) : 0;
    const double apart = by_group ? double(variant.group[size_t(k[step].immediate)]) : by ? double(*by) : 0;
    return to > 0 && apart > 0 ? std::max(1.0, to / apart) : tuning::iterations;
}

}  // namespace pumice::cpu
