// 64-bit integers as pairs of 32-bit words, the low one first, for devices without 64-bit integers. The rules are those of
// basic_functions.glsl. A pm_pair_ function is for signed and unsigned numbers, a pm_i64_ or pm_u64_ function for one kind.

uvec2 pm_pair_add(uvec2 a, uvec2 b) {
    uint carry, low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 pm_pair_sub(uvec2 a, uvec2 b) {
    uint borrow, low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

uvec2 pm_pair_neg(uvec2 a) {
    return uvec2(0u - a.x, ~a.y + (a.x == 0u ? 1u : 0u));
}

uvec2 pm_pair_mul(uvec2 a, uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}

// Four products of words; the middle ones carry into the upper half.
uvec2 pm_u64_mul_high(uvec2 a, uvec2 b) {
    uvec2 low, middle, other, high;
    umulExtended(a.x, b.x, low.y, low.x);
    umulExtended(a.y, b.x, middle.y, middle.x);
    umulExtended(a.x, b.y, other.y, other.x);
    umulExtended(a.y, b.y, high.y, high.x);
    middle = pm_pair_add(middle, uvec2(low.y, 0u));
    other = pm_pair_add(other, uvec2(middle.x, 0u));
    return pm_pair_add(pm_pair_add(high, uvec2(middle.y, 0u)), uvec2(other.y, 0u));
}

bool pm_u64_lt(uvec2 a, uvec2 b) {
    return a.y < b.y || (a.y == b.y && a.x < b.x);
}

bool pm_i64_lt(uvec2 a, uvec2 b) {
    return int(a.y) < int(b.y) || (a.y == b.y && a.x < b.x);
}

uvec2 pm_u64_min(uvec2 a, uvec2 b) {
    return pm_u64_lt(b, a) ? b : a;
}

uvec2 pm_u64_max(uvec2 a, uvec2 b) {
    return pm_u64_lt(a, b) ? b : a;
}

uvec2 pm_i64_min(uvec2 a, uvec2 b) {
    return pm_i64_lt(b, a) ? b : a;
}

uvec2 pm_i64_max(uvec2 a, uvec2 b) {
    return pm_i64_lt(a, b) ? b : a;
}

uvec2 pm_i64_abs(uvec2 a) {
    return int(a.y) < 0 ? pm_pair_neg(a) : a;
}

uvec2 pm_i64_sign(uvec2 a) {
    if (int(a.y) < 0) return uvec2(0xffffffffu);
    return uvec2((a.x | a.y) != 0u ? 1u : 0u, 0u);
}

// Counts are taken modulo 64.
uvec2 pm_pair_shl(uvec2 a, uvec2 count) {
    uint n = count.x & 63u;
    if (n >= 32u) return uvec2(0u, a.x << (n - 32u));
    return n == 0u ? a : uvec2(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

uvec2 pm_u64_shr(uvec2 a, uvec2 count) {
    uint n = count.x & 63u;
    if (n >= 32u) return uvec2(a.y >> (n - 32u), 0u);
    return n == 0u ? a : uvec2((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

uvec2 pm_i64_shr(uvec2 a, uvec2 count) {
    uint n = count.x & 63u;
    int high = int(a.y);
    if (n >= 32u) return uvec2(uint(high >> (n - 32u)), uint(high >> 31));
    return n == 0u ? a : uvec2((a.x >> n) | (a.y << (32u - n)), uint(high >> n));
}

uvec2 pm_pair_popcount(uvec2 a) {
    return uvec2(uint(bitCount(a.x) + bitCount(a.y)), 0u);
}

uvec2 pm_pair_clz(uvec2 a) {
    return uvec2(uint(a.y != 0u ? 31 - findMSB(a.y) : 63 - findMSB(a.x)), 0u);  // findMSB(0) is -1
}

uvec2 pm_pair_ctz(uvec2 a) {
    return uvec2(uint(a.x != 0u ? findLSB(a.x) : a.y != 0u ? 32 + findLSB(a.y) : 64), 0u);
}

uvec2 pm_pair_reverse_bits(uvec2 a) {
    return uvec2(bitfieldReverse(a.y), bitfieldReverse(a.x));
}

// The quotient for b != 0, and what is left. One division where both fit a word; else a bit of the quotient a step, of which
// there are as many as a is longer than b.
uvec2 pm_u64_divide(uvec2 a, uvec2 b, out uvec2 rest) {
    if ((a.y | b.y) == 0u) {
        uint q = a.x / b.x;
        rest = uvec2(a.x - q * b.x, 0u);
        return uvec2(q, 0u);
    }
    int n = int(pm_pair_clz(b).x) - int(pm_pair_clz(a).x);
    uvec2 quotient = uvec2(0u), part = pm_pair_shl(b, uvec2(uint(max(n, 0)), 0u));
    for (; n >= 0; --n) {
        quotient = uvec2(quotient.x << 1, (quotient.y << 1) | (quotient.x >> 31));
        if (!pm_u64_lt(a, part)) {
            a = pm_pair_sub(a, part);
            quotient.x |= 1u;
        }
        part = uvec2((part.x >> 1) | (part.y << 31), part.y >> 1);
    }
    rest = a;
    return quotient;
}

uvec2 pm_u64_div(uvec2 a, uvec2 b) {
    uvec2 rest;
    return (b.x | b.y) == 0u ? a : pm_u64_divide(a, b, rest);
}

uvec2 pm_u64_rem(uvec2 a, uvec2 b) {
    if ((b.x | b.y) == 0u) return uvec2(0u);
    uvec2 rest, quotient = pm_u64_divide(a, b, rest);
    return rest;
}

// Of absolute values; that of the smallest integer is right as an unsigned number, and so is what it gives by -1.
uvec2 pm_i64_div(uvec2 a, uvec2 b) {
    uvec2 q = pm_u64_div(pm_i64_abs(a), pm_i64_abs(b));
    if ((b.x | b.y) == 0u) return a;
    return ((a.y ^ b.y) >> 31) != 0u ? pm_pair_neg(q) : q;
}

uvec2 pm_i64_rem(uvec2 a, uvec2 b) {
    uvec2 r = pm_u64_rem(pm_i64_abs(a), pm_i64_abs(b));
    return (a.y >> 31) != 0u ? pm_pair_neg(r) : r;
}

// The index of a loop after `index`, or `to` where that lies past the end; the distance to `to` always fits an unsigned number.
uvec2 pm_u64_step(uvec2 index, uvec2 to, uvec2 by) {
    return pm_u64_lt(by, pm_pair_sub(to, index)) ? pm_pair_add(index, by) : to;
}

uvec2 pm_i64_step(uvec2 index, uvec2 to, uvec2 by) {
    bool down = int(by.y) < 0;
    uvec2 distance = down ? pm_pair_sub(index, to) : pm_pair_sub(to, index);
    return pm_u64_lt(down ? pm_pair_neg(by) : by, distance) ? pm_pair_add(index, by) : to;
}

// ---- casts ----

uvec2 pm_pair_of_int(int a) {
    return uvec2(uint(a), uint(a >> 31));
}

float pm_u64_to_f32(uvec2 a) {
    return pm_pack(0u, a.yx, 0);
}

float pm_i64_to_f32(uvec2 a) {
    return pm_pack(a.y & 0x80000000u, pm_i64_abs(a).yx, 0);
}

// Both products are exact, so that the sum alone rounds.
double pm_u64_to_f64(uvec2 a) {
    return double(a.y) * 4294967296.0lf + double(a.x);
}

double pm_i64_to_f64(uvec2 a) {
    return double(int(a.y)) * 4294967296.0lf + double(a.x);
}

// Truncated and saturated; NaN gives 0. What is left below the high word is exact.
uvec2 pm_to_u64(float x) {
    if (!(x >= 1.0)) return uvec2(0u);
    if (x >= 18446744073709551616.0) return uvec2(0xffffffffu);
    if (x < 4294967296.0) return uvec2(uint(x), 0u);
    precise float high = trunc(x * 2.3283064365386963e-10), low = x - high * 4294967296.0;
    return uvec2(uint(low), uint(high));
}
uvec2 pm_to_u64(double x) {
    if (!(x >= 1.0lf)) return uvec2(0u);
    if (x >= 18446744073709551616.0lf) return uvec2(0xffffffffu);
    precise double high = pm_trunc(x * 2.3283064365386963e-10lf), low = x - high * 4294967296.0lf;
    return uvec2(uint(low), uint(high));
}

uvec2 pm_to_i64(float x) {
    if (x >= 9223372036854775808.0) return uvec2(0xffffffffu, 0x7fffffffu);
    if (x <= -9223372036854775808.0) return uvec2(0u, 0x80000000u);
    uvec2 a = pm_to_u64(abs(x));
    return x < 0.0 ? pm_pair_neg(a) : a;
}
uvec2 pm_to_i64(double x) {
    if (x >= 9223372036854775808.0lf) return uvec2(0xffffffffu, 0x7fffffffu);
    if (x <= -9223372036854775808.0lf) return uvec2(0u, 0x80000000u);
    uvec2 a = pm_to_u64(abs(x));
    return x < 0.0lf ? pm_pair_neg(a) : a;
}
