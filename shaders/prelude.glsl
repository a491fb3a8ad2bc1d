// What shaders may call beyond GLSL's own functions: exact integer and bit operations, and the maths that GLSL lacks or leaves
// too loose. A shader gets the functions that it uses, with those that they use: so each begins at column 0 with
// `TYPE pm_name(` and ends with `}` at column 0, overloads lie together, and a function comes after those that it calls.
//
// Polynomials without another source are our own: Chebyshev interpolation of the named function over the named interval.
// Constants written as hi + lo are one number, split so that hi times a small whole number is exact.

// ---- integers ----

// Undefined quotients give the dividend (x / 0, and the smallest int / -1).
int pm_div(int a, int b) {
    return a / (b == 0 || (b == -1 && a == int(0x80000000u)) ? 1 : b);
}
uint pm_div(uint a, uint b) {
    return a / (b == 0u ? 1u : b);
}

// The sign of the dividend. GLSL's own % on negative ints is undefined (glslang makes it OpSMod).
int pm_rem(int a, int b) {
    int divisor = b == 0 || (b == -1 && a == int(0x80000000u)) ? 1 : b;
    return a - (a / divisor) * divisor;
}
uint pm_rem(uint a, uint b) {
    return b == 0u ? 0u : a % b;
}

int pm_popcount(int a) {
    return bitCount(a);
}
uint pm_popcount(uint a) {
    return uint(bitCount(a));
}

// findMSB of a uint 0 is -1; of a negative int it would be that of the complement.
int pm_clz(int a) {
    return 31 - findMSB(uint(a));
}
uint pm_clz(uint a) {
    return uint(31 - findMSB(a));
}

int pm_ctz(int a) {
    return a == 0 ? 32 : findLSB(a);
}
uint pm_ctz(uint a) {
    return a == 0u ? 32u : uint(findLSB(a));
}

// ---- classification and representation of floats, by their bits: a driver may assume that there is no NaN or infinity ----

bool pm_isnan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

bool pm_isinf(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}

bool pm_isfinite(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}

bool pm_signbit(float x) {
    return (floatBitsToUint(x) & 0x80000000u) != 0u;
}

float pm_copysign(float x, float y) {
    return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(y) & 0x80000000u));
}

// Truncates and saturates; NaN gives 0. 2147483520 is the largest float below 2^31.
int pm_f32_to_i32(float x) {
    if (pm_isnan(x)) return 0;
    return x >= 2147483648.0 ? 0x7fffffff : x < -2147483648.0 ? int(0x80000000u) : int(x);
}

uint pm_f32_to_u32(float x) {
    if (pm_isnan(x)) return 0u;
    return x >= 4294967296.0 ? 0xffffffffu : x <= 0.0 ? 0u : uint(x);
}

float pm_sign(float x) {
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
}

// Where one operand is NaN, the other. GLSL's min and max leave it open.
float pm_min(float x, float y) {
    return y < x || pm_isnan(x) ? y : x;
}

float pm_max(float x, float y) {
    return y > x || pm_isnan(x) ? y : x;
}

// NaN where one is NaN, since it is not <= then.
float pm_fdim(float x, float y) {
    return x <= y ? 0.0 : x - y;
}

// Halves away from zero. x - trunc(x) is exact; for an infinite x it is NaN, and not >= 0.5.
float pm_round(float x) {
    float whole = trunc(x);
    return abs(x - whole) >= 0.5 ? whole + (x < 0.0 ? -1.0 : 1.0) : whole;
}

// The biased exponent of a finite x that is not 0, as if subnormals had the exponents they need: down to -22.
int pm_exponent(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    return bits >= 0x00800000u ? int(bits >> 23) : findMSB(bits) - 22;
}

int pm_ilogb(float x) {
    if ((floatBitsToUint(x) & 0x7fffffffu) == 0u) return int(0x80000000u);
    return pm_isfinite(x) ? pm_exponent(x) - 127 : 0x7fffffff;
}

float pm_logb(float x) {
    uint bits = floatBitsToUint(x) & 0x7fffffffu;
    if (bits >= 0x7f800000u) return uintBitsToFloat(bits);
    return bits == 0u ? uintBitsToFloat(0xff800000u) : float(pm_exponent(x) - 127);
}

// Steps through the bits, which are ordered as sign and magnitude.
float pm_nextafter(float x, float y) {
    if (pm_isnan(x) || pm_isnan(y)) return uintBitsToFloat(0x7fc00000u);
    int from = floatBitsToInt(x), to = floatBitsToInt(y);
    int a = from < 0 ? int(0x80000000u) - from : from, b = to < 0 ? int(0x80000000u) - to : to;
    if (a == b) return y;
    a += a < b ? 1 : -1;
    return intBitsToFloat(a < 0 ? int(0x80000000u) - a : a);
}

// Exact steps by powers of two; only the last may round. Downward steps leave 24 bits of room above the subnormals.
float pm_ldexp(float x, int n) {
    for (int i = 0; i < 2 && n > 127; ++i) { x *= 1.7014118346046923e38; n -= 127; }
    for (int i = 0; i < 2 && n < -126; ++i) { x *= 1.9721522630525295e-31; n += 102; }
    return x * uintBitsToFloat(uint(clamp(n, -126, 127) + 127) << 23);
}

// ---- exact remainders and sums ----

// |x| modulo |y| for finite x and y != 0, by long division of the significands, 8 bits of quotient a step; `odd` is the
// quotient's lowest bit. Needs no float arithmetic, so nothing rounds and no subnormal is flushed.
float pm_modulo(float x, float y, out uint odd) {
    uint bx = floatBitsToUint(x) & 0x7fffffffu, by = floatBitsToUint(y) & 0x7fffffffu;
    int ex = max(int(bx >> 23), 1), ey = max(int(by >> 23), 1);
    uint mx = bx < 0x00800000u ? bx : (bx & 0x007fffffu) | 0x00800000u;
    uint my = by < 0x00800000u ? by : (by & 0x007fffffu) | 0x00800000u;
    odd = 0u;
    if (ex < ey) return uintBitsToFloat(bx);
    uint quotient = mx / my, rest = mx - quotient * my;
    for (int n = ex - ey; n > 0; n -= 8) {
        int bits = min(n, 8);
        rest <<= bits;
        quotient = rest / my;
        rest -= quotient * my;
    }
    odd = quotient & 1u;
    if (rest == 0u) return 0.0;
    int up = min(23 - findMSB(rest), ey - 1);
    rest <<= up;
    return uintBitsToFloat(rest < 0x00800000u ? rest : (uint(ey - up) << 23) | (rest & 0x007fffffu));
}

float pm_fmod(float x, float y) {
    if (!pm_isfinite(x) || pm_isnan(y) || (floatBitsToUint(y) & 0x7fffffffu) == 0u) return uintBitsToFloat(0x7fc00000u);
    if (pm_isinf(y)) return x;
    uint odd;
    return pm_copysign(pm_modulo(x, y, odd), x);
}

// Rounds the quotient to the nearest whole number, ties to even: one more y comes off where the rest is past half of it.
float pm_remainder(float x, float y) {
    if (!pm_isfinite(x) || pm_isnan(y) || (floatBitsToUint(y) & 0x7fffffffu) == 0u) return uintBitsToFloat(0x7fc00000u);
    if (pm_isinf(y)) return x;
    uint odd;
    precise float rest = pm_modulo(x, y, odd), other = abs(y) - rest;
    if (rest > other || (rest == other && odd == 1u)) rest = -other;
    return floatBitsToUint(x) < 0x80000000u ? rest : -rest;
}
