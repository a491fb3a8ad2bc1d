// Affine indices: recognises indices that follow from one affine position by operations with known inverses.
//
// A position s * global_index(axis) + o is rounded, clamped or wrapped on its way to an index. This file finds the position, and
// evaluates s and o on the host, with a bound of the rounding errors that the device makes.
//
//     %f = cast %x;  %u = %f * %scale + %half             the base: axis 0, s = %scale, o = %half
//     %p = %u * cast (extent arg2) - 0.5                  affine, too: the base is %p, if the index needs %u through it alone
//     %i = cast (floor %p);  load arg2[max(min(%i, %last), 0)]
//
// Method: forwards over sums, products and quotients with values that are the same for all items (scale, offset, error and
// largest value); from the index down over min, max, select, floor, cast and x - floor(x) to the first affine value.
// Cost: a walk over the operands; the host's part once for each new set of scalars and extents.
// Limits: one axis. What the host would compute otherwise than the device is refused: functions such as sin, and integers made of
// quotients.
// Textbook names: affine forms; running error analysis (Wilkinson).
#include "autodiff/strategy/affine_index.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "autodiff/analysis/accumulation.h"

namespace pumice::derive {

using namespace ir;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// True if the host computes the value as the device does, but for the rounding of floats. `exact`: to the bit, as an integer
/// that is made of the value asks for; quotients are not, and an fma may be fused or not.
bool known_to_host(const Kernel& k, Value v, bool exact) {
    const Inst* i = source_of(k, v);
    if (!i) return false;
    const Scalar type = k.type_of(v);
    const bool is_float = is_wide_float(type);
    if (!is_float && type != Scalar::i32 && type != Scalar::boolean) return false;
    switch (i->op) {
        case Op::constant:
        case Op::argument:
        case Op::extent: return true;
        case Op::div:
        case Op::fma:
            if (is_float && exact) return false;
            break;
        case Op::floor:
        case Op::ceil:
        case Op::select:
            if (is_float && !exact) return known_to_host(k, v, true);
            break;
        case Op::cast:
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::neg:
        case Op::abs:
        case Op::min:
        case Op::max: break;
        default:
            if (is_float || !is_scalar_op(i->op)) return false;
    }
    const auto operands = k.operands(*i);
    return std::ranges::all_of(operands, [&](Value o) { return known_to_host(k, o, exact || !is_float); });
}

}  // namespace

double error_of(Scalar type) { return type == Scalar::f32 ? 0x1p-20 : type == Scalar::f64 ? 0x1p-49 : 0; }

bool Uniform::has(Value v) const {
    const auto [at, fresh] = known.try_emplace(v.id, false);
    if (fresh) at->second = same_for_all(k, v) && known_to_host(k, v, false);
    return at->second;
}

Approximate uniform_value(const Kernel& k, Value v, const HostValues& known) {
    const Inst& i = k[k[v].inst];
    Approximate a{real_number_of(k, v, known), 0};
    if (!is_wide_float(i.type) || i.op == Op::constant || i.op == Op::argument) return a;
    std::array<Approximate, 3> o;
    size_t n = 0;
    for (const Value operand : k.operands(i))
        if (k.type_of(operand) != Scalar::boolean) o[n++] = uniform_value(k, operand, known);
    switch (i.op) {
        case Op::mul: a.error = o[0].error * std::abs(o[1].value) + o[1].error * (std::abs(o[0].value) + o[0].error); break;
        case Op::fma:
            a.error = o[0].error * std::abs(o[1].value) + o[1].error * (std::abs(o[0].value) + o[0].error) + o[2].error +
                      error_of(i.type) * std::abs(o[0].value * o[1].value);
            break;
        case Op::div:
            a.error = std::abs(o[1].value) > o[1].error
                          ? (o[0].error + std::abs(a.value) * o[1].error) / (std::abs(o[1].value) - o[1].error)
                          : infinite;
            break;
        default: a.error = o[0].error + o[1].error;  // also of min, max and select, where one of both is taken
    }
    a.error += error_of(i.type) * std::abs(a.value);
    return a;
}

// ---- affine values ----

