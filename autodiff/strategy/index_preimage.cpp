// Preimages of indices: the inverse of an index computation, as intervals of positions, evaluated on the host before a launch.
//
// An index such as a tap of a texture's filter is a chain of operations on an affine value. Walking back from the index, each
// operation replaces the set of values that may lead to element t by the set of its operand. The sets are intervals whose ends
// are affine in t, so one walk serves all elements. Rounding widens them: they contain the true set, and may contain more.
//
//     %u = (%x + 0.5) / 40                         base: s = 1 / 40, o = 0.5 / 40
//     %p = %u * 20 - 0.5;  %i = cast (floor %p)    %p in [t, t + 1]         %u in [(t + 0.5) / 20, (t + 1.5) / 20]
//     load a[clamp %i]                             %i in [t, t]; for t = 0 also %i <= 0
//                                                  items: 2 t + 0.5 <= %x <= 2 t + 2.5
//
// Method: pieces {slope, low, high} with the elements t for which they hold. A clamp adds a piece for its end, a select takes
// both of its arms under their conditions, value - floor(value) restricts the piece to [0, 1] and makes it periodic.
// item_footprint.cpp merges the pieces of all taps.
// Cost: a few hundred operations of the host. Limits: those of affine_index.cpp; factors that may be 0, and integers that may
// wrap, are refused; at most 256 pieces.
// Textbook name: interval analysis, backwards: HC4-revise (Benhamou, Goualard, Granvilliers and Puget, ICLP 1999).
#include "autodiff/strategy/index_preimage.h"

#include <algorithm>

#include "autodiff/analysis/accumulation.h"

namespace pumice::derive {

using namespace ir;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr size_t most_pieces = 256;

}  // namespace

void Piece::restrict_to(double least, double most) {
    constexpr double slack = 1e-6;
    if (slope == 0) return void((low = std::max(low, least), high = std::min(high, most)));
    const auto reach = [&](double end, double bound, bool above) {  // slope * t + end >= bound, or <= bound
        if (!std::isfinite(bound) || !std::isfinite(end)) return;
        const double t = (bound - end) / slope;
        if ((slope > 0) == above)
            first = std::max(first, std::ceil(t - slack));
        else
            last = std::min(last, std::floor(t + slack));
    };
    reach(high, least, true), reach(low, most, false);
}

double Piece::largest() const {
    double all = 0;
    for (const double t : {first, last})
        for (const double end : {low, high})
            if (std::isfinite(end)) all = std::max(all, std::abs(slope * t + end));
    return all;
}

Preimage::Preimage(const Uniform& uniform, const AffineBase& base, const Affine& affine, const HostValues& known, int64_t start,
                   int64_t end)
    : uniform(uniform), base(base), known(known) {
    const double a = affine.scale * double(start) + affine.offset, b = affine.scale * double(end - 1) + affine.offset;
    of_base = {std::min(a, b) - affine.error, std::max(a, b) + affine.error};
}

void Preimage::pull(const IndexTap& tap, int64_t elements) {
    bounds.clear();
    for (const IndexCondition& c : tap.conditions) assume(c.condition, c.holds);
    range_of(tap.index);
    Piece all;
    all.last = double(elements - 1);
    pull(tap.index, all);
}

double Preimage::number(Value v) const { return real_number_of(k, v, known); }

/// Notes the bounds that a condition gives to a value, where it holds or does not.
void Preimage::assume(Value condition, bool holds) {
    const Inst* i = source_of(k, condition);
    if (!i) return;
    const auto o = k.operands(*i);
    if (i->op == Op::not_) return assume(o[0], !holds);
    if ((i->op == Op::or_ && !holds) || (i->op == Op::and_ && holds)) return assume(o[0], holds), assume(o[1], holds);
    if (i->op != Op::lt && i->op != Op::le && i->op != Op::gt && i->op != Op::ge) return;
    const bool first = !uniform.has(o[0]);  // the value stands first
    if (first ? !uniform.has(o[1]) : !uniform.has(o[0])) return;
    const Value v = o[first ? 0 : 1], c = o[first ? 1 : 0];
    if (is_wide_float(k.type_of(v)) && !holds) return;  // NaN
    bool below = i->op == Op::lt || i->op == Op::le, strict = i->op == Op::lt || i->op == Op::gt;
    if (!first) below = !below;
    if (!holds) below = !below, strict = !strict;
    const Approximate by = uniform_value(k, c, known);
    const double step = strict && k.type_of(v) == Scalar::i32 ? 1 : 0;
    Bounds b;
    (below ? b.most : b.least) = below ? by.value - step + by.error : by.value + step - by.error;
    bounds.push_back({v, b});
}

