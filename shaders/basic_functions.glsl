// Functions for shaders beyond GLSL's own: exact integer and bit operations, and the maths that GLSL lacks or leaves
// too loose. A shader gets the functions that it uses, with those that they use: so each begins at column 0 with
// `TYPE pm_name(` and ends with `}` at column 0, a function comes after those that it calls, and overloads on all types but
// double lie together.
//
// The two arms of a `?:` are names or constants where speed matters: then it is one instruction, else a branch.
//
// Polynomials without another source are our own: Chebyshev interpolation of the named function over the named interval.
// Constants written as hi + lo are one number, split so that hi times a small whole number is exact.

// ---- strict arithmetic, for kernels whose own variables cannot be precise ----

float pm_precise_add(float a, float b) {
    precise float r = a + b;
    return r;
}
float16_t pm_precise_add(float16_t a, float16_t b) {
    precise float16_t r = a + b;
    return r;
}
double pm_precise_add(double a, double b) {
    precise double r = a + b;
    return r;
}

// The nearest bfloat16, ties to even: the upper 16 bits, whose increment may carry into the exponent. A NaN stays one.
float pm_rounded_to_bf16(float a) {
    const uint bits = floatBitsToUint(a);
    const uint even = bits + (0x7fffu + ((bits >> 16) & 1u));
    const uint quiet = bits | 0x400000u;
    const uint chosen = (bits & 0x7fffffffu) > 0x7f800000u ? quiet : even;
    return uintBitsToFloat(chosen & 0xffff0000u);
}

float pm_precise_sub(float a, float b) {
    precise float r = a - b;
    return r;
}
float16_t pm_precise_sub(float16_t a, float16_t b) {
    precise float16_t r = a - b;
    return r;
}
double pm_precise_sub(double a, double b) {
    precise double r = a - b;
    return r;
}

float pm_precise_mul(float a, float b) {
    precise float r = a * b;
    return r;
}
float16_t pm_precise_mul(float16_t a, float16_t b) {
    precise float16_t r = a * b;
    return r;
}
double pm_precise_mul(double a, double b) {
    precise double r = a * b;
    return r;
}

float pm_precise_div(float a, float b) {
    precise float r = a / b;
    return r;
}
float16_t pm_precise_div(float16_t a, float16_t b) {
    precise float16_t r = a / b;
    return r;
}
double pm_precise_div(double a, double b) {
    precise double r = a / b;
    return r;
}

// ---- integers ----

// Undefined quotients give the dividend (x / 0, and the smallest int / -1).
int pm_div(int a, int b) {
    return a / (b == 0 || (b == -1 && a == int(0x80000000u)) ? 1 : b);
}
uint pm_div(uint a, uint b) {
    return a / (b == 0u ? 1u : b);
}
int64_t pm_div(int64_t a, int64_t b) {
    return a / (b == 0l || (b == -1l && a == int64_t(0x8000000000000000ul)) ? 1l : b);
}
uint64_t pm_div(uint64_t a, uint64_t b) {
    return a / (b == 0ul ? 1ul : b);
}

// The sign of the dividend. GLSL's own % on negative ints is undefined (glslang makes it OpSMod).
int pm_rem(int a, int b) {
    int divisor = b == 0 || (b == -1 && a == int(0x80000000u)) ? 1 : b;
    return a - (a / divisor) * divisor;
}
uint pm_rem(uint a, uint b) {
    return b == 0u ? 0u : a % b;
}
int64_t pm_rem(int64_t a, int64_t b) {
    int64_t divisor = b == 0l || (b == -1l && a == int64_t(0x8000000000000000ul)) ? 1l : b;
    return a - (a / divisor) * divisor;
}
uint64_t pm_rem(uint64_t a, uint64_t b) {
    uint64_t divisor = b == 0ul ? 1ul : b;
    return a - (a / divisor) * divisor;
}