namespace {

constexpr int no_axis = -1, not_affine = -2;

/// The axis of an affine value; no_axis if it is the same for all items.
int axis_of(const Uniform& uniform, Value v) {
    const Kernel& k = uniform.k;
    if (uniform.has(v)) return no_axis;
    const Inst* i = source_of(k, v);
    if (!i || (k.type_of(v) != Scalar::i32 && !is_wide_float(k.type_of(v)))) return not_affine;
    const auto o = k.operands(*i);
    const auto one_axis = [](int a, int b) {
        return a == not_affine || b == not_affine ? not_affine : a == no_axis || a == b ? b : b == no_axis ? a : not_affine;
    };
    switch (i->op) {
        case Op::global_index: return int(i->immediate);
        case Op::cast: return is_wide_float(i->type) ? axis_of(uniform, o[0]) : not_affine;
        case Op::neg: return axis_of(uniform, o[0]);
        case Op::add:
        case Op::sub: return one_axis(axis_of(uniform, o[0]), axis_of(uniform, o[1]));
        case Op::mul: return uniform.has(o[1]) ? axis_of(uniform, o[0]) : uniform.has(o[0]) ? axis_of(uniform, o[1]) : not_affine;
        case Op::div: return is_wide_float(i->type) && uniform.has(o[1]) ? axis_of(uniform, o[0]) : not_affine;
        case Op::fma: {
            const int product = uniform.has(o[1])   ? axis_of(uniform, o[0])
                                : uniform.has(o[0]) ? axis_of(uniform, o[1])
                                                    : not_affine;
            return one_axis(product, axis_of(uniform, o[2]));
        }
        default: return not_affine;
    }
}

}  // namespace

Affine AffineValues::of(Value v) {
    const Inst& i = k[k[v].inst];
    const auto operands = k.operands(i);
    Affine a;
    if (uniform.has(v)) {
        const Approximate c = uniform_value(k, v, known);
        return {0, c.value, c.error, std::abs(c.value)};
    }
    if (i.op == Op::global_index) return finished({1, 0}, Scalar::i32);
    std::array<Affine, 3> o;
    for (size_t n = 0; n < operands.size(); ++n) o[n] = of(operands[n]);
    const auto product = [&] {
        const Affine& constant = o[1].scale == 0 ? o[1] : o[0];
        const Affine& x = o[1].scale == 0 ? o[0] : o[1];
        a.scale = x.scale * constant.offset, a.offset = x.offset * constant.offset;
        a.error = x.error * std::abs(constant.offset) + constant.error * (x.most + x.error);
    };
    switch (i.op) {
        case Op::add: a = {o[0].scale + o[1].scale, o[0].offset + o[1].offset, o[0].error + o[1].error}; break;
        case Op::sub: a = {o[0].scale - o[1].scale, o[0].offset - o[1].offset, o[0].error + o[1].error}; break;
        case Op::neg: a = {-o[0].scale, -o[0].offset, o[0].error}; break;
        case Op::mul: product(); break;
        case Op::fma:
            product();
            a = finished(a, i.type);  // where it is not fused
            a.scale += o[2].scale, a.offset += o[2].offset, a.error += o[2].error;
            break;
        case Op::div: {
            const double by = o[1].offset, least = std::abs(by) - o[1].error;
            a = {o[0].scale / by, o[0].offset / by};
            a.error = least > 0 ? (o[0].error + o[0].most / std::abs(by) * o[1].error) / least : infinite;
            break;
        }
        default: a = {o[0].scale, o[0].offset, o[0].error};  // a cast
    }
    return finished(a, i.type);
}

Affine AffineValues::finished(Affine a, Scalar type) {
    a.most = std::max(std::abs(a.scale * start + a.offset), std::abs(a.scale * last + a.offset));
    a.error += error_of(type) * (a.most + a.error);
    if (type == Scalar::i32 && a.most > INT32_MAX) overflow = true;
    return a;
}

// ---- the chain of operations ----

std::optional<Fraction> fraction(const Kernel& k, const Inst& i) {
    if (i.op != Op::sub || !is_wide_float(i.type)) return std::nullopt;
    const auto o = k.operands(i);
    const Inst* whole = source_of(k, o[1]);
    if (!whole) return std::nullopt;
    if (whole->op == Op::floor && k.operands(*whole)[0] == o[0]) return Fraction{o[0], {}};
    if (whole->op != Op::mul) return std::nullopt;
    for (int n = 0; n < 2; ++n) {
        const Value c = k.operands(*whole)[size_t(n)];
        const Inst* below = source_of(k, k.operands(*whole)[size_t(1 - n)]);
        uint64_t bits = 0;
        if (!below || below->op != Op::floor || !k.constant(c, bits)) continue;
        const double period = real_number_of(k, c, {});
        const Inst* part = source_of(k, k.operands(*below)[0]);
        if (!part || part->op != Op::mul) continue;
        for (int m = 0; m < 2; ++m) {
            const auto factors = k.operands(*part);
            const Value by = factors[size_t(1 - m)];
            if (factors[size_t(m)] == o[0] && k.constant(by, bits) && period > 0 && real_number_of(k, by, {}) * period == 1)
                return Fraction{o[0], c};
        }
    }
    return std::nullopt;
}

