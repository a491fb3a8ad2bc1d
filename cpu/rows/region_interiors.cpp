// Loop versioning, interior and boundary, in barrier regions: packets whose clamped indices and conditions have the outcome of
// the interior have code of their own.
//
// Why: a tile's neighbours are clamped at its rim, and items past an array's end do nothing. In most packets no lane is clamped
// and all do the same; yet each access tests whether its lanes lie side by side, and each condition is a mask.
//
//     before:  %j = max(%l - 1, 0);  %v = load local1[%j]          a test, then load <8 x i32> or a permutation
//              if %column < %n { ... }                             a test, then stores without or under a mask
//     after:   br (%x - %first <=u %span), interior, boundary
//              interior:  %v = load <8 x i32>, ptr local1 + (%l - 1);  ...
//              boundary:  as before
//
// All indices and the limits they are compared with are known before the packets of a row: %first is the first item from which
// on all bounds hold, %first + %span the last one with which an interior packet may begin. LLVM computes both once for a row. A
// packet makes one comparison, whatever the number of bounds is.
//
// Cost: the region's code twice, so only for regions of at most 150 instructions. Limits: complete packets; i32 that step by 1
// from item to item against limits that are one for a row and known before it; min, max, and comparisons in ifs and selects, but
// not == and %. Rows have at least two packets; where bounds depend on the item's place in the group alone, three, since the
// first and the last one are boundary. If limits are constants, half of the packets must be in the interior. Not in regions that
// return, combine items, or visit the first items of rows only.
// Textbook: loop versioning / index-set splitting for boundary conditions (Griebl et al. 2000; Halide's loop partitioning);
// inductive range-check elimination (LLVM: IRCE).
#include "cpu/rows/region_interiors.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "core/analysis/rematerialisation.h"
#include "core/support/error.h"
#include "cpu/arithmetic/pure_values.h"
#include "cpu/plan/index_polynomial.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr size_t most_twice = 150;  ///< instructions of a region that is written twice
constexpr int most_steps = 24;      ///< instructions that a bound may take to recompute
constexpr int most_depth = 8;       ///< of add and sub between a boundary index and an access

Op negated(Op how) { return how == Op::lt ? Op::ge : how == Op::ge ? Op::lt : how == Op::le ? Op::gt : Op::le; }
Op turned(Op how) { return how == Op::lt ? Op::gt : how == Op::gt ? Op::lt : how == Op::le ? Op::ge : Op::le; }
}  // namespace

/// True if a value can be computed before the packets of a row: one value for the row or, with `of_item`, that of its first item.
/// A value that is uniform in each packet need not be the same in all packets of a row.
bool RegionInteriors::is_known(Value v, bool of_item) const {
    Rematerialisation known(
        k,
        [&](const Inst& i) {
            const bool index = i.immediate == 0 && (i.op == Op::global_index || i.op == Op::local_index);
            return is_pure(i.op) && i.result_count == 1 && (of_item || !index) && !asks_subgroup(i.op) && i.op != Op::in_range &&
                   (!packet.is_costly(i) || packet.kind_of(k.result(i)) == ValueKind::uniform);
        },
        [&](Value o) { return plan.regions.context_saves[o.id].outer; });
    return known.of(v, most_steps);
}

/// The step of a sum of indices and values of the row from item to item.
std::optional<int64_t> RegionInteriors::step_along_row(Value v) const {
    if (is_known(v, false)) return 0;
    if (packet.is_index(v, Op::global_index) || packet.is_index(v, Op::local_index)) return 1;
    const InstId source = k[v].inst;
    if (source.id == none || (k[source].op != Op::add && k[source].op != Op::sub)) return std::nullopt;
    const auto o = k.operands(k[source]);
    const auto a = step_along_row(o[0]), b = a ? step_along_row(o[1]) : std::nullopt;
    if (!b) return std::nullopt;
    return k[source].op == Op::add ? *a + *b : *a - *b;
}

/// True for an i32 that steps by 1 from item to item and is known, in rows of enough packets.
bool RegionInteriors::suits(Value x) const {
    if (k.type_of(x) != Scalar::i32 || packet.kind_of(x) != ValueKind::affine || !is_known(x, true) || step_along_row(x) != 1)
        return false;
    const std::function<bool(Value)> depends_on_group = [&](Value v) {
        if (k[v].inst.id == none) return false;
        const Inst& i = k[k[v].inst];
        return i.op == Op::global_index || i.op == Op::group_index || std::ranges::any_of(k.operands(i), depends_on_group);
    };
    return variant.group[0] >= (depends_on_group(x) ? 2 : 3) * width;
}