// The upper half of the product.
uint pm_mul_high(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    return high;
}
uint64_t pm_mul_high(uint64_t a, uint64_t b) {
    uint64_t low = uint64_t(uint(a)) * uint64_t(uint(b));
    uint64_t middle = (a >> 32) * uint64_t(uint(b)) + (low >> 32);
    uint64_t other = uint64_t(uint(a)) * (b >> 32) + uint64_t(uint(middle));
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

int pm_popcount(int a) {
    return bitCount(a);
}
uint pm_popcount(uint a) {
    return uint(bitCount(a));
}
int64_t pm_popcount(int64_t a) {
    return int64_t(bitCount(uint(a)) + bitCount(uint(a >> 32)));
}
uint64_t pm_popcount(uint64_t a) {
    return uint64_t(bitCount(uint(a)) + bitCount(uint(a >> 32)));
}

// findMSB of a uint 0 is -1; of a negative int it would be that of the complement.
int pm_clz(int a) {
    return 31 - findMSB(uint(a));
}
uint pm_clz(uint a) {
    return uint(31 - findMSB(a));
}
int64_t pm_clz(int64_t a) {
    uint high = uint(a >> 32);
    return int64_t(high != 0u ? 31 - findMSB(high) : 63 - findMSB(uint(a)));
}
uint64_t pm_clz(uint64_t a) {
    uint high = uint(a >> 32);
    return uint64_t(high != 0u ? 31 - findMSB(high) : 63 - findMSB(uint(a)));
}

int pm_ctz(int a) {
    return a == 0 ? 32 : findLSB(a);
}
uint pm_ctz(uint a) {
    return a == 0u ? 32u : uint(findLSB(a));
}
int64_t pm_ctz(int64_t a) {
    uint low = uint(a), high = uint(a >> 32);
    return int64_t(low != 0u ? findLSB(low) : high != 0u ? findLSB(high) + 32 : 64);
}
uint64_t pm_ctz(uint64_t a) {
    uint low = uint(a), high = uint(a >> 32);
    return uint64_t(low != 0u ? findLSB(low) : high != 0u ? findLSB(high) + 32 : 64);
}

int pm_reverse_bits(int a) {
    return bitfieldReverse(a);
}
uint pm_reverse_bits(uint a) {
    return bitfieldReverse(a);
}
int64_t pm_reverse_bits(int64_t a) {
    return int64_t(uint64_t(bitfieldReverse(uint(a))) << 32 | uint64_t(bitfieldReverse(uint(a >> 32))));
}
uint64_t pm_reverse_bits(uint64_t a) {
    return uint64_t(bitfieldReverse(uint(a))) << 32 | uint64_t(bitfieldReverse(uint(a >> 32)));
}

// ---- classification and representation of floats, by their bits: a driver may assume that there is no NaN or infinity ----

bool pm_isnan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
bool pm_isnan(double x) {
    uvec2 bits = unpackDouble2x32(x);
    uint high = bits.y & 0x7fffffffu;
    return high > 0x7ff00000u || (high == 0x7ff00000u && bits.x != 0u);
}

// Where a driver's own conversion rounds twice. A set last bit stands for all that the shift loses.
float pm_float_of_unsigned(uint x) {
    return int(x) < 0 ? 2.0 * float(int((x >> 1) | (x & 1u))) : float(int(x));
}

bool pm_isinf(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}
bool pm_isinf(double x) {
    uvec2 bits = unpackDouble2x32(x);
    return (bits.y & 0x7fffffffu) == 0x7ff00000u && bits.x == 0u;
}

bool pm_isfinite(float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}
bool pm_isfinite(double x) {
    return (unpackDouble2x32(x).y & 0x7ff00000u) != 0x7ff00000u;
}

bool pm_signbit(float x) {
    return (floatBitsToUint(x) & 0x80000000u) != 0u;
}
bool pm_signbit(double x) {
    return (unpackDouble2x32(x).y & 0x80000000u) != 0u;
}

float pm_copysign(float x, float y) {
    return uintBitsToFloat((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(y) & 0x80000000u));
}
double pm_copysign(double x, double y) {
    uvec2 bits = unpackDouble2x32(x);
    return packDouble2x32(uvec2(bits.x, (bits.y & 0x7fffffffu) | (unpackDouble2x32(y).y & 0x80000000u)));
}

// Zero, which compilers cannot know: no device has 2^31 workgroups along an axis. See Options::parted_merges and
// Options::folded_zeros.
uint pm_zero() {
    return gl_NumWorkGroups.x >> 31;
}
float pm_copysign_and_zero(float x, float y) {
    return uintBitsToFloat(((floatBitsToUint(x) & 0x7fffffffu) | (floatBitsToUint(y) & 0x80000000u)) + pm_zero());
}
double pm_copysign_and_zero(double x, double y) {
    uvec2 bits = unpackDouble2x32(x);
    return packDouble2x32(uvec2(bits.x, ((bits.y & 0x7fffffffu) | (unpackDouble2x32(y).y & 0x80000000u)) + pm_zero()));
}

// Truncates and saturates; NaN gives 0. Those from f32 to 32 bits are in float_functions.glsl.
int64_t pm_f32_to_i64(float x) {
    if (pm_isnan(x)) return 0l;
    if (x >= 9223372036854775808.0) return 0x7fffffffffffffffl;
    return x < -9223372036854775808.0 ? int64_t(0x8000000000000000ul) : int64_t(x);
}

uint64_t pm_f32_to_u64(float x) {
    if (pm_isnan(x)) return 0ul;
    return x >= 18446744073709551616.0 ? 0xfffffffffffffffful : x <= 0.0 ? 0ul : uint64_t(x);
}

int pm_f64_to_i32(double x) {
    if (pm_isnan(x)) return 0;
    return x >= 2147483648.0lf ? 0x7fffffff : x < -2147483648.0lf ? int(0x80000000u) : int(x);
}

uint pm_f64_to_u32(double x) {
    if (pm_isnan(x)) return 0u;
    return x >= 4294967296.0lf ? 0xffffffffu : x <= 0.0lf ? 0u : uint(x);
}

int64_t pm_f64_to_i64(double x) {
    if (pm_isnan(x)) return 0l;
    if (x >= 9223372036854775808.0lf) return 0x7fffffffffffffffl;
    return x < -9223372036854775808.0lf ? int64_t(0x8000000000000000ul) : int64_t(x);
}

uint64_t pm_f64_to_u64(double x) {
    if (pm_isnan(x)) return 0ul;
    return x >= 18446744073709551616.0lf ? 0xfffffffffffffffful : x <= 0.0lf ? 0ul : uint64_t(x);
}

float pm_sign(float x) {
    float up = x > 0.0 ? 1.0 : x;
    return x < 0.0 ? -1.0 : up;
}
double pm_sign(double x) {
    double up = x > 0.0lf ? 1.0lf : x;
    return x < 0.0lf ? -1.0lf : up;
}

// Where one operand is NaN, the other. GLSL's min and max leave it open.
float pm_min(float x, float y) {
    float less = y < x ? y : x;
    return pm_isnan(x) ? y : less;
}
double pm_min(double x, double y) {
    double less = y < x ? y : x;
    return pm_isnan(x) ? y : less;
}

float pm_max(float x, float y) {
    float more = y > x ? y : x;
    return pm_isnan(x) ? y : more;
}
double pm_max(double x, double y) {
    double more = y > x ? y : x;
    return pm_isnan(x) ? y : more;
}

// The same where y, or x, is known to be a number.
float pm_min_of_number(float x, float y) { return x <= y ? x : y; }
float pm_max_of_number(float x, float y) { return x >= y ? x : y; }
float pm_number_or_less(float x, float y) { return y < x ? y : x; }
float pm_number_or_more(float x, float y) { return y > x ? y : x; }

// NaN where one is NaN, since it is not <= then.
float pm_fdim(float x, float y) {
    float difference = x - y;
    return x <= y ? 0.0 : difference;
}
double pm_fdim(double x, double y) {
    double difference = x - y;
    return x <= y ? 0.0lf : difference;
}

// Doubles by their bits: without AVX-512, Mesa's CPU drivers leave the fractions of those from 2^24 on. Infinities, NaN stay.
float pm_trunc(float x) { return trunc(x); }
double pm_trunc(double x) {
    uvec2 bits = unpackDouble2x32(x);
    int exponent = int(bits.y >> 20 & 0x7ffu) - 1023, above = clamp(exponent - 20, 0, 32), below = clamp(exponent, 0, 20);
    uint low = above == 0 ? 0u : 0xffffffffu << (32 - min(above, 32)), high = ~(0x000fffffu >> below);
    return packDouble2x32(bits & uvec2(low, exponent < 0 ? 0x80000000u : high));
}
float pm_floor(float x) { return floor(x); }
double pm_floor(double x) {
    double whole = pm_trunc(x);
    return whole > x ? whole - 1.0lf : whole;
}
float pm_ceil(float x) { return ceil(x); }
double pm_ceil(double x) {
    double whole = pm_trunc(x);
    return whole < x ? whole + 1.0lf : whole;
}

// Halves away from zero. x - trunc(x) is exact; for an infinite x it is NaN, and not >= 0.5.
float pm_round(float x) {
    float whole = trunc(x), away = whole + pm_sign(x);
    return abs(x - whole) >= 0.5 ? away : whole;
}
double pm_round(double x) {
    double whole = pm_trunc(x), away = whole + pm_sign(x);
    return abs(x - whole) >= 0.5lf ? away : whole;
}

// Halves to the even number. Mesa's drivers for the CPU compute roundEven() of doubles by adding nearly a half and truncating,
// where the processor has no vectors of as many doubles as a subgroup has lanes: 1.5 becomes 1 there.
float pm_rint(float x) { return roundEven(x); }
double pm_rint(double x) {
    double whole = pm_trunc(x), rest = abs(x - whole), half_of_it = whole * 0.5lf;
    bool odd = pm_trunc(half_of_it) != half_of_it;
    return rest > 0.5lf || (rest == 0.5lf && odd) ? whole + pm_sign(x) : whole;
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
    return intBitsToFloat(a < 0 || (a == 0 && from < 0) ? int(0x80000000u) - a : a);  // a step to zero keeps the sign
}

// Exact steps by powers of two; only the last may round. A downward step leaves 24 bits of room above the subnormals: a value
// that needs more room than that becomes 0 anyway. Drivers would make one factor of constant ones, which overflows.
float pm_ldexp(float x, int n) {
    int first = n > 127 ? 127 : n < -126 ? -102 : 0;
    n -= first;
    int second = n > 127 ? 127 : n < -126 ? -102 : 0, last = clamp(n - second, -126, 127);
    precise float near = x * uintBitsToFloat(uint(first + 127) << 23) * uintBitsToFloat(uint(second + 127) << 23);
    precise float r = near * uintBitsToFloat(uint(last + 127) << 23);
    return r;
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

// a * b + c rounded once, for all values and whatever the device does with subnormals: the product's 48 bits and c's 24 are
// added as 64-bit whole numbers (x the high half, y the low), what falls off the low end kept in the last bit ("sticky").
uvec2 pm_shift_right_sticky(uvec2 v, int n) {
    if (n <= 0) return v;
    if (n >= 64) return uvec2(0u, (v.x | v.y) != 0u ? 1u : 0u);
    if (n >= 32) {
        uint lost = v.y | (n == 32 ? 0u : v.x << (64 - n));
        return uvec2(0u, (n == 32 ? v.x : v.x >> (n - 32)) | (lost != 0u ? 1u : 0u));
    }
    return uvec2(v.x >> n, (v.y >> n) | (v.x << (32 - n)) | ((v.y << (32 - n)) != 0u ? 1u : 0u));
}

// sign, and v * 2^exponent with v's highest bit within 63 .. 0, to the nearest float.
float pm_pack(uint sign, uvec2 v, int exponent) {
    if ((v.x | v.y) == 0u) return uintBitsToFloat(sign);
    int up = v.x != 0u ? 31 - findMSB(v.x) : 63 - findMSB(v.y);
    if (up >= 32) v = uvec2(v.y << (up - 32), 0u);
    else if (up > 0) v = uvec2((v.x << up) | (v.y >> (32 - up)), v.y << up);
    int biased = exponent - up + 63 + 127;  // of the number, whose significand now begins at bit 63
    if (biased >= 255) return uintBitsToFloat(sign | 0x7f800000u);
    if (biased < 1) v = pm_shift_right_sticky(v, 1 - biased);
    uint kept = v.x >> 8;
    bool above = (v.x & 0x7fu) != 0u || v.y != 0u;
    if ((v.x & 0x80u) != 0u && (above || (kept & 1u) != 0u)) kept += 1u;
    // A carry out of the significand is a carry into the exponent, as it should be. A normal one brings its leading 1.
    return uintBitsToFloat(sign | (kept + (biased < 1 ? 0u : uint(biased - 1) << 23)));
}

// Moves a subnormal number's leading bit to where a normal one has it. `exponent` is that of the format.
uint pm_normal_significand(uint bits, out int exponent) {
    exponent = int(bits >> 23);
    if (exponent != 0) return (bits & 0x007fffffu) | 0x00800000u;
    int up = 23 - findMSB(bits);
    exponent = 1 - up;
    return bits << up;
}

// The quotient, correctly rounded. A device's own may be 2.5 units in the last place away, and 0 for subnormal numbers: from it,
// of the significands, the whole part of 2^25 times the quotient is found by the remainder, which is small enough to be known
// from its low 32 bits.
float pm_div_strict(float a, float b) {
    uint ba = floatBitsToUint(a) & 0x7fffffffu, bb = floatBitsToUint(b) & 0x7fffffffu;
    uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
    if (max(ba, bb) > 0x7f800000u || (ba == bb && (ba == 0u || ba == 0x7f800000u))) return uintBitsToFloat(0x7fc00000u);
    if (ba == 0x7f800000u || bb == 0u) return uintBitsToFloat(sign | 0x7f800000u);
    if (ba == 0u || bb == 0x7f800000u) return uintBitsToFloat(sign);
    int ea, eb;
    uint ma = pm_normal_significand(ba, ea), mb = pm_normal_significand(bb, eb);
    uint quotient = uint(float(ma) / float(mb) * 33554432.0);
    int rest = int((ma << 25) - quotient * mb), more = int(floor(float(rest) / float(mb)));
    quotient += uint(more);
    rest -= more * int(mb);
    if (rest < 0) {
        quotient -= 1u;
        rest += int(mb);
    } else if (rest >= int(mb)) {
        quotient += 1u;
        rest -= int(mb);
    }
    int e = ea - eb + 127;  // the exponent, where the quotient of the significands is 1 or more
    if (quotient < 0x02000000u) {
        quotient <<= 1;
        e -= 1;
    }
    if (e >= 255) return uintBitsToFloat(sign | 0x7f800000u);
    // The bits of the result, two more, and whether there is more.
    uint v = (quotient << 1) | (rest == 0 ? 0u : 1u);
    if (e < 1) {
        int n = min(1 - e, 31);
        v = (v >> n) | ((v << (32 - n)) == 0u ? 0u : 1u);
        e = 1;
    }
    uint kept = v >> 3;
    if ((v & 7u) + (kept & 1u) > 4u) kept += 1u;
    // A carry out of the significand is a carry into the exponent, as it should be. A normal one brings its leading 1.
    return uintBitsToFloat(sign | (kept + (uint(e - 1) << 23)));
}

// The square root, correctly rounded, in the same way: 2^24 times that of a number in [1, 4).
float pm_sqrt_strict(float a) {
    uint bits = floatBitsToUint(a);
    if ((bits << 1) == 0u || bits == 0x7f800000u) return a;
    if (bits > 0x7f800000u) return uintBitsToFloat(0x7fc00000u);
    int e;
    uint m = pm_normal_significand(bits, e);
    if ((e & 1) == 0) m <<= 1;
    uint root = uint(sqrt(float(m) * 1.1920929e-7) * 16777216.0);
    int rest = int((m << 25) - root * root), more = int(floor(float(rest) / (2.0 * float(root))));
    rest -= more * (2 * int(root) + more);
    root += uint(more);
    if (rest < 0) {
        root -= 1u;
        rest += 2 * int(root) + 1;
    } else if (rest > 2 * int(root)) {
        rest -= 2 * int(root) + 1;
        root += 1u;
    }
    // The last bit rounds: no root lies in the middle between two floats.
    int half_exponent = ((e & 1) == 0 ? e - 128 : e - 127) / 2;
    return uintBitsToFloat((root >> 1) + (root & 1u) + (uint(half_exponent + 126) << 23));
}

float pm_fma_strict(float a, float b, float c) {
    uint ba = floatBitsToUint(a) & 0x7fffffffu, bb = floatBitsToUint(b) & 0x7fffffffu, bc = floatBitsToUint(c) & 0x7fffffffu;
    // With infinity, NaN or 0 among the factors the product is exact; an infinite or NaN c is the result.
    if (max(ba, bb) >= 0x7f800000u) return a * b + c;
    if (bc >= 0x7f800000u || ((ba == 0u || bb == 0u) && bc != 0u)) return c;
    if (ba == 0u || bb == 0u) return a * b + c;
    uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u, sign_c = floatBitsToUint(c) & 0x80000000u;
    uint ma = ba < 0x00800000u ? ba : (ba & 0x007fffffu) | 0x00800000u;
    uint mb = bb < 0x00800000u ? bb : (bb & 0x007fffffu) | 0x00800000u;
    uint mc = bc < 0x00800000u ? bc : (bc & 0x007fffffu) | 0x00800000u;
    uvec2 product, addend;
    umulExtended(ma, mb, product.x, product.y);
    product = uvec2((product.x << 14) | (product.y >> 18), product.y << 14);  // below 2^62
    addend = uvec2(mc << 6, 0u);                                              // mc * 2^38, below 2^62
    int e = max(int(ba >> 23), 1) + max(int(bb >> 23), 1) - 300 - 14, ec = max(int(bc >> 23), 1) - 150 - 38;
    if (mc == 0u) return pm_pack(sign, product, e);
    // A factor may be subnormal: the product moves up as far as c lies below, so that no bit of c is lost against a small one.
    int room = min(product.x != 0u ? 29 - findMSB(product.x) : 61 - findMSB(product.y), max(e - ec, 0));
    if (room >= 32) product = uvec2(product.y << (room - 32), 0u);
    else if (room > 0) product = uvec2((product.x << room) | (product.y >> (32 - room)), product.y << room);
    e -= room;
    room = min(29 - findMSB(addend.x), max(ec - e, 0));
    addend.x <<= room;
    ec -= room;
    if (e >= ec) addend = pm_shift_right_sticky(addend, e - ec);
    else product = pm_shift_right_sticky(product, ec - e);
    e = max(e, ec);
    uint carry;
    if (sign == sign_c) {
        uint low = uaddCarry(product.y, addend.y, carry);
        return pm_pack(sign, uvec2(product.x + addend.x + carry, low), e);
    }
    if (all(equal(product, addend))) return 0.0;
    bool swapped = product.x < addend.x || (product.x == addend.x && product.y < addend.y);
    uvec2 large = swapped ? addend : product, small = swapped ? product : addend;
    uint low = usubBorrow(large.y, small.y, carry);
    return pm_pack(swapped ? sign_c : sign, uvec2(large.x - small.x - carry, low), e);
}
