// Loop versioning, interior and boundary: packets whose wrapped or clamped indices are in the interior get code of their own.
//
// Why: a stencil with `select(i == 0, n - 1, i - 1)`, `clamp(i + 1, 0, n - 1)` or `(i + 1) % n` has indices that are not affine,
// so its loads are gathers. In the interior the index is simply i - 1 or i + 1, and the load is contiguous.
//
//     before:  %j = select (icmp eq %i, 0), %n-1, %i-1      after:  br (all lanes interior), interior, boundary
//              %v = gather arg1[%j]                          interior:  %v = load <8 x float>, ptr arg1 + (%i - 1)
//                                                            boundary:  %v = gather arg1[%j]
//
// The test is one comparison for each such index and packet, from the packet's first (and last) lane. In the interior the index
// is the interior value: the selected operand, the affine operand of min or max, or for `%` the affine remainder.
//
// An index may move with the counter of a loop, as `clamp(j + c - radius, 0, n - 1)` of a filter does. The packet tests it for
// the first and the last value of the counter, before the loop:
//
//     for %c = %from to %to { %j = max(min(%i + %c, n-1), 0); gather }   interior for c = from and for c = to - 1: so for all c
//
// Cost: the kernel's body is written twice, so only for kernels of at most 300 instructions.
// Limits: i32 indices that step by 1 from lane to lane against a uniform limit; select by a comparison, min, max, rem, and chains
// of these; no kernels with barriers; the index must reach the last dimension of an array access through add and sub only. Of
// loops: one counter an index, which moves it by a constant; steps of 1 or -1; bounds that are known before the packet; no rem,
// == or !=, whose interiors are not the values between two limits.
// Textbook: loop versioning / index-set splitting for boundary conditions (Griebl et al. 2000; Halide's loop partitioning).
#include <algorithm>
#include <set>
#include <tuple>

#include "core/analysis/loop_info.h"
#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"
#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 24;      ///< instructions that an index may take to recompute
constexpr int most_depth = 8;       ///< of add and sub between a boundary index and an access
constexpr size_t most_twice = 300;  ///< instructions of a kernel that is written twice
// An index that moves by so much an iteration, over so many, does not come round the 2^32 values of its type.
constexpr int64_t most_moved = 1 << 10, most_iterations = 1 << 20;
}  // namespace

/// The loop whose counter the value is, if the counter is the same in all lanes and takes all values between bounds that are
/// known before the packet.
const Inst* LlvmEmitter::counted_loop_of(Value v) const {
    if (k[v].block.id == none || k[v].index != 0 || kind_of(v) != ValueKind::uniform) return nullptr;
    for (const InstId id : uniformity.structure().order()) {
        const Inst& loop = k[id];
        if (loop.op != Op::for_ || loop.blocks[0] != k[v].block) continue;
        int steps = most_steps;
        const auto known = [&](size_t bound) { return is_rematerialisable(k.operands(loop)[bound], steps, true); };
        return unit_step(k, loop) != 0 && known(0) && known(1) ? &loop : nullptr;
    }
    return nullptr;
}

/// The loop counter by which an i32 moves by a constant an iteration, if the rest of the value is known before the packet.
Value LlvmEmitter::counter_of(Value v) const {
    Value counter;
    for (const auto& [factors, times] : polynomial_of(k, v).coefficients) {
        const bool is_counter = factors.size() == 1 && counted_loop_of({factors[0]});
        if (is_counter && (counter || std::abs(times) > most_moved)) return {};
        if (is_counter) counter = {factors[0]};
        int steps = most_steps;
        const auto known = [&](uint32_t factor) { return is_rematerialisable({factor}, steps, true); };
        if (!is_counter && !std::ranges::all_of(factors, known)) return {};
    }
    int steps = most_steps;
    return counter && is_rematerialisable(v, steps, true, counter) ? counter : Value();
}

