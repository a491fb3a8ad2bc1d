// The pipeline of passes from recorded IR to what the LLVM emitter takes. Each entry of the table is one IR-to-IR pass, with the
// reason for its position.
//
// Compared with the pipeline for Vulkan, predicate_range_tail runs only for kernels with barriers, because the emitter masks the
// tail of a row itself; cooperative_strided_loops and tile_reduction_loops run only here.
//
//     recorded:  %0 = global_index 0; %1 = load arg1[%0] ...          variables, calls, several indices an access
//     lowered:   SSA values, one offset an access, loops in the form that the emitter vectorises, `fma` shapes
//
// Limits: a fixed order (core/passes/pipeline.h).
// Cost: linear in the kernel for each pass; PUMICE_DUMP=NAME prints the kernel after a pass.
#include "cpu/plan/lower_for_cpu.h"

#include <iterator>
#include <vector>

#include "core/lowering/cooperative_strided_loops.h"
#include "core/lowering/group_by_memory.h"
#include "core/lowering/linearize_indices.h"
#include "core/lowering/predicate_range_tail.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/dead.h"
#include "core/passes/forward_stores.h"
#include "core/passes/hoist.h"
#include "core/passes/inlining.h"
#include "core/passes/narrow_integers.h"
#include "core/passes/pipeline.h"
#include "core/passes/promote.h"
#include "core/passes/reassociate_for_fma.h"
#include "core/passes/simplify.h"
#include "core/source/keep_variables.h"

namespace pumice::cpu {
namespace {

using ir::Pass;

const Pass pipeline[] = {
    // Inlines calls. First: no other pass and no backend looks into functions.
    {"inlining", ir::inlining},
    // Lowers group reductions and scans to loops over local memory, unless the emitter accumulates them
    // (emit_group_operations.cpp). Before promote, which turns the variables of these loops into values.
    {"group_by_memory", [](const ir::Kernel& k) { return ir::group_by_memory(k); }},
    // mem2reg: variables become SSA values and loop-carried values. Every later pass, and the emitter, analyses values only.
    {"promote", ir::promote},
    // Folding and CSE of what promote exposed, so that forward_stores can tell equal indices from different ones.
    {"simplify", ir::simplify},
    // Store-to-load forwarding, redundant loads, dead stores. Before hoist: a removed load need not move.
    {"forward_stores", ir::forward_stores},
    // One row-major offset an access. Not with 64-bit offsets, which the emitter computes itself.
    {"linearize_indices", ir::linearize_indices, Pass::When::narrow_offsets},
    // Loop-invariant code motion. Before predicate_range_tail, whose ifs would hide the invariants.
    {"hoist", ir::hoist},
    // The group runs grid-stride loops together, so that adjacent items touch adjacent elements. Before predicate_range_tail,
    // which must see its barriers.
    {"cooperative_strided_loops", ir::cooperative_strided_loops},
    // Common subexpressions across loops. After cooperative_strided_loops, which refuses loops with private memory; before
    // tile_reduction_loops, which would compute the shared values again.
    {"cross_loop_cse", cross_loop_cse},
    // Only with Privatisation::lanes. After hoist, which then handles one loop instead of two; before predicate_range_tail,
    // because it inserts barriers.
    {"tile_reduction_loops", tile_reduction_loops},
    // With barriers, items past the range run, too, under `if in_range`. Without barriers the emitter masks them in its packets
    // instead.
    {"predicate_range_tail", ir::predicate_range_tail, Pass::When::barriers},
    // Folds the conditions of predicate_range_tail where the kernel tests in_range() itself.
    {"simplify", ir::simplify},
    // Arithmetic of bytes in 16 bits instead of 32. After all that adds conversions.
    {"narrow_integers", ir::narrow_integers},
    // Reorders sums so that products contract to fma. Late: the other passes recognise sums in source order.
    {"reassociate_for_fma", ir::reassociate_for_fma},
    // Dead-code elimination. Last: only now is it known what no pass needs.
    {"dead", ir::dead},
};

/// For debuggers: each line keeps its instructions, and named values are kept. Results are the same.
const Pass debugging_pipeline[] = {
    {"keep_variables", ir::keep_variables},
    {"inlining", ir::inlining},
    {"group_by_memory", [](const ir::Kernel& k) { return ir::group_by_memory(k); }},
    {"promote", ir::promote},
    {"linearize_indices", ir::linearize_indices, Pass::When::narrow_offsets},
    {"predicate_range_tail", ir::predicate_range_tail, Pass::When::barriers},
};

}  // namespace

/// Budgets: a packet's private memory is to stay in the second-level cache; with barriers, that of all packets of a group is.
ir::Kernel cross_loop_cse(const ir::Kernel& kernel) { return ir::cross_loop_cse(kernel, {4 << 10, 1 << 10}); }

std::vector<std::string_view> pass_names() { return ir::names_of(pipeline); }

ir::Kernel lower(const ir::Kernel& recorded, bool wide_offsets, Privatisation sums, const Rules& rules) {
    std::vector<Pass> passes(std::begin(pipeline), std::end(pipeline));
    const auto leave_out = [&](std::string_view name) {
        std::erase_if(passes, [&](const Pass& pass) { return pass.name == name; });
    };
    if (rules.has(Rule::group_accumulators)) leave_out("group_by_memory");
    if (sums != Privatisation::lanes) leave_out("tile_reduction_loops");
    if (!rules.has(Rule::cross_loop_cse)) leave_out("cross_loop_cse");
    if (!rules.has(Rule::narrow_integers)) leave_out("narrow_integers");
    if (!rules.has(Rule::cooperative_strided_loops)) leave_out("cooperative_strided_loops");
    return ir::run(passes, recorded, wide_offsets);
}

ir::Kernel lower_for_debugging(const ir::Kernel& recorded, bool wide_offsets) {
    return ir::run(debugging_pipeline, recorded, wide_offsets);
}

}  // namespace pumice::cpu
