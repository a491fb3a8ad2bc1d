// Loop versioning, interior and boundary: packets whose wrapped or clamped indices are straight get code of their own.
//
// Why: a stencil with `select(i == 0, n - 1, i - 1)`, `clamp(i + 1, 0, n - 1)` or `(i + 1) % n` has indices that are not affine,
// so its loads are gathers. In the interior the index is simply i - 1 or i + 1, and the load is contiguous.
//
//     before:  %j = select (icmp eq %i, 0), %n-1, %i-1      after:  br (all lanes straight), interior, boundary
//              %v = gather arg1[%j]                          interior:  %v = load <8 x float>, ptr arg1 + (%i - 1)
//                                                            boundary:  %v = gather arg1[%j]
//
// The test is one comparison for each such index and packet, from the packet's first (and last) lane. In the interior the index
// is the straight value: the selected operand, the affine operand of min or max, or for `%` the affine remainder.
// Cost: the kernel's body is written twice, so only for kernels of at most 300 instructions.
// Limits: i32 indices that step by 1 from lane to lane against a uniform limit; select by a comparison, min, max, rem, and chains
// of these; no kernels with barriers; the index must reach the last dimension of an array access through add and sub only.
// Textbook: loop versioning / index-set splitting for boundary conditions (Griebl et al. 2000; Halide's loop partitioning).
#include <algorithm>
#include <set>
#include <tuple>

#include "core/support/error.h"
#include "cpu/emit/llvm_emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 16;      ///< instructions that an index may take to recompute
constexpr int most_depth = 8;       ///< of add and sub between a boundary index and an access
constexpr size_t most_twice = 300;  ///< instructions of a kernel that is written twice
}  // namespace

/// Bend: a boundary index. Matches select(x == limit, wrapped, straight), also by another comparison, and min(x, limit), max(x,
/// limit), x % limit; gives the straight value of the interior and the condition for it. In chains (clamp() is max of min), x and
/// straight are those of the innermost operation.
std::optional<Bend> Emitter::bend_of(const Inst& i, std::span<const Bend> before) const {
    if (i.type != Scalar::i32 || i.result_count != 1 || kind_of(k.result(i)) != Kind::vector) return std::nullopt;
    Bend bend{k.result(i), {}, i.op, {}, {}};
    const auto resolved = [&](Value v) {
        for (const Bend& b : before) {
            if (b.value != v || b.op == Op::rem) continue;
            bend.inner.push_back(v);
            return b.straight;
        }
        return v;
    };
    const auto even = [&](Value v) { return kind_of(v) == Kind::affine && lane_step(v) == 1; };
    const auto v = k.operands(i);
    std::span<const Value> compared = v;
    if (i.op == Op::select) {
        const InstId source = k[v[0]].inst;
        if (source.id == none) return std::nullopt;
        bend.op = k[source].op;
        compared = k.operands(k[source]);
        if (bend.op == Op::eq || bend.op == Op::ne) {
            bend.holds = bend.op == Op::ne;
        } else if (bend.op == Op::lt || bend.op == Op::le || bend.op == Op::gt || bend.op == Op::ge) {
            // If both operands of the select are affine, the one that is compared is the straight one.
            const Value one = resolved(v[1]), other = resolved(v[2]);
            bend.holds = even(one) && (!even(other) || one == resolved(compared[0]) || one == resolved(compared[1]));
        } else {
            return std::nullopt;
        }
        bend.straight = v[bend.holds ? 1 : 2];
    } else if (i.op != Op::min && i.op != Op::max && i.op != Op::rem) {
        return std::nullopt;
    }
    if (k.type_of(compared[0]) != Scalar::i32) return std::nullopt;
    bend.x_first = even(resolved(compared[0]));
    if (i.op == Op::rem && !bend.x_first) return std::nullopt;
    bend.x = resolved(compared[bend.x_first ? 0 : 1]), bend.limit = compared[bend.x_first ? 1 : 0];
    bend.straight = i.op == Op::select ? resolved(bend.straight) : bend.x;
    int steps = most_steps;
    if (!even(bend.x) || !even(bend.straight) || kind_of(bend.limit) != Kind::uniform || !follows_anywhere(bend.x, steps) ||
        !follows_anywhere(bend.straight, steps) || !follows_anywhere(bend.limit, steps))
        return std::nullopt;
    return bend;
}

