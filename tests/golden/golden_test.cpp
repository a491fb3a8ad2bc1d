// Each *.txt beside this file that names a pass is a test: kernel text, the passes to run on it, the expected text (or
// `error: ...`).
//
//     kernel ... { ... }
//     --- pass: promote simplify
//     --- expect
//     kernel ... { ... }
//
// `annotated` as the last word is no pass: the expected text then has what the analyses know as comments. `packet_plan`, with
// options behind it, gives the plan of the CPU's packets as comments.
//
// PUMICE_BLESS=1 rewrites what is expected; read the difference before you commit it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "autodiff/analysis/canonical_form.h"
#include "codegen/lowering/group_by_subgroups.h"
#include "codegen/lowering/loop_limit.h"
#include "codegen/lowering/subgroup_aggregated_atomics.h"
#include "core/analysis/annotated.h"
#include "core/ir/ir.h"
#include "core/lowering/cooperative_strided_loops.h"
#include "core/lowering/group_by_memory.h"
#include "core/lowering/indirect_range.h"
#include "core/lowering/linearize_indices.h"
#include "core/lowering/owner_computes_atomics.h"
#include "core/lowering/predicate_range_tail.h"
#include "core/passes/dead.h"
#include "core/passes/forward_stores.h"
#include "core/passes/hoist.h"
#include "core/passes/inlining.h"
#include "core/passes/narrow_integers.h"
#include "core/passes/promote.h"
#include "core/passes/reassociate_for_fma.h"
#include "core/passes/simplify.h"
#include "core/support/error.h"
#include "cpu/emit/emit_module.h"
#include "cpu/plan/cpu_group_size.h"
#include "cpu/plan/lower_for_cpu.h"
#include "cpu/plan/unroll_and_jam.h"
#include "tests/source_folder.h"

namespace pumice::ir {
namespace {

struct Golden {
    std::filesystem::path path;
    std::string input, passes, expected;
};

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
}

Golden golden(const std::filesystem::path& path) {
    const std::string all = read(path), pass = "--- pass: ", expect = "--- expect\n";
    const size_t p = all.find(pass), e = all.find(expect);
    if (p == std::string::npos || e == std::string::npos || e < p)
        fail(path.string(), " has no `--- pass:` and `--- expect` sections");
    const size_t begin = p + pass.size();
    return {path, all.substr(0, p), all.substr(begin, all.find('\n', begin) - begin), all.substr(e + expect.size())};
}

using Pass = Kernel (*)(const Kernel&);

Kernel by_subgroups(const Kernel& kernel) {
    codegen::Options options;
    options.subgroup_sums = options.linear_subgroups = true;
    return codegen::group_by_subgroups(kernel, options);
}

Pass pass_named(const std::string& name) {
    // Subgroups and budgets as the pipelines give them to these passes (codegen/lowering/lower_for_glsl.cpp,
    // cpu/plan/lower_for_cpu.cpp).
    constexpr std::pair<const char*, Pass> passes[] = {
        {"inlining", inlining},
        {"inlining_without_rules", inlining_without_rules},
        {"group_by_memory", [](const Kernel& k) { return group_by_memory(k); }},
        {"promote", promote},
        {"simplify", simplify},
        {"forward_stores", forward_stores},
        {"linearize_indices", linearize_indices},
        {"hoist", hoist},
        {"cooperative_strided_loops", cooperative_strided_loops},
        {"cross_loop_cse", cpu::cross_loop_cse},
        {"tile_reduction_loops", cpu::tile_reduction_loops},
        {"unroll_and_jam", [](const Kernel& k) { return cpu::unroll_and_jam(k, 2); }},
        {"owner_computes_atomics", ir::owner_computes_atomics},
        {"subgroup_aggregated_atomics", codegen::subgroup_aggregated_atomics},
        {"predicate_range_tail", predicate_range_tail},
        {"indirect_range", indirect_range},
        {"group_by_subgroups", by_subgroups},
        {"narrow_integers", narrow_integers},
        {"reassociate_for_fma", reassociate_for_fma},
        {"dead", dead},
        {"require_loops", [](const Kernel& k) { return codegen::require_loops(k, 65535, "llvmpipe"); }},
        {"with_axes_swapped", cpu::with_axes_swapped},
        {"canonical", derive::canonical},
    };
    for (const auto& [known, pass] : passes)
        if (name == known) return pass;
    fail("there is no pass \"", name, "\"");
}

constexpr std::string_view annotated_word = "annotated", plan_word = "packet_plan";

/// The plan of the kernel's packets for a processor with AVX2, or with AVX-512. The other words are the group's size, as 64x8x1,
/// and properties of the variant.
std::string plan_for(const Kernel& k, std::istringstream& words) {
    cpu::Target target;
    target.width = 8, target.isa = cpu::Isa::avx2;
    cpu::Variant variant;
    for (std::string word; words >> word;) {
        if (word == "avx512")
            target.width = 16, target.isa = cpu::Isa::avx512;
        else if (word == "full")
            variant.full = true;
        else if (word == "streaming")
            variant.streaming = true;
        else if (word == "peeled")
            variant.peeled = true;
        else if (word == "copies")
            variant.sums = cpu::Privatisation::copies;
        else if (word == "lanes")
            variant.sums = cpu::Privatisation::lanes;
        else if (std::sscanf(word.c_str(), "%" SCNd64 "x%" SCNd64 "x%" SCNd64, &variant.group[0], &variant.group[1],
                             &variant.group[2]) != 3)
            fail("packet_plan has no option \"", word, "\"");
    }
    return cpu::packet_plan(k, target, variant);
}

/// The text of the kernel behind the passes: with comments if their last word is `annotated` or `packet_plan`.
std::string text_behind(const std::string& passes, Kernel k) {
    std::istringstream names(passes);
    for (std::string name; names >> name;) {
        if (name == annotated_word) return annotated(k);
        if (name == plan_word) return plan_for(k, names);
        k = pass_named(name)(k);
        EXPECT_EQ(verify(k), "") << "after " << name << ":\n" << print(k);
    }
    return print(k);
}

/// Transforms that are run once: a second run repeats (require_loops, unroll_and_jam, indirect_range), undoes (with_axes_swapped)
/// or reorders (canonical) the first.
bool only_once(const std::string& passes) {
    const char* const names[] = {"require_loops", "unroll_and_jam", "indirect_range", "with_axes_swapped", "canonical"};
    return std::any_of(std::begin(names), std::end(names), [&](const char* name) { return passes.find(name) != passes.npos; });
}

std::vector<std::filesystem::path> all_files() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/golden"))
        if (entry.path().extension() == ".txt" && read(entry.path()).find("--- pass: ") != std::string::npos)
            found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
}

