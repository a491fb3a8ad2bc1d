// LLVM text against tests/golden/llvm_*.txt: a line of options, kernel text, "----", the module. PUMICE_BLESS=1 rewrites them.
// LLVM reads and compiles each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/ir/ops.h"
#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/native/cpu_target.h"
#include "cpu/native/host_function.h"
#include "cpu/native/llvm.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/runtime/cpu_program.h"
#include "tests/source_folder.h"

namespace pumice::cpu {
namespace {

namespace fs = std::filesystem;

const std::string separator = "\n----\n";

std::vector<fs::path> goldens() {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(source_folder() / "tests/golden"))
        if (entry.path().filename().string().starts_with("llvm_")) out.push_back(entry.path());
    std::sort(out.begin(), out.end());
    return out;
}

ir::Kernel lowered(const std::string& kernel) {
    const ir::Kernel k = ir::parse(kernel);
    EXPECT_EQ(ir::verify(k), "");
    return lower(k, false);
}

class Golden : public testing::TestWithParam<fs::path> {};

std::vector<std::string> levels() {
#ifdef __x86_64__
    return {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
#else
    return {};
#endif
}

TEST_P(Golden, text) {
    std::ifstream file(GetParam());
    std::stringstream all;
    all << file.rdbuf();
    const std::string contents = all.str();
    const size_t line = contents.find('\n'), cut = contents.find(separator);
    ASSERT_TRUE(line != contents.npos && cut != contents.npos) << "no options line or no ----";
    std::istringstream head(contents.substr(0, line));
    std::string word;
    Target target;
    Variant variant;
    while (head >> word) {
        if (word == "width") head >> target.width;
        if (word == "group") head >> variant.group[0] >> variant.group[1] >> variant.group[2];
    }
    const ir::Kernel kernel = lowered(contents.substr(line + 1, cut - line));
    const std::string got = emit_llvm(kernel, target, variant).text;
    EXPECT_FALSE(make_object(got, host_machine()).bytes.empty());
    for (const std::string& level : levels()) {  // every machine generates code for every level
        const Compiler compiler(0, machine_named(level));
        const std::string of_level = emit_llvm(kernel, compiler.target, variant).text;
        EXPECT_FALSE(make_object(of_level, compiler.machine).bytes.empty()) << level;
    }
    if (const char* bless = std::getenv("PUMICE_BLESS"); bless && std::string(bless) == "1") {
        std::ofstream(GetParam()) << contents.substr(0, cut) << separator << got;
        return;
    }
    EXPECT_EQ(got, contents.substr(cut + separator.size()));
}

INSTANTIATE_TEST_SUITE_P(Emit, Golden, testing::ValuesIn(goldens()), [](const auto& of) { return of.param.stem().string(); });

/// The text of a kernel `arg1[], arg2[] in, arg3` with this body, 8 wide in groups of 64, where `i32[64]` local1 is local memory.
std::string emitted(const std::string& body, int width = 8, std::array<int64_t, 3> group = {64, 1, 1}, bool full = false,
                    Isa isa = Isa::none, bool splits_vectors = false) {
    const bool local = body.find("local1") != body.npos;
    const ir::Kernel k = lowered(text(
        "kernel \"k\" math contract rank 1 (arg1: inout i32[1], arg2: in i32[1], arg3: i32) files [\"k.cpp\"] {\n",
        local ? "local local1: i32[64]\n" : "", "%0 = global_index 0 : i32\n%1 = argument arg3 : i32\n", body, "return\n}\n"));
    Target target;
    target.width = width;
    target.isa = isa;
    target.splits_vectors = splits_vectors;
    return emit_llvm(k, target, {group, false, full}).text;
}

int count(const std::string& in, const std::string& what) {
    int n = 0;
    for (size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++n;
    return n;
}

TEST(Emit, whole_packets_have_no_masks) {
    const std::string t = emitted("%2 = load arg2[%0] : i32\nstore arg1[%0], %2 : i32\n");
    EXPECT_EQ(count(t, "= load <8 x i32>"), 1);
    EXPECT_EQ(count(t, "store <8 x i32>"), 1);
    EXPECT_EQ(count(t, "call <8 x i32> @llvm.masked.load"), 1);  // the tail
    EXPECT_EQ(count(t, "gather"), 0);
}

TEST(Emit, full_groups_have_no_tails) {
    const std::string body = "%2 = load arg2[%0] : i32\nstore arg1[%0], %2 : i32\n";
    EXPECT_EQ(count(emitted(body, 8, {64, 1, 1}, true), "masked"), 0);
    // Rows of 12 and 11 in packets of 8: the rest of the one takes a vector of 4, that of the other a mask.
    EXPECT_EQ(count(emitted(body, 8, {12, 1, 1}, true), "masked"), 0);
    EXPECT_EQ(count(emitted(body, 8, {12, 1, 1}, true), "store <4 x i32>"), 1);
    EXPECT_GT(count(emitted(body, 8, {11, 1, 1}, true), "masked"), 0);
    // With a barrier, groups at the end of the range have a version of their own.
    const std::string barrier = "store arg1[%0], %1 : i32\nbarrier\n" + body;
    EXPECT_EQ(count(emitted(barrier, 8, {64, 1, 1}, true), "masked"), 0);
    EXPECT_GT(count(emitted(barrier), "masked"), 0);
}

TEST(Emit, accesses_are_scalar_contiguous_or_lane_by_lane) {
    // A uniform index: one scalar. The item's own index with an offset: a vector. Otherwise lane by lane.
    const std::string same = emitted("%2 = load arg2[%1] : i32\nstore arg1[%0], %2 : i32\n");
    EXPECT_EQ(count(same, "= load <8 x i32>") + count(same, "masked.load") + count(same, "gather"), 0);
    const std::string moved = emitted("%2 = add %0, %1 : i32\n%3 = load arg2[%2] : i32\nstore arg1[%0], %3 : i32\n");
    EXPECT_EQ(count(moved, "= load <8 x i32>"), 1);
    EXPECT_EQ(count(moved, "add <8 x i32>"), 0);  // the index is one scalar
    const std::string indirect = emitted("%2 = load arg2[%0] : i32\n%3 = load arg2[%2] : i32\nstore arg1[%0], %3 : i32\n");
    EXPECT_EQ(count(indirect, "call <8 x i32> @llvm.masked.gather"), 2);
    // At one distance: a scalar a lane, and under a mask lane by lane. %3 = 17 * %0.
    std::string strided = "%2 = constant 17 : i32\n%3 = mul %0, %2 : i32\n%4 = load arg2[%3] : i32\n";
    for (int n = 5; n < 25; ++n) strided += text("%", n, " = xor %", n - 1, ", %0 : i32\n");  // so that packets are worth it
    strided = emitted(strided + "store arg1[%0], %24 : i32\n");
    EXPECT_GE(count(strided, "= insertelement <8 x i32>"), 8) << strided;
    EXPECT_EQ(count(strided, "call <8 x i32> @llvm.masked.gather"), 1);  // the tail
}

/// A kernel whose packets are worth it: it gathers, and computes with the index.
std::string gathering(const std::string& behind_the_index, Isa isa) {
    std::string body = "%2 = load arg2[%0] : i32\n" + behind_the_index + "%3 = load arg2[%2] : i32\n%4 = load arg2[%3] : i32\n";
    for (int n = 5; n < 60; ++n) body += text("%", n, " = xor %", n - 1, ", %0 : i32\n");
    return emitted(body + "store arg1[%0], %59 : i32\n", 8, {64, 1, 1}, true, isa);
}

TEST(Emit, gathers_that_the_processor_lacks_are_scalar_loads) {
    const auto counts = [](Isa isa) {
        const std::string t = gathering("", isa);
        EXPECT_FALSE(make_object(t, host_machine()).bytes.empty());
        return std::tuple{count(t, "call <8 x i32> @llvm.masked.gather"), count(t, "= extractelement <8 x i32>"),
                          count(t, "= insertelement <8 x i32> %")};
    };
    // The first gather loads its indices again, the second one takes them from a vector.
    EXPECT_EQ(counts(Isa::avx2), (std::tuple{0, 8, 14}));
    EXPECT_EQ(counts(Isa::sse4), (std::tuple{0, 8, 14}));
    EXPECT_EQ(counts(Isa::avx512), (std::tuple{2, 0, 0}));
}

/// A store between the load of the indices and the gather may change the indices in memory.
TEST(Emit, indices_are_not_loaded_again_behind_a_store) {
    const std::string t = gathering("store arg1[%1], %1 : i32\n", Isa::avx2);
    EXPECT_EQ(count(t, "= extractelement <8 x i32>"), 16) << t;
}

TEST(Emit, adjacent_words_of_a_lane_move_together) {
    // Rows at unknown distances: %4 = index * n. Words 0 to 2 of each row.
    const std::string words =
        "%2 = constant 1 : i32\n%3 = constant 2 : i32\n%4 = mul %0, %1 : i32\n%5 = add %4, %2 : i32\n%6 = add %4, %3 : i32\n";
    const std::string loads = words + "%7 = load arg2[%4] : i32\n%8 = load arg2[%5] : i32\n%9 = load arg2[%6] : i32\n";
    const auto added = [](const std::string& a) { return a + "%10 = add %7, %8 : i32\n%11 = add %10, %9 : i32\n"; };
    const std::string three = emitted(added(loads) + "store arg1[%0], %11 : i32\n", 8, {64, 1, 1}, true);
    EXPECT_EQ(count(three, "gather"), 0);
    EXPECT_EQ(count(three, "load <2 x i32>"), 8);  // and nothing after the third word
    EXPECT_EQ(count(three, "load <4 x i32>"), 0);
    const std::string stores = "store arg1[%4], %7 : i32\nstore arg1[%6], %8 : i32\n", middle = "store arg1[%5], %9 : i32\n";
    EXPECT_EQ(count(emitted(loads + stores + middle, 8, {64, 1, 1}, true), "scatter"), 0);
    EXPECT_EQ(count(emitted(loads + stores + middle, 8, {64, 1, 1}, true), "store <2 x i32>"), 8);
    EXPECT_EQ(count(emitted(loads + stores, 8, {64, 1, 1}, true), "store <2 x i32>"), 0);  // a word between is not written
    // One word; few lanes; a store to the first word between the loads.
    EXPECT_EQ(count(emitted(words + "%7 = load arg2[%4] : i32\nstore arg1[%0], %7 : i32\n", 8, {64, 1, 1}, true), "load <2 x"),
              0);
    EXPECT_EQ(count(emitted(added(loads) + "store arg1[%0], %11 : i32\n", 2), "load <2 x i32>"), 0);
    const std::string between = words +
                                "%7 = load arg1[%4] : i32\nstore arg1[%5], %7 : i32\n%8 = load arg1[%5] : i32\n"
                                "store arg1[%0], %8 : i32\n";
    EXPECT_EQ(count(emitted(between, 8, {64, 1, 1}, true), "load <2 x i32>"), 0);
}

TEST(Emit, rows_of_items_use_a_row_tile) {
    const auto loop = [](const std::string& index, const std::string& body) {
        return text("%2 = constant 0 : i32\n%3 = constant 1 : i32\n%4 = mul %0, %1 : i32\nfor %5 = %2 to %1 step %3 {\n%6 = add ",
                    index, ", %5 : i32\n", body, "yield\n}\n");
    };
    const std::string add = "%7 = load arg1[%6] : i32\n%8 = add %7, %5 : i32\nstore arg1[%6], %8 : i32\n";
    EXPECT_EQ(count(emitted(loop("%4", add)), "= alloca [16 x <8 x i32>]"), 1);
    EXPECT_EQ(count(emitted(loop("%4", "%7 = load arg2[%6] : i32\n" + add.substr(add.find("%8")))), "= alloca [16 x <8 x i32>]"),
              2);
    // A value that is only added to stays in its accumulator; otherwise it is loaded.
    EXPECT_EQ(count(emitted(loop("%4", add)), "load <4 x i32>"), 0);
    EXPECT_GT(count(emitted(loop("%4", "%7 = load arg1[%6] : i32\n%8 = mul %7, %5 : i32\nstore arg1[%6], %8 : i32\n")),
                    "load <4 x i32>"),
              0);
    // Neighbouring elements; too few lanes; memory that is touched elsewhere; under a condition.
    EXPECT_EQ(count(emitted(loop("%0", add)), "tile"), 0);
    EXPECT_EQ(count(emitted(loop("%4", add), 2), "tile"), 0);
    EXPECT_EQ(count(emitted(loop("%4", add + "store arg1[%0], %8 : i32\n")), "tile"), 0);
    EXPECT_EQ(count(emitted(loop("%4", "%7 = lt %5, %0 : bool\nif %7 {\nstore arg1[%6], %5 : i32\nyield\n} else {\nyield\n}\n")),
                    "tile"),
              0);
}

TEST(Emit, uniform_conditions_are_branches) {
    const auto with = [](const char* condition) {
        return emitted(text("%2 = constant 5 : i32\n%3 = lt ", condition,
                            ", %2 : bool\nif %3 {\nstore arg1[%0], %2 : i32\nyield\n} else {\nyield\n}\n"),
                       8, {16, 1, 1});
    };
    EXPECT_EQ(count(with("%1"), "call void @llvm.masked.store"), 1);  // in the tail alone
    EXPECT_EQ(count(with("%0"), "call void @llvm.masked.store"), 2);
}

TEST(Emit, short_rows_take_narrow_packets) {
    const std::string body = "store arg1[%0], %1 : i32\n";
    EXPECT_EQ(count(emitted(body, 16, {4, 4, 1}), "<4 x i32>") > 0, true);
    EXPECT_EQ(count(emitted(body, 16, {1, 64, 1}), " x i32>"), 0);
}

// LLVM would split a store of two vectors into stores in descending order.
TEST(Emit, stores_of_several_vectors_go_from_the_lowest_address_up) {
    const ir::Kernel k = lowered(
        "kernel \"k\" math contract rank 1 (arg1: inout f64[1], arg2: in f64[1]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = load arg2[%0] : f64\nstore arg1[%0], %1 : f64\nreturn\n}\n");
    Target target;
    target.width = 8, target.isa = Isa::avx2;
    const std::string t = emit_llvm(k, target, {{64, 1, 1}, false, true}).text;
    EXPECT_EQ(count(t, "store <8 x double>"), 0);
    EXPECT_EQ(count(t, "store <4 x double>"), 2);
    const size_t low = t.find("<4 x i32> <i32 0, i32 1, i32 2, i32 3>"), first = t.find("store <4 x double>"),
                 high = t.find("<4 x i32> <i32 4, i32 5, i32 6, i32 7>"), last = t.rfind("store <4 x double>");
    EXPECT_TRUE(low < first && first < high && high < last && last != t.npos) << t;
}

TEST(Emit, arithmetic_loops_take_several_vectors) {
    // A loop without memory accesses, which waits for its chain. It takes one vector where two would not fit into the registers.
    const auto loop = [](const std::string& type) {
        return text("%2 = load arg2[%0] : i32\n%3 = cast %2 : ", type,
                    "\n%4 = constant 0 : i32\n%5 = constant 100 : i32\n%6 = constant 1 : i32\n%7 = for %8 = %4 to %5 step %6 "
                    "carry (%9 = %3) : ",
                    type, " {\n%10 = mul %9, %9 : ", type, "\n%11 = add %10, %3 : ", type, "\n%12 = mul %11, %10 : ", type,
                    "\n%13 = sub %12, %9 : ", type, "\n%14 = mul %13, %11 : ", type,
                    "\nyield %14\n}\n%15 = cast %7 : i32\nstore arg1[%0], %15 : i32\n");
    };
    EXPECT_GT(count(emitted(loop("f32")), "fmul contract arcp <16 x float>"), 0);
    EXPECT_EQ(count(emitted(loop("f32")), "<32 x float>"), 0);  // four vectors would need too many registers
    EXPECT_GT(count(emitted(loop("f32"), 8, {64, 1, 1}, false, Isa::avx512), "fmul contract arcp <32 x float>"), 0);
    EXPECT_EQ(count(emitted(loop("f32"), 8, {32, 1, 1}, false, Isa::avx512), "<32 x float>"), 0);
    EXPECT_EQ(count(emitted(loop("f32"), 8, {64, 1, 1}, false, Isa::avx512, true), "<32 x float>"), 0);
    EXPECT_GT(count(emitted(loop("f32"), 8, {64, 1, 1}, false, Isa::avx512, true), "fmul contract arcp <16 x float>"), 0);
    EXPECT_GT(count(emitted(loop("f64")), "fmul contract arcp <16 x double>"), 0);
    EXPECT_EQ(count(emitted(loop("f32"), 8, {8, 8, 1}), "<16 x float>"), 0);  // short rows
    EXPECT_EQ(count(emitted("%2 = load arg2[%0] : i32\nstore arg1[%0], %2 : i32\n"), "<16 x i32>"), 0);
}

TEST(Emit, items_run_alone_where_lanes_part_and_gather) {
    // A row of a sparse matrix, and as long a loop over elements that lie side by side.
    const auto rows = [](const std::string& begin, const std::string& end, const std::string& index) {
        return emitted(
            text("%2 = load arg2[%0] : i32\n%3 = constant 1 : i32\n%4 = add %0, %3 : i32\n%5 = load arg2[%4] : i32\n"
                 "%6 = constant 0 : i32\n%7 = for %8 = ",
                 begin, " to ", end,
                 " step %3 carry (%9 = %6) : i32 {\n%10 = add %8, %0 : i32\n%11 = load arg2[%8] : i32\n%12 = load arg2[", index,
                 "] : i32\n%13 = add %9, %12 : i32\nyield %13\n}\nstore arg1[%0], %7 : i32\n"));
    };
    EXPECT_EQ(count(rows("%2", "%5", "%11"), " x i32>"), 0);
    EXPECT_GT(count(rows("%6", "%1", "%10"), "<8 x i32>"), 0);
}

TEST(Emit, group_reductions_are_accumulated) {
    // One loop over the packets adds vectors; the group has the sum without local memory. A scan carries a scalar.
    const auto group = [](const std::string& what) {
        return emitted("%2 = load arg2[%0] : i32\n%3 = group " + what + " local1, %2 : i32\nstore arg1[%0], %3 : i32\n", 8,
                       {64, 1, 1}, true);
    };
    const std::string sum = group("reduce_add"), scan = group("inclusive_add");
    EXPECT_EQ(count(sum, "%accumulator"), 5);  // its alloca and zero; a load and a store in the loop; a load after it
    EXPECT_EQ(count(sum, "ptr %local1, "), 0);
    EXPECT_EQ(count(scan, "ptr %local1, "), 0);
    EXPECT_GT(count(scan, "= alloca i32"), 0);
}

TEST(Emit, small_ifs_within_ifs_are_computed_for_all_lanes) {
    const auto nested = [](const std::string& inner) {
        return emitted(
            "%2 = load arg2[%0] : i32\n%3 = constant 0 : i32\n%4 = lt %2, %3 : bool\n%5 = lt %2, %1 : bool\n"
            "%6 = if %4 : i32 {\n%7 = mul %2, %2 : i32\nyield %7\n} else {\n%8 = if %5 : i32 {\n" +
            inner + "yield %9\n} else { yield %2 }\nyield %8\n}\nstore arg1[%0], %6 : i32\n");
    };
    const std::string computed = nested("%9 = add %2, %1 : i32\n"), loaded = nested("%9 = load arg2[%2] : i32\n");
    EXPECT_EQ(count(computed, "else"), 0) << computed;
    EXPECT_GE(count(computed, "select <8 x i1>"), 2);
    EXPECT_GT(count(loaded, "else"), 0) << "a load that only some lanes may do";
}

/// A loop around barriers that strides through memory, with a sum that it carries.
std::string striding_loop() {
    return emitted(
        "%2 = constant 0 : i32\n%3 = constant 1 : i32\n%4 = for %5 = %2 to %1 step %3 carry (%6 = %2) : i32 {\n"
        "%7 = mul %5, %1 : i32\n%8 = add %7, %0 : i32\n%9 = load arg2[%8] : i32\nbarrier\n%10 = add %6, %9 : i32\n"
        "barrier\nyield %10\n}\nstore arg1[%0], %4 : i32\n",
        8, {64, 1, 1}, true);
}

TEST(Emit, strided_loops_prefetch) { EXPECT_EQ(count(striding_loop(), "call void @llvm.prefetch.p0"), 1); }

/// A clamped row of a loop around barriers, which the next group reads on: the prefetch is for that group, in the second-level
/// cache. Where the groups do not go on, and for long loops, it is for a later iteration.
TEST(Emit, rows_that_the_next_group_reads_on_are_prefetched_for_it) {
    const auto loop = [](const std::string& at, const std::string& to) {
        return emitted(
            "%2 = constant 0 : i32\n%3 = constant 1 : i32\n%4 = group_index 0 : i32\n%5 = local_index 0 : i32\n"
            "%6 = constant 48 : i32\n%7 = mul %4, %6 : i32\n%8 = add %7, %5 : i32\n%9 = max " +
                at + ", %2 : i32\n%10 = constant 16 : i32\n%11 = constant 100000 : i32\n%12 = for %13 = %2 to " + to +
                " step %3 carry (%14 = %2) : i32 {\n%15 = mul %13, %1 : i32\n%16 = add %15, %9 : i32\n"
                "%17 = load arg2[%16] : i32\nbarrier\n%18 = add %14, %17 : i32\nbarrier\nyield %18\n}\n"
                "store arg1[%0], %12 : i32\n",
            8, {64, 1, 1}, true);
    };
    const std::string group = ", i32 0, i32 2, i32 1)", iteration = ", i32 0, i32 3, i32 1)";
    // Packets in the interior and those at the rim have a version each.
    const std::string next = loop("%8", "%10");
    EXPECT_EQ(count(next, group), 2) << next;
    EXPECT_EQ(count(next, "i64 1920\n"), 2) << next;  // ten groups of 48 ints ahead
    EXPECT_EQ(count(next, iteration), 0);
    const std::string bounded = loop("%8", "%1");  // which of both is known at the launch
    EXPECT_EQ(count(bounded, group), 2) << bounded;
    EXPECT_EQ(count(bounded, "icmp sle i32"), 2 + count(next, "icmp sle i32")) << bounded;
    for (const std::string& t : {loop("%8", "%11"), loop("%5", "%10")}) {
        EXPECT_EQ(count(t, group), 0) << t;
        EXPECT_EQ(count(t, iteration), 2) << t;
    }
}

TEST(Emit, quotients_that_packets_share_are_scalars) {
    const auto stored_at = [](const std::string& slot) {
        return emitted("%2 = local_index 0 : i32\n%3 = constant 16 : i32\n%4 = constant 2 : i32\n%5 = constant 3 : i32\n" + slot +
                           "store local1[%9], %1 : i32\nbarrier\n%20 = load local1[%9] : i32\nstore arg1[%0], %20 : i32\n",
                       8, {64, 1, 1}, true);
    };
    const std::string turned =
        stored_at("%6 = div %2, %3 : i32\n%7 = rem %2, %3 : i32\n%8 = xor %7, %3 : i32\n%9 = add %8, %6 : i32\n");
    EXPECT_EQ(count(turned, "gather") + count(turned, "scatter"), 0) << turned;
    EXPECT_EQ(count(turned, "sdiv <8 x i32>") + count(turned, "srem <8 x i32>"), 0) << turned;
    // Pairs that are four apart: 0 1 2 3 8 9 10 11.
    const std::string pairs =
        stored_at("%6 = mul %2, %4 : i32\n%7 = and %2, %5 : i32\n%8 = sub %6, %7 : i32\n%9 = and %8, %8 : i32\n");
    EXPECT_EQ(count(pairs, "gather") + count(pairs, "scatter"), 0) << pairs;
    EXPECT_EQ(count(pairs, "store <4 x i32>"), 2) << pairs;
    EXPECT_EQ(count(pairs, "<i32 0, i32 1, i32 2, i32 3, i32 12, i32 13, i32 14, i32 15>"), 1) << pairs;
}

TEST(Emit, iterations_that_all_lanes_run_have_no_masks) {
    const auto loop = [](const std::string& from, const std::string& to) {
        return emitted("%2 = constant 64 : i32\nfor %3 = " + from + " to " + to +
                           " step %2 {\n%4 = load arg2[%3] : i32\nstore arg1[%0], %4 : i32\nyield\n}\n",
                       8, {64, 1, 1}, true);
    };
    const std::string by_index = loop("%0", "%1"), by_bound = loop("%1", "%0");
    EXPECT_EQ(count(by_index, "= load <8 x i32>"), 1) << by_index;
    EXPECT_EQ(count(by_index, "@llvm.masked.load.v8i32.p0(ptr %"), 1);
    EXPECT_EQ(count(by_bound, "store <8 x i32>"), 1) << by_bound;
    EXPECT_EQ(count(loop("%1", "%2"), "masked"), 0);
}

TEST(Emit, carried_values_are_stored_once) {
    // Stores: at the loop's start, of the loaded value (out of its guard, and across the barrier), of the sum, of the result.
    // A copy of the sum for the next iteration would be one more.
    EXPECT_EQ(count(striding_loop(), "store <8 x i32>"), 5) << striding_loop();
}

TEST(Emit, narrowed_regions_run_over_their_packets_alone) {
    const std::string t = emitted(
        "%2 = local_index 0 : i32\n%3 = constant 16 : i32\n%4 = lt %2, %3 : bool\nbarrier\n"
        "if %4 {\nstore arg1[%2], %1 : i32\nyield\n} else {\nyield\n}\nbarrier\n",
        8, {64, 1, 1}, true);
    EXPECT_EQ(count(t, "masked"), 0);
    EXPECT_EQ(count(t, ", 16\n"), 1) << t;  // the end of the row
}

TEST(Emit, guarded_rows_compare_once_a_row) {
    const auto guarded = [](const std::string& condition, int64_t items = 64) {
        return emitted("%2 = " + condition + " : bool\nif %2 {\nstore arg1[%0], %1 : i32\nyield\n} else {\nyield\n}\n", 8,
                       {items, 1, 1});
    };
    // Full packets store without a comparison; the rest of the row has its own mask and compares.
    const std::string t = guarded("lt %0, %1");
    EXPECT_EQ(count(t, "icmp slt <8 x i32>"), 2) << t;
    EXPECT_EQ(count(t, "store <8 x i32>"), 1) << t;
    EXPECT_EQ(count(t, "@llvm.masked.store.v8i32.p0(<8 x i32>"), 2) << t;  // a call, and its declaration
    EXPECT_EQ(count(guarded("eq %0, %1"), "store <8 x i32>"), 1);
    // Not where rows are short, nor for a condition that an item between passing ones may miss.
    EXPECT_EQ(count(guarded("lt %0, %1", 16), "icmp sle i64"), 0);
    EXPECT_EQ(count(guarded("ne %0, %1"), "icmp sle i64"), 0);
    EXPECT_GT(count(t, "icmp sle i64"), 0);  // whether x = a + t wraps round
}

TEST(Emit, large_arrays_stream) {
    const ir::Kernel k = lowered(
        "kernel \"k\" math contract rank 1 (arg1: out i32[1], arg2: in i32[1], arg3: inout i32[1]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = load arg2[%0] : i32\nstore arg1[%0], %1 : i32\n%2 = load arg3[%0] : i32\n"
        "%3 = add %1, %2 : i32\nstore arg3[%0], %3 : i32\nreturn\n}\n");
    Target target;
    target.width = 8;
    target.isa = Isa::avx2;
    Variant variant;
    variant.group = {64, 1, 1};
    EXPECT_EQ(count(emit_llvm(k, target, variant).text, "nontemporal"), 0);
    variant.streaming = true;
    // The end of the row in pieces: 1, 2 and 4 elements of the whole vector of 8.
    EXPECT_EQ(count(emit_llvm(k, target, variant).text, "!nontemporal"), 1 + 2 * 3);
    variant.full = true;
    const std::string t = emit_llvm(k, target, variant).text;
    EXPECT_EQ(count(t, "!nontemporal"), 1);  // stores only, no loads
    EXPECT_EQ(count(t, "call void @llvm.prefetch"), 2);
    EXPECT_EQ(count(t, "alignstack(32)"), 1);
    EXPECT_FALSE(make_object(t, host_machine()).bytes.empty());
}

// A loop of unknown length over rows has a version that prefetches later iterations, and one that prefetches along the rows.
TEST(Emit, short_loops_prefetch_along_their_rows) {
    const auto prefetches = [](const char* bound) {
        const ir::Kernel k = lowered(text(
            "kernel \"k\" math contract rank 1 (arg1: out f32[1], arg2: in f32[2], arg3: i32) files [\"k.cpp\"] {\n"
            "%0 = global_index 0 : i32\n%1 = argument arg3 : i32\n%2 = constant 0 : i32\n%3 = constant ",
            bound, " : i32\n%4 = constant 1 : i32\n%5 = constant 0.0 : f32\n%6 = for %7 = %2 to ", bound[0] == '1' ? "%3" : "%1",
            " step %4 carry (%8 = %5) : f32 {\n%9 = load arg2[%7, %0] : f32\n%10 = add %8, %9 : f32\nyield %10\n}\n"
            "store arg1[%0], %6 : f32\nreturn\n}\n"));
        Target target;
        target.width = 8;
        Variant variant;
        variant.group = {64, 1, 1};
        variant.full = variant.streaming = true;
        const std::string t = emit_llvm(k, target, variant).text;
        EXPECT_FALSE(make_object(t, host_machine()).bytes.empty());
        EXPECT_EQ(count(t, "\nshort"), bound[0] == '1' ? 0 : 1) << t;
        return std::pair{count(t, "call void @llvm.prefetch"), count(t, ", i64 512\n")};
    };
    EXPECT_EQ(prefetches("12"), (std::pair{1, 1}));
    EXPECT_EQ(prefetches("100"), (std::pair{1, 0}));
    EXPECT_EQ(prefetches("0"), (std::pair{2, 1}));  // not this constant: the argument
}

// Two short packets in an iteration of the loop over packets; packets of several vectors, and long ones, stand alone.
TEST(Emit, short_packets_run_two_in_a_row) {
    const std::string body = "%2 = load arg2[%0] : i32\n%3 = add %2, %1 : i32\nstore arg1[%0], %3 : i32\n";
    std::string more;
    for (int n = 3; n < 40; ++n) more += text("%", n + 1, " = mul %", n, ", %2 : i32\n");
    const char* const twice = "llvm.loop.unroll.count\", i32 2";
    EXPECT_EQ(count(emitted(body, 8, {64, 1, 1}, false, Isa::avx2), twice), 1);
    const std::string doubles =
        "%2 = load arg2[%0] : i32\n%3 = cast %2 : f64\n%4 = sqrt %3 : f64\n%5 = cast %4 : i32\n"
        "store arg1[%0], %5 : i32\n";
    EXPECT_EQ(count(emitted(doubles, 8, {64, 1, 1}, false, Isa::avx2), twice), 0);
    EXPECT_EQ(count(emitted(text("%2 = load arg2[%0] : i32\n%3 = add %2, %1 : i32\n", more, "store arg1[%0], %40 : i32\n"), 8,
                            {64, 1, 1}, false, Isa::avx2),
                    twice),
              0);
}

// A loop of unknown length stays rolled in the partial packet of a long row, peeled or not; a short row may end in any packet.
TEST(Emit, loops_at_the_ends_of_long_rows_stay_rolled) {
    const ir::Kernel k = lowered(
        "kernel \"k\" math contract rank 1 (arg1: out f32[1], arg2: in f32[2], arg3: i32) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = argument arg3 : i32\n%2 = constant 0 : i32\n%3 = constant 1 : i32\n"
        "%4 = constant 0.0 : f32\n%5 = for %6 = %2 to %1 step %3 carry (%7 = %4) : f32 {\n%8 = load arg2[%6, %0] : f32\n"
        "%9 = add %7, %8 : f32\nyield %9\n}\nstore arg1[%0], %5 : f32\nreturn\n}\n");
    const auto rolled = [&](int64_t row, bool peeled, std::string_view without = "") {
        Target target;
        target.width = 8;
        target.isa = Isa::avx2;
        target.rules = rules_without(without);
        Variant variant;
        variant.group = {row, 1, 1};
        variant.peeled = peeled;
        const std::string t = emit_llvm(k, target, variant).text;
        EXPECT_FALSE(make_object(t, host_machine()).bytes.empty());
        EXPECT_GE(count(t, "\nlatch"), 2);
        return count(t, "llvm.loop.unroll.runtime.disable");
    };
    EXPECT_EQ(rolled(128, false), 1);
    EXPECT_EQ(rolled(64, false), 0);
    EXPECT_EQ(rolled(128, true), 1);
    EXPECT_EQ(rolled(128, false, "short_row_ends"), 0);
}

// Streaming stores of rows, the branch weight of the rare path in sin, and the unrolled loop.
TEST(Emit, nontemporal_branch_weight_and_unroll_metadata_together) {
    const ir::Kernel k = lowered(
        "kernel \"k\" math contract rank 1 (arg1: out f32[1], arg2: in f32[1]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = load arg2[%0] : f32\n%2 = constant 0 : i32\n%3 = constant 3 : i32\n%4 = constant 1 : "
        "i32\n"
        "%5 = for %6 = %2 to %3 step %4 carry (%7 = %1) : f32 {\n%8 = sin %7 : f32\nyield %8\n}\nstore arg1[%0], %5 : "
        "f32\nreturn\n}\n");
    Target target;
    target.width = 8;
    target.isa = Isa::avx2;
    target.sleef = true;
    Variant variant;
    variant.group = {64, 1, 1};
    variant.streaming = true;
    const std::string t = emit_llvm(k, target, variant).text;
    EXPECT_GE(count(t, "!nontemporal !"), 1);
    EXPECT_GE(count(t, "!prof !"), 1);
    EXPECT_FALSE(make_object(t, host_machine()).bytes.empty());
}

TEST(Emit, wide_offsets) {
    const ir::Kernel k =
        lower(ir::parse("kernel \"k\" math contract rank 2 (arg1: inout i32[2], arg2: in i64[1]) files [\"k.cpp\"] {\n"
                        "%0 = global_index 0 : i32\n%1 = global_index 1 : i32\n%2 = load arg1[%1, %0] : i32\n"
                        "%3 = load arg2[%0] : i64\n%4 = load arg1[%3, %1] : i32\n%5 = add %2, %4 : i32\n"
                        "store arg1[%1, %0], %5 : i32\nreturn\n}\n"),
              true);
    Target target;
    target.width = 8;
    const std::string t = emit_llvm(k, target, {{64, 2, 1}, true, false}).text;
    EXPECT_FALSE(make_object(t, host_machine()).bytes.empty());
    EXPECT_EQ(count(t, "= load <8 x i32>"), 1);                         // a row in place
    EXPECT_EQ(count(t, "call <8 x i32> @llvm.masked.gather"), 2) << t;  // rows that the item names
}

TEST(Emit, host_functions) {
    EXPECT_NE(host_function("pumice_cpu_digamma_f32"), nullptr);
    EXPECT_NE(host_function("pumice_cpu_report"), nullptr);
    EXPECT_EQ(host_function("pumice_cpu_digamma_i32"), nullptr);
    EXPECT_EQ(host_function("sinf"), nullptr);
}

TEST(Emit, every_op_has_text_for_its_types) {
    for (int o = 0; o < ir::scalar_op_count; ++o)
        for (int t = 0; t < scalar_count; ++t)
            if (accepts(ir::Op(o), Scalar(t))) {
                const std::string_view cell = llvm_text(ir::Op(o), Scalar(t));
                EXPECT_FALSE(cell.empty() || cell == "-") << row(ir::Op(o)).name << " of " << name_of(Scalar(t));
            }
}

/// LLVM's compile time grows with the square of a block's length, in its passes and after them.
TEST(LongBlocks, AreSplit) {
    std::string body = "%2 = load arg2[%0] : i32\n";
    int last = 2;
    for (int n = 3; n < 4000; last = n++) body += text("%", n, " = ", n % 2 ? "xor" : "mul", " %", last, ", %1 : i32\n");
    const std::string t = emitted(body + text("store arg1[%0], %", last, " : i32\n"));
    const auto longest = [](const std::string& all) {
        std::istringstream lines(all);
        int most = 0, now = 0;
        for (std::string line; std::getline(lines, line);) {
            now = line.ends_with(":") || line.find(": ") != line.npos ? 0 : now + 1;
            most = std::max(most, now);
        }
        return most;
    };
    EXPECT_LE(longest(t), 1100);
    if (!llvm_unavailable().empty()) GTEST_SKIP() << "SKIPPED: " << llvm_unavailable();
    EXPECT_LE(longest(make_object(t, host_machine(), true).optimised), 1100);
}

/// LLVM divides 64-bit lanes one by one: each division is many lines.
TEST(LongBlocks, ConsistOfFewDivisionsOf64Bits) {
    std::string body =
        "kernel \"k\" math contract rank 1 (arg1: out i64[1], arg2: in i64[1]) files [\"k.cpp\"] {\n"
        "%0 = global_index 0 : i32\n%1 = load arg2[%0] : i64\n%2 = constant 7 : i64\n%3 = constant 1 : i64\n";
    int last = 1;
    for (int n = 4; n < 404; last = n++)
        body += text("%", n, n % 2 ? " = add %" : " = div %", last, n % 2 ? ", %3" : ", %2", " : i64\n");
    Target target;
    target.width = 8;
    const std::string t =
        emit_llvm(lowered(body + text("store arg1[%0], %", last, " : i64\nreturn\n}\n")), target, {{64, 1, 1}}).text;
    ASSERT_GE(count(t, "sdiv <8 x i64>"), 200);
    EXPECT_GE(count(t, "asm sideeffect"), 12);  // 200 divisions of 8 lanes, and what cuts the blocks, twice
}

}  // namespace
}  // namespace pumice::cpu
