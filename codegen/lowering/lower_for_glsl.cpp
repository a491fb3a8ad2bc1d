// The pipeline of passes from recorded IR to what the GLSL emitter takes.
#include <iterator>

#include "codegen/glsl/codegen.h"
#include "codegen/lowering/group_by_subgroups.h"
#include "codegen/lowering/subgroup_aggregated_atomics.h"
#include "core/passes/cross_loop_cse.h"
#include "core/passes/owner_computes_atomics.h"
#include "core/passes/passes.h"
#include "core/passes/pipeline.h"
#include "core/support/debug.h"

namespace pumice::codegen {
namespace {

using ir::Pass;

/// Little, as drivers clear it for every item. Not with barriers, around which it would have to be kept.
ir::Kernel cross_loop_cse(const ir::Kernel& kernel) { return ir::cross_loop_cse(kernel, {512, 0}); }

const Pass pipeline[] = {
    // Calls become what they call. First: no other pass and no backend looks into functions.
    {"inlining", ir::inlining},
    // Reductions and scans of groups that subgroups cannot do. Before promote, simplify and forward, which clean up behind it.
    {"group_by_memory", [](const ir::Kernel& k) { return ir::group_by_memory(k); }},
    // Variables become values and carried values. Early: every later pass sees through values only.
    {"promote", ir::promote},
    // Folds what promotion laid bare, so that forward_stores can tell equal indices from different ones.
    {"simplify", ir::simplify},
    // Loads after stores and after equal loads. Before hoist: a load that is gone need not move, and one that remains may be
    // what keeps a loop's values from being invariant.
    {"forward_stores", ir::forward_stores},
    // One offset an access. After forward_stores, which compares indices. Before hoist: the products leave the loops that do not change
    // them. Wide offsets are left to the emitter, which knows what needs 64 bits.
    {"linearize_indices", ir::linearize_indices, Pass::When::narrow_offsets},
    // Invariant values leave loops. Before predicate_range_tail: hoist moves within what the user wrote, and the guard's ifs would hide it.
    {"hoist", ir::hoist},
    // What a loop has computed is there for later ones. Only where the device asks for it; after hoist, for which one loop is enough.
    {"cross_loop_cse", cross_loop_cse},
    // Items that add to shared places of local memory take places of their own. After hoist, which tells what a loop has at hand;
    // before predicate_range_tail, which must see its barriers.
    {"owner_computes_atomics", owner_computes_atomics},
    // One atomic a subgroup. After hoist, so that indices are known to be shared; before predicate_range_tail, which tells subgroups who is in the range.
    {"subgroup_aggregated_atomics", subgroup_aggregated_atomics},
    // Items past the range run no user code. After everything that moves code, so that nothing moves out of a guard.
    {"predicate_range_tail", ir::predicate_range_tail},
    // The other ones. After predicate_range_tail, so that all items of the group take part and subgroups are as full as the group allows.
    {"group_by_subgroups", [](const ir::Kernel& k) { return group_by_subgroups(k, {}); }},
    // The guard's conditions fold where a kernel tests in_range() itself.
    {"simplify", ir::simplify},
    // Late: sums in the order they were written are what the others know.
    {"reassociate_for_fma", ir::reassociate_for_fma},
    // Last: it only takes away what no pass needs any more.
    {"dead", ir::dead},
};

}  // namespace

std::vector<std::string_view> pass_names() { return ir::names_of(pipeline); }

ir::Kernel lower(const ir::Kernel& recorded, const Options& options) {
    std::vector<std::string_view> stages = pass_names();
    stages.insert(stages.begin(), "ir");
    stages.insert(stages.end(), {"glsl", "spirv"});
    debug::check_dump(stages);
    std::vector<Pass> passes(std::begin(pipeline), std::end(pipeline));
    if (!options.subgroup_sums) std::erase_if(passes, [](const Pass& pass) { return pass.name == "subgroup_aggregated_atomics"; });
    const auto by_subgroups = goes_by_subgroups(recorded, options);
    for (Pass& pass : passes)
        if (pass.name == "group_by_memory") pass.run = [by_subgroups](const ir::Kernel& k) { return ir::group_by_memory(k, by_subgroups); };
    for (Pass& pass : passes)
        if (pass.name == "group_by_subgroups") pass.run = [&options](const ir::Kernel& k) { return group_by_subgroups(k, options); };
    if (!options.cross_loop_cse) std::erase_if(passes, [](const Pass& pass) { return pass.name == "cross_loop_cse"; });
    return ir::run(passes, recorded, options.wide_offsets);
}

}  // namespace pumice::codegen
