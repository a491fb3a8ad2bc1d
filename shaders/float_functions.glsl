// Mathematical functions of the prelude: roots, exponentials, trigonometry, error and gamma functions. The rules are those of
// basic_functions.glsl, whose functions these use.

// ---- roots, exponentials and logarithms ----

// Scaled by a power of two where a square would leave the range of normal floats.
float pm_hypot(float x, float y) {
    float large = max(abs(x), abs(y));
    if (pm_isinf(x) || pm_isinf(y)) return uintBitsToFloat(0x7f800000u);
    float down = large > 1.0995116e12 ? 8.271806125530277e-25 : large < 9.094947e-13 ? 1.2676506002282294e30 : 1.0;
    float up = large > 1.0995116e12 ? 1.2089258196146292e24 : large < 9.094947e-13 ? 7.888609052210118e-31 : 1.0;
    x *= down;
    y *= down;
    return sqrt(x * x + y * y) * up;
}

// A third of the bits is a third of the exponent: within 3.5 %. One step of Halley's method, then one of Newton's in the form
// whose rounding errors count a third.
float pm_cbrt(float x) {
    float a = abs(x);
    if (a == 0.0 || !pm_isfinite(x)) return x;
    // Kept away from the subnormals, and from where 2 cube overflows.
    float up = a < 1.0 ? 16777216.0 : 5.9604645e-8, down = a < 1.0 ? 0.00390625 : 256.0;
    a *= up;
    float t = uintBitsToFloat(floatBitsToUint(a) / 3u + 0x2a5119f2u);
    float cube = t * t * t;
    t *= (2.0 * a + cube) / (a + 2.0 * cube);
    t -= (t - a / (t * t)) * 0.33333333;
    return pm_copysign(t * down, x);
}

// exp(r) - 1 for |r| <= log(2) / 2.
float pm_expm1_near(float r) {
    float p = 0.5 + r * (0.1666666668 + r * (0.04166646501 + r * (0.008333310934 + r * (0.001393364103 + r * 0.0001989098087))));
    return r + r * r * p;
}

// x * 2^n in two steps, for -250 <= n <= 250 and an x near 1: only a subnormal result rounds, maybe twice.
float pm_scale(float x, int n) {
    int part = n >> 1;
    return x * uintBitsToFloat(uint(part + 127) << 23) * uintBitsToFloat(uint(n - part + 127) << 23);
}

// exp(x) * 2^k within 1 ulp: exp(x) = 2^n exp(r), n the whole number nearest x / log(2). Past the limits it is 0 or infinite.
float pm_exp_scaled(float x, int k) {
    float limited = clamp(x, -110.0, 110.0), n = roundEven(limited * 1.44269504);
    precise float r = (limited - n * 0.693359375) - n * -2.12194440e-4;
    float y = pm_scale(1.0 + pm_expm1_near(r), int(n) + k);
    return pm_isnan(x) ? x : y;
}

float pm_exp(float x) {
    return pm_exp_scaled(x, 0);
}

float pm_exp2(float x) {
    float limited = clamp(x, -160.0, 160.0), n = roundEven(limited);
    float y = pm_scale(1.0 + pm_expm1_near((limited - n) * 0.6931471806), int(n));
    return pm_isnan(x) ? x : y;
}

// 10^x = 2^n exp(r log(10)), with r = x - n log10(2).
float pm_exp10(float x) {
    if (pm_isnan(x)) return x;
    x = clamp(x, -50.0, 50.0);
    float n = roundEven(x * 3.32192809);
    precise float r = (x - n * 0.301025390625) - n * 4.60503898e-6;
    return pm_scale(1.0 + pm_expm1_near(r * 2.30258509), int(n));
}

// 2^n (exp(r) - 1) + (2^n - 1), as in pm_exp_scaled, with half of 2^n so that it does not overflow too soon.
float pm_expm1(float x) {
    if (pm_isnan(x) || abs(x) < 5.9604645e-8) return x;
    if (x > 88.72284) return uintBitsToFloat(0x7f800000u);
    if (x < -18.0) return -1.0;
    float n = roundEven(x * 1.44269504);
    precise float r = (x - n * 0.693359375) - n * -2.12194440e-4;
    if (n == 0.0) return pm_expm1_near(r);
    float half_power = uintBitsToFloat(uint(int(n) + 126) << 23);
    return 2.0 * (half_power * pm_expm1_near(r) + (half_power - 0.5));
}

// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)], given f and the sum that is to be added last: 2 artanh(f / (2 + f)).
float pm_log_near(float f, float added) {
    float s = f / (2.0 + f), z = s * s;
    float series = z * (0.3333333328 + z * (0.2000006093 + z * (0.1427540942 + z * 0.1166525285)));
    // 2s = f - s f, so that what is rounded in the division counts little.
    return f - (s * (f - 2.0 * series) - added);
}

// x = 2^n (1 + f) for normal and subnormal x > 0, with 1 + f in [sqrt(1/2), sqrt(2)]: gives f.
float pm_log_reduce(float x, out float n) {
    bool tiny = x < 1.1754944e-38;
    float factor = tiny ? 16777216.0 : 1.0, less = tiny ? 24.0 : 0.0;
    int bits = floatBitsToInt(x * factor), whole = (bits - 0x3f3504f3) >> 23;  // less the bits of sqrt(1/2)
    n = float(whole) - less;
    return intBitsToFloat(bits - (whole << 23)) - 1.0;
}

// `r` for finite x > 0; else what every logarithm gives.
float pm_log_result(float x, float r) {
    float infinity = uintBitsToFloat(0x7f800000u), below = -infinity, nan = uintBitsToFloat(0x7fc00000u);
    float other = x < 0.0 ? nan : x;
    other = x == 0.0 ? below : other;
    float y = x > 0.0 ? r : other;
    return x == infinity ? x : y;
}

float pm_log(float x) {
    float n, f = pm_log_reduce(x, n);
    return pm_log_result(x, n * 0.693359375 + pm_log_near(f, n * -2.12194440e-4));
}

float pm_log2(float x) {
    float n, f = pm_log_reduce(x, n);
    return pm_log_result(x, n + pm_log_near(f, 0.0) * 1.44269504);
}

float pm_log10(float x) {
    float n, f = pm_log_reduce(x, n);
    return pm_log_result(x, n * 0.301025390625 + (pm_log_near(f, 0.0) * 0.4342944819 + n * 4.60503898e-6));
}

// u = 1 + x rounds; the error made, relative to u, is added to log(u).
float pm_log1p(float x) {
    if (x > -0.29289 && x < 0.41421) return abs(x) < 5.9604645e-8 ? x : pm_log_near(x, 0.0);
    precise float u = 1.0 + x, lost = x >= 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    float n, f = pm_log_reduce(u, n);
    return pm_log_result(u, n * 0.693359375 + pm_log_near(f, n * -2.12194440e-4 + lost / u));
}

// x^y = 2^(y log2(x)) for finite x > 0, with log2(x) and the product as sums of two floats, of which the first has 12 bits: the
// products of such are exact. log2(1 + f) = 2 / log(2) * (s + s^3 / 3 + ...), s = f / (2 + f).
float pm_pow_positive(float x, float y) {
    const uint high_bits = 0xfffff000u;
    float n, f = pm_log_reduce(x, n);
    precise float d = 2.0 + f, d_high = uintBitsToFloat(floatBitsToUint(d) & high_bits), d_low = f - (d_high - 2.0);
    precise float inverse = 1.0 / d, s = f * inverse, s_high = uintBitsToFloat(floatBitsToUint(s) & high_bits);
    precise float s_low = ((f - s_high * d_high) - s_high * d_low) * inverse;
    float z = s * s;
    float series = s * z * (0.3333333328 + z * (0.2000006093 + z * (0.1427540942 + z * 0.1166525285)));
    precise float l = s_high * 2.884765625, l_low = s_high * 6.24456778e-4 + 2.88539008 * (s_low + series);
    precise float sum = n + (l + l_low), sum_high = uintBitsToFloat(floatBitsToUint(sum) & high_bits);
    precise float sum_low = (l - (sum_high - n)) + l_low;
    float limited = clamp(y, -1e12, 1e12);  // beyond, the result is 0, 1 or infinite just the same
    precise float y_high = uintBitsToFloat(floatBitsToUint(limited) & high_bits);
    precise float e = y_high * sum_high, e_low = (limited - y_high) * sum_high + limited * sum_low;
    float whole = clamp(roundEven(e + e_low), -160.0, 160.0);
    precise float rest = (e - whole) + e_low;
    return pm_scale(1.0 + pm_expm1_near(clamp(rest, -0.6, 0.6) * 0.6931471806), int(whole));
}

