#include "core/ir/scalar_math.h"

#include <numbers>

namespace pumice::scalar {

// lgamma_r is in POSIX systems' libm; its second result is the sign that std::lgamma writes to a global.
double lgamma(double a) {
    int sign;
    return ::lgamma_r(a, &sign);
}
float lgamma(float a) {
    int sign;
    return ::lgammaf_r(a, &sign);
}

namespace {

constexpr double pi = std::numbers::pi;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// From here on, the asymptotic series below have double precision.
constexpr double asymptotic_from = 10;

bool is_pole(double a) { return a <= 0 && a == std::floor(a); }
/// x minus the nearest integer, which is exact: sin(pi x) and tan(pi x) keep their magnitude.
double from_whole(double a) { return a - std::round(a); }

}  // namespace

double digamma(double a) {
    if (is_pole(a) || a != a) return nan;
    if (a < 0) return digamma(1 - a) - pi / std::tan(pi * from_whole(a));  // DLMF 5.5.4
    if (a == inf) return inf;
    double r = 0;
    for (; a < asymptotic_from; a += 1) r -= 1 / a;  // DLMF 5.5.2
    // DLMF 5.11.2: the coefficients are B(2k) / 2k.
    constexpr double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    const double w = 1 / (a * a);
    double series = 0;
    for (int k = 6; k >= 0; --k) series = (series + c[k]) * w;
    return r + (std::log(a) - 0.5 / a - series);
}

double trigamma(double a) {
    if (a == -inf) return nan;
    if (is_pole(a)) return inf;
    if (a != a) return nan;
    if (a < 0) {  // DLMF 5.15.6
        const double s = std::sin(pi * from_whole(a));
        return pi * pi / (s * s) - trigamma(1 - a);
    }
    double r = 0;
    for (; a < asymptotic_from; a += 1) r += 1 / (a * a);  // DLMF 5.15.5
    // DLMF 5.15.8: the coefficients are B(2k).
    constexpr double b[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
    const double w = 1 / (a * a);
    double series = 0;
    for (int k = 6; k >= 0; --k) series = (series + b[k]) * w;
    return r + (1 / a + 0.5 * w + series / a);
}

}  // namespace pumice::scalar
