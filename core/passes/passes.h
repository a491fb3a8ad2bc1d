// The passes: free functions from a verified kernel to a verified kernel with the same meaning.
// codegen/lowering/lower_for_glsl.cpp, cpu/plan/lower_for_cpu.cpp and the interpreter define their order; the top of each
// pass's .cpp describes the pass.
#pragma once
#include <functional>

#include "core/ir/ir.h"

namespace pumice::ir {

/// Inlining: replaces each call by the function's body, and leaves no function. Memory that only one function uses is copied
/// for each further call. Runs first: backends know no calls.
Kernel inlining(const Kernel& kernel);
/// The same, but keeps the calls of functions that have a rule for their derivative, these functions and their rules. For
/// transforms that obey the rules. All other passes but predicate_range_tail accept such kernels, too.
Kernel inlining_without_rules(const Kernel& kernel);

/// Replaces `group` instructions, in functions, too, by loops over local memory and barriers; those for which `keep` is true
/// stay. For devices whose subgroups do not reduce and scan.
Kernel group_by_memory(const Kernel& kernel, const std::function<bool(const Inst&)>& keep = {});

/// Throws Error for a barrier that some items of a group may not reach, according to Uniformity. For kernels as recorded, calls
/// included.
void refuse_divergent_barriers(const Kernel& kernel);

/// mem2reg: variables become SSA values. Runs early, since the other passes see through values only.
Kernel promote(const Kernel& kernel);

/// Constant folding, value numbering and identities; ifs with a constant condition, loops without iterations, results that are
/// the same on every path. After promote, which exposes constants; before dead, which removes the values that become unused.
Kernel simplify(const Kernel& kernel);

/// Store-to-load forwarding, redundant-load and dead-store elimination. After simplify: equal indices are recognised by value
/// number. Before hoist and dead: it leaves indices unused.
Kernel forward_stores(const Kernel& kernel);

/// Replaces the indices of an array by one row-major offset; neighbouring accesses share its arithmetic. Offsets are i32, so
/// not for arrays of 2^31 elements or more. After forward_stores, which tells places apart by their indices; before hoist,
/// which moves the products out of loops. Not for the interpreter, which checks each index against its extent.
Kernel linearize_indices(const Kernel& kernel);

/// Loop-invariant code motion. After forward_stores, so that loads of the same place are one; before predicate_range_tail,
/// whose ifs would keep loads from moving.
Kernel hoist(const Kernel& kernel);

/// Rewrites a grid-stride loop so that the whole group executes one iteration per barrier; adjacent items then touch adjacent
/// elements at the same time, also where a device runs a group's items one part after another. After hoist; before
/// predicate_range_tail, which must see the barriers.
Kernel cooperative_strided_loops(const Kernel& kernel);

/// Reassociation: in a sum of products and a constant, adds the constant first, so that every product contracts to an FMA.
/// Leaves Math::strict kernels alone. After simplify, which folds constants; before dead, which removes the old sums.
Kernel reassociate_for_fma(const Kernel& kernel);

/// Predicates items past the range: instructions that have an effect or may fault run under `if in_range`; barriers, and the
/// values that decide the control flow around them, do not. The result has whole_groups set, so a second run changes nothing.
/// Needs a kernel without variables and functions. Throws Error for a return that leaves items waiting at a
/// barrier. Late: other passes do not see across the ifs.
Kernel predicate_range_tail(const Kernel& kernel);

/// Dead-code elimination: values, loads, memory never read, carried values, control flow without effects. A loop is taken to
/// end. Last, and wherever a smaller kernel saves the next pass work.
Kernel dead(const Kernel& kernel);

}  // namespace pumice::ir