/// The interval of a value over the range. Refuses integers that may wrap.
Preimage::Bounds Preimage::range_of(Value v) {
    if (v == base.value) return of_base;
    if (uniform.has(v)) {
        const Approximate a = uniform_value(k, v, known);
        return {a.value - a.error, a.value + a.error};
    }
    const Inst& i = k[k[v].inst];
    const auto o = k.operands(i);
    if (const auto part = fraction(k, i)) {
        range_of(part->x);
        return {-1e-3, (part->period ? number(part->period) : 1) + 1e-3};
    }
    const auto product = [](Bounds x, Bounds y) {
        Bounds all{infinite, -infinite};
        for (const double a : {x.least, x.most})
            for (const double b : {y.least, y.most}) all.least = std::min(all.least, a * b), all.most = std::max(all.most, a * b);
        return all;
    };
    std::array<Bounds, 3> r;
    for (size_t n = i.op == Op::select ? 1 : 0; n < o.size(); ++n) r[n] = range_of(o[n]);
    Bounds all;
    switch (i.op) {
        case Op::min: all = {std::min(r[0].least, r[1].least), std::min(r[0].most, r[1].most)}; break;
        case Op::max: all = {std::max(r[0].least, r[1].least), std::max(r[0].most, r[1].most)}; break;
        case Op::select: all = selected(i, r); break;
        case Op::add: all = {r[0].least + r[1].least, r[0].most + r[1].most}; break;
        case Op::sub: all = {r[0].least - r[1].most, r[0].most - r[1].least}; break;
        case Op::neg: all = {-r[0].most, -r[0].least}; break;
        case Op::mul: all = product(r[0], r[1]); break;
        case Op::div:
            if (r[1].least <= 0 && r[1].most >= 0) refused = true;
            all = product(r[0], {1 / r[1].most, 1 / r[1].least});
            break;
        case Op::fma: all = product(r[0], r[1]), all.least += r[2].least, all.most += r[2].most; break;
        case Op::cast:
            all = r[0];
            if (i.type == Scalar::i32) all = {std::max<double>(all.least, INT32_MIN), std::min<double>(all.most, INT32_MAX)};
            break;
        default: all = {r[0].least - 1, r[0].most + 1};  // roundings
    }
    if (i.type == Scalar::i32 && !(all.least >= INT32_MIN && all.most <= INT32_MAX)) refused = true;
    const double wider = error_of(i.type) * std::max(std::abs(all.least), std::abs(all.most));
    return {all.least - wider, all.most + wider};
}

/// select(x < c, x, c) and select(x > c, x, c) are bounded as min and max are.
Preimage::Bounds Preimage::selected(const Inst& i, const std::array<Bounds, 3>& r) const {
    if (clamps(i, Op::lt)) return {std::min(r[1].least, r[2].least), std::min(r[1].most, r[2].most)};
    if (clamps(i, Op::gt)) return {std::max(r[1].least, r[2].least), std::max(r[1].most, r[2].most)};
    return {std::min(r[1].least, r[2].least), std::max(r[1].most, r[2].most)};
}
bool Preimage::clamps(const Inst& select, Op by) const {
    const auto o = k.operands(select);
    const Inst* i = source_of(k, o[0]);
    return i && i->op == by && k.operands(*i)[0] == o[1] && k.operands(*i)[1] == o[2] && uniform.has(o[2]);
}

void Preimage::widen(Piece& p, Scalar type) const {
    const double by = error_of(type) * p.largest();
    p.low -= by, p.high += by;
}

