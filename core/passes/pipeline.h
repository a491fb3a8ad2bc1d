// Pass manager: runs a back end's list of passes in order, and checks the IR after each (PUMICE_VALIDATE=1).
// Why: every back end needs the same service around a pass: leave out passes that a kernel has no use for, verify the result,
// print it.
//
//   {"simplify", simplify},                                            for all kernels
//   {"linearize_indices", linearize_indices, When::narrow_offsets},    not with 64-bit offsets
//   {"group_by_memory", group_by_memory, When::barriers}               only in kernels with a barrier
//
// Method: a table of names and functions from kernel to kernel. A pass does not see which passes ran before; the tables say why
// each stands where it does (codegen/lowering/lower_for_glsl.cpp, cpu/plan/lower_for_cpu.cpp).
// Cost: that of the passes; builds without NDEBUG and PUMICE_VALIDATE=1 add the verifier after each.
// Limits: a fixed order, no repetition until nothing changes; analyses are made anew by each pass that asks. Field's name: pass
// manager (LLVM's PassManager), without cached analyses.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// One pass of a pipeline. Its name in PUMICE_DUMP is its function's.
struct Pass {
    std::string_view name;
    std::function<Kernel(const Kernel&)> run;
    /// The kernels it runs for: all, only those with 32-bit offsets, or only those with a barrier.
    enum class When { always, narrow_offsets, barriers } when = When::always;
};

/// Runs the passes on a kernel as recorded. Builds without NDEBUG, and PUMICE_VALIDATE=1, verify the result of each pass, so
/// that a pass that breaks the IR is named. PUMICE_DUMP prints the results of the passes it names.
Kernel run(std::span<const Pass> pipeline, const Kernel& recorded, bool wide_offsets);
std::vector<std::string_view> names_of(std::span<const Pass> pipeline);

}  // namespace pumice::ir