// ---- trigonometric and hyperbolic ----

// x past 20,000: its significand times three words of 2/pi, those whose bits make quarters of a turn and less of it (Payne and
// Hanek; before them 32 zeros, so that every such x has all three). Of the product modulo 4, 70 bits below the point are
// right: the quarter, and the rest, of which at worst 30 bits are 0.
float pm_reduce_far(float x, out int quarter) {
    uint bits = floatBitsToUint(x), m = (bits & 0x007fffffu) | 0x00800000u;
    int place = int(bits >> 23 & 0xffu) - 120, first = place >> 5, up = place & 31;
    // By selection, since drivers put tables into memory.
    bool odd = (first & 1) != 0;
    uint a = odd ? 0xa2f9836eu : 0u, b = odd ? 0x4e441529u : 0xa2f9836eu, c = odd ? 0xfc2757d1u : 0x4e441529u,
        d = odd ? 0xf534ddc0u : 0xfc2757d1u;
    uint e = odd ? 0xdb629599u : 0xf534ddc0u, f = odd ? 0x3c439041u : 0xdb629599u;
    a = first > 1 ? c : a;
    b = first > 1 ? d : b;
    c = first > 1 ? e : c;
    d = first > 1 ? f : d;
    a = first > 3 ? 0xf534ddc0u : a;
    b = first > 3 ? 0xdb629599u : b;
    c = first > 3 ? 0x3c439041u : c;
    d = first > 3 ? 0xfe5163abu : d;
    uvec3 words = uvec3(a, b, c) << up | uvec3(b, c, d) >> 1 >> (31 - up);
    uint low, middle, high, from_low, carry;
    umulExtended(m, words.z, from_low, low);
    umulExtended(m, words.y, high, middle);
    middle = uaddCarry(middle, from_low, carry);
    high += m * words.x + carry;
    // In units of 2^-62 of a quarter, from -2^61 to 2^61 by the next one.
    uint up_to = high & 0x3fffffffu, below = middle;
    bool nearer_next = up_to >= 0x20000000u;
    quarter = int(high >> 30) + int(nearer_next);
    uint less = ~below + 1u, less_up = (~up_to + (below == 0u ? 1u : 0u)) & 0x3fffffffu;
    below = nearer_next ? less : below;
    up_to = nearer_next ? less_up : up_to;
    // The 32 highest bits from the first that is set.
    int zeros = up_to != 0u ? 31 - findMSB(up_to) : 63 - findMSB(below | 1u);
    uint far = below << (zeros & 31), near = up_to << (zeros & 31) | below >> 1 >> (31 - (zeros & 31));
    uint top = zeros >= 32 ? far : near;
    float turn = float(top) * uintBitsToFloat(uint(97 - zeros) << 23), r = turn * 1.57079637 - turn * 4.37113883e-8;
    bool negative = nearer_next != pm_signbit(x);
    int other = -quarter;
    quarter = pm_signbit(x) ? other : quarter;
    float turned = -r;
    return negative ? turned : r;
}

// x modulo pi/2, in [-pi/4, pi/4], and the quarter turns taken off. pi/2 in four parts, the first three of 10 bits, after Cody
// and Waite: up to |x| = 20,000, n times each is exact.
float pm_reduce(float x, out int quarter) {
    quarter = 0;
    if (!pm_isfinite(x)) return uintBitsToFloat(0x7fc00000u);
    if (abs(x) > 20000.0) return pm_reduce_far(x, quarter);
    float n = roundEven(x * 0.636619772);
    precise float r = (((x - n * 1.5703125) - n * 4.825592041015625e-4) - n * 1.2665987014770508e-6) - n * 9.92093579680540e-10;
    quarter = int(n);
    return n == 0.0 ? x : r;  // keeps -0
}

// sin(r) and cos(r) for |r| <= pi/4: (sin(sqrt(z)) / sqrt(z) - 1) / z and (cos(sqrt(z)) - 1 + z / 2) / z^2 over that range.
float pm_sin_near(float r) {
    float z = r * r, y = r + r * z * (-0.1666666666 + z * (0.008333331866 + z * (-0.0001984008201 + z * 2.724931405e-6)));
    return r == 0.0 ? r : y;
}