std::optional<RegionInterior::Bound> RegionInteriors::bound_of(Value condition, bool holds) const {
    const InstId source = k[condition].inst;
    if (source.id == none) return std::nullopt;
    const Inst& i = k[source];
    if (i.op != Op::lt && i.op != Op::le && i.op != Op::gt && i.op != Op::ge) return std::nullopt;
    const auto v = k.operands(i);
    const bool first = suits(v[0]);
    const Value x = v[first ? 0 : 1], limit = v[first ? 1 : 0];
    if (!suits(x) || packet.kind_of(limit) != ValueKind::uniform || !is_known(limit, false)) return std::nullopt;
    const Op how = first ? i.op : turned(i.op);
    return RegionInterior::Bound{x, limit, holds ? how : negated(how)};
}

/// Adds what makes a condition hold, or fail, in all lanes; false if that is unknown.
bool RegionInteriors::add_condition(RegionInterior& to, Value condition, bool holds) const {
    if (packet.kind_of(condition) == ValueKind::uniform) {
        const bool flag = holds && is_known(condition, false);
        if (flag) to.flags.push_back(condition);
        return flag;
    }
    const InstId source = k[condition].inst;
    if (source.id == none) return false;
    if (k[source].op == (holds ? Op::and_ : Op::or_)) {
        const auto v = k.operands(k[source]);
        if (!add_condition(to, v[0], holds) || !add_condition(to, v[1], holds)) return false;
    } else if (const auto bound = bound_of(condition, holds)) {
        to.bounds.push_back(*bound);
    } else {
        return false;
    }
    (holds ? to.holding : to.failing).push_back(condition);
    return true;
}

/// The interior of a region; empty if all packets have one version.
RegionInterior RegionInteriors::interior_of(std::span<const InstId> insts) {
    RegionInterior interior;
    if (!target.rules.has(Rule::region_interiors) || width == 1) return interior;
    size_t size = 0;
    std::vector<Value> indices;
    const auto add = [&](Value condition, bool holds) {
        RegionInterior with = interior;
        if (add_condition(with, condition, holds)) interior = with;
    };
    const auto constant = [&](Value v) {
        uint64_t bits = 0;
        return k.constant(v, bits);
    };
    const auto note = [&](InstId id) {
        const Inst& i = k[id];
        ++size;
        for (int r = 0; r < i.result_count; ++r) interior.own.insert(k.result(i, r).id);
        if (i.op == Op::group || i.op == Op::return_ || asks_subgroup(i.op)) size += most_twice;
        if ((i.op == Op::load || i.op == Op::store) && k[i.memory].kind != MemoryKind::private_)
            indices.push_back(indices_of(k, i).back());
        const auto skips = [&](BlockId b) { return k[b].insts.size() == 1 && k[k[b].insts[0]].op == Op::yield; };
        if (i.op == Op::if_ && skips(i.blocks[1]) != skips(i.blocks[0])) add(k.operands(i)[0], skips(i.blocks[1]));
        if (i.op == Op::select && constant(k.operands(i)[1]) != constant(k.operands(i)[2]))
            add(k.operands(i)[0], constant(k.operands(i)[2]));
    };
    for (const InstId id : insts) note(id), each_inside(k, k[id], note);
    if (size > most_twice) return {};
    if (!boundaries) boundaries = emit.boundaries.clamped_indices();
    const std::function<bool(Value, Value, int)> is_summand_of = [&](Value from, Value to, int depth) {
        if (from == to) return true;
        const InstId source = k[to].inst;
        if (source.id == none || depth > most_depth || (k[source].op != Op::add && k[source].op != Op::sub)) return false;
        return std::ranges::any_of(k.operands(k[source]), [&](Value o) { return is_summand_of(from, o, depth + 1); });
    };
    // A boundary index needs the inner ones, which come before it.
    std::set<uint32_t> needed;
    for (auto b = boundaries->rbegin(); b != boundaries->rend(); ++b) {
        const bool is_index = std::ranges::any_of(indices, [&](Value to) { return is_summand_of(b->value, to, 0); });
        if (!needed.contains(b->value.id) && !is_index) continue;
        const bool lower = b->op == Op::max, upper = b->op == Op::min;
        if (!suits(b->x) || !is_known(b->interior, true) || !is_known(b->limit, false)) {
            if (needed.contains(b->value.id)) return {};
            continue;
        }
        for (const Value v : b->inner) needed.insert(v.id);
        interior.boundaries.insert(interior.boundaries.begin(), *b);
        const Op compared = b->x_first ? b->op : turned(b->op);
        interior.bounds.push_back({b->x, b->limit, lower ? Op::ge : upper ? Op::le : b->holds ? compared : negated(compared)});
    }
    return is_large(interior) ? interior : RegionInterior();
}

