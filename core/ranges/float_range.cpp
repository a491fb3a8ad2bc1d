// Float range: an interval for a float value, from the instructions that make it.
// Why: casts of floats to integers saturate, with 0 for NaN, which takes 3 to 6 instructions where processors and GLSL leave the
// result undefined. Indices of texels are clamped before the cast, so that it can be a plain conversion.
//
//   %1 = lt %x, 65536;  %2 = select %1, %x, 65536      [-inf, 65536], no NaN: a comparison with NaN is false
//   %3 = gt %2, -8;     %4 = select %3, %2, -8         [-8, 65536]
//   %5 = floor %4;      %6 = cast %5 : i32             fits
//
// Method: a walk over the operands to a depth of 8; constants, casts of integers, roundings, min, max, and selects that compare
// what they choose from. Anything else is any number, or NaN. Of integers: int_range.cpp.
// Cost: constant a value. Limits: no arithmetic of floats, no conditions of branches.
// Textbook name: interval (value range) analysis.
#include "core/ranges/float_range.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/ranges/int_range.h"

namespace pumice::ir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr FloatRange anything{-infinity, infinity, true};
constexpr int most_depth = 8;

FloatRange either(const FloatRange& a, const FloatRange& b) {
    return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan};
}

FloatRange range(const Kernel& k, Value v, std::span<const int64_t> most_extents, int depth) {
    if (k.type_of(v) != Scalar::f32 || k[v].inst.id == none || depth == 0) return anything;
    uint64_t bits = 0;
    if (k.constant(v, bits)) {
        const double x = double(std::bit_cast<float>(uint32_t(bits)));
        return std::isnan(x) ? anything : FloatRange{x, x, false};
    }
    const Inst& i = k[k[v].inst];
    const auto o = k.operands(i);
    const auto of = [&](Value operand) { return range(k, operand, most_extents, depth - 1); };
    switch (i.op) {
        case Op::cast: {
            const Scalar from = k.type_of(o[0]);
            if (!is_int(from)) return anything;
            if (size_of(from) > 4) return is_signed_int(from) ? FloatRange{-0x1p63, 0x1p63, false} : FloatRange{0, 0x1p64, false};
            const IntRange x = IntRanges(k, most_extents)(o[0]);
            return {double(float(x.low)), double(float(x.high)), false};
        }
        case Op::floor: {
            const FloatRange x = of(o[0]);
            return {std::floor(x.low), std::floor(x.high), x.nan};
        }
        case Op::ceil: {
            const FloatRange x = of(o[0]);
            return {std::ceil(x.low), std::ceil(x.high), x.nan};
        }
        case Op::min:
        case Op::max: {  // of NaN and a number: the number
            const FloatRange x = of(o[0]), y = of(o[1]);
            FloatRange r = i.op == Op::min ? FloatRange{std::min(x.low, y.low), std::min(x.high, y.high), false}
                                           : FloatRange{std::max(x.low, y.low), std::max(x.high, y.high), false};
            if (x.nan) r = either(r, {y.low, y.high, y.nan});
            if (y.nan) r = either(r, {x.low, x.high, x.nan});
            return r;
        }
        case Op::select: {
            const FloatRange x = of(o[1]), y = of(o[2]);
            const InstId condition = k[o[0]].inst;
            if (condition.id == none) return either(x, y);
            const auto compared = k.operands(k[condition]);
            const Op how = k[condition].op;
            if (compared.size() != 2 || compared[0] != o[1] || compared[1] != o[2]) return either(x, y);
            // NaN in the comparison chooses y.
            if (how == Op::lt || how == Op::le) return {std::min(x.low, y.low), x.nan ? y.high : std::min(x.high, y.high), y.nan};
            if (how == Op::gt || how == Op::ge) return {x.nan ? y.low : std::max(x.low, y.low), std::max(x.high, y.high), y.nan};
            return either(x, y);
        }
        default: return anything;
    }
}

}  // namespace

FloatRange float_range(const Kernel& kernel, Value value, std::span<const int64_t> most_extents) {
    return range(kernel, value, most_extents, most_depth);
}

bool fits_i32(const Kernel& kernel, Value value, std::span<const int64_t> most_extents) {
    const FloatRange r = float_range(kernel, value, most_extents);
    return !r.nan && r.low >= -0x1p31 && r.high < 0x1p31;
}

}  // namespace pumice::ir