float pm_cos_near(float r) {
    float z = r * r;
    return 1.0 - (0.5 * z - z * z * (0.04166666664 + z * (-0.001388888766 + z * (2.480059599e-5 + z * -2.730040718e-7))));
}

// asin(x) for |x| <= 1/2: asin(sqrt(z)) / sqrt(z) over z in [0, 1/4].
float pm_asin_near(float x) {
    float z = x * x;
    return x + x * z * (0.1666678201 + z * (0.07494696687 + z * (0.04552063563 + z * (0.02399399965 + z * 0.04241737376))));
}

// atan(t) for t in [0, 1]: atan(sqrt(z)) / sqrt(z) over z in [0, 1].
float pm_atan_unit(float t) {
    float z = t * t;
    float p = 0.109323415 + z * (-0.08349724968 + z * (0.05708955593 + z * (-0.03035186479 + z * (0.01048764925
        + z * -0.001701170064))));
    return t + t * z * (-0.3333327629 + z * (0.1999807528 + z * (-0.1426001608 + z * p)));
}

// The smaller over the larger, then the octant's complement. Scaled into a range where no device's division underflows.
float pm_atan2(float y, float x) {
    if (pm_isnan(x) || pm_isnan(y)) return uintBitsToFloat(0x7fc00000u);
    float ax = abs(x), ay = abs(y), large = max(ax, ay), small = min(ax, ay);
    float scale = large > 1.8446744e19 ? 5.421010862427522e-20 : large < 5.421011e-20 ? 1.8446744073709552e19 : 1.0;
    float t = large == 0.0 ? 0.0 : small == large ? 1.0 : (small * scale) / (large * scale);
    float r = pm_isinf(large) && small != large ? 0.0 : pm_atan_unit(t);
    if (ay > ax) r = 1.57079637 - (r + 4.37113883e-8);
    if (pm_signbit(x)) r = 3.14159274 - (r + 8.74227766e-8);
    return pm_copysign(r, y);
}

// ---- error and gamma functions ----

// exp(-x^2), with x^2 in two parts: the square of x's high half is exact.
float pm_exp_minus_square(float x) {
    precise float high = uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u), low = (high - x) * (high + x);
    return pm_exp_scaled(-high * high, 0) * (1.0 + pm_expm1_near(low));
}

// erf(x) for |x| <= 1: erf(sqrt(z)) / sqrt(z) over z in [0, 1].
float pm_erf_near(float x) {
    float z = x * x;
    float p = -0.02685421201 + z * (0.005189087423 + z * (-0.0008016864287 + z * 7.875875063e-5));
    return x * (1.128379166 + z * (-0.3761262667 + z * (0.1128359472 + z * p)));
}

// erfc(x) for x in [0.45, 10.1]: erfc(x) exp(x^2) / t over t = 1 / (1 + x / 2), in u = t - 0.4908.
float pm_erfc_far(float x) {
    float t = 2.0 / (2.0 + x), u = t - 0.4908;
    float p = -0.1671327272 + u * (-0.1090417431 + u * (0.09363680784 + u * (0.06021345772 + u * (-0.06574214231
        + u * -0.02099424812))));
    return t * (0.5045166703 + u * (0.6769136569 + u * (0.5548336032 + u * (0.1520125786 + u * p)))) * pm_exp_minus_square(x);
}

// By DLMF 5.5.1, gamma(x + 1) = x gamma(x), into [1, 2], where it is a polynomial in x - 1.5.
float pm_tgamma(float x) {
    if (pm_isnan(x) || x > 36.0) return x + uintBitsToFloat(0x7f800000u);
    if (x == 0.0) return pm_copysign(uintBitsToFloat(0x7f800000u), x);
    if (x < 0.0 && x == floor(x)) return uintBitsToFloat(0x7fc00000u);
    if (x < -44.0) return (int(max(floor(x), -2147483520.0)) & 1) != 0 ? -0.0 : 0.0;
    float above = 1.0, below = 1.0;
    for (int i = 0; i < 40 && x > 2.0; ++i) { x -= 1.0; above *= x; }
    for (int i = 0; i < 50 && x < 1.0; ++i) { below *= x; x += 1.0; }
    float u = x - 1.5;
    float p = 0.1446394649 + u * (-0.07771812018 + u * (0.05874044932 + u * (-0.03626931631 + u * (0.02468161931
        + u * (-0.02372913626 + u * 0.01586386546)))));
    return (0.8862269255 + u * (0.0323382864 + u * (0.4148135278 + u * (-0.1072859701 + u * p)))) * above / below;
}

