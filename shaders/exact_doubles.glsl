// Doubles taken apart and put together: powers of two, sums and products with what they lose, neighbours, exact remainders and
// the fma that rounds once. The rules are those of basic_functions.glsl, whose functions these use. A double's bits are a uvec2,
// the low word first. Nothing here needs 64-bit integers.

// 2^n for -1022 <= n <= 1023.
double pm_power_of_two(int n) {
    return packDouble2x32(uvec2(0u, uint(n + 1023) << 20));
}

// x * 2^n in two steps, for |n| <= 2044 and an x near 1: only a subnormal result rounds, maybe twice.
double pm_scale(double x, int n) {
    int part = n >> 1;
    return x * pm_power_of_two(part) * pm_power_of_two(n - part);
}

// The highest 26 bits of x: products of two such are exact.
double pm_high(double x) {
    uvec2 bits = unpackDouble2x32(x);
    return packDouble2x32(uvec2(bits.x & 0xf8000000u, bits.y));
}

// a + b and what its rounding lost (Knuth).
dvec2 pm_two_sum(double a, double b) {
    precise double s = a + b, t = s - a, lost = (a - (s - t)) + (b - t);
    return dvec2(s, lost);
}

// a * b and what its rounding lost, for operands and products that are far from overflow and underflow (Veltkamp, Dekker).
dvec2 pm_two_product(double a, double b) {
    precise double p = a * b, s = a * 134217729.0lf, t = b * 134217729.0lf;
    precise double a_high = s - (s - a), a_low = a - a_high, b_high = t - (t - b), b_low = b - b_high;
    precise double lost = ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return dvec2(p, lost);
}

// The biased exponent of a finite x that is not 0, as if subnormals had the exponents they need: down to -51.
int pm_exponent(double x) {
    uvec2 bits = unpackDouble2x32(x) & uvec2(0xffffffffu, 0x7fffffffu);
    if (bits.y >= 0x00100000u) return int(bits.y >> 20);
    return bits.y != 0u ? findMSB(bits.y) - 19 : findMSB(bits.x) - 51;
}

int pm_ilogb(double x) {
    if (x == 0.0lf) return int(0x80000000u);
    return pm_isfinite(x) ? pm_exponent(x) - 1023 : 0x7fffffff;
}

double pm_logb(double x) {
    if (!pm_isfinite(x)) return abs(x);
    return x == 0.0lf ? packDouble2x32(uvec2(0u, 0xfff00000u)) : double(pm_exponent(x) - 1023);
}

// Steps through the bits, which are ordered as sign and magnitude.
double pm_nextafter(double x, double y) {
    if (pm_isnan(x) || pm_isnan(y)) return packDouble2x32(uvec2(0u, 0x7ff80000u));
    if (x == y) return y;
    if (x == 0.0lf) return packDouble2x32(uvec2(1u, unpackDouble2x32(y).y & 0x80000000u));
    uvec2 bits = unpackDouble2x32(x);
    if ((x < y) == (x > 0.0lf)) {
        bits.x += 1u;
        if (bits.x == 0u) bits.y += 1u;
    } else {
        if (bits.x == 0u) bits.y -= 1u;
        bits.x -= 1u;
    }
    return packDouble2x32(bits);
}

// As for floats: a downward step leaves 53 bits of room above the subnormals.
double pm_ldexp(double x, int n) {
    int first = n > 1023 ? 1023 : n < -1022 ? -969 : 0;
    n -= first;
    int second = n > 1023 ? 1023 : n < -1022 ? -969 : 0;
    n = clamp(n - second, -1022, 1023);
    precise double r = x * pm_power_of_two(first);
    r *= pm_power_of_two(second);
    r *= pm_power_of_two(n);
    return r;
}

