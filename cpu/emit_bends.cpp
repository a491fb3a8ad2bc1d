// Indices that are bent at the rim of an array: wrapped around to its other side, or kept from leaving it. Packets away from there have
// code of their own, in which places side by side are known to be so.
#include <algorithm>
#include <tuple>

#include "core/error.h"
#include "cpu/emitter.h"

namespace pumice::cpu {

using namespace ir;

namespace {
constexpr int most_steps = 16;      ///< to an index
constexpr int most_depth = 8;       ///< from a bend to an index
constexpr size_t most_twice = 300;  ///< instructions of a kernel, which are written twice
}  // namespace

/// What a bent value is away from the rim, and what decides where that is: select(x == limit, bent, straight), min(x, limit), max(x, limit).
std::optional<Bend> Emitter::bend_of(const Inst& i) const {
    if (i.type != Scalar::i32 || i.result_count != 1 || kind_of(k.result(i)) != Kind::vector) return std::nullopt;
    const auto v = k.operands(i);
    Bend bend{k.result(i), {}, i.op, {}, {}};
    std::span<const Value> compared = v;
    if (i.op == Op::select) {
        const InstId source = k[v[0]].inst;
        if (source.id == none || (k[source].op != Op::eq && k[source].op != Op::ne)) return std::nullopt;
        bend.straight = v[k[source].op == Op::eq ? 2 : 1];
        compared = k.operands(k[source]);
    } else if (i.op != Op::min && i.op != Op::max) {
        return std::nullopt;
    }
    if (k.type_of(compared[0]) != Scalar::i32) return std::nullopt;
    const size_t x = kind_of(compared[0]) == Kind::affine ? 0 : 1;
    bend.x = compared[x], bend.limit = compared[1 - x];
    if (i.op != Op::select) bend.straight = bend.x;
    int64_t step = 0, along = 0;
    int steps = most_steps;
    const bool even = kind_of(bend.x) == Kind::affine && affine.of(bend.x).step(step) && step == 1 &&
                      kind_of(bend.straight) == Kind::affine && affine.of(bend.straight).step(along) && along == 1;
    if (!even || kind_of(bend.limit) != Kind::uniform || !follows_anywhere(bend.x, steps) || !follows_anywhere(bend.limit, steps))
        return std::nullopt;
    return bend;
}

/// Those of indices of arrays.
std::vector<Bend> Emitter::find_bends() const {
    std::vector<Bend> found;
    const auto& order = uniformity.structure().order();
    if (width == 1 || has_barriers || order.size() > most_twice) return found;
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
    for (const InstId id : order)
        if (const auto bend = is_pure(k[id].op) ? bend_of(k[id]) : std::nullopt; bend && is_index(bend->value)) found.push_back(*bend);
    return found;
}

/// An i1: the value is straight in all lanes of this packet.
std::string Emitter::is_straight(const Bend& b) {
    follow(b.x), follow(b.limit);
    const std::string first = scalar(b.x), limit = scalar(b.limit);
    if (b.op == Op::select) return let(text("icmp uge i32 ", let(text("sub i32 ", limit, ", ", first)), ", ", width));
    const std::string last = let(text("add i32 ", first, ", ", width - 1)), no_wrap = let(text("icmp sle i32 ", first, ", ", last));
    const std::string within = b.op == Op::min ? let(text("icmp sle i32 ", last, ", ", limit)) : let(text("icmp sge i32 ", first, ", ", limit));
    return let(text("and i1 ", within, ", ", no_wrap));
}

/// A packet, twice where there are bends: away from them, and where it meets one.
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
    straightened.clear();
    if (open) jump(return_label);
    std::tie(values, has_value, running, lost) = before;
    start(rim);
    body();
}

/// Whether a value of a packet away from bends grows by a constant from lane to lane, unlike elsewhere: makes it known then.
bool Emitter::straight(const Inst& i) {
    if (straightened.empty() || i.type != Scalar::i32) return false;
    const Value r = k.result(i);
    const auto v = k.operands(i);
    if (const auto bend = straightened.find(r.id); bend != straightened.end()) {
        follow(bend->second);
        values[r.id] = held(bend->second);
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