/// Boundary index: matches select(x == limit, wrapped, interior), also by another comparison, and min(x, limit), max(x,
/// limit), x % limit; gives the value of the interior and the condition for it. In chains (clamp() is max of min), x and
/// interior are those of the innermost operation.
std::optional<BoundaryIndex> LlvmEmitter::boundary_index_of(const Inst& i, std::span<const BoundaryIndex> before) const {
    if (i.type != Scalar::i32 || i.result_count != 1 || kind_of(k.result(i)) != ValueKind::vector) return std::nullopt;
    BoundaryIndex boundary{k.result(i), {}, i.op, {}, {}};
    const auto resolved = [&](Value v) {
        for (const BoundaryIndex& b : before) {
            if (b.value != v || b.op == Op::rem) continue;
            boundary.inner.push_back(v);
            return b.interior;
        }
        return v;
    };
    const auto even = [&](Value v) { return kind_of(v) == ValueKind::affine && lane_step(v) == 1; };
    const auto v = k.operands(i);
    std::span<const Value> compared = v;
    if (i.op == Op::select) {
        const InstId source = k[v[0]].inst;
        if (source.id == none) return std::nullopt;
        boundary.op = k[source].op;
        compared = k.operands(k[source]);
        if (boundary.op == Op::eq || boundary.op == Op::ne) {
            boundary.holds = boundary.op == Op::ne;
        } else if (boundary.op == Op::lt || boundary.op == Op::le || boundary.op == Op::gt || boundary.op == Op::ge) {
            // If both operands of the select are affine, the one that is compared is the interior value.
            const Value one = resolved(v[1]), other = resolved(v[2]);
            boundary.holds = even(one) && (!even(other) || one == resolved(compared[0]) || one == resolved(compared[1]));
        } else {
            return std::nullopt;
        }
        boundary.interior = v[boundary.holds ? 1 : 2];
    } else if (i.op != Op::min && i.op != Op::max && i.op != Op::rem) {
        return std::nullopt;
    }
    if (k.type_of(compared[0]) != Scalar::i32) return std::nullopt;
    boundary.x_first = even(resolved(compared[0]));
    if (i.op == Op::rem && !boundary.x_first) return std::nullopt;
    boundary.x = resolved(compared[boundary.x_first ? 0 : 1]), boundary.limit = compared[boundary.x_first ? 1 : 0];
    boundary.interior = i.op == Op::select ? resolved(boundary.interior) : boundary.x;
    int steps = most_steps;
    if (!even(boundary.x) || !even(boundary.interior) || kind_of(boundary.limit) != ValueKind::uniform ||
        !is_rematerialisable(boundary.limit, steps, true))
        return std::nullopt;
    const bool same = boundary.interior == boundary.x;
    if (is_rematerialisable(boundary.x, steps, true) && (same || is_rematerialisable(boundary.interior, steps, true)))
        return boundary;
    if (boundary.op == Op::rem || boundary.op == Op::eq || boundary.op == Op::ne) return std::nullopt;
    boundary.counter = counter_of(boundary.x);
    return boundary.counter ? std::optional(boundary) : std::nullopt;
}

/// The boundary indices of the kernel that take part in an array access.
std::vector<BoundaryIndex> LlvmEmitter::find_boundary_indices() const {
    if (!target.rules.has(Rule::boundary_versions)) return {};
    std::vector<BoundaryIndex> found;
    const auto& order = uniformity.structure().order();
    if (width == 1 || has_barriers || order.size() > most_twice) return found;
    for (const InstId id : order)
        if (const auto boundary = is_pure(k[id].op) ? boundary_index_of(k[id], found) : std::nullopt) found.push_back(*boundary);
    const std::function<bool(Value, Value, int)> is_summand_of = [&](Value from, Value to, int depth) {
        if (from == to) return true;
        const InstId source = k[to].inst;
        if (source.id == none || depth > most_depth || (k[source].op != Op::add && k[source].op != Op::sub)) return false;
        const auto v = k.operands(k[source]);
        return std::any_of(v.begin(), v.end(), [&](Value o) { return is_summand_of(from, o, depth + 1); });
    };
    const auto is_index = [&](Value v) {
        return std::any_of(order.begin(), order.end(), [&](InstId id) {
            const Inst& i = k[id];
            if ((i.op != Op::load && i.op != Op::store) || k[i.memory].kind != MemoryKind::array) return false;
            return is_summand_of(v, indices_of(k, i).back(), 0);
        });
    };
    // Keeps also the inner boundary indices that the kept ones are made of.
    std::set<uint32_t> needed;
    for (auto b = found.rbegin(); b != found.rend(); ++b) {
        if (!needed.count(b->value.id) && !is_index(b->value)) continue;
        needed.insert(b->value.id);
        for (const Value v : b->inner) needed.insert(v.id);
    }
    std::erase_if(found, [&](const BoundaryIndex& b) { return !needed.count(b.value.id); });
    return found;
}

/// An i1: the index is in the interior in all lanes of this packet and in all iterations.
std::string LlvmEmitter::is_interior(const BoundaryIndex& b) {
    if (!b.counter) return is_interior_now(b);
    const auto before = std::make_tuple(values, has_value);
    const Inst& loop = *counted_loop_of(b.counter);
    const auto o = k.operands(loop);
    rematerialise(o[0]), rematerialise(o[1]);
    const bool up = unit_step(k, loop) > 0;
    const std::string from = scalar(o[0]), last = let(text(up ? "sub" : "add", " i32 ", scalar(o[1]), ", 1"));
    const std::string apart = let(text("sub i32 ", up ? last : from, ", ", up ? from : last));
    std::string all = let(text("icmp ult i32 ", apart, ", ", most_iterations));
    const auto at_begin = std::make_tuple(values, has_value);
    for (const std::string& now : {from, last}) {
        std::tie(values, has_value) = at_begin;
        values[b.counter.id] = {ValueKind::uniform, now, "", 0}, has_value[b.counter.id] = true;
        const std::string inside = is_interior_now(b);
        all = let(text("and i1 ", all, ", ", inside));
    }
    std::tie(values, has_value) = before;
    return all;
}

