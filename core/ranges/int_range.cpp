// Integer range: an interval for an integer value, from the instructions that make it.
// Why: what is computed from bytes fits 16 bits, of which a vector holds twice as many; and a cast of an integer below 2^24 to a
// float is exact.
//
//   %1 = load arg1[%0] : u8;  %2 = cast %1 : i32       [0, 255]
//   %3 = sub %2, %other                                [-255, 255]
//   %4 = mul %3, 2;  %5 = abs %4                       [0, 510]
//
// Method: a walk over the operands, each value once: constants, extents, casts, +, -, *, bits, shifts by constants, min, max,
// abs, select. A result that may leave its type is any number of the type. Anything else is any number, too.
// Cost: constant a value. Limits: 64-bit integers are any number; no conditions of branches, no values carried by loops.
// Textbook name: interval (value range) analysis.
#include "core/ranges/int_range.h"

#include <algorithm>
#include <bit>

namespace pumice::ir {

IntRange range_of(Scalar type) {
    if (type == Scalar::boolean) return {0, 1};
    const int bits = std::min(8 * size_of(type) - is_signed_int(type), 62);
    return {is_signed_int(type) ? -(int64_t(1) << bits) : 0, (int64_t(1) << bits) - 1};
}

IntRange IntRanges::range(Value v, int depth) {
    if (const auto there = known.find(v.id); there != known.end()) return there->second;
    const IntRange r = computed(v, depth);
    known.emplace(v.id, r);
    return r;
}

IntRange IntRanges::computed(Value v, int depth) {
    const Scalar type = k.type_of(v);
    const IntRange all = range_of(type);
    if (size_of(type) > 4 || k[v].inst.id == none || depth == 0) return all;
    uint64_t bits = 0;
    if (k.constant(v, bits)) {
        const int unused = 64 - 8 * size_of(type);
        const int64_t x = is_signed_int(type) ? int64_t(bits << unused) >> unused : int64_t(bits);
        return {x, x};
    }
    const Inst& i = k[k[v].inst];
    const auto o = k.operands(i);
    if (!is_int(type)) return all;
    const auto of = [&](Value operand) { return range(operand, depth - 1); };
    const auto within = [&](int64_t low, int64_t high) { return low >= all.low && high <= all.high ? IntRange{low, high} : all; };
    const auto shift = [&](int& by) {
        const bool is_constant = k.constant(o[1], bits) && bits < uint64_t(8 * size_of(type));
        by = int(bits);
        return is_constant;
    };
    int by = 0;
    switch (i.op) {
        case Op::extent: return i.memory.id < most_extents.size() ? within(0, most_extents[i.memory.id]) : all;
        case Op::cast: {
            const Scalar from = k.type_of(o[0]);
            if ((!is_int(from) && from != Scalar::boolean) || size_of(from) > 4) return all;
            const IntRange x = of(o[0]);
            return within(x.low, x.high);
        }
        case Op::add: {
            const IntRange x = of(o[0]), y = of(o[1]);
            return within(x.low + y.low, x.high + y.high);
        }
        case Op::sub: {
            const IntRange x = of(o[0]), y = of(o[1]);
            return within(x.low - y.high, x.high - y.low);
        }
        case Op::mul: {  // of two numbers of 32 bits: below 2^64
            const IntRange x = of(o[0]), y = of(o[1]);
            if (std::max({-x.low, x.high, -y.low, y.high}) > INT32_MAX) return all;
            const auto [low, high] = std::minmax({x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high});
            return within(low, high);
        }
        case Op::neg: {
            const IntRange x = of(o[0]);
            return within(-x.high, -x.low);
        }
        case Op::abs: {
            const IntRange x = of(o[0]);
            return within(x.low > 0 ? x.low : x.high < 0 ? -x.high : 0, std::max(-x.low, x.high));
        }
        case Op::min: {
            const IntRange x = of(o[0]), y = of(o[1]);
            return {std::min(x.low, y.low), std::min(x.high, y.high)};
        }
        case Op::max: {
            const IntRange x = of(o[0]), y = of(o[1]);
            return {std::max(x.low, y.low), std::max(x.high, y.high)};
        }
        case Op::and_: {
            const IntRange x = of(o[0]), y = of(o[1]);
            if (x.low < 0 && y.low < 0) return all;
            return {0, x.low < 0 ? y.high : y.low < 0 ? x.high : std::min(x.high, y.high)};
        }
        case Op::or_:
        case Op::xor_: {
            const IntRange x = of(o[0]), y = of(o[1]);
            if (x.low < 0 || y.low < 0) return all;
            return {0, int64_t((uint64_t(1) << std::bit_width(uint64_t(std::max(x.high, y.high)))) - 1)};
        }
        case Op::shl: {
            if (!shift(by)) return all;
            const IntRange x = of(o[0]);
            return within(x.low * (int64_t(1) << by), x.high * (int64_t(1) << by));
        }
        case Op::shr: {
            if (!shift(by)) return all;
            const IntRange x = of(o[0]);
            return {x.low >> by, x.high >> by};
        }
        case Op::select: {
            const IntRange x = of(o[1]), y = of(o[2]);
            return {std::min(x.low, y.low), std::max(x.high, y.high)};
        }
        default: return all;
    }
}

}  // namespace pumice::ir