std::vector<std::filesystem::path> files_for_a_second_run() {
    std::vector<std::filesystem::path> found = all_files();
    std::erase_if(found, [](const auto& path) { return only_once(golden(path).passes); });
    return found;
}

class GoldenTest : public testing::TestWithParam<std::filesystem::path> {};
class SecondRunTest : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(GoldenTest, text) {
    const Golden test = golden(GetParam());
    std::string got;
    try {
        const Kernel k = parse(test.input);
        ASSERT_EQ(verify(k), "") << "the input is wrong";
        got = text_behind(test.passes, k);
        const bool commented = test.passes.ends_with(annotated_word) || test.passes.find(plan_word) != test.passes.npos;
        EXPECT_EQ(commented ? text_behind(test.passes, parse(got)) : print(parse(got)), got);
    } catch (const Error& e) { got = text("error: ", e.what(), "\n"); }
    if (const char* bless = std::getenv("PUMICE_BLESS"); bless && *bless == '1' && got != test.expected) {
        std::ofstream(test.path, std::ios::binary) << test.input << "--- pass: " << test.passes << "\n--- expect\n" << got;
        return;
    }
    EXPECT_EQ(got, test.expected) << test.path;
}

/// The text of the kernel is a fixed point of the pass: a second run of the pass changes nothing.
TEST_P(SecondRunTest, changes_nothing) {
    const Golden test = golden(GetParam());
    if (test.expected.starts_with("error: ")) return;
    EXPECT_EQ(text_behind(test.passes, parse(test.expected)), test.expected);
}

INSTANTIATE_TEST_SUITE_P(all, GoldenTest, testing::ValuesIn(all_files()),
                         [](const auto& info) { return info.param.stem().string(); });
INSTANTIATE_TEST_SUITE_P(all, SecondRunTest, testing::ValuesIn(files_for_a_second_run()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace pumice::ir
