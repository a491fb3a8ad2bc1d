// Barrier divergence check: refuses a kernel in which some items of a group may not reach a barrier. It changes nothing.
// Why: a divergent barrier hangs or is undefined on a GPU. The error names the line of the branch, at the first use of the
// kernel.
//
//   %c = lt %l, %n : bool      # %l = local_index 0: differs among the items of a group
//   if %c @7 {                 # error: kernel "k" (...) has a barrier at ...:8 that some work-items of a group may not reach:
//     barrier @8               # what decides it at ...:7 may differ among them; make it of values that are the same for the
//     yield                    # group, or promise that they are with uniform(x)
//   } else { yield }
//
// A barrier behind a `return` of some items is refused, too: "others may have left before".
// Accepted: `if %u`, where %u is uniform over the group (an argument, a group reduction's result, a `uniform` instruction's
// result).
// Cost: inlining, one Uniformity analysis, and a walk outwards from the first divergent barrier, which ends the check. Kernels
// without barriers cost one scan.
// Limits: conservative. Uniformity does not know, for example, that all items loaded equal elements from different places;
// uniform(x) is the user's promise. A barrier in a function that is never called is not checked.
// Textbook name: barrier divergence, decided by divergence analysis (Coutinho et al., PACT 2011; core/analysis/uniformity.h).
#include "core/lowering/barrier_divergence.h"

#include "core/analysis/uniformity.h"
#include "core/passes/inlining.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// The innermost construct around an instruction that diverges within a group; `none` if there is no such construct.
InstId parting_around(const Uniformity& uniformity, InstId i) {
    const Structure& where = uniformity.structure();
    for (i = where.around(i); i.id != none; i = where.around(i))
        if (uniformity.parting(i) > Scope::group) return i;
    return i;
}

}  // namespace

void refuse_divergent_barriers(const Kernel& kernel) {
    if (!contains_barrier(kernel)) return;
    const Kernel k = inlining(kernel);
    const Uniformity uniformity(k);
    for (const InstId id : uniformity.structure().order()) {
        if (!is_barrier(k[id].op) || uniformity.control(id) <= Scope::group) continue;
        const InstId by = parting_around(uniformity, id);
        fail("kernel \"", k.name, "\" (", k.where(k.loc), ") has a barrier at ", k.where(k[id].loc),
             " that some work-items of a group may not reach: ",
             by.id == none ? std::string("others may have left before")
                           : text("what decides it at ", k.where(k[by].loc), " may differ among them"),
             "; make it of values that are the same for the group, or promise that they are with uniform(x)");
    }
}

}  // namespace pumice::ir
