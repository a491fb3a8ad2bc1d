#include "core/analysis/uniformity.h"
#include "core/passes/passes.h"
#include "core/support/error.h"

namespace pumice::ir {
namespace {

/// The innermost construct around an instruction that items of one group may take differently; `none` where there is none.
InstId parting_around(const Uniformity& uniformity, InstId i) {
    const Structure& where = uniformity.structure();
    for (i = where.around(i); i.id != none; i = where.around(i))
        if (uniformity.parting(i) > Scope::group) return i;
    return i;
}

}  // namespace

void refuse_divergent_barriers(const Kernel& kernel) {
    if (kernel.blocks.empty()) return;
    bool any = false;
    for (const Inst& i : kernel.insts) any = any || is_barrier(i.op);
    if (!any) return;
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