/// The boundary indices of the kernel that take part in an array access.
std::vector<Bend> Emitter::find_bends() const {
    std::vector<Bend> found;
    const auto& order = uniformity.structure().order();
    if (width == 1 || has_barriers || order.size() > most_twice) return found;
    for (const InstId id : order)
        if (const auto bend = is_pure(k[id].op) ? bend_of(k[id], found) : std::nullopt) found.push_back(*bend);
    const std::function<bool(Value, Value, int)> leads = [&](Value from, Value to, int depth) {
        if (from == to) return true;
        const InstId source = k[to].inst;
        if (source.id == none || depth > most_depth || (k[source].op != Op::add && k[source].op != Op::sub)) return false;
        const auto v = k.operands(k[source]);
        return std::any_of(v.begin(), v.end(), [&](Value o) { return leads(from, o, depth + 1); });
    };
    const auto is_index = [&](Value v) {
        return std::any_of(order.begin(), order.end(), [&](InstId id) {
            const Inst& i = k[id];
            if ((i.op != Op::load && i.op != Op::store) || k[i.memory].kind != MemoryKind::array) return false;
            return leads(v, indices_of(k, i).back(), 0);
        });
    };
    // Keeps also the inner boundary indices that the kept ones are made of.
    std::set<uint32_t> needed;
    for (auto b = found.rbegin(); b != found.rend(); ++b) {
        if (!needed.count(b->value.id) && !is_index(b->value)) continue;
        needed.insert(b->value.id);
        for (const Value v : b->inner) needed.insert(v.id);
    }
    std::erase_if(found, [&](const Bend& b) { return !needed.count(b.value.id); });
    return found;
}

/// An i1: the index is straight in all lanes of this packet.
std::string Emitter::is_straight(const Bend& b) {
    follow(b.x), follow(b.limit);
    const std::string first = scalar(b.x), limit = scalar(b.limit);
    if (b.op == Op::eq || b.op == Op::ne) return let(text("icmp uge i32 ", let(text("sub i32 ", limit, ", ", first)), ", ", width));
    const std::string last = let(text("add i32 ", first, ", ", width - 1)), no_wrap = let(text("icmp sle i32 ", first, ", ", last));
    const auto both = [&](const std::string& one, const std::string& other) { return let(text("and i1 ", one, ", ", other)); };
    if (b.op == Op::min || b.op == Op::max)
        return both(no_wrap, b.op == Op::min ? let(text("icmp sle i32 ", last, ", ", limit)) : let(text("icmp sge i32 ", first, ", ", limit)));
    if (b.op == Op::rem) {
        // All lanes have the first lane's quotient if its remainder is at most the divisor minus the width.
        const std::string divides = let(text("icmp sgt i32 ", limit, ", 0")), by = let(text("select i1 ", divides, ", i32 ", limit, ", i32 1"));
        rests[b.value.id] = let(text("srem i32 ", first, ", ", by));
        const std::string same = let(text("icmp sle i32 ", rests[b.value.id], ", ", let(text("sub i32 ", by, ", ", width))));
        return both(both(divides, let(text("icmp sge i32 ", first, ", 0"))), both(same, no_wrap));
    }
    const char* const how = b.op == Op::lt ? "slt" : b.op == Op::le ? "sle" : b.op == Op::gt ? "sgt" : "sge";
    const auto compared = [&](const std::string& x) {
        return let(text("icmp ", how, " i32 ", b.x_first ? x : limit, ", ", b.x_first ? limit : x));
    };
    const std::string ends = let(text(b.holds ? "and" : "or", " i1 ", compared(first), ", ", compared(last)));
    return both(no_wrap, b.holds ? ends : let(text("xor i1 ", ends, ", true")));
}

/// Writes a packet in two versions if the kernel has boundary indices: interior (label `away`) and boundary (label `rim`).
void Emitter::with_and_without_bends(std::span<const Bend> bends, const Body& body) {
    if (bends.empty()) return body();
    std::string all;
    for (const Bend& b : bends) {
        const std::string one = is_straight(b);
        all = all.empty() ? one : let(text("and i1 ", all, ", ", one));
    }
    const std::string away = label("away"), rim = label("rim");
    const auto before = std::make_tuple(values, has_value, running, lost);
    branch(all, away, rim);
    start(away);
    for (const Bend& b : bends) straightened[b.value.id] = b.straight;
    body();
    straightened.clear(), rests.clear();
    if (open) jump(return_label);
    std::tie(values, has_value, running, lost) = before;
    start(rim);
    body();
}

/// In an interior packet: if the value is affine there, although it is not in general, defines it as affine and returns true.
bool Emitter::straight(const Inst& i) {
    if (straightened.empty() || i.type != Scalar::i32) return false;
    const Value r = k.result(i);
    const auto v = k.operands(i);
    if (const auto bend = straightened.find(r.id); bend != straightened.end()) {
        const auto rest = rests.find(r.id);
        if (rest == rests.end()) follow(bend->second);
        values[r.id] = rest == rests.end() ? held(bend->second) : Held{Kind::affine, rest->second, "", 1};
        return has_value[r.id] = true;
    }
    if ((i.op != Op::add && i.op != Op::sub) || kind_of(r) != Kind::vector) return false;
    const Held a = held(v[0]), b = held(v[1]);
    if (a.kind == Kind::vector || b.kind == Kind::vector) return false;
    const bool adds = i.op == Op::add;
    values[r.id] = {Kind::affine, let(text(adds ? "add" : "sub", " i32 ", a.scalar, ", ", b.scalar)), "", adds ? a.step + b.step : a.step - b.step};
    return has_value[r.id] = true;
}

}  // namespace pumice::cpu
