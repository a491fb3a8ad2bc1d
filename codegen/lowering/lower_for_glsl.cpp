// The pass pipeline of the GLSL back end: recorded IR to the IR that the emitter takes.
//
// The order is the table below; each entry gives the reason for its place. In short: inline and promote first, so that every
// later pass sees values; clean up (simplify, forward_stores) before loads and indices are moved; move code (hoist,
// cross_loop_cse) before predicate_range_tail, which would hide it in ifs; expand group instructions after it, since all items of
// a group take part in them; reassociate and drop dead code last.
//
// Example (saxpy; only predicate_range_tail changes it):
//
//   %1 = global_index 0 : i32           %0 = in_range : bool
//   %2 = load arg2[%1] : f32            if %0 { %2 = global_index 0 : i32; %3 = load arg2[%2] : f32; ... }
//
// PUMICE_DUMP=NAME prints the kernel after a pass; debug builds and PUMICE_VALIDATE=1 verify it there (core/passes/pipeline.h).
// Cost: linear in the kernel for each pass, apart from those whose openings say otherwise. Limits: a fixed order; see pipeline.h.
// Options switch off passes that the device has no use for: linearize_indices with 64-bit offsets, subgroup_aggregated_atomics
// without subgroup arithmetic, cross_loop_cse where recomputing is cheaper than private memory.
#include <algorithm>
#include <iterator>

#include "codegen/glsl/codegen.h"
#include "codegen/lowering/group_by_subgroups.h"
#include "codegen/lowering/subgroup_aggregated_atomics.h"
#include "core/lowering/group_by_memory.h"
#include "core/lowering/linearize_indices.h"
#include "core/lowering/owner_computes_atomics.h"
#include "core/lowering/predicate_range_tail.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/dead.h"
#include "core/passes/forward_stores.h"
#include "core/passes/hoist.h"
#include "core/passes/inlining.h"
#include "core/passes/pipeline.h"
#include "core/passes/promote.h"
#include "core/passes/reassociate_for_fma.h"
#include "core/passes/simplify.h"
#include "core/source/keep_variables.h"
#include "core/source/source_text.h"
#include "core/support/debug.h"

namespace pumice::codegen {
namespace {

using ir::Pass;

/// cross_loop_cse with at most 512 bytes of private memory, since drivers clear that memory for every item. The second limit, for
/// kernels with barriers, is 0: private memory would have to survive them.
ir::Kernel cross_loop_cse(const ir::Kernel& kernel) { return ir::cross_loop_cse(kernel, {512, 0}); }

const Pass pipeline[] = {
    // Function inlining. First: no other pass and no backend looks into functions.
    {"inlining", ir::inlining},
    // Group reductions and scans that subgroups cannot do. Before promote, simplify and forward_stores, which clean up after it.
    {"group_by_memory", [](const ir::Kernel& k) { return ir::group_by_memory(k); }},
    // mem2reg: variables become values and loop-carried values. Early: later passes analyse values only.
    {"promote", ir::promote},
    // Constant folding and value numbering of promoted variables, so that forward_stores can compare indices.
    {"simplify", ir::simplify},
    // Store-to-load forwarding, equal loads. Before hoist: a removed load need not move, and a remaining one may be what keeps a
    // loop's values from being invariant.
    {"forward_stores", ir::forward_stores},
    // One row-major offset an access. After forward_stores, which compares indices. Before hoist, which moves the products out of
    // loops that do not change them. The emitter computes 64-bit offsets itself, since it knows which arrays need them.
    {"linearize_indices", ir::linearize_indices, Pass::When::narrow_offsets},
    // Loop-invariant code motion. Before predicate_range_tail, whose ifs would keep hoist from moving code across them.
    {"hoist", ir::hoist},
    // Values that one loop computed are reused by later loops. Only where Options::cross_loop_cse asks for it. After hoist, so
    // that invariants of one loop are gone.
    {"cross_loop_cse", cross_loop_cse},
    // Contended atomics on local memory become owner-computes loops. After hoist, so that a loop's invariants are outside of
    // it; before predicate_range_tail, which must see the barriers that this pass adds.
    {"owner_computes_atomics", ir::owner_computes_atomics},
    // One atomic a subgroup. After hoist, so that uniform indices are recognised; before predicate_range_tail, which makes
    // subgroup operations act on the items of the range.
    {"subgroup_aggregated_atomics", subgroup_aggregated_atomics},
    // Predicates effects and possible faults of items past the range. After all code motion, so that nothing moves out of
    // its ifs.
    {"predicate_range_tail", ir::predicate_range_tail},
    // The other group reductions and scans. After predicate_range_tail, so that all items of the group take part, and subgroups
    // are as full as the group allows.
    {"group_by_subgroups", [](const ir::Kernel& k) { return group_by_subgroups(k, {}); }},
    // Folds the conditions of predicate_range_tail in kernels that test in_range() themselves.
    {"simplify", ir::simplify},
    // Sums start with their constant, so that products contract to fma. Late: other passes recognise sums in the order of the
    // source.
    {"reassociate_for_fma", ir::reassociate_for_fma},
    // Dead-code elimination. Last, to remove all that the passes before it made unused.
    {"dead", ir::dead},
};

}  // namespace

namespace {

/// The passes that a debugger has no use for: they move and merge the code of lines, or remove stores that nobody reads.
bool optimises(std::string_view pass) {
    constexpr std::string_view all[] = {"simplify",
                                        "forward_stores",
                                        "hoist",
                                        "cross_loop_cse",
                                        "owner_computes_atomics",
                                        "subgroup_aggregated_atomics",
                                        "reassociate_for_fma",
                                        "dead"};
    return std::find(std::begin(all), std::end(all), pass) != std::end(all);
}

}  // namespace

std::vector<std::string_view> pass_names() { return ir::names_of(pipeline); }

ir::Kernel lower(const ir::Kernel& recorded, const Options& options) {
    std::vector<std::string_view> stages = pass_names();
    stages.insert(stages.begin(), "ir");
    stages.insert(stages.end(), {"analysis", "glsl", "spirv"});
    debug::check_dump(stages);
    std::vector<Pass> passes(std::begin(pipeline), std::end(pipeline));
    if (!options.subgroup_sums)
        std::erase_if(passes, [](const Pass& pass) { return pass.name == "subgroup_aggregated_atomics"; });
    const auto by_subgroups = goes_by_subgroups(recorded, options);
    for (Pass& pass : passes)
        if (pass.name == "group_by_memory")
            pass.run = [by_subgroups](const ir::Kernel& k) { return ir::group_by_memory(k, by_subgroups); };
    for (Pass& pass : passes)
        if (pass.name == "group_by_subgroups")
            pass.run = [&options](const ir::Kernel& k) { return group_by_subgroups(k, options); };
    if (!options.cross_loop_cse) std::erase_if(passes, [](const Pass& pass) { return pass.name == "cross_loop_cse"; });
    if (ir::source_debugging()) {
        std::erase_if(passes, [](const Pass& pass) { return optimises(pass.name); });
        passes.insert(passes.begin(), {"keep_variables", ir::keep_variables});
    }
    return ir::run(passes, recorded, options.wide_offsets);
}

}  // namespace pumice::codegen