/// The value lies in the piece.
void Preimage::pull(Value v, Piece p) {
    for (const Known& b : bounds)
        if (b.v == v) p.restrict_to(b.bounds.least, b.bounds.most);
    if (refused || p.empty()) return;
    if (pieces.size() >= most_pieces) return void(refused = true);
    if (v == base.value) return pieces.push_back(p);
    if (uniform.has(v)) {
        const Approximate c = uniform_value(k, v, known);
        p.restrict_to(c.value - c.error, c.value + c.error);
        p.slope = 0, p.low = -infinite, p.high = infinite;
        if (p.first <= p.last) pieces.push_back(p);
        return;
    }
    const Inst& i = k[k[v].inst];
    const auto o = k.operands(i);
    widen(p, i.type);
    if (const auto part = fraction(k, i)) {
        const double period = part->period ? number(part->period) : 1, slack = error_of(i.type) * (period + of_base.largest());
        p.restrict_to(-slack, period + slack);
        p.low -= slack, p.high += slack;
        p.period = period;
        return pull(part->x, p);
    }
    switch (i.op) {
        case Op::min:
        case Op::max: return pull_clamp(i.op, o[0], o[1], p);
        case Op::select: return pull_select(i, p);
        case Op::add:
        case Op::sub: {
            const bool constant_first = uniform.has(o[0]);
            const Approximate c = uniform_value(k, o[constant_first ? 0 : 1], known);
            if (i.op == Op::sub && constant_first) p.scale(-1);
            p.shift(i.op == Op::add ? -c.value : c.value);
            p.low -= c.error, p.high += c.error;
            return pull(o[constant_first ? 1 : 0], p);
        }
        case Op::mul:
        case Op::div:
        case Op::fma: return pull_product(i, p);
        case Op::neg: p.scale(-1); return pull(o[0], p);
        case Op::floor: p.high += 1; return pull(o[0], p);
        case Op::ceil: p.low -= 1; return pull(o[0], p);
        case Op::trunc:
        case Op::round: p.low -= 1, p.high += 1; return pull(o[0], p);
        case Op::cast: {
            const Inst* x = source_of(k, o[0]);
            if (i.type == Scalar::i32 && is_wide_float(k.type_of(o[0])) && !(x && rounds(x->op))) p.low -= 1, p.high += 1;
            return pull(o[0], p);
        }
        default: refused = true;
    }
}

/// min or max of two values: either is in the piece; if one is a constant in it, the other may lie beyond. Of x and c - x
/// the smaller one is at most c / 2.
void Preimage::pull_clamp(Op op, Value x, Value y, Piece p) {
    if (const Inst* i = source_of(k, y); i && i->op == Op::sub && k.operands(*i)[1] == x && uniform.has(k.operands(*i)[0])) {
        const Approximate c = uniform_value(k, k.operands(*i)[0], known);
        const double slack = c.error + error_of(i->type) * of_base.largest() + error_of(i->type) * std::abs(c.value);
        op == Op::min ? p.restrict_to(-infinite, c.value / 2 + slack) : p.restrict_to(c.value / 2 - slack, infinite);
    }
    for (const bool turn : {false, true}) {
        const Value v = turn ? y : x, other = turn ? x : y;
        if (uniform.has(v)) continue;
        if (!uniform.has(other)) {
            pull(v, p);
            continue;
        }
        const Approximate c = uniform_value(k, other, known);
        const double least = c.value - c.error, most = c.value + c.error;
        Piece same = p, beyond = p;
        op == Op::min ? same.restrict_to(-infinite, most) : same.restrict_to(least, infinite);
        pull(v, same);
        beyond.restrict_to(least, most);
        if (beyond.empty()) continue;
        beyond.slope = 0, beyond.low = op == Op::min ? least : -infinite, beyond.high = op == Op::min ? infinite : most;
        pull(v, beyond);
    }
}

void Preimage::pull_select(const Inst& i, const Piece& p) {
    const auto o = k.operands(i);
    if (clamps(i, Op::lt)) return pull_clamp(Op::min, o[1], o[2], p);
    if (clamps(i, Op::gt)) return pull_clamp(Op::max, o[1], o[2], p);
    for (const bool arm : {true, false}) {
        const size_t before = bounds.size();
        assume(o[0], arm);
        pull(o[arm ? 1 : 2], p);
        bounds.resize(before);
    }
}

/// x * c, x / c, and x * c + d.
void Preimage::pull_product(const Inst& i, Piece p) {
    const auto o = k.operands(i);
    if (i.op == Op::fma) {
        const Approximate d = uniform_value(k, o[2], known);
        p.shift(-d.value), p.low -= d.error, p.high += d.error;
        widen(p, i.type);  // where it is not fused
    }
    const bool first = i.op != Op::div && uniform.has(o[0]);
    const Approximate c = uniform_value(k, o[first ? 0 : 1], known);
    if (std::abs(c.value) <= c.error || !std::isfinite(c.value)) return void(refused = true);
    p.scale(i.op == Op::div ? c.value : 1 / c.value);
    const double wider = c.error / (std::abs(c.value) - c.error) * p.largest();
    p.low -= wider, p.high += wider;
    pull(o[first ? 1 : 0], p);
}

}  // namespace pumice::derive