/// True unless it is known that fewer than half of a row's packets are in the interior, by the bounds with constant limits.
bool RegionInteriors::is_large(const RegionInterior& interior) const {
    int64_t first = 0, last = variant.group[0] - 1;
    for (const RegionInterior::Bound& b : interior.bounds) {
        const IndexPolynomial x = polynomial_of(k, b.x);
        uint64_t bits = 0;
        if (!k.constant(b.limit, bits) || x.coefficients.size() != 1) continue;
        const auto& [factors, times] = *x.coefficients.begin();
        if (factors.size() != 1 || times != 1 || !packet.is_index({factors[0]}, Op::local_index)) continue;
        const int64_t apart = int64_t(int32_t(bits)) - x.constant;
        if (b.how == Op::lt || b.how == Op::le)
            last = std::min(last, b.how == Op::lt ? apart - 1 : apart);
        else
            first = std::max(first, b.how == Op::gt ? apart + 1 : apart);
    }
    const int64_t begin = (first + width - 1) / width, end = (last + 1) / width;
    return 2 * (end - begin) >= packet.packets_a_row();
}

/// An i1: all bounds hold in all lanes of this packet.
std::string RegionInteriors::is_inside(const RegionInterior& interior) {
    const auto before = std::make_tuple(packet.values, packet.has_value);
    const std::string at = std::exchange(packet.local_at[0], "0");
    packet.restoring = true;  // what is computed here is of the row's first packet: no region saves it
    const auto of = [&](const char* what, const std::string& a, const std::string& b) {
        out.declare(text("declare i64 @llvm.", what, ".i64(i64, i64)"));
        return out.let(text("call i64 @llvm.", what, ".i64(i64 ", a, ", i64 ", b, ")"));
    };
    const auto wide = [&](Value v) {
        emit.pure.rematerialise(v);
        return out.let(text("sext i32 ", packet.scalar(v), " to i64"));
    };
    std::string first = "0", last = std::to_string(INT32_MAX), holds;
    for (const RegionInterior::Bound& b : interior.bounds) {
        const std::string x = wide(b.x), limit = wide(b.limit);
        const std::string apart = out.let(text("sub i64 ", limit, ", ", x));
        const bool upper = b.how == Op::lt || b.how == Op::le, strict = b.how == Op::lt || b.how == Op::gt;
        const std::string to = strict ? out.let(text("add i64 ", apart, ", ", upper ? -1 : 1)) : apart;
        upper ? last = of("smin", last, to) : first = of("smax", first, to);
        last = of("smin", last, out.let(text("sub i64 ", INT32_MAX, ", ", x)));  // from there on x wraps
    }
    for (const Value flag : interior.flags) {
        emit.pure.rematerialise(flag);
        holds = holds.empty() ? packet.scalar(flag) : out.let(text("and i1 ", holds, ", ", packet.scalar(flag)));
    }
    std::tie(packet.values, packet.has_value) = before;
    packet.local_at[0] = at, packet.restoring = false;
    const std::string span = out.let(text("sub i64 ", out.let(text("sub i64 ", last, ", ", width - 1)), ", ", first));
    std::string some = out.let(text("icmp sge i64 ", span, ", 0"));
    if (!holds.empty()) some = out.let(text("and i1 ", some, ", ", holds));
    const std::string from = out.let(text("select i1 ", some, ", i64 ", first, ", i64 ", int64_t(1) << 40));
    const std::string past = out.let(text("sub i64 ", out.let(text("zext i32 ", at, " to i64")), ", ", from));
    return out.let(text("icmp ule i64 ", past, ", ", of("smax", span, "0")));
}

/// Writes a packet of a region in two versions if it has an interior.
void RegionInteriors::versions(const RegionInterior& interior, const Body& body) {
    if (interior.empty() || !packet.running.all()) return body();
    const std::string inside = out.label("interior"), boundary = out.label("boundary");
    const auto before = std::make_tuple(packet.values, packet.has_value, packet.running, packet.lost);
    out.branch(is_inside(interior), inside, boundary);
    out.start(inside);
    for (const BoundaryIndex& b : interior.boundaries) emit.pure.interior_values[b.value.id] = b.interior;
    for (const Value v : interior.holding) emit.pure.known_conditions[v.id] = true;
    for (const Value v : interior.failing) emit.pure.known_conditions[v.id] = false;
    // Those of other regions are known, too, and not loaded from where they are saved.
    packet.restoring = true;
    for (const BoundaryIndex& b : interior.boundaries) {
        if (interior.own.contains(b.value.id)) continue;
        emit.pure.rematerialise(b.interior);
        packet.values[b.value.id] = packet.rep_of(b.interior), packet.has_value[b.value.id] = true;
    }
    packet.restoring = false;
    for (const auto& [condition, holds] : emit.pure.known_conditions)
        if (!interior.own.contains(condition)) emit.pure.define_condition({condition}, holds);
    body();
    emit.pure.interior_values.clear(), emit.pure.known_conditions.clear();
    if (out.open) out.jump(packet.return_label);
    std::tie(packet.values, packet.has_value, packet.running, packet.lost) = before;
    out.start(boundary);
    body();
}

}  // namespace pumice::cpu
