// Which floats are quiet, the code for min and max of them, and the results with quiet and signalling NaNs.
#include "cpu/arithmetic/quiet_values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "core/host/array.h"
#include "core/host/device.h"
#include "core/kernel/kernel.h"
#include "core/language/control.h"
#include "core/language/functions.h"
#include "core/language/indices.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/runtime/cpu_device.h"
#include "cpu/runtime/cpu_program.h"

namespace pumice::cpu {
namespace {

/// True if the first operand of the kernel's max is quiet; `body` computes %9 from %4 (loaded from an array that is only read),
/// %5 (loaded from one that is written), %3 (a scalar argument).
bool quiet(const std::string& body) {
    const ir::Kernel k = ir::parse(
        "kernel \"k\" math contract rank 1 (arg1: inout f32[1], arg2: in f32[1], arg3: f32) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = constant 1.0 : f32\n%2 = constant 0.5 : f32\n%3 = argument arg3 : f32\n"
        "%4 = load arg2[%0] : f32\n%5 = load arg1[%0] : f32\n" +
        body + "%20 = max %9, %5 : f32\nstore arg1[%0], %20 : f32\nreturn\n}\n");
    const ir::Structure structure(k);
    for (const ir::InstId id : structure.order())
        if (k[id].op == ir::Op::max) return is_quiet(k, structure, k.operands(k[id])[0]);
    return false;
}

TEST(QuietValues, are_results_of_arithmetic_that_is_not_folded) {
    EXPECT_TRUE(quiet("%9 = add %4, %3 : f32\n"));
    EXPECT_TRUE(quiet("%9 = mul %4, %2 : f32\n"));
    EXPECT_TRUE(quiet("%6 = mul %4, %4 : f32\n%9 = neg %6 : f32\n"));
    EXPECT_TRUE(quiet("%6 = mul %5, %4 : f32\n%7 = fma %4, %3, %4 : f32\n%9 = sub %6, %7 : f32\n"));
    EXPECT_FALSE(quiet("%9 = neg %4 : f32\n"));
    EXPECT_FALSE(quiet("%9 = mul %4, %1 : f32\n"));
    EXPECT_FALSE(quiet("%9 = mul %4, %5 : f32\n"));  // LLVM may find out what was stored to arg1
    EXPECT_FALSE(quiet("%6 = mul %4, %4 : f32\n%7 = lt %4, %3 : bool\n%9 = select %7, %6, %4 : f32\n"));
    EXPECT_TRUE(quiet("%6 = mul %4, %4 : f32\n%7 = lt %4, %3 : bool\n%9 = select %7, %6, %1 : f32\n"));
}

/// A loop that carries %11, from `initial` on.
std::string loop(const std::string& initial, const std::string& body, const std::string& next) {
    return "%6 = constant 0 : i32\n%7 = constant 4 : i32\n%8 = constant 1 : i32\n%9 = for %10 = %6 to %7 step %8 carry (%11 = " +
           initial + ") : f32 {\n" + body + "yield " + next + "\n}\n";
}

TEST(QuietValues, carried_values_have_the_kind_of_all_sources) {
    EXPECT_TRUE(quiet(loop("%1", "%12 = add %4, %3 : f32\n", "%12")));
    EXPECT_FALSE(quiet(loop("%4", "%12 = add %4, %3 : f32\n", "%12")));
    // 1 times %4 in the first iteration, if the loop is unrolled.
    EXPECT_FALSE(quiet(loop("%1", "%12 = mul %11, %4 : f32\n", "%12")));
    EXPECT_TRUE(quiet(loop("%2", "%13 = add %3, %4 : f32\n%12 = mul %13, %4 : f32\n", "%12")));
}

/// A carried value that is constant in the first iteration, and operands of any kind.
template <class T> void run(const pumice::Device& device, const std::string& level) {
    const auto extremes = kernel("extremes", [](Out<T, 2> out, In<T> a, In<T> b, Val<T> one) {
        auto i = global_index();
        const auto x = a[i], y = b[i];
        out(0, i) = max(x, y);
        out(1, i) = min(x, y);
        out(2, i) = max(x + y, x * y);
        out(3, i) = min(x * one, y * one);
        Var s = T(0), most = y * one, least = y * one;
        for_(range(4), [&](auto) {
            most = max(x - s, most);
            least = min(x - s, least * T(0.5));
            s += one;
        });
        out(4, i) = most;
        out(5, i) = least;
        out(6, i) = max(-(x * y), abs(y * one));
    });
    using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const T signalling = std::bit_cast<T>(Word(std::bit_cast<Word>(inf) + 1));
    const std::vector<T> some{T(0), -T(0), T(1), T(-1.5), T(3), inf, -inf, nan, -nan, signalling, -signalling};
    std::vector<T> a, b;
    for (const T x : some)
        for (const T y : some) a.push_back(x), b.push_back(y);
    const int n = int(a.size());
    const auto results = [&](const pumice::Device& on) {
        Array<T, 2> out = on.zeros<T>({7, n});
        extremes(ndrange(n), out, on.upload(a), on.upload(b), T(1));
        return out.download();
    };
    const std::vector<T> got = results(device), wanted = results(pumice::Device::open("interp"));
    for (size_t k = 0; k < got.size(); ++k) {
        const bool same = std::isnan(wanted[k]) ? std::isnan(got[k]) : got[k] == wanted[k];
        EXPECT_TRUE(same) << level << ", result " << k / size_t(n) << " of " << a[k % size_t(n)] << " and " << b[k % size_t(n)]
                          << ": " << got[k] << ", not " << wanted[k];
    }
}

TEST(QuietValues, extremes_take_the_other_operand_of_any_nan) {
    if (!unavailable_reason().empty()) GTEST_SKIP() << "SKIPPED: " << unavailable_reason();
    if (!host_machine().triple.starts_with("x86_64")) GTEST_SKIP() << "SKIPPED: levels of x86-64";
    for (const char* level : {"x86-64-v3", "x86-64-v4"}) {
        if (!features_lacking(machine_named(level)).empty()) continue;
        for (const int width : {0, 4}) {
            const pumice::Device device(std::make_shared<CpuDevice>(width, 1, false, machine_named(level)));
            run<float>(device, level), run<double>(device, level);
        }
    }
}

TEST(QuietValues, extremes_of_them_are_one_instruction) {
    const ir::Kernel k = lower(
        ir::parse("kernel \"k\" math contract rank 1 (arg1: out f32[1], arg2: in f32[1], arg3: in f32[1]) files [\"k.cpp\"] {\n"
                  "%0 = global_index 0 : i32\n%1 = load arg2[%0] : f32\n%2 = load arg3[%0] : f32\n%3 = add %1, %2 : f32\n"
                  "%4 = mul %1, %2 : f32\n%5 = max %3, %4 : f32\n%6 = min %5, %1 : f32\nstore arg1[%0], %6 : f32\nreturn\n}\n"),
        false);
    Target target;
    target.width = 16, target.isa = Isa::avx512;
    Variant variant;
    variant.group = {64, 1, 1}, variant.full = true;
    const auto has = [&](const char* what) { return emit_llvm(k, target, variant).text.find(what) != std::string::npos; };
    EXPECT_TRUE(has("call <16 x float> @llvm.x86.avx512.mask.range.ps.512"));
    EXPECT_FALSE(has("call <16 x float> @llvm.maxnum"));
    EXPECT_TRUE(has("call <16 x float> @llvm.minnum"));  // of a load
    target.rules = rules_without("quiet_extremes");
    EXPECT_FALSE(has("mask.range"));
    target.rules = {};
    ir::Kernel strict = k;
    strict.math = Math::strict;
    EXPECT_EQ(emit_llvm(strict, target, variant).text.find("mask.range"), std::string::npos);
    target.rules = {}, target.isa = Isa::avx2, target.width = 8;
    EXPECT_FALSE(has("mask.range"));
}

}  // namespace
}  // namespace pumice::cpu
