// The pipeline of passes from recorded IR to what the LLVM emitter takes.
#include "cpu/plan/lower_for_cpu.h"

#include <iterator>
#include <vector>

#include "core/passes/cross_loop_cse.h"
#include "core/passes/passes.h"
#include "core/passes/pipeline.h"

namespace pumice::cpu {
namespace {

using ir::Pass;

const Pass pipeline[] = {
    // Calls become what they call. First: no other pass and no backend looks into functions.
    {"inlining", ir::inlining},
    // Reductions and scans of groups go through local memory. Before promote, which takes the variables of their loops.
    {"group_by_memory", [](const ir::Kernel& k) { return ir::group_by_memory(k); }},
    // Variables become values and carried values: every later pass, and the emitter, see through values only.
    {"promote", ir::promote},
    // Folds what promotion laid bare, so that forward_stores can tell equal indices from different ones.
    {"simplify", ir::simplify},
    // Loads after stores and after equal loads. Before hoist: a load that is gone need not move.
    {"forward_stores", ir::forward_stores},
    // One offset an access; wide offsets are the emitter's.
    {"linearize_indices", ir::linearize_indices, Pass::When::narrow_offsets},
    // Invariant values leave loops. Before predicate_range_tail, whose ifs would hide them.
    {"hoist", ir::hoist},
    // Items that stride through an array do it side by side. Before predicate_range_tail, which must see its barriers.
    {"cooperative_strided_loops", ir::cooperative_strided_loops},
    // What a loop has computed is there for later ones. Behind cooperative_strided_loops, which takes no loops with memory of the items' own; before
    // block, which computes things anew that are then there.
    {"cross_loop_cse", cross_loop_cse},
    // Only for sums in lanes. Behind hoist, for which one loop is enough; before predicate_range_tail, since it brings barriers in.
    {"tile_reduction_loops", tile_reduction_loops},
    // Items past the range arrive at barriers. Without barriers the emitter leaves them out of its packets, which needs no ifs.
    {"predicate_range_tail", ir::predicate_range_tail, Pass::When::barriers},
    // The guard's conditions fold where a kernel tests in_range() itself.
    {"simplify", ir::simplify},
    // Late: sums in the order they were written are what the others know.
    {"reassociate_for_fma", ir::reassociate_for_fma},
    // Last: it only takes away what no pass needs any more.
    {"dead", ir::dead},
};

}  // namespace

/// A packet's private memory is to stay in the second-level cache; with barriers, that of all packets of a group.
ir::Kernel cross_loop_cse(const ir::Kernel& kernel) { return ir::cross_loop_cse(kernel, {4 << 10, 1 << 10}); }

std::vector<std::string_view> pass_names() { return ir::names_of(pipeline); }

ir::Kernel lower(const ir::Kernel& recorded, bool wide_offsets, SumsIn sums) {
    std::vector<Pass> passes(std::begin(pipeline), std::end(pipeline));
    if (sums != SumsIn::lanes) std::erase_if(passes, [](const Pass& pass) { return pass.name == "tile_reduction_loops"; });
    return ir::run(passes, recorded, wide_offsets);
}

}  // namespace pumice::cpu
