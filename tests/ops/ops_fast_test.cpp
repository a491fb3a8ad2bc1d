// Functions under Math::fast, within the bounds of docs/language.md, which are Vulkan's. Other devices ignore Math::fast.
#include <gtest/gtest.h>
#include <pumice/pumice.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/kept_device.h"

using namespace pumice;

namespace {

constexpr int samples = 4000;
constexpr double pi = 3.14159265358979323846;
double ulp(double x) { return std::ldexp(1.0, std::max(std::ilogb(x == 0 ? 1e-300 : x), -126) - 23); }

using Device1 = std::function<Val<float>(const Val<float>&)>;
using Device2 = std::function<Val<float>(const Val<float>&, const Val<float>&)>;
using Exact = double (*)(double, double);

/// Compares f with `exact` over boxes of operands; `error(x, y, result)` is the allowed error.
void check(const char* name, const Device2& f, Exact exact, double x_low, double x_high, double y_low, double y_high,
           const std::function<double(double, double, double)>& error) {
    SCOPED_TRACE(name);
    const Device device = kept_device->get();
    std::mt19937_64 random(std::hash<std::string>()(name));
    std::uniform_real_distribution<double> along_x(x_low, x_high), along_y(y_low, y_high);
    std::vector<float> x, y;
    for (int n = 0; n < samples; ++n) x.push_back(float(along_x(random))), y.push_back(float(along_y(random)));
    const auto k = kernel(name, Math::fast, [&](Out<float> out, In<float> a, In<float> b) {
        auto i = global_index();
        out[i] = f(a[i], b[i]);
    });
    Array<float> out = device.zeros<float>(samples);
    k(ndrange(samples), out, device.upload(x), device.upload(y));
    const auto got = out.download();
    int wrong = 0;
    for (size_t n = 0; n < samples && wrong < 5; ++n) {
        const double want = exact(double(x[n]), double(y[n])), most = error(double(x[n]), double(y[n]), want);
        if (std::fabs(double(got[n]) - want) <= most) continue;
        ++wrong;
        ADD_FAILURE() << name << "(" << x[n] << ", " << y[n] << ") is " << got[n] << "; expected " << want << " +- " << most;
    }
}
void check(const char* name, const Device1& f, Exact exact, double low, double high,
           const std::function<double(double, double)>& error) {
    check(
        name, [&](const Val<float>& x, const Val<float>&) { return f(x); }, exact, low, high, 0, 1,
        [&](double x, double, double want) { return error(x, want); });
}

#define FAST(name, low, high, error)                                                                                         \
    check(                                                                                                                   \
        "fast_" #name, [](const Val<float>& x) { return name(x); }, [](double x, double) -> double { return std::name(x); }, \
        low, high, [](double x, double r) -> double { return (void)x, (void)r, error; })

TEST(OpsFast, ExponentialsAndLogarithms) {
    FAST(exp, -80, 80, (3 + 2 * std::fabs(x)) * ulp(r));
    FAST(exp2, -100, 100, (3 + 2 * std::fabs(x)) * ulp(r));
    check(
        "fast_exp10", [](const Val<float>& x) { return exp10(x); }, [](double x, double) { return std::pow(10.0, x); }, -30, 30,
        [](double x, double r) { return (4 + 10 * std::fabs(x)) * ulp(r); });
    FAST(log, 0.01, 100, x > 0.5 && x < 2 ? std::ldexp(1.0, -21) : 3 * ulp(r));
    FAST(log2, 0.01, 100, x > 0.5 && x < 2 ? std::ldexp(1.0, -21) : 3 * ulp(r));
    FAST(log10, 0.01, 100, x > 0.5 && x < 2 ? std::ldexp(1.0, -21) : 5 * ulp(r));
    check(
        "fast_pow", [](const Val<float>& x, const Val<float>& y) { return pow(x, y); },
        [](double x, double y) { return std::pow(x, y); }, 0.01, 100, -8, 8,
        [](double x, double y, double r) { return (3 + 5 * std::fabs(y * std::log2(x)) + 3 * std::fabs(y)) * ulp(r); });
}

TEST(OpsFast, PowersWithConstantWholeExponentsOfNegativeNumbers) {
    for (const float y : {-3.0f, -2.0f, -1.0f, 0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 7.0f})
        check(
            "fast_power", [y](const Val<float>& x, const Val<float>&) { return pow(x, y) * 1.0f; },
            [](double x, double exponent) { return std::pow(x, std::nearbyint(exponent)); }, -3, -0.25, y, y,
            [y](double x, double, double r) {
                return (8 + 5 * std::fabs(double(y) * std::log2(std::fabs(x))) + 3 * std::fabs(double(y))) * ulp(r);
            });
}

TEST(OpsFast, TrigonometryAndHyperbolics) {
    const double least = std::ldexp(1.0, -11);
    const auto sine = [=](double, double) { return least; };
    check("fast_sin", [](const Val<float>& x) { return sin(x); }, [](double x, double) { return std::sin(x); }, -pi, pi, sine);
    check("fast_cos", [](const Val<float>& x) { return cos(x); }, [](double x, double) { return std::cos(x); }, -pi, pi, sine);
    check(
        "fast_tan", [](const Val<float>& x) { return tan(x); }, [](double x, double) { return std::tan(x); }, -1.2, 1.2,
        [=](double x, double r) { return 1.1 * least * (1 + std::fabs(r)) / std::cos(x); });
    check("fast_asin", [](const Val<float>& x) { return asin(x); }, [](double x, double) { return std::asin(x); }, -1, 1, sine);
    check("fast_acos", [](const Val<float>& x) { return acos(x); }, [](double x, double) { return std::acos(x); }, -1, 1, sine);
    FAST(atan, -20, 20, 4096 * ulp(r));
    check(
        "fast_atan2", [](const Val<float>& y, const Val<float>& x) { return atan2(y, x); },
        [](double y, double x) { return std::atan2(y, x); }, -10, 10, -10, 10,
        [](double, double, double r) { return 4096 * ulp(r); });
    FAST(sinh, -80, 80, (4 + 2 * std::fabs(x)) * ulp(std::cosh(x)));
    FAST(cosh, -80, 80, (4 + 2 * std::fabs(x)) * ulp(r));
    // Also far beyond the point where its exponentials overflow.
    FAST(tanh, -300, 300, 1e-5);
    FAST(tanh, -3, 3, 1e-5);
}

TEST(OpsFast, Derivatives) {
    const Device device = kept_device->get();
    const auto k = kernel("fast_derivative", Math::fast, [](Out<float> y, In<float> x) {
        auto i = global_index();
        y[i] = exp(sin(x[i])) * log(x[i]);
    });
    const std::vector<float> x{0.5f, 1.0f, 2.0f, 3.0f};
    Array<float> y = device.zeros<float>(4), dy = device.full<float>(4, 1.0f), at = device.upload(x), dx = device.zeros<float>(4);
    autodiff(Reverse, k, ndrange(4), Duplicated(y, dy), Duplicated(at, dx));
    const auto got = dx.download();
    for (size_t n = 0; n < x.size(); ++n) {
        const double v = double(x[n]);
        EXPECT_NEAR(double(got[n]), std::exp(std::sin(v)) * (std::cos(v) * std::log(v) + 1 / v), 1e-2);
    }
}

}  // namespace