// log(gamma(2 + t)) for |t| <= 1/2.
float pm_lgamma_near(float t) {
    float p = 0.02058162544 + t * (-0.007385920885 + t * (0.002878868684 + t * (-0.001187484815 + t * (0.0005702512503
        + t * -0.0002505620191))));
    return t * (0.4227843351 + t * (0.322467018 + t * (-0.06735229409 + t * p)));
}

// For x > 0: near 1 and 2, where it vanishes, by DLMF 5.5.1 from the polynomial; from 7 on DLMF 5.11.1; between by a product.
float pm_lgamma_positive(float x) {
    if (x < 0.5) return pm_lgamma_near(x) - (pm_log(x) + pm_log1p(x));
    if (x < 1.5) return pm_lgamma_near(x - 1.0) - pm_log1p(x - 1.0);
    if (x < 7.0) {
        float product = 1.0;
        for (int i = 0; i < 5 && x > 2.5; ++i) { x -= 1.0; product *= x; }
        return pm_lgamma_near(x - 2.0) + pm_log(product);
    }
    float w = 1.0 / x, z = w * w;
    return (x - 0.5) * (pm_log(x) - 1.0) + (0.4189385332 + w * (0.08333333333 - z * (0.002777777778 - z * 0.0007936507937)));
}

// DLMF 5.5.2 up to 6, then 5.11.2.
float pm_digamma_positive(float x) {
    float r = 0.0;
    for (int i = 0; i < 6 && x < 6.0; ++i) { r -= 1.0 / x; x += 1.0; }
    float w = 1.0 / x, z = w * w;
    return pm_log(x) + (r - 0.5 * w) - z * (0.08333333333 - z * (0.008333333333 - z * 0.003968253968));
}

// DLMF 5.15.5 up to 6, then 5.15.8.
float pm_trigamma_positive(float x) {
    float r = 0.0;
    for (int i = 0; i < 6 && x < 6.0; ++i) { r += 1.0 / (x * x); x += 1.0; }
    float w = 1.0 / x, z = w * w;
    return r + w * (1.0 + 0.5 * w + z * (0.1666666667 - z * (0.03333333333 - z * 0.02380952381)));
}

// Truncates and saturates; NaN gives 0. 2147483520 and 4294967040 are the largest floats below 2^31 and 2^32. Selections of
// values become no branches, which software drivers take one after the other.
int pm_f32_to_i32(float x) {
    float low = x < 2147483520.0 ? x : 2147483520.0;
    float within = low > -2147483648.0 ? low : -2147483648.0;
    int whole = int(within);
    int limited = x >= 2147483648.0 ? 0x7fffffff : whole;
    return pm_isnan(x) ? 0 : limited;
}

uint pm_f32_to_u32(float x) {
    float number = x > 0.0 ? x : 0.0;  // 0 for NaN, too
    uint whole = uint(number < 4294967040.0 ? number : 4294967040.0);
    return x >= 4294967296.0 ? 0xffffffffu : whole;
}

// x + 0: 0 for either zero.
float pm_plus_zero(float x) {
    return floatBitsToUint(x) == 0x80000000u ? 0.0 : x;
}

// zero + c, where `zero` is a zero or NaN: the sum of two zeros is -0 if both are.
float pm_zero_plus(float zero, float c) {
    uint bz = floatBitsToUint(zero), bc = floatBitsToUint(c);
    uint sum = (bc & 0x7fffffffu) == 0u ? bz & bc : bc;
    return uintBitsToFloat((bz & 0x7fffffffu) == 0u ? sum : bz);
}

// fma(a, b, 0.0): a product that underflows keeps its sign, and a zero of a zero factor is 0.
float pm_product_plus_zero(float a, float b) {
    precise float product = a * b;
    bool zero = (floatBitsToUint(a) & 0x7fffffffu) == 0u || (floatBitsToUint(b) & 0x7fffffffu) == 0u;
    uint bits = floatBitsToUint(product);
    return uintBitsToFloat(zero && bits == 0x80000000u ? 0u : bits);
}