/// The same for the iteration whose counter has a value.
std::string LlvmEmitter::is_interior_now(const BoundaryIndex& b) {
    rematerialise(b.x), rematerialise(b.limit);
    const std::string first = scalar(b.x), limit = scalar(b.limit);
    if (b.op == Op::eq || b.op == Op::ne)
        return let(text("icmp uge i32 ", let(text("sub i32 ", limit, ", ", first)), ", ", width));
    const std::string last = let(text("add i32 ", first, ", ", width - 1)),
                      no_wrap = let(text("icmp sle i32 ", first, ", ", last));
    const auto both = [&](const std::string& one, const std::string& other) { return let(text("and i1 ", one, ", ", other)); };
    if (b.op == Op::min || b.op == Op::max)
        return both(no_wrap, b.op == Op::min ? let(text("icmp sle i32 ", last, ", ", limit))
                                             : let(text("icmp sge i32 ", first, ", ", limit)));
    if (b.op == Op::rem) {
        // All lanes have the first lane's quotient if its remainder is at most the divisor minus the width.
        const std::string divides = let(text("icmp sgt i32 ", limit, ", 0")),
                          by = let(text("select i1 ", divides, ", i32 ", limit, ", i32 1"));
        remainders[b.value.id] = let(text("srem i32 ", first, ", ", by));
        const std::string same = let(text("icmp sle i32 ", remainders[b.value.id], ", ", let(text("sub i32 ", by, ", ", width))));
        return both(both(divides, let(text("icmp sge i32 ", first, ", 0"))), both(same, no_wrap));
    }
    const char* const how = b.op == Op::lt ? "slt" : b.op == Op::le ? "sle" : b.op == Op::gt ? "sgt" : "sge";
    const auto compared = [&](const std::string& x) {
        return let(text("icmp ", how, " i32 ", b.x_first ? x : limit, ", ", b.x_first ? limit : x));
    };
    const std::string ends = let(text(b.holds ? "and" : "or", " i1 ", compared(first), ", ", compared(last)));
    return both(no_wrap, b.holds ? ends : let(text("xor i1 ", ends, ", true")));
}

/// An i1: all boundary indices are in the interior in all lanes of this packet.
std::string LlvmEmitter::are_interior() {
    std::string all;
    for (const BoundaryIndex& b : boundaries) {
        const std::string one = is_interior(b);
        all = all.empty() ? one : let(text("and i1 ", all, ", ", one));
    }
    return all;
}

/// Writes the version of a packet in which all boundary indices are in the interior.
void LlvmEmitter::interior_version(const Body& body) {
    for (const BoundaryIndex& b : boundaries) interior_values[b.value.id] = b.interior;
    body();
    interior_values.clear(), remainders.clear();
}

/// Writes a packet in two versions if the kernel has boundary indices: interior and boundary.
void LlvmEmitter::interior_and_boundary_versions(const Body& body) {
    if (boundaries.empty()) return body();
    const std::string interior = label("interior"), boundary = label("boundary");
    const auto before = std::make_tuple(values, has_value, running, lost);
    branch(are_interior(), interior, boundary);
    start(interior);
    interior_version(body);
    if (open) jump(return_label);
    std::tie(values, has_value, running, lost) = before;
    start(boundary);
    body();
}

/// In an interior packet: if the value is affine there, although it is not in general, defines it as affine and returns true.
bool LlvmEmitter::interior_value(const Inst& i) {
    if (interior_values.empty() || i.type != Scalar::i32) return false;
    const Value r = k.result(i);
    const auto v = k.operands(i);
    if (const auto boundary = interior_values.find(r.id); boundary != interior_values.end()) {
        const auto remainder = remainders.find(r.id);
        if (remainder == remainders.end()) rematerialise(boundary->second);
        values[r.id] =
            remainder == remainders.end() ? rep_of(boundary->second) : ValueRep{ValueKind::affine, remainder->second, "", 1};
        return has_value[r.id] = true;
    }
    if ((i.op != Op::add && i.op != Op::sub) || kind_of(r) != ValueKind::vector) return false;
    const ValueRep a = rep_of(v[0]), b = rep_of(v[1]);
    if (a.kind == ValueKind::vector || b.kind == ValueKind::vector) return false;
    const bool adds = i.op == Op::add;
    values[r.id] = {ValueKind::affine, let(text(adds ? "add" : "sub", " i32 ", a.scalar, ", ", b.scalar)), "",
                    adds ? a.step + b.step : a.step - b.step};
    return has_value[r.id] = true;
}

}  // namespace pumice::cpu
