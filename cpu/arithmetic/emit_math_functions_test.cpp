// The functions of float vectors against double precision: over all magnitudes, and where they have limits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/plan/tuning.h"
#include "cpu/runtime/cpu_device.h"
#include "cpu/runtime/cpu_program.h"

namespace pumice::cpu {
namespace {

float of_bits(uint32_t bits) {
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}

/// Floats of every exponent and both signs, and those at the functions' limits.
std::vector<float> operands() {
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float> x{0.0f,
                         -0.0f,
                         inf,
                         -inf,
                         std::nanf(""),
                         -std::nanf(""),
                         of_bits(0x7f812345),
                         88.7228317f,
                         88.7228394f,
                         -87.3365402f,
                         -87.3365479f,
                         127.999992f,
                         128.0f,
                         -126.0f,
                         -126.000008f,
                         1.17549435e-38f,
                         3.40282347e38f,
                         3.14159274f,
                         1.57079637f,
                         999999.9f,
                         1e6f,
                         1e7f,
                         1e30f,
                         4.0f,
                         9.0f,
                         1.0f,
                         0.99999994f,
                         1.00000012f};
    for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 20011) x.push_back(of_bits(uint32_t(bits)));
    for (int n = -2000; n <= 2000; ++n) x.push_back(float(n) * 0.05f);
    return x;
}

/// Expects results of the same kind (number, infinity, NaN) as the double results, and within `ulps` of them. A subnormal operand
/// may count as zero of its sign, or its result be inexact; a subnormal result may be any number of that size.
void compare(const char* what, double ulps, double (*exact)(double), const std::vector<float>& x, const std::vector<float>& got) {
    constexpr double least = 1.1754943508222875e-38;
    int wrong = 0;
    for (size_t i = 0; i < x.size() && wrong < 5; ++i) {
        const double want = exact(double(x[i])), size = std::fabs(want);
        const bool small = x[i] != 0 && std::fabs(x[i]) < least;
        bool right = std::isnan(want) ? std::isnan(got[i]) : got[i] == float(want);
        if (!right && small)
            right = got[i] == float(exact(std::copysign(0.0, double(x[i])))) || std::fabs(got[i] - want) <= 1e-4 * size;
        if (!right && size < least) right = std::fabs(got[i]) <= least;
        if (!right && std::isfinite(want) && size >= least)
            right = std::fabs(double(got[i]) - want) <= ulps * std::ldexp(1.0, std::ilogb(size) - 23);
        if (right) continue;
        ++wrong;
        ADD_FAILURE() << what << "(" << x[i] << ") is " << got[i] << ", not " << want << " (operand " << i << ")";
    }
}

template <class F> void check(const pumice::Device& device, const char* what, double ulps, double (*exact)(double), F function) {
    const auto k = kernel(what, [&](Out<float> y, In<float> x) { y[global_index()] = function(x[global_index()]); });
    const std::vector<float> x = operands();
    Array<float> y = device.zeros<float>(x.size()), given = device.upload(x);
    k(ndrange(int64_t(x.size())), y, given);
    compare(what, ulps, exact, x, y.download());
}

void check_floats(const pumice::Device& device) {
    using V = Val<float>;
    check(device, "exp", 2, std::exp, [](V x) { return exp(x); });
    check(device, "exp2", 2, std::exp2, [](V x) { return exp2(x); });
    check(device, "log", 2, std::log, [](V x) { return log(x); });
    check(device, "log2", 2, std::log2, [](V x) { return log2(x); });
    check(device, "sin", 3, std::sin, [](V x) { return sin(x); });
    check(device, "cos", 3, std::cos, [](V x) { return cos(x); });
    check(device, "sqrt", 2.5, std::sqrt, [](V x) { return sqrt(x); });
    check(device, "rsqrt", 2, [](double x) { return 1 / std::sqrt(x); }, [](V x) { return rsqrt(x); });
    check(device, "reciprocal", 2.5, [](double x) { return 1 / x; }, [](V x) { return 1.0f / x; });
    check(device, "third", 2.5, [](double x) { return x / 3; }, [](V x) { return x / 3.0f; });
}

TEST(Maths, floats) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    check_floats(pumice::Device(open()));
}

/// As on a processor without this machine's newer instructions.
TEST(Maths, floats_by_avx2) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    if (native_width(host_machine()) < 8) GTEST_SKIP() << "SKIPPED: this machine has no AVX2";
    const Machine machine{host_machine().triple, "x86-64-v3", "+sse2,+sse4.1,+avx,+avx2,+fma"};
    for (const int width : {4, 8}) check_floats(pumice::Device(std::make_shared<cpu::CpuDevice>(width, 1, false, machine)));
}

