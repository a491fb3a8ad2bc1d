// Mathematical functions of both float and double. REAL is the type; a name in capitals is a constant or a function of the type
// (real_words in codegen/glsl_text/prelude.cpp). The functions that these call are in the file of the type.

// C's pow. For x < 0 the result is negative for odd y (those whose half is not whole), and NaN for a y that is not whole.
REAL pm_pow(REAL x, REAL y) {
    REAL infinity = INFINITY, a = abs(x), r = pm_pow_positive(a, y);
    REAL limit = (a > 1.0) == (y > 0.0) ? infinity : 0.0;
    limit = a == 1.0 ? 1.0 : limit;
    r = a == 0.0 ? limit : r;
    r = a == infinity ? limit : r;
    r = abs(y) == infinity ? limit : r;
    REAL turned = -r, half_y = 0.5 * y, open = NAN;
    open = a == 0.0 ? r : open;
    open = a == infinity ? r : open;
    REAL negative = TRUNC(half_y) == half_y ? r : turned;
    negative = TRUNC(y) == y ? negative : open;
    r = pm_signbit(x) ? negative : r;
    r = pm_isnan(x) ? x : r;
    r = pm_isnan(y) ? y : r;
    r = y == 0.0 ? 1.0 : r;
    return x == 1.0 ? 1.0 : r;
}

REAL pm_sin(REAL x) {
    int quarter;
    REAL r = pm_reduce(x, quarter), s = pm_sin_near(r), c = pm_cos_near(r);
    REAL y = (quarter & 1) == 0 ? s : c, turned = -y;
    return (quarter & 2) == 0 ? y : turned;
}

REAL pm_cos(REAL x) {
    int quarter;
    REAL r = pm_reduce(x, quarter), s = pm_sin_near(r), c = pm_cos_near(r);
    REAL y = (quarter & 1) == 0 ? c : s, turned = -y;
    return ((quarter + 1) & 2) == 0 ? y : turned;
}

REAL pm_tan(REAL x) {
    int quarter;
    REAL r = pm_reduce(x, quarter), s = pm_sin_near(r), c = pm_cos_near(r);
    return (quarter & 1) == 0 ? s / c : -c / s;
}

// Past 1/2, asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)): DLMF 4.24.
REAL pm_asin(REAL x) {
    REAL a = abs(x);
    if (!(a <= 1.0)) return NAN;
    if (a <= 0.5) return pm_asin_near(x);
    return pm_copysign(HALF_PI - (2.0 * pm_asin_near(sqrt(0.5 - 0.5 * a)) + HALF_PI_REST), x);
}

REAL pm_acos(REAL x) {
    REAL a = abs(x);
    if (!(a <= 1.0)) return NAN;
    if (a <= 0.5) return HALF_PI - (pm_asin_near(x) + HALF_PI_REST);
    REAL r = 2.0 * pm_asin_near(sqrt(0.5 - 0.5 * a));
    return x > 0.0 ? r : PI - (r + PI_REST);
}

REAL pm_atan(REAL x) {
    REAL a = abs(x);
    if (pm_isnan(x)) return x;
    REAL r = a <= 1.0 ? pm_atan_unit(a) : HALF_PI - (pm_atan_unit(1.0 / a) + HALF_PI_REST);
    return pm_copysign(r, x);
}

// DLMF 4.35: sinh(x) = (m + m / (m + 1)) / 2 with m = exp(x) - 1. Where it cannot cancel, from exp(x) / 2, which overflows late.
REAL pm_sinh(REAL x) {
    REAL a = abs(x);
    if (a < 1.0) {
        REAL m = pm_expm1(a);
        return pm_copysign(0.5 * (m + m / (m + 1.0)), x);
    }
    REAL e = pm_exp_scaled(a, -1);
    return pm_copysign(e - 0.25 / e, x);
}

REAL pm_cosh(REAL x) {
    REAL e = pm_exp_scaled(abs(x), -1);
    return e + 0.25 / e;
}

// From 9.1 on (19.1 for double) tanh rounds to 1.
REAL pm_tanh(REAL x) {
    REAL m = pm_expm1(2.0 * min(abs(x), TANH_ONE));
    return pm_isnan(x) ? x : pm_copysign(m / (m + 2.0), x);
}

// DLMF 4.37: log(a + sqrt(a^2 + 1)), as log1p of what it exceeds 1 by. Past 2^12 (2^27 for double) the 1 under the root is lost.
REAL pm_asinh(REAL x) {
    REAL a = abs(x);
    REAL r = a > ONE_IS_LOST ? pm_log(a) + LOG_2 : pm_log1p(a + a * a / (1.0 + sqrt(a * a + 1.0)));
    return pm_copysign(r, x);
}

REAL pm_acosh(REAL x) {
    if (!(x >= 1.0)) return NAN;
    REAL t = x - 1.0;
    return x > ONE_IS_LOST ? pm_log(x) + LOG_2 : pm_log1p(t + sqrt(2.0 * t + t * t));
}

REAL pm_atanh(REAL x) {
    REAL a = abs(x);
    if (!(a <= 1.0)) return NAN;
    if (a == 1.0) return pm_copysign(INFINITY, x);
    return pm_copysign(0.5 * pm_log1p((a + a) / (1.0 - a)), x);
}

REAL pm_erf(REAL x) {
    if (abs(x) <= 1.0) return pm_erf_near(x);
    if (pm_isnan(x)) return x;
    return pm_copysign(abs(x) >= ERF_ONE ? 1.0 : 1.0 - pm_erfc_far(abs(x)), x);
}

REAL pm_erfc(REAL x) {
    if (pm_isnan(x)) return x;
    if (abs(x) <= 0.5) return 1.0 - pm_erf_near(x);
    REAL r = abs(x) > ERFC_ZERO ? 0.0 : pm_erfc_far(abs(x));
    return x < 0.0 ? 2.0 - r : r;
}

// Below 0 by reflection: gamma(x) gamma(-x) = -pi / (x sin(pi x)), DLMF 5.5.3.
REAL pm_lgamma(REAL x) {
    if (pm_isnan(x)) return x;
    if (pm_isinf(x) || (x <= 0.0 && x == FLOOR(x))) return INFINITY;
    if (x > 0.0) return pm_lgamma_positive(x);
    REAL s = abs(pm_sin(PI * (x - ROUND(x))));
    return LOG_PI - pm_log(s) - pm_log(-x) - pm_lgamma_positive(-x);
}

// Below 0 by reflection, DLMF 5.5.4.
REAL pm_digamma(REAL x) {
    if (pm_isnan(x) || (x <= 0.0 && x == FLOOR(x))) return NAN;
    if (pm_isinf(x)) return x > 0.0 ? x : NAN;
    if (x > 0.0) return pm_digamma_positive(x);
    return pm_digamma_positive(1.0 - x) - PI / pm_tan(PI * (x - ROUND(x)));
}

// Below 0 by reflection, DLMF 5.15.6.
REAL pm_trigamma(REAL x) {
    if (pm_isnan(x)) return x;
    if (pm_isinf(x)) return x > 0.0 ? 0.0 : NAN;
    if (x <= 0.0 && x == FLOOR(x)) return INFINITY;
    if (x > 0.0) return pm_trigamma_positive(x);
    REAL s = pm_sin(PI * (x - ROUND(x)));
    return PI_SQUARED / (s * s) - pm_trigamma_positive(1.0 - x);
}
