// Packets between barriers have an interior version: for which clamps and conditions, and what is left of these in it.
#include <gtest/gtest.h>

#include <string>

#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/lower_for_cpu.h"

namespace pumice::cpu {
namespace {

int count(const std::string& in, const std::string& what) {
    int n = 0;
    for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++n;
    return n;
}

/// Groups of 64 items fill local memory, and run `body` behind a barrier.
std::string emitted(const std::string& body, Rules rules = {}) {
    const ir::Kernel k = ir::parse(
        "kernel \"k\" math contract rank 1 group [64] (arg1: out i32[1], arg2: in i32[1], arg3: i32) files [\"k.cpp\"] {\n"
        "local local1: i32[64]\n%0 = global_index 0 : i32\n%1 = local_index 0 : i32\n%2 = argument arg3 : i32\n"
        "%3 = constant 0 : i32\n%4 = constant 1 : i32\n%5 = constant 63 : i32\n%6 = load arg2[%0] : i32\n"
        "store local1[%1], %6 : i32\nbarrier\n" +
        body + "return\n}\n");
    EXPECT_EQ(ir::verify(k), "");
    Target target;
    target.width = 8;
    target.isa = Isa::avx2;
    target.rules = rules;
    return emit_llvm(lower(k, false), target, {{64, 1, 1}, false, true}).text;
}

/// The text of the first interior version, and of the boundary version behind it.
std::pair<std::string, std::string> versions(const std::string& t) {
    const size_t inside = t.find("\ninterior"), boundary = t.find("\nboundary", inside);
    if (inside == t.npos || boundary == t.npos) return {};
    return {t.substr(inside, boundary - inside), t.substr(boundary)};
}

const std::string neighbours =
    "%10 = sub %1, %4 : i32\n%11 = max %10, %3 : i32\n%12 = add %1, %4 : i32\n%13 = min %12, %5 : i32\n"
    "%14 = load local1[%11] : i32\n%15 = load local1[%13] : i32\n%16 = add %14, %15 : i32\nstore arg1[%0], %16 : i32\n";

TEST(RegionInteriors, clamped_neighbours_are_vectors_in_the_interior) {
    const auto [interior, boundary] = versions(emitted(neighbours));
    EXPECT_EQ(count(interior, "load <8 x i32>"), 2) << interior;
    EXPECT_EQ(count(interior, "br i1") + count(interior, "@llvm.smax.v8i32"), 0) << interior;
    EXPECT_GT(count(boundary, "permd"), 0) << boundary;
    EXPECT_EQ(count(emitted(neighbours, Rules{}.without(Rule::region_interiors)), "\ninterior"), 0);
}

TEST(RegionInteriors, conditions_that_all_lanes_pass_are_no_masks) {
    const auto [interior, boundary] = versions(
        emitted("%10 = ge %0, %4 : bool\n%11 = lt %0, %2 : bool\n%12 = and %10, %11 : bool\n%13 = load local1[%1] : i32\n"
                "if %12 {\nstore arg1[%0], %13 : i32\nyield\n} else {\nyield\n}\n"));
    EXPECT_EQ(count(interior, "store <8 x i32>"), 1) << interior;
    EXPECT_EQ(count(interior, "br i1") + count(interior, "icmp"), 0) << interior;
    EXPECT_GT(count(boundary, "icmp"), 0);
}

TEST(RegionInteriors, limits_that_differ_between_packets_have_no_interior) {
    const std::string of_packet = emitted(
        "%10 = constant 16 : i32\n%11 = div %1, %10 : i32\n%12 = mul %11, %10 : i32\n"
        "%13 = max %1, %12 : i32\n%14 = load local1[%13] : i32\nstore arg1[%0], %14 : i32\n");
    EXPECT_EQ(count(of_packet, "\ninterior"), 0) << of_packet;
    const std::string steps_in_packet = emitted(
        "%10 = constant 16 : i32\n%11 = div %1, %10 : i32\n%12 = sub %1, %11 : i32\n"
        "%13 = max %12, %4 : i32\n%14 = load local1[%13] : i32\nstore arg1[%0], %14 : i32\n");
    EXPECT_EQ(count(steps_in_packet, "\ninterior"), 0) << steps_in_packet;
}

TEST(RegionInteriors, few_packets_in_the_interior_are_no_version) {
    const auto apart = [](int distance) {
        return emitted("%10 = constant " + std::to_string(distance) +
                       " : i32\n%11 = sub %1, %10 : i32\n%12 = max %11, %3 : i32\n" +
                       "%13 = load local1[%12] : i32\nstore arg1[%0], %13 : i32\n");
    };
    EXPECT_EQ(count(apart(8), "\ninterior"), 1);
    EXPECT_EQ(count(apart(48), "\ninterior"), 0);
}

}  // namespace
}  // namespace pumice::cpu