TEST(Maths, sine_and_cosine_of_one_value) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const pumice::Device device(open());
    const auto both = kernel("both", [](Out<float> s, Out<float> c, In<float> x) {
        auto i = global_index();
        auto v = x[i];
        s[i] = sin(v), c[i] = cos(v);
    });
    const std::vector<float> x = operands();
    Array<float> s = device.zeros<float>(x.size()), c = device.zeros<float>(x.size()), given = device.upload(x);
    both(ndrange(int64_t(x.size())), s, c, given);
    compare("sin", 3, std::sin, x, s.download());
    compare("cos", 3, std::cos, x, c.download());
}

/// The functions of `count` multiples of x, by one item.
auto many_functions(int first, int count) {
    return kernel("many", [=](Out<float, 2> y, In<float> x) {
        auto i = global_index();
        for (int n = first; n < first + count; ++n) {
            auto v = x[i] * float(n), s = sin(v), c = cos(v);
            y(i, 5 * n) = s * 0.5f + c, y(i, 5 * n + 1) = exp(v), y(i, 5 * n + 2) = log(v) * 2.0f + v;
            y(i, 5 * n + 3) = cos(v + 0.5f), y(i, 5 * n + 4) = exp2(v);
        }
    });
}

/// Large kernels call the functions of which small ones have the code: the bits are the same.
TEST(Maths, many_functions_are_calls) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    constexpr int items = 100, all = 60, few = 4;
    const Compiler compiler(0, host_machine());
    if (compiler.target.width > 4) {
        Variant variant;
        variant.group = {256, 1, 1};
        const std::string t = emit_llvm(lower(ir::parse(many_functions(0, all).ir()), false), compiler.target, variant).text;
        const auto count = [&](const std::string& what) {
            int found = 0;
            for (size_t at = t.find(what); at != t.npos; at = t.find(what, at + 1)) ++found;
            return found;
        };
        EXPECT_LE(count("\nnear"), tuning::most_inlined_functions);
        EXPECT_GE(count(" @outlined.sin.cos."), all);
        EXPECT_GE(count(" @outlined.exp2."), all);
    }
    std::vector<float> x(items);
    for (int n = 0; n < items; ++n) x[size_t(n)] = float(n * n) * (n % 7 ? 0.003f : 1000.0f);
    const pumice::Device device(open());
    Array<float, 2> together = device.zeros<float>({items, 5 * all}), apart = device.zeros<float>({items, 5 * all});
    Array<float> given = device.upload(x);
    many_functions(0, all)(ndrange(items), together, given);
    for (int n = 0; n < all; n += few) many_functions(n, few)(ndrange(items), apart, given);
    const std::vector<float> a = together.download(), b = apart.download();
    for (size_t n = 0; n < a.size(); ++n)
        ASSERT_EQ(std::memcmp(&a[n], &b[n], sizeof(float)), 0) << a[n] << " and " << b[n] << " at " << n;
}

/// Each of the three roots is within 2 ulps, and each of the two products is rounded; powers of two are exact.
TEST(Maths, cubes_of_reciprocal_roots) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const pumice::Device device(open());
    constexpr double ulps = 3 * 2 + 2 * 0.5;
    const auto cube = [](double x) { return std::pow(1 / std::sqrt(x), 3); };
    using V = Val<float>;
    check(device, "cube", ulps, cube, [](V x) {
        auto r = rsqrt(x);
        return r * r * r;
    });
    const auto k = kernel("products", [](Out<float> y, In<float> x, Val<float> shared) {
        auto i = global_index();
        auto v = x[i], r = rsqrt(v), own = select(v > 1.0f, 4.0f, 8.0f);
        y[i] = own * r * (shared * (r * r));
    });
    const std::vector<float> x = operands();
    Array<float> y = device.zeros<float>(x.size()), given = device.upload(x);
    k(ndrange(int64_t(x.size())), y, given, 0.5f);
    compare("product", ulps, [](double v) { return (v > 1 ? 2 : 4) * std::pow(1 / std::sqrt(v), 3); }, x, y.download());
}

/// Quotients without a remainder are whole numbers, and squares have exact roots.
TEST(Maths, exact_quotients_and_roots) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    const pumice::Device device(open());
    constexpr int n = 4096;
    const auto k = kernel("exact", [](Out<float> quotient, Out<float> root) {
        auto i = global_index();
        auto a = cast<float>(i / 64), b = cast<float>(i % 64 + 1);
        quotient[i] = (a * b) / b;
        root[i] = sqrt(cast<float>(i * i));
    });
    Array<float> quotient = device.zeros<float>(n), root = device.zeros<float>(n);
    k(ndrange(n), quotient, root);
    const std::vector<float> q = quotient.download(), r = root.download();
    for (int i = 0; i < n; ++i) {
        EXPECT_EQ(q[size_t(i)], float(i / 64)) << i;
        EXPECT_EQ(r[size_t(i)], float(i)) << i;
    }
}

}  // namespace
}  // namespace pumice::cpu
