// Functions of doubles far outside of their domains in ops.def, where a formula may overflow, cancel or run out of bits: whole
// ranges of exponents, poles, subnormals. ops_width_test.cpp covers the domains of ops.def.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "core/ir/scalar_math.h"
#include "tests/kept_device.h"

using namespace pumice;

namespace {

using Random = std::mt19937_64;
using Draw = std::function<double(Random&)>;

Draw between(double low, double high) {
    return [=](Random& r) { return std::uniform_real_distribution<double>(low, high)(r); };
}

/// Any sign, exponents of 2 spread evenly over the range.
Draw exponents(int low, int high) {
    return [=](Random& r) {
        const double m = std::uniform_real_distribution<double>(1, 2)(r);
        return std::ldexp(r() % 2 ? m : -m, std::uniform_int_distribution<int>(low, high)(r));
    };
}
Draw positive(Draw draw) {
    return [=](Random& r) { return std::fabs(draw(r)); };
}
constexpr int lowest = -1074, highest = 1023;

double ulp_of(double v) { return std::ldexp(1.0, std::max(std::ilogb(v), -1022) - 52); }

/// A device may flush subnormal operands and results; such results are not compared.
bool subnormal(double v) { return v != 0 && std::fabs(v) < 2.3e-308; }

void compare(const Device& device, const char* name, const std::vector<double>& got, const std::vector<std::vector<double>>& in,
             const std::function<double(const double*)>& host, double ulps, double absolute = 0) {
    int wrong = 0;
    for (size_t s = 0; s < got.size() && wrong < 5; ++s) {
        double x[3] = {};
        bool flushed = false;
        for (size_t n = 0; n < in.size(); ++n) x[n] = in[n][s], flushed |= subnormal(x[n]);
        const double want = host(x);
        const bool nan = std::isnan(want) && std::isnan(got[s]);
        if (nan || got[s] == want || std::fabs(got[s] - want) <= ulps * ulp_of(want) + absolute) continue;
        if ((flushed || subnormal(want)) && device.name() != "interp" && std::fabs(got[s]) < 2.3e-308) continue;
        // Between the largest number and infinity, an error of a few ulps changes the kind of the result.
        if (ulps > 0 && std::isinf(want) != std::isinf(got[s]) && std::fmin(std::fabs(want), std::fabs(got[s])) > 1.7e308)
            continue;
        ++wrong;
        ADD_FAILURE() << text(name, "(", x[0], ", ", x[1], ", ", x[2], ") gives ", got[s], ", want ", want, " on ",
                              device.name());
    }
}

std::vector<std::vector<double>> drawn(const std::vector<Draw>& draws, int count = 3000) {
    Random random(7);
    std::vector<std::vector<double>> out;
    for (const Draw& d : draws) {
        out.emplace_back();
        for (int s = 0; s < count; ++s) out.back().push_back(d(random));
    }
    return out;
}

template <class F, class H> void check1(const char* name, F f, H host, const Draw& draw, double ulps, double absolute = 0) {
    const Device device = kept_device->get();
    if (!device.supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no doubles";
    const auto k = kernel(name, [=](Out<double> r, In<double> x) { r[global_index()] = f(x[global_index()]); });
    const auto in = drawn({draw});
    Array<double> r = device.zeros<double>(int64_t(in[0].size()));
    k(ndrange(int64_t(in[0].size())), r, device.upload(in[0]));
    compare(device, name, r.download(), in, [&](const double* x) { return host(x[0]); }, ulps, absolute);
}

template <class F, class H> void check2(const char* name, F f, H host, const Draw& a, const Draw& b, double ulps) {
    const Device device = kept_device->get();
    if (!device.supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no doubles";
    const auto k = kernel(name, [=](Out<double> r, In<double> x, In<double> y) {
        auto i = global_index();
        r[i] = f(x[i], y[i]);
    });
    const auto in = drawn({a, b});
    Array<double> r = device.zeros<double>(int64_t(in[0].size()));
    k(ndrange(int64_t(in[0].size())), r, device.upload(in[0]), device.upload(in[1]));
    compare(device, name, r.download(), in, [&](const double* x) { return host(x[0], x[1]); }, ulps);
}

#define UNARY(name, draw, ...) \
    check1(#name, [](const Val<double>& x) { return name(x); }, [](double x) { return std::name(x); }, draw, __VA_ARGS__)
#define BINARY(name, a, b, ulps)                                                      \
    check2(                                                                           \
        #name, [](const Val<double>& x, const Val<double>& y) { return name(x, y); }, \
        [](double x, double y) { return std::name(x, y); }, a, b, ulps)

TEST(Doubles, ExponentialsOverTheirWholeRange) {
    UNARY(exp, between(-746, 710), 2);
    UNARY(exp, exponents(-60, 3), 2);
    UNARY(exp2, between(-1076, 1025), 2);
    UNARY(expm1, between(-40, 710), 2);
    UNARY(expm1, exponents(-60, 3), 2);
    UNARY(sinh, between(-711, 711), 5);
    UNARY(sinh, exponents(-60, 3), 5);
    UNARY(cosh, between(-711, 711), 4);
    UNARY(tanh, exponents(-60, 6), 6);
    check1(
        "exp10", [](const Val<double>& x) { return exp10(x); }, [](double x) { return scalar::exp10(x); }, between(-309, 309), 3);
}

TEST(Doubles, LogarithmsAndRootsOfEveryMagnitude) {
    const Draw all = positive(exponents(lowest, highest));
    UNARY(log, all, 2);
    UNARY(log2, all, 2);
    UNARY(log10, all, 3);
    UNARY(log, between(0.7, 1.4), 2);
    UNARY(log2, between(0.7, 1.4), 2);
    UNARY(log10, between(0.7, 1.4), 3);
    UNARY(log1p, positive(exponents(-60, highest)), 2);
    UNARY(log1p, between(-1, 0), 2);
    UNARY(asinh, exponents(-60, highest), 4);
    UNARY(acosh, positive(exponents(0, highest)), 5);
    UNARY(atanh, exponents(-60, -1), 5);
    UNARY(cbrt, exponents(lowest, highest), 4);
    BINARY(hypot, exponents(lowest, highest), exponents(lowest, highest), 2);
    BINARY(hypot, exponents(1000, highest), exponents(1000, highest), 2);
    BINARY(hypot, exponents(-1040, -1000), exponents(-1040, -1000), 2);
}

TEST(Doubles, PowersOverTheirWholeRange) {
    BINARY(pow, positive(exponents(-300, 300)), between(-4, 4), 2);
    BINARY(pow, between(0.5, 2), between(-1000, 1000), 2);
    BINARY(pow, between(0.999999, 1.000001), exponents(15, 28), 2);
    BINARY(pow, exponents(-20, 20), [](Random& r) { return double(int(r() % 61)) - 30; }, 2);
}

TEST(Doubles, WholeNumbersOfEveryMagnitude) {
    const Draw all = exponents(-60, highest), fractions = exponents(-2, 54);
    const Draw halves = [](Random& r) { return std::ldexp(double(int64_t(r() >> 11)) + 0.5, -int(r() % 54)); };
    const Draw just_below = [](Random& r) { return std::nextafter(std::ldexp(1.0, int(r() % 54)), 0.0); };
    for (const Draw& draw : {all, fractions, halves, just_below}) {
        UNARY(floor, draw, 0);
        UNARY(ceil, draw, 0);
        UNARY(trunc, draw, 0);
        UNARY(round, draw, 0);
        check1("rint", [](const Val<double>& x) { return rint(x); }, [](double x) { return std::nearbyint(x); }, draw, 0);
    }
}

TEST(Doubles, AnglesUpToAMillion) {
    UNARY(sin, between(-1e6, 1e6), 3);
    UNARY(cos, between(-1e6, 1e6), 3);
    UNARY(tan, between(-1e6, 1e6), 5);
    UNARY(sin, exponents(-300, 6), 3);
    // Near multiples of pi/2, where all leading digits cancel.
    const Draw near = [](Random& r) { return double(int(r() % 100000)) * 1.5707963267948966; };
    UNARY(sin, near, 3);
    UNARY(cos, near, 3);
    UNARY(tan, near, 5);
    UNARY(asin, exponents(-300, -1), 4);
    UNARY(acos, between(-1, 1), 3);
    UNARY(atan, exponents(-300, 300), 4);
    BINARY(atan2, exponents(-300, 300), exponents(-300, 300), 5);
    BINARY(atan2, exponents(1000, highest), exponents(1000, highest), 5);
}

TEST(Doubles, AnglesOfAnySize) {
    UNARY(sin, exponents(19, highest), 3);
    UNARY(cos, exponents(19, highest), 3);
    UNARY(tan, exponents(19, highest), 5);
    // Near multiples of pi/2, their neighbours, and the largest doubles.
    const Draw nearest = [](Random& r) {
        const double x[] = {0x1.5f09cad750ab1p+1004, 0x1.921fb54442d18p+20, 0x1.fffffffffffffp+1023, 0x1p+1023, 1e22};
        const double chosen = x[r() % std::size(x)];
        return (r() % 2 ? 1 : -1) * (r() % 2 ? chosen : std::nextafter(chosen, 0.0));
    };
    UNARY(sin, nearest, 3);
    UNARY(cos, nearest, 3);
    UNARY(tan, nearest, 5);
    // The double nearest to a multiple (Muller et al., Handbook of Floating-Point Arithmetic): 61 bits cancel, more in glibc.
    const Device device = kept_device->get();
    if (device.name().rfind("vulkan", 0) != 0 || !device.supports(Feature::float64)) return;
    const auto k = kernel("worst", [](Out<double> y, In<double> x) {
        y[0] = sin(x[0]);
        y[1] = cos(x[0]);
        y[2] = tan(x[0]);
    });
    Array<double> y = device.zeros<double>(3);
    k(ndrange(1), y, device.upload<double>({std::ldexp(6381956970095103.0, 797)}));
    const auto got = y.download();
    const double want[] = {1, -4.687165924254628e-19, -2.133485385753704e+18};
    for (int n = 0; n < 3; ++n) EXPECT_NEAR(got[size_t(n)], want[n], 5 * ulp_of(want[n])) << n;
}

TEST(Doubles, ErrorAndGammaFunctions) {
    UNARY(erf, exponents(-300, 4), 5);
    UNARY(erfc, between(-7, 27.5), 12);
    UNARY(tgamma, between(-170, 172), 20);
    UNARY(tgamma, exponents(-300, 2), 12);
    const auto lgamma_of = [](const Val<double>& x) { return lgamma(x); };
    check1("lgamma", lgamma_of, [](double x) { return scalar::lgamma(x); }, positive(exponents(-300, 1000)), 8, 2e-15);
    check1("lgamma", lgamma_of, [](double x) { return scalar::lgamma(x); }, between(-100, 0), 8, 1e-12);
    check1(
        "digamma", [](const Val<double>& x) { return digamma(x); }, [](double x) { return scalar::digamma(x); },
        positive(exponents(-300, 1000)), 8, 2e-15);
    check1(
        "trigamma", [](const Val<double>& x) { return trigamma(x); }, [](double x) { return scalar::trigamma(x); },
        positive(exponents(-300, 1000)), 8);
}

TEST(Doubles, ExactOpsOnEveryMagnitude) {
    const Draw all = exponents(lowest, highest);
    BINARY(fmod, all, all, 0);
    BINARY(fmod, exponents(50, 60), exponents(-3, 3), 0);
    BINARY(remainder, all, all, 0);
    BINARY(remainder, exponents(50, 60), exponents(-3, 3), 0);
    BINARY(remainder, [](Random& r) { return double(int(r() % 200)) / 2; }, [](Random& r) { return double(1 + r() % 9); }, 0);
    BINARY(nextafter, all, all, 0);
    BINARY(copysign, all, all, 0);
    UNARY(logb, all, 0);
    const auto power = [](Random& r) { return double(int(r() % 5001)) - 2500; };
    check2(
        "ldexp", [](const Val<double>& x, const Val<double>& n) { return ldexp(x, cast<int>(n)); },
        [](double x, double n) { return std::ldexp(x, int(n)); }, all, power, 0);
    check1(
        "ilogb", [](const Val<double>& x) { return cast<double>(ilogb(x)); }, [](double x) { return double(std::ilogb(x)); }, all,
        0);
}

/// One rounding for all operands: exact cancellation, ties, results that overflow or are subnormal.
TEST(Doubles, StrictFmaRoundsOnce) {
    const Device device = kept_device->get();
    if (!device.supports(Feature::float64)) GTEST_SKIP() << "SKIPPED: " << device.name() << " has no doubles";
    Random random(11);
    std::vector<std::vector<double>> in(3);
    for (int s = 0; s < 12000; ++s) {
        // Half of them near overflow or underflow.
        const int centre = s % 4 == 0 ? 511 : s % 4 == 1 ? -520 : 0;
        const int ea = centre + int(random() % 41) - 20, eb = centre + int(random() % 41) - 20;
        const auto number = [&](int e) {
            // Operands with few bits make ties and exact sums.
            uint64_t bits = random() & ((uint64_t(1) << 52) - 1);
            if (random() % 2) bits &= ~((uint64_t(1) << (random() % 52)) - 1);
            return std::ldexp(std::bit_cast<double>(bits | 0x3ff0000000000000u), e) * (random() % 2 ? 1 : -1);
        };
        const double a = number(ea), b = number(eb);
        double c = number(ea + eb + int(random() % 260) - 130);
        if (s % 5 == 0) c = -a * b;
        if (s % 5 == 1) c = std::nextafter(-a * b, random() % 2 ? INFINITY : -INFINITY);
        if (!std::isfinite(c)) c = 1;
        in[0].push_back(a), in[1].push_back(b), in[2].push_back(c);
    }
    const auto k = kernel("fma_strict", Math::strict, [](Out<double> r, In<double> a, In<double> b, In<double> c) {
        auto i = global_index();
        r[i] = fma(a[i], b[i], c[i]);
    });
    Array<double> r = device.zeros<double>(int64_t(in[0].size()));
    k(ndrange(int64_t(in[0].size())), r, device.upload(in[0]), device.upload(in[1]), device.upload(in[2]));
    compare(device, "fma", r.download(), in, [](const double* x) { return std::fma(x[0], x[1], x[2]); }, 0);
}

}  // namespace
