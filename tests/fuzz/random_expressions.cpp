// Random expressions.

#include "tests/fuzz/random_maker.h"

#include "core/ir/evaluate.h"

namespace fuzz {

using namespace pumice;
using namespace pumice::internal;
using ir::Op;

Expr Maker::number(Scalar type, int64_t value) {
    Expr e;
    e.type = type;
    if (is_float(type)) return real(type, double(value));
    e.bits = uint64_t(value);
    if (size_of(type) < 8) e.bits &= (uint64_t(1) << size_of(type) * 8) - 1;
    if (type == Scalar::boolean) e.bits = value != 0;
    return e;
}

Expr Maker::real(Scalar type, double value) {
    Expr e;
    e.type = type;
    e.bits = real_bits(type, value);
    return e;
}

Expr Maker::make_op(Op op, std::vector<Expr> of) {
    Expr e;
    e.kind = Expr::op;
    e.how = op;
    const Result result = row(op).result;
    e.type = result == Result::same ? of[0].type : result == Result::i32 ? Scalar::i32 : Scalar::boolean;
    e.of = std::move(of);
    return e;
}

Expr Maker::cast_to(Scalar type, Expr from) {
    if (from.type == type) return from;
    Expr e;
    e.kind = Expr::cast;
    e.type = type;
    e.of.push_back(std::move(from));
    return e;
}

Expr Maker::item(Item which, int dimension) {
    Expr e;
    e.kind = Expr::item;
    e.which = int(which);
    e.part = dimension;
    return e;
}

Expr Maker::constant(Scalar type) {
    if (is_float(type)) return real(type, (chance(2) ? 1 : -1) * double(4 + roll(100)) / 8);
    if (type == Scalar::boolean) return number(type, int64_t(roll(2)));
    switch (roll(8)) {
        case 0: return number(type, int64_t(random()));
        case 1: return number(type, is_signed_int(type) ? int64_t(1) << (size_of(type) * 8 - 1) : -1);
        case 2: return number(type, int64_t(1) << roll(uint64_t(size_of(type)) * 8));
        default: return number(type, int64_t(roll(41)) - (is_signed_int(type) ? 8 : 0));
    }
}

Scalar Maker::any_integer() {
    for (;;)
        if (const Scalar t = any_scalar(); is_int(t)) return t;
}

std::vector<std::pair<int, int>> Maker::variables_of(Scalar type) const {
    std::vector<std::pair<int, int>> all;
    for (size_t v = 0; v < pool->size(); ++v) {
        const auto& leaves = element((*pool)[v]).leaves;
        for (size_t n = 0; n < leaves.size(); ++n)
            if (leaves[n].type == type) all.push_back({int(v), int(n)});
    }
    return all;
}

std::optional<Expr> Maker::variable_of(Scalar type) {
    const auto all = variables_of(type);
    if (all.empty()) return std::nullopt;
    Expr e;
    e.kind = Expr::variable;
    e.type = type;
    std::tie(e.which, e.part) = all[roll(all.size())];
    return e;
}

Expr Maker::linear() {
    const Shape& s = program.shape;
    if (chance(3)) return item(Item::global_linear);
    const auto along = [&](int d) {
        return s.from[size_t(d)] ? make_op(Op::sub, {item(Item::global, d), number(Scalar::i32, s.from[size_t(d)])})
                                 : item(Item::global, d);
    };
    Expr p = along(0);
    // An index for the first shape: the arrays of a twin are smaller, and the index stays inside.
    for (int d = 1; d < s.rank(); ++d)
        p = make_op(Op::add, {make_op(Op::mul, {p, number(Scalar::i32, s.to[size_t(d)] - s.from[size_t(d)])}), along(d)});
    return p;
}

Expr Maker::narrow_index() {
    Expr x = in_function || chance(5) ? value(Scalar::i32, 1) : linear();
    if (chance(3) && loops > 0) {
        Expr k;
        k.kind = Expr::loop_index;
        k.which = int(roll(2));
        x = make_op(Op::add, {x, k});
    }
    if (chance(2)) x = make_op(Op::mul, {x, number(Scalar::i32, 1 + int64_t(roll(64)))});
    if (!chance(3)) x = make_op(Op::add, {x, number(Scalar::i32, int64_t(roll(300)))});
    const auto with = [&](Scalar t) { return std::find(scalars.begin(), scalars.end(), t) != scalars.end(); };
    if (chance(3) && with(Scalar::i8))
        return make_op(Op::add, {cast_to(Scalar::i32, cast_to(Scalar::i8, x)), number(Scalar::i32, 128)});
    if (chance(3) && with(Scalar::u16))
        return make_op(Op::shr, {cast_to(Scalar::i32, cast_to(Scalar::u16, make_op(Op::mul, {x, number(Scalar::i32, 256)}))),
                                 number(Scalar::i32, 8)});
    if (!with(Scalar::u8)) return make_op(Op::and_, {x, number(Scalar::i32, 255)});
    Expr narrow = cast_to(Scalar::u8, x);
    if (chance(3)) narrow = make_op(Op::add, {narrow, number(Scalar::u8, int64_t(roll(256)))});
    return chance(3) ? narrow : cast_to(Scalar::i32, narrow);
}

Expr Maker::wrapped(Expr index, int64_t n) {
    const auto i32 = [](int64_t v) { return number(Scalar::i32, v); };
    if ((n & (n - 1)) == 0 && chance(2)) return make_op(Op::and_, {std::move(index), i32(n - 1)});
    switch (roll(4)) {
        case 0: return make_op(Op::min, {make_op(Op::max, {std::move(index), i32(0)}), i32(n - 1)});
        case 1: {
            Expr e;
            e.kind = Expr::select;
            const Expr inside = make_op(Op::and_, {make_op(Op::ge, {index, i32(0)}), make_op(Op::lt, {index, i32(n)})});
            e.of = {inside, index, i32(int64_t(roll(uint64_t(n))))};
            return e;
        }
        case 2: return make_op(Op::abs, {make_op(Op::rem, {std::move(index), i32(n)})});
        default: return make_op(Op::rem, {cast_to(Scalar::u32, std::move(index)), number(Scalar::u32, n)});
    }
}

/// The index in another integer type that holds all numbers below n.
Expr Maker::as_any_integer(Expr index, int64_t n) {
    if (!chance(4)) return index;
    const Scalar t = any_integer();
    const int bits = size_of(t) * 8 - is_signed_int(t);
    return bits >= 31 || n <= int64_t(1) << bits ? cast_to(t, std::move(index)) : index;
}

Expr Maker::bounded(int64_t n) {
    if (n >= 256 && has(Part::narrow_indices) && chance(3)) return narrow_index();
    const auto i32 = [](int64_t v) { return number(Scalar::i32, v); };
    Expr x = i32(int64_t(roll(uint64_t(n))));
    switch (roll(6)) {
        case 0: return as_any_integer(x, n);
        case 1: x = value(Scalar::i32, 1); break;
        case 2: return make_op(Op::rem, {value(Scalar::u32, 1), number(Scalar::u32, n)});
        default: {
            if (in_function) return as_any_integer(x, n);
            x = linear();
            if (chance(3)) x = make_op(Op::mul, {x, i32(1 + int64_t(roll(8)))});
            if (loops > 0 && !chance(3)) {
                Expr k;
                k.kind = Expr::loop_index;
                k.which = int(roll(3));
                x = make_op(chance(4) ? Op::sub : Op::add, {x, k});
            }
            if (!chance(3)) x = make_op(Op::add, {x, i32(int64_t(roll(12)) - 3)});
            if (chance(8)) x = make_op(Op::div, {x, i32(2 + int64_t(roll(3)))});
        }
    }
    return as_any_integer(wrapped(std::move(x), n), n);
}

std::vector<Expr> Maker::own_indices(const Memory& m) {
    if (m.by_dimension) {
        std::vector<Expr> all;
        for (int d = 0; d < program.shape.rank(); ++d) all.push_back(item(Item::global, d));
        if (m.turned) std::reverse(all.begin(), all.end());
        return all;
    }
    if (m.each == 1) return std::vector<Expr>(1, m.own);
    Expr k = number(Scalar::i32, int64_t(roll(uint64_t(m.each))));
    if (chance(2)) k = wrapped(value(Scalar::i32, 1), m.each);
    return std::vector<Expr>(1, make_op(Op::add, {m.own, cast_to(Scalar::i32, k)}));
}

std::optional<Expr> Maker::load_of(Scalar type) {
    if (in_function) return std::nullopt;
    std::vector<std::pair<int, int>> all;
    for (size_t m = 0; m < program.memories.size(); ++m) {
        const Memory& memory = program.memories[m];
        const bool readable =
            (memory.kind == Memory::private_ && !starting) ||
            (memory.kind == Memory::parameter &&
             (memory.use == Memory::input || (memory.use == Memory::owned && memory.access != ir::Access::out)));
        const auto& leaves = element(memory.type).leaves;
        for (size_t n = 0; readable && n < leaves.size(); ++n)
            if (leaves[n].type == type) all.push_back({int(m), int(n)});
    }
    if (all.empty()) return std::nullopt;
    Expr e;
    e.kind = Expr::load;
    e.type = type;
    std::tie(e.which, e.part) = all[roll(all.size())];
    const Memory& m = program.memories[size_t(e.which)];
    const bool owned = m.kind == Memory::parameter && m.use == Memory::owned;
    if (owned) {
        e.of = own_indices(m);
    } else {
        for (const int64_t extent : m.extents) e.of.push_back(bounded(extent));
    }
    if (!owned && type != Scalar::boolean && chance(4)) return with_neighbours(std::move(e), m.extents.back());
    return e;
}

/// A sum of the load and of loads of later elements of its row, at constant distances. `n`: the row's elements.
Expr Maker::with_neighbours(Expr load, int64_t n) {
    const int64_t reach = std::min<int64_t>(n - 1, 1 + int64_t(roll(chance(4) ? 17 : 4)));
    const Expr first = cast_to(Scalar::i32, bounded(n - reach));
    load.of.back() = first;
    Expr sum = load;
    for (int64_t apart = 1; apart <= reach; ++apart) {
        if (apart < reach && chance(4)) continue;
        load.of.back() = make_op(Op::add, {first, number(Scalar::i32, apart)});
        sum = make_op(Op::add, {std::move(sum), load});
    }
    return sum;
}

Expr Maker::leaf(Scalar type) {
    for (int attempt = 0; attempt < 3; ++attempt) switch (roll(8)) {
            case 0: return constant(type);
            case 1:
                if (is_int(type) && loops > 0) {
                    Expr e;
                    e.kind = Expr::loop_index;
                    e.type = type;
                    e.which = int(roll(3));
                    return e;
                }
                break;
            case 2:
                if (is_int(type) && !in_function) return cast_to(type, linear());
                break;
            case 3:
            case 4:
                if (auto e = load_of(type)) return *e;
                break;
            case 5:
                if (!in_function)
                    for (size_t n = 0; n < program.arguments.size(); ++n)
                        if (program.arguments[n].type == type) {
                            Expr e;
                            e.kind = Expr::argument;
                            e.type = type;
                            e.which = int(n);
                            return e;
                        }
                break;
            default:
                if (auto e = variable_of(type)) return *e;
        }
    return constant(type);
}

Expr Maker::value(Scalar type, int depth) {
    if (depth <= 0 || chance(4)) return leaf(type);
    if (type == Scalar::boolean) return boolean(depth);
    if (has(Part::functions) && chance(8)) {
        for (int n = 0; n < functions; ++n)
            if (program.functions[size_t(n)].type == type_of(type)) {
                Expr e;
                e.kind = Expr::call;
                e.type = type;
                e.which = n;
                e.of = {value(type, depth - 1), leaf(type), value(Scalar::i32, 0)};
                return e;
            }
    }
    if (chance(8)) {
        Expr e;
        e.kind = Expr::select;
        e.type = type;
        e.of = {boolean(depth - 1), value(type, depth - 1), value(type, depth - 1)};
        return e;
    }
    if (is_float(type)) return program.smooth ? smooth_float(type, depth) : strict_float(type, depth);
    return integer(type, depth);
}

Expr Maker::integer(Scalar type, int depth) {
    static const Op two[] = {Op::add,  Op::sub, Op::mul,  Op::add, Op::sub, Op::mul, Op::div, Op::rem,
                             Op::and_, Op::or_, Op::xor_, Op::shl, Op::shr, Op::min, Op::max, Op::mul_high};
    static const Op one[] = {Op::neg, Op::abs, Op::not_, Op::popcount, Op::clz, Op::ctz, Op::reverse_bits, Op::sign};
    if (chance(10)) return merged(type, depth);
    switch (roll(5)) {
        case 0: {
            const Scalar from = any_scalar();
            if (is_float(from) && program.smooth) return leaf(type);
            if (from != type) return cast_to(type, value(from, depth - 1));
            break;
        }
        case 1: {
            const Op op = one[roll(std::size(one))];
            if (accepts(op, type)) return make_op(op, {value(type, depth - 1)});
            break;
        }
        case 2:
            if (has(Part::bitcasts)) {
                const Scalar from = any_integer();
                if (from != type && size_of(from) == size_of(type)) {
                    Expr e;
                    e.kind = Expr::bitcast;
                    e.type = type;
                    e.of = {value(from, depth - 1)};
                    return e;
                }
            }
            break;
        default: break;
    }
    const Op op = two[roll(std::size(two))];
    if (!accepts(op, type)) return leaf(type);
    return make_op(op, {value(type, depth - 1), value(type, depth - 1)});
}

/// The bits of two values merged by a mask and its complement, or one of the two values where a condition is false.
Expr Maker::merged(Scalar type, int depth) {
    const Expr a = value(type, depth - 1), b = value(type, depth - 1);
    const int64_t masks[] = {int64_t((uint64_t(1) << (8 * size_of(type) - 1)) - 1), 0xff, 0x5555555555555555};
    const int64_t mask = masks[roll(std::size(masks))];
    const Expr both[] = {make_op(Op::and_, {a, number(type, mask)}), make_op(Op::and_, {b, number(type, ~mask)})};
    static const Op ops[] = {Op::or_, Op::xor_, Op::add};
    Expr e;
    e.kind = Expr::select;
    e.type = type;
    e.of = {boolean(depth - 1), make_op(ops[roll(3)], {both[0], both[1]}), chance(2) ? a : b};
    return e;
}

/// Operations that are exact on every device. Divisors, and operands of minima and maxima, are never a zero of unknown sign.
Expr Maker::strict_float(Scalar type, int depth) {
    static const Op whole[] = {Op::floor, Op::ceil, Op::trunc, Op::round, Op::rint, Op::abs, Op::neg};
    switch (roll(12)) {
        case 0: {
            Expr divisor = constant(type);
            if (auto v = variable_of(type); v && chance(2)) divisor = *v;
            return make_op(Op::div, {value(type, depth - 1), divisor});
        }
        case 1: return make_op(Op::sqrt, {make_op(Op::abs, {value(type, depth - 1)})});
        case 2: {
            Expr sum = make_op(Op::fma, {value(type, depth - 1), leaf(type), value(type, depth - 1)});
            if (chance(4)) sum.of[roll(3)] = real(type, chance(2) ? 0.0 : -0.0);
            return sum;
        }
        case 3: return make_op(chance(2) ? Op::min : Op::max, {value(type, depth - 1), constant(type)});
        case 4: return make_op(whole[roll(std::size(whole))], {value(type, depth - 1)});
        case 5: {
            const Scalar from = any_scalar();
            return from == type ? leaf(type) : cast_to(type, value(from, depth - 1));
        }
        case 6: return make_op(chance(2) ? Op::fdim : Op::fmod, {value(type, depth - 1), constant(type)});
        case 7:  // of a sign that all devices agree on
            if (const Scalar sign = any_scalar(); is_int(sign))
                return make_op(Op::copysign, {value(type, depth - 1), cast_to(type, value(sign, depth - 1))});
            break;
        case 8:
            if (!accepts(Op::ldexp, type)) break;
            return make_op(Op::ldexp, {value(type, depth - 1), number(Scalar::i32, int64_t(roll(9)) - 4)});
        default: break;
    }
    static const Op two[] = {Op::add, Op::sub, Op::mul};
    return make_op(two[roll(3)], {value(type, depth - 1), value(type, depth - 1)});
}

/// Operations that are smooth, or at least continuous, where their operands have moderate sizes.
Expr Maker::smooth_float(Scalar type, int depth) {
    const auto real_of = [&](double v) { return real(type, v); };
    const auto within = [&](double most) {
        return make_op(Op::min, {make_op(Op::max, {value(type, depth - 1), real_of(-most)}), real_of(most)});
    };
    const auto positive = [&] {
        const Expr x = value(type, std::min(depth - 1, 1));
        return make_op(Op::add, {real_of(1), make_op(Op::mul, {x, x})});
    };
    static const Op anywhere[] = {Op::sin, Op::cos, Op::tanh, Op::atan, Op::erf, Op::asinh, Op::abs, Op::neg};
    static const Op bounded[] = {Op::exp, Op::exp2, Op::expm1, Op::sinh, Op::cosh, Op::erfc};
    static const Op above[] = {Op::sqrt, Op::rsqrt, Op::log, Op::log2, Op::log1p, Op::cbrt, Op::lgamma};
    switch (roll(11)) {
        case 0: return make_op(anywhere[roll(std::size(anywhere))], {within(20)});
        case 1: return make_op(bounded[roll(std::size(bounded))], {within(3)});
        case 2: return make_op(above[roll(std::size(above))], {positive()});
        case 3: return make_op(Op::div, {value(type, depth - 1), positive()});
        case 4: return make_op(Op::fma, {value(type, depth - 1), leaf(type), value(type, depth - 1)});
        case 5: return make_op(chance(2) ? Op::min : Op::max, {value(type, depth - 1), value(type, depth - 1)});
        case 6: return make_op(Op::pow, {positive(), within(2)});
        case 7: return make_op(chance(2) ? Op::hypot : Op::atan2, {value(type, depth - 1), positive()});
        case 8: return cast_to(type, make_op(Op::and_, {value(Scalar::i32, depth - 1), number(Scalar::i32, 15)}));
        default: break;
    }
    static const Op two[] = {Op::add, Op::sub, Op::mul};
    return make_op(two[roll(3)], {value(type, depth - 1), value(type, depth - 1)});
}

Expr Maker::boolean(int depth) {
    static const Op compare[] = {Op::eq, Op::ne, Op::lt, Op::le, Op::gt, Op::ge};
    static const Op join[] = {Op::and_, Op::or_, Op::xor_};
    if (depth <= 0 && chance(3)) return leaf(Scalar::boolean);
    if (depth > 0 && chance(4)) return make_op(join[roll(3)], {boolean(depth - 1), boolean(depth - 1)});
    if (chance(10)) return make_op(Op::not_, {boolean(depth - 1)});
    Scalar t = any_scalar();
    if (program.smooth && is_float(t)) t = Scalar::i32;
    if (t == Scalar::boolean) return leaf(t);
    if (is_int(t) && chance(3))  // often true, often false
        return make_op(Op::lt, {make_op(Op::and_, {value(t, depth), number(t, 7)}), number(t, 1 + int64_t(roll(7)))});
    return make_op(compare[roll(std::size(compare))], {value(t, depth), value(t, depth)});
}

Expr Maker::uniform_number() {
    for (size_t n = 0; n < program.arguments.size(); ++n)
        if (program.arguments[n].type == Scalar::i32 && chance(2)) {
            Expr e;
            e.kind = Expr::argument;
            e.which = int(n);
            return chance(2) ? e : make_op(Op::xor_, {e, number(Scalar::i32, int64_t(roll(9)))});
        }
    if (grouped && chance(2)) return make_op(Op::add, {item(Item::group_linear), number(Scalar::i32, int64_t(roll(4)))});
    return number(Scalar::i32, int64_t(roll(20)));
}

}  // namespace fuzz