bool rounds(Op op) { return op == Op::floor || op == Op::ceil || op == Op::trunc || op == Op::round; }

namespace {

/// Finds the base below a value. Returns false where an operation has no known inverse.
bool find_base(const Uniform& uniform, Value v, AffineBase& base, int depth) {
    const Kernel& k = uniform.k;
    if (depth > 64) return false;
    if (base.value && v == base.value) return true;
    const int axis = axis_of(uniform, v);
    if (axis == no_axis) return true;
    if (axis >= 0) {
        if (base.value) return false;
        base.value = v, base.axis = axis;
        return true;
    }
    const Inst* i = source_of(k, v);
    if (!i || (k.type_of(v) != Scalar::i32 && !is_wide_float(k.type_of(v)))) return false;
    const auto o = k.operands(*i);
    const auto below = [&](Value x) { return find_base(uniform, x, base, depth + 1); };
    if (const auto part = fraction(k, *i)) {
        if (axis_of(uniform, part->x) < 0) return false;
        base.periodic = true;
        return below(part->x);
    }
    switch (i->op) {
        case Op::min:
        case Op::max: {
            const bool both = !uniform.has(o[0]) && !uniform.has(o[1]);
            base.reflected = base.reflected || both, base.cut = base.cut || !both;
            return below(o[0]) && below(o[1]);
        }
        case Op::select: return below(o[1]) && below(o[2]);
        case Op::add:
        case Op::sub:
        case Op::mul: return (uniform.has(o[0]) || uniform.has(o[1])) && below(o[0]) && below(o[1]);
        case Op::div: return is_wide_float(i->type) && uniform.has(o[1]) && below(o[0]);
        case Op::fma: return (uniform.has(o[0]) || uniform.has(o[1])) && uniform.has(o[2]) && below(o[0]) && below(o[1]);
        case Op::neg:
        case Op::floor:
        case Op::ceil:
        case Op::trunc:
        case Op::round: return below(o[0]);
        case Op::cast: return (k.type_of(o[0]) == Scalar::i32 || is_wide_float(k.type_of(o[0]))) && below(o[0]);
        default: return false;
    }
}

/// Calls f with each value that the value is made of, once.
template <class F> void each_source(const Kernel& k, Value v, std::set<uint32_t>& seen, const F& f) {
    const Inst* i = source_of(k, v);
    if (!i || !seen.insert(v.id).second) return;
    f(v, *i);
    for (const Value o : k.operands(*i)) each_source(k, o, seen, f);
}

}  // namespace

std::vector<IndexCondition> conditions_on(const Kernel& k, Value index, std::span<const IndexCondition> all) {
    std::vector<IndexCondition> found;
    const auto add = [&](const auto& self, IndexCondition c) -> void {
        const Inst* i = source_of(k, c.condition);
        if (!i) return;
        const auto o = k.operands(*i);
        if (i->op == Op::not_) return self(self, {o[0], !c.holds});
        if ((i->op == Op::or_ && !c.holds) || (i->op == Op::and_ && c.holds))
            return self(self, {o[0], c.holds}), self(self, {o[1], c.holds});
        std::set<uint32_t> seen;
        bool on_index = false;
        each_source(k, index, seen, [&](Value v, const Inst&) {
            on_index = on_index || ((v == o[0] || (o.size() > 1 && v == o[1])) && !same_for_all(k, v));
        });
        if (on_index) found.push_back(c);
    };
    for (const IndexCondition& c : all) add(add, c);
    return found;
}

std::vector<InputOfIndex> inputs_of(const Kernel& k, std::span<const IndexTap> taps) {
    std::vector<InputOfIndex> found;
    std::set<uint32_t> seen;
    const auto add = [&](Value, const Inst& i) {
        if (i.op == Op::argument) found.push_back({size_t(i.immediate), -1});
        if (i.op == Op::extent) found.push_back({size_t(k[i.memory].argument), int(i.immediate)});
    };
    for (const IndexTap& tap : taps) {
        each_source(k, tap.index, seen, add);
        for (const IndexCondition& c : tap.conditions) each_source(k, c.condition, seen, add);
    }
    return found;
}

std::optional<AffineBase> affine_base(const Kernel& k, Value index) {
    AffineBase base;
    if (k.type_of(index) != Scalar::i32 || !find_base(Uniform(k), index, base, 0) || !base.value) return std::nullopt;
    if (base.reflected && !base.periodic) return std::nullopt;
    return base;
}

}  // namespace pumice::derive
