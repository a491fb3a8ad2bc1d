// The pipeline of passes from recorded IR to what the GLSL emitter takes.
#include "codegen/codegen.h"
#include "core/debug.h"
#include "core/error.h"
#include "core/passes.h"

namespace pumice::codegen {
namespace {

/// Runs one pass. Its name in PUMICE_DUMP is its function's. Builds without NDEBUG and tests verify what comes out: a pass that
/// breaks the IR is caught at that pass.
void run(ir::Kernel& k, const char* pass_name, ir::Kernel (*pass)(const ir::Kernel&)) {
    k = pass(k);
#ifndef NDEBUG
    const bool check = true;
#else
    const bool check = debug::validate();
#endif
    if (check)
        if (const std::string broken = ir::verify(k); !broken.empty())
            library_bug(text("pass ", pass_name, " breaks kernel \"", k.name, "\": ", broken));
    if (debug::dumps(pass_name)) debug::dump_text(pass_name, k.name, "ir", ir::print(k));
}

}  // namespace

ir::Kernel lower(const ir::Kernel& recorded, const Options& options) {
    ir::Kernel k = recorded;
    if (debug::dumps("ir")) debug::dump_text("ir", k.name, "ir", ir::print(k));

    // Variables become values and carried values. First: every later pass sees through values only.
    run(k, "promote", ir::promote);
    // Folds what promotion laid bare, so that forward can tell equal indices from different ones.
    run(k, "simplify", ir::simplify);
    // Loads after stores and after equal loads. Before hoist: a load that is gone need not move, and one that remains may be
    // what keeps a loop's values from being invariant.
    run(k, "forward", ir::forward);
    // One offset an access. After forward, which compares indices. Before hoist: the products leave the loops that do not change
    // them. Wide offsets are left to the emitter, which knows what needs 64 bits.
    if (!options.wide_offsets) run(k, "flatten", ir::flatten);
    // Invariant values leave loops. Before guard: hoist moves within what the user wrote, and the guard's ifs would hide it.
    run(k, "hoist", ir::hoist);
    // Items past the range run no user code. After everything that moves code, so that nothing moves out of a guard.
    run(k, "guard", ir::guard);
    // The guard's conditions fold where a kernel tests in_range() itself.
    run(k, "simplify", ir::simplify);
    // Last: it only takes away what no pass needs any more.
    run(k, "dead", ir::dead);
    return k;
}

}  // namespace pumice::codegen
