// Which kernels run one item at a time.
#include <gtest/gtest.h>

#include <string>

#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::cpu {
namespace {

/// True for a kernel `arg1[], arg2[] in, arg3[] in` with this body if its items run alone.
bool run_alone(const std::string& body, Isa isa = Isa::avx2, bool fast_gathers = false) {
    Target target;
    target.width = isa == Isa::avx512 ? 16 : 8, target.isa = isa, target.fast_gathers = fast_gathers;
    const ir::Kernel k = ir::parse(
        text("kernel \"k\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1], arg3: in f32[1]) files [\"k.cpp\"] {\n"
             "%0 = global_index 0 : i32\n%1 = constant 1 : i32\n%2 = add %0, %1 : i32\n",
             body, "return\n}\n"));
    return packet_plan(lower(k, false), target, {{256, 1, 1}}).find("one item at a time") != std::string::npos;
}

// A chain of look-ups: what a gather takes decides.
TEST(PacketCost, look_ups_go_by_packets_where_gathers_are_fast) {
    const std::string chain =
        "%3 = load arg2[%0] : i32\n%4 = add %3, %1 : i32\n%5 = load arg2[%4] : i32\n%6 = add %5, %1 : i32\n"
        "%7 = load arg2[%6] : i32\n%8 = add %7, %1 : i32\n%9 = load arg2[%8] : i32\nstore arg1[%0], %9 : i32\n";
    EXPECT_TRUE(run_alone(chain, Isa::avx2));
    EXPECT_TRUE(run_alone(chain, Isa::avx512));
    EXPECT_FALSE(run_alone(chain, Isa::avx512, true));
    EXPECT_TRUE(run_alone(chain, Isa::avx2, true)) << "fast gathers are measured with AVX-512 code";
}

// A sum waits for its last addition, but in short loops the next item's sum goes on meanwhile.
TEST(PacketCost, sums_of_sparse_rows_go_by_items) {
    const auto sum = [](const std::string& begin, const std::string& end) {
        return text(
            "%3 = load arg2[%0] : i32\n%4 = load arg2[%2] : i32\n%5 = constant 0 : i32\n%6 = constant 0.0 : f32\n%7 = for %8 = ",
            begin, " to ", end,
            " step %1 carry (%9 = %6) : f32 {\n%10 = load arg2[%8] : i32\n%11 = load arg3[%10] : f32\n"
            "%12 = add %9, %11 : f32\nyield %12\n}\n%13 = cast %7 : i32\nstore arg1[%0], %13 : i32\n");
    };
    EXPECT_TRUE(run_alone(sum("%3", "%4"), Isa::avx512, true));
    EXPECT_FALSE(run_alone(sum("%5", "%0"), Isa::avx512, true));
}

// Atomics go lane by lane, and by the lanes alone whose condition holds.
TEST(PacketCost, atomics_under_a_condition_go_by_the_lanes_that_run) {
    EXPECT_FALSE(
        run_alone("%3 = load arg2[%0] : i32\n%4 = constant 0 : i32\n%5 = gt %3, %4 : bool\nif %5 {\n"
                  "%6 = atomic min arg1[%3], %0 : i32\nyield\n} else { yield }\n"));
}

}  // namespace
}  // namespace pumice::cpu
