// Loop versioning, interior and boundary: packets whose wrapped or clamped indices are in the interior get code of their own.
//
// Why: a stencil with `select(i == 0, n - 1, i - 1)`, `clamp(i + 1, 0, n - 1)` or `(i + 1) % n` has indices that are not affine,
// so its loads are gathers. In the interior the index is simply i - 1 or i + 1, and the load is contiguous.
//
//     before:  %j = select (icmp eq %i, 0), %n-1, %i-1      after:  br (all lanes interior), interior, boundary
//              %v = gather arg1[%j]                          interior:  %v = load <8 x float>, ptr arg1 + (%i - 1)
//                                                            boundary:  %v = gather arg1[%j]
//
// The test, which cpu/rows/interior_versions.cpp prints, is one to four comparisons for each such index and packet, of the
// packet's first (and last) lane. In the interior the index is the interior value: the selected operand, the affine operand of
// min or max, or for `%` the affine remainder.
//
// An index may move with the counter of a loop, as `clamp(j + c - radius, 0, n - 1)` of a filter does. The packet tests it for
// the first and the last value of the counter, before the loop:
//
//     for %c = %from to %to { %j = max(min(%i + %c, n-1), 0); gather }   interior for c = from and for c = to - 1: so for all c
//
// Cost: the kernel's body is written twice, so only for kernels of at most 300 instructions.
// Limits: i32 indices that step by 1 from lane to lane against a uniform limit; select by a comparison, min, max, rem, and chains
// of these; no kernels with barriers (cpu/rows/region_interiors.cpp makes versions of their regions); the index must reach the
// last dimension of an array access through add and sub only. Of loops: one counter an index, which moves it by a constant; steps
// of 1 or -1; uniform bounds that are known before the packet; no rem, == or !=, whose interiors are not the values between two
// limits.
// Textbook: loop versioning / index-set splitting for boundary conditions (Griebl et al. 2000; Halide's loop partitioning).
#include <algorithm>
#include <set>
#include <tuple>

#include "core/analysis/loop_info.h"
#include "core/support/error.h"
#include "cpu/address/boundary_index.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 24;      ///< instructions that an index may take to recompute
constexpr int most_depth = 8;       ///< of add and sub between a boundary index and an access
constexpr size_t most_twice = 300;  ///< instructions of a kernel that is written twice
/// Most that an index may move in an iteration. Over BoundaryIndices::most_iterations it does not come round the 2^32 values of
/// its type.
constexpr int64_t most_moved = 1 << 10;
}  // namespace

/// The loop whose counter the value is, if the counter is the same in all lanes and takes all values between bounds that are
/// known before the packet.
const Inst* BoundaryIndices::counted_loop_of(Value v) const {
    if (k[v].block.id == none || k[v].index != 0 || packet.kind_of(v) != ValueKind::uniform) return nullptr;
    for (const InstId id : packet.uniformity.structure().order()) {
        const Inst& loop = k[id];
        if (loop.op != Op::for_ || loop.blocks[0] != k[v].block) continue;
        int steps = most_steps;
        const auto known = [&](size_t bound) {
            const Value v = k.operands(loop)[bound];
            return packet.kind_of(v) == ValueKind::uniform && emit.pure.is_rematerialisable(v, steps, true);
        };
        return unit_step(k, loop) != 0 && known(0) && known(1) ? &loop : nullptr;
    }
    return nullptr;
}

/// The loop counter by which an i32 moves by a constant an iteration, if the rest of the value is known before the packet.
Value BoundaryIndices::counter_of(Value v) const {
    Value counter;
    for (const auto& [factors, times] : polynomial_of(k, v).coefficients) {
        const bool is_counter = factors.size() == 1 && counted_loop_of({factors[0]});
        if (is_counter && (counter || std::abs(times) > most_moved)) return {};
        if (is_counter) counter = {factors[0]};
        int steps = most_steps;
        const auto known = [&](uint32_t factor) { return emit.pure.is_rematerialisable({factor}, steps, true); };
        if (!is_counter && !std::ranges::all_of(factors, known)) return {};
    }
    int steps = most_steps;
    return counter && emit.pure.is_rematerialisable(v, steps, true, counter) ? counter : Value();
}

/// Boundary index: matches select(x == limit, wrapped, interior), also by another comparison, and min(x, limit), max(x,
/// limit), x % limit; gives the value of the interior and the condition for it. In chains (clamp() is max of min), x and
/// interior are those of the innermost operation.
std::optional<BoundaryIndex> BoundaryIndices::boundary_index_of(const Inst& i, std::span<const BoundaryIndex> before) const {
    if (i.type != Scalar::i32 || i.result_count != 1 || packet.kind_of(k.result(i)) != ValueKind::vector) return std::nullopt;
    BoundaryIndex boundary{k.result(i), {}, i.op, {}, {}};
    const auto resolved = [&](Value v) {
        for (const BoundaryIndex& b : before) {
            if (b.value != v || b.op == Op::rem) continue;
            boundary.inner.push_back(v);
            return b.interior;
        }
        return v;
    };
    const auto even = [&](Value v) { return packet.kind_of(v) == ValueKind::affine && packet.lane_step(v) == 1; };
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
    if (!even(boundary.x) || !even(boundary.interior) || packet.kind_of(boundary.limit) != ValueKind::uniform ||
        !emit.pure.is_rematerialisable(boundary.limit, steps, true))
        return std::nullopt;
    const bool same = boundary.interior == boundary.x;
    if (emit.pure.is_rematerialisable(boundary.x, steps, true) &&
        (same || emit.pure.is_rematerialisable(boundary.interior, steps, true)))
        return boundary;
    if (boundary.op == Op::rem || boundary.op == Op::eq || boundary.op == Op::ne) return std::nullopt;
    boundary.counter = counter_of(boundary.x);
    return boundary.counter ? std::optional(boundary) : std::nullopt;
}

/// The clamped indices of a kernel with barriers; one that clamps another comes after it.
std::vector<BoundaryIndex> BoundaryIndices::clamped_indices() const {
    std::vector<BoundaryIndex> found;
    for (const InstId id : packet.uniformity.structure().order()) {
        const auto boundary = is_pure(k[id].op) ? boundary_index_of(k[id], found) : std::nullopt;
        const bool between_limits = boundary && boundary->op != Op::rem && boundary->op != Op::eq && boundary->op != Op::ne;
        if (between_limits && !boundary->counter) found.push_back(*boundary);
    }
    return found;
}

/// The boundary indices of the kernel that take part in an array access.
std::vector<BoundaryIndex> BoundaryIndices::find_boundary_indices() const {
    if (!target.rules.has(Rule::boundary_versions)) return {};
    std::vector<BoundaryIndex> found;
    const auto& order = packet.uniformity.structure().order();
    if (width == 1 || packet.has_barriers || order.size() > most_twice) return found;
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

}  // namespace pumice::cpu
