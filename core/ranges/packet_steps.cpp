#include "core/ranges/packet_steps.h"

#include <algorithm>
#include <bit>

namespace pumice::ir {
namespace {

constexpr int most_nested = 8;
constexpr int64_t most_align = int64_t(1) << 30, most_above = 1 << 20;

/// The largest power of two that divides a number.
int64_t power_in(uint32_t n) { return n == 0 ? most_align : std::min<int64_t>(int64_t(n & (0 - n)), most_align); }

bool is_word(Scalar t) { return t == Scalar::i32 || t == Scalar::u32; }

/// f of each pair of lanes.
template <class F> std::vector<int64_t> each(const std::vector<int64_t>& a, const std::vector<int64_t>& b, F&& f) {
    std::vector<int64_t> all(a.size());
    for (size_t n = 0; n < a.size(); ++n) all[n] = f(a[n], b[n]);
    return all;
}
template <class F> std::vector<int64_t> each(const std::vector<int64_t>& a, F&& f) {
    return each(a, a, [&](int64_t x, int64_t) { return f(x); });
}
std::vector<int64_t> from_first(const std::vector<int64_t>& a) {
    return each(a, [&](int64_t x) { return x - a[0]; });
}

}  // namespace

std::optional<uint32_t> PacketSteps::constant(Value v) const {
    uint64_t bits = 0;
    return is_word(k.type_of(v)) && k.constant(v, bits) ? std::optional(uint32_t(bits)) : std::nullopt;
}

PacketSteps::Effect PacketSteps::effect_of(const Inst& i) const {
    if (packets.items <= 1) return Effect::unknown;
    const auto x = split(i, 0);
    if (!x) return Effect::unknown;
    const Lanes moved = from_first(x->above);
    if (std::ranges::all_of(moved, [](int64_t m) { return m == 0; })) return Effect::uniform;
    return moved == from_first(of(k.operands(i)[0], 1)->above) ? Effect::keeps_step : Effect::unknown;
}

std::optional<std::vector<int64_t>> PacketSteps::lanes_of(Value v, const std::function<bool(Value)>& uniform) const {
    if (packets.items <= 1 || !is_word(k.type_of(v))) return std::nullopt;
    const auto all = lanes(v, uniform, 0);
    return all ? std::optional(from_first(*all)) : std::nullopt;
}

std::optional<PacketSteps::Lanes> PacketSteps::lanes(Value v, const std::function<bool(Value)>& uniform, int depth) const {
    if (uniform(v)) return Lanes(size_t(packets.items), 0);
    const InstId source = k[v].inst;
    if (source.id == none || depth > most_nested) return std::nullopt;
    const Inst& i = k[source];
    if (i.op == Op::add || i.op == Op::sub) {
        const auto a = lanes(k.operands(i)[0], uniform, depth + 1), b = a ? lanes(k.operands(i)[1], uniform, depth + 1) : a;
        if (!b) return std::nullopt;
        return each(*a, *b, [&](int64_t x, int64_t y) { return i.op == Op::add ? x + y : x - y; });
    }
    const auto form = of(v, depth);
    return form ? std::optional(form->above) : std::nullopt;
}

std::optional<PacketSteps::Form> PacketSteps::of(Value v, int depth) const {
    const InstId source = k[v].inst;
    if (source.id == none || depth > most_nested || !is_word(k.type_of(v))) return std::nullopt;
    auto form = of(k[source], depth);
    if (!form) return std::nullopt;
    form->align = std::min(form->align, most_align);
    const bool fits = std::ranges::all_of(form->above, [](int64_t x) { return x >= 0 && x <= most_above; });
    return fits ? form : std::nullopt;
}

std::optional<PacketSteps::Form> PacketSteps::of(const Inst& i, int depth) const {
    const auto v = k.operands(i);
    const auto operand = [&](size_t n) { return of(v[n], depth + 1); };
    const auto index = [&] {
        Form f = same(packets.items, true);
        for (size_t n = 0; n < f.above.size(); ++n) f.above[n] = int64_t(n);
        return f;
    };
    switch (i.op) {
        case Op::constant: return same(power_in(uint32_t(i.immediate)), int32_t(uint32_t(i.immediate)) >= 0);
        case Op::local_index: return i.immediate != 0 ? same(1, true) : index();
        case Op::global_index:
            if (i.immediate == 0 && !packets.global) return std::nullopt;
            return i.immediate != 0 ? same(1, true) : index();
        case Op::argument:
        case Op::extent:
        case Op::group_index:
        case Op::group_size:
        case Op::group_count:
        case Op::global_size: return same(1, false);
        case Op::cast: {
            if (!is_word(k.type_of(v[0]))) return std::nullopt;
            auto x = operand(0);
            if (x) x->natural = false;
            return x;
        }
        case Op::add:
        case Op::sub: {
            const auto a = operand(0), b = a ? operand(1) : a;
            if (!b) return std::nullopt;
            const bool adds = i.op == Op::add;
            return Form{std::min(a->align, b->align),
                        each(a->above, b->above, [&](int64_t x, int64_t y) { return adds ? x + y : x - y; }), false};
        }
        case Op::mul:
        case Op::shl: {
            auto times = constant(v[1]);
            const size_t other = times ? 0 : 1;
            if (!times && i.op == Op::mul) times = constant(v[0]);
            if (times && i.op == Op::shl) times = uint32_t(1) << (*times & 31);
            const auto x = times && int64_t(*times) <= most_above ? operand(other) : std::nullopt;
            if (!x) return std::nullopt;
            return Form{x->align * power_in(*times), each(x->above, [&](int64_t a) { return a * int64_t(*times); }), false};
        }
        default: return split(i, depth);
    }
}

/// The form of a division or bit operation: what it does to the multiple of `align` and to the rest goes apart.
std::optional<PacketSteps::Form> PacketSteps::split(const Inst& i, int depth) const {
    const bool divides = i.op == Op::div || i.op == Op::rem, bits = i.op == Op::and_ || i.op == Op::or_ || i.op == Op::xor_;
    if ((!divides && !bits && i.op != Op::shr) || !is_word(i.type)) return std::nullopt;
    const auto v = k.operands(i);
    const auto by = constant(v[1]);
    const auto x = by ? of(v[0], depth + 1) : std::nullopt;
    if (!x) return std::nullopt;
    const auto apart = int64_t(std::bit_ceil(uint64_t(*std::ranges::max_element(x->above)) + 1));
    if (apart > x->align) return std::nullopt;
    if (bits) {
        const int64_t low = int64_t(*by) & (apart - 1);
        if (i.op == Op::and_)
            return Form{std::max(x->align, power_in(*by & ~uint32_t(x->align - 1))),
                        each(x->above, [&](int64_t a) { return a & low; }), x->natural};
        const bool all = i.op == Op::or_;
        return Form{std::min(x->align, power_in(*by & ~uint32_t(apart - 1))),
                    each(x->above, [&](int64_t a) { return all ? a | low : a ^ low; }), false};
    }
    if (divides && (*by == 0 || (i.type == Scalar::i32 && (!x->natural || int32_t(*by) < 0)))) return std::nullopt;
    const int64_t whole = divides ? int64_t(*by) : int64_t(1) << (*by & 31);
    const bool one_quotient = whole % apart == 0;
    if (!one_quotient && x->align % whole != 0) return std::nullopt;
    // The multiple of `align` has the remainder 0 if that is a multiple of the divisor.
    if (i.op == Op::rem)
        return Form{x->align % whole == 0 ? most_align : std::min(x->align, power_in(*by)),
                    each(x->above, [&](int64_t a) { return a % whole; }), x->natural};
    return Form{x->align % whole == 0 ? x->align / whole : 1, each(x->above, [&](int64_t a) { return a / whole; }), x->natural};
}

}  // namespace pumice::ir