// |x| modulo |y| for finite x and y != 0, a bit of the quotient a step; `odd` is its lowest one. Every difference is exact.
double pm_modulo(double x, double y, out uint odd) {
    precise double rest = abs(x), part = abs(y);
    odd = 0u;
    if (rest < part) return rest;
    int n = pm_exponent(x) - pm_exponent(y);
    part = pm_ldexp(part, n);
    for (; n >= 0; --n) {
        odd = rest >= part ? 1u : 0u;
        if (rest >= part) rest -= part;
        part *= 0.5lf;
    }
    return rest;
}

double pm_fmod(double x, double y) {
    if (!pm_isfinite(x) || pm_isnan(y) || y == 0.0lf) return packDouble2x32(uvec2(0u, 0x7ff80000u));
    if (pm_isinf(y)) return x;
    uint odd;
    return pm_copysign(pm_modulo(x, y, odd), x);
}

double pm_remainder(double x, double y) {
    if (!pm_isfinite(x) || pm_isnan(y) || y == 0.0lf) return packDouble2x32(uvec2(0u, 0x7ff80000u));
    if (pm_isinf(y)) return x;
    uint odd;
    precise double rest = pm_modulo(x, y, odd), other = abs(y) - rest;
    if (rest > other || (rest == other && odd == 1u)) rest = -other;
    return pm_signbit(x) ? -rest : rest;
}

// a + b "rounded to odd": where it is not exact, the neighbour whose last bit is 1. What is rounded once more, to fewer bits, is
// then rounded as the exact sum would be. (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums", 2008.)
double pm_odd_sum(double a, double b) {
    dvec2 sum = pm_two_sum(a, b);
    uvec2 bits = unpackDouble2x32(sum.x);
    if (sum.y == 0.0lf || (bits.x & 1u) != 0u) return sum.x;
    if ((sum.y > 0.0lf) == (sum.x > 0.0lf)) bits.x |= 1u;
    else {
        if (bits.x == 0u) bits.y -= 1u;
        bits.x -= 1u;
    }
    return packDouble2x32(bits);
}

// x = m * 2^e for finite x != 0, 1 <= |m| < 2: gives m.
double pm_significand(double x, out int e) {
    bool tiny = abs(x) < 2.2250738585072014e-308lf;
    uvec2 bits = unpackDouble2x32(tiny ? x * 1.152921504606847e+18lf : x);
    e = int((bits.y >> 20) & 0x7ffu) - (tiny ? 1083 : 1023);
    return packDouble2x32(uvec2(bits.x, (bits.y & 0x800fffffu) | 0x3ff00000u));
}

// a * b + c rounded once: computed on the significands, where nothing overflows, as an exact sum of three doubles. One that
// comes to be subnormal is rounded at the last bit of the subnormals, by adding a number whose last bit that is.
double pm_fma_strict(double a, double b, double c) {
    if (!pm_isfinite(a) || !pm_isfinite(b) || a == 0.0lf || b == 0.0lf) return a * b + c;
    if (!pm_isfinite(c)) return c;
    if (c == 0.0lf) return a * b;
    int ea, eb, ec;
    double ma = pm_significand(a, ea), mb = pm_significand(b, eb), mc = pm_significand(c, ec);
    int e = ea + eb;
    if (ec - e > 120) return c;
    // A c below every bit of the product matters by its sign alone.
    dvec2 product = pm_two_product(ma, mb), low = pm_two_sum(mc * pm_power_of_two(max(ec - e, -120)), product.y);
    dvec2 high = pm_two_sum(product.x, low.x);
    double rest = pm_odd_sum(high.y, low.y);
    precise double r = high.x + rest;
    if (r == 0.0lf) return 0.0lf;
    int exponent = pm_exponent(r) - 1023 + e;
    if (exponent >= -1022) return pm_ldexp(r, e);
    double zero = r < 0.0lf ? -0.0lf : 0.0lf;
    if (exponent < -1077) return zero;
    precise double place = 1.5lf * pm_power_of_two(52 - 1074 - e);
    dvec2 placed = pm_two_sum(place, high.x);
    double below = pm_odd_sum(placed.y, rest);
    precise double rounded = (placed.x + below) - place;
    return rounded == 0.0lf ? zero : pm_ldexp(rounded, e);
}
