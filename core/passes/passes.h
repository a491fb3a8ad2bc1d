// The passes: each a free function from a verified kernel to a verified kernel with the same meaning. codegen/lowering/lower_for_glsl.cpp, cpu/plan/lower_for_cpu.cpp
// and the interpreter say in which order they run.
#pragma once
#include <functional>

#include "core/ir/ir.h"

namespace pumice::ir {

/// Puts the body of a function where it is called, and leaves no function. A memory that belongs to the function is a new one at
/// each call. First of all: backends know no calls.
Kernel inlining(const Kernel& kernel);
/// The same, but keeps calls of functions that have a rule for their derivative, with these functions and their rules. For
/// transforms that obey the rules; the other passes take such kernels too, but for guard.
Kernel inlining_without_rules(const Kernel& kernel);

/// Puts loops over local memory and barriers in the place of `group` instructions, or of those for which `keep` is false; functions'
/// as well. The way of devices whose subgroups do not reduce and scan.
Kernel group_by_memory(const Kernel& kernel, const std::function<bool(const Inst&)>& keep = {});

/// Throws Error where a barrier stands that, as far as can be told (see Uniformity), some items of a group may not reach. For kernels as
/// recorded, calls included.
void refuse_divergent_barriers(const Kernel& kernel);

/// Variables become values: results, carried values, yields. Early, since the other passes see through values only.
Kernel promote(const Kernel& kernel);

/// Folds and numbers everything anew, and applies identities: ifs with a constant condition, loops that run no iteration, results
/// that are the same on every way. After promote, which exposes constants; before dead, which removes what it leaves unused.
Kernel simplify(const Kernel& kernel);

/// Replaces loads whose value is known from an earlier store or load, and removes stores that a later store overwrites
/// unseen. Indices must be numbered (simplify) to be recognised as equal. Before hoist and dead: it leaves indices unused.
Kernel forward_stores(const Kernel& kernel);

/// Arrays of several dimensions are indexed by one row-major offset, in which neighbours share their arithmetic. Offsets are i32:
/// not for arrays of 2^31 elements or more. After forward, which tells places apart by their indices; before hoist, which moves
/// the products out of loops. Not for the interpreter, which checks each index against its extent.
Kernel linearize_indices(const Kernel& kernel);

/// Moves what a loop computes anew in each iteration in front of it. After forward, so that loads of the same place
/// are one; before guard, which would shut invariants up in its branches.
Kernel hoist(const Kernel& kernel);

/// A loop in which each item of a group goes through an array by itself, from its place on by strides past the others' places, is run
/// by all items together: one iteration for all, a barrier, the next. Where a group's items are run one part after another, they so
/// read the array in its order. After hoist; before guard, which must see the barriers.
Kernel cooperative_strided_loops(const Kernel& kernel);

/// In a sum of products and a constant, adds the constant first, so that every product fuses with an addition. Not for
/// Math::strict, which keeps the order of a sum. After simplify, which folds constants; what it replaces is left to dead.
Kernel reassociate_for_fma(const Kernel& kernel);

/// Makes the rule for items past the range explicit: what has an effect or may fault runs under `if in_range`; barriers, and
/// what decides the control flow around them, do not. The result has whole_groups set, so that a second run changes nothing.
/// Needs a kernel without variables. Throws Error where a return leaves items waiting at a barrier. Late: the guards part
/// the code into pieces that other passes do not see across.
Kernel predicate_range_tail(const Kernel& kernel);

/// Removes what nothing needs: values, loads, memory never read, carried values, empty control flow. A loop is taken to end.
/// Last, to sweep up after the others, and wherever a smaller kernel saves the next pass work.
Kernel dead(const Kernel& kernel);

}  // namespace pumice::ir
