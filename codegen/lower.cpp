// The pipeline of passes from recorded IR to what the GLSL emitter takes.
#include "codegen/codegen.h"
#include "core/debug.h"
#include "core/error.h"
#include "core/passes.h"

namespace pumice::codegen {
namespace {

/// One pass of the pipeline. Its name in PUMICE_DUMP is its function's.
struct Pass {
    std::string_view name;
    ir::Kernel (*run)(const ir::Kernel&);
    bool wide_offsets_too = true;  ///< runs for kernels with 64-bit offsets, too
};

constexpr Pass pipeline[] = {
    // Calls become what they call. First: no other pass and no backend looks into functions.
    {"inlining", ir::inlining},
    // Variables become values and carried values. Early: every later pass sees through values only.
    {"promote", ir::promote},
    // Folds what promotion laid bare, so that forward can tell equal indices from different ones.
    {"simplify", ir::simplify},
    // Loads after stores and after equal loads. Before hoist: a load that is gone need not move, and one that remains may be
    // what keeps a loop's values from being invariant.
    {"forward", ir::forward},
    // One offset an access. After forward, which compares indices. Before hoist: the products leave the loops that do not change
    // them. Wide offsets are left to the emitter, which knows what needs 64 bits.
    {"flatten", ir::flatten, false},
    // Invariant values leave loops. Before guard: hoist moves within what the user wrote, and the guard's ifs would hide it.
    {"hoist", ir::hoist},
    // Items past the range run no user code. After everything that moves code, so that nothing moves out of a guard.
    {"guard", ir::guard},
    // The guard's conditions fold where a kernel tests in_range() itself.
    {"simplify", ir::simplify},
    // Last: it only takes away what no pass needs any more.
    {"dead", ir::dead},
};

/// Runs one pass. Builds without NDEBUG and tests verify what comes out: a pass that breaks the IR is caught at that pass.
void run(ir::Kernel& k, const Pass& pass) {
    k = pass.run(k);
#ifndef NDEBUG
    const bool check = true;
#else
    const bool check = debug::validate();
#endif
    if (check)
        if (const std::string broken = ir::verify(k); !broken.empty())
            library_bug(text("pass ", pass.name, " breaks kernel \"", k.name, "\": ", broken));
    if (debug::dumps(pass.name)) debug::dump_text(pass.name, k.name, "ir", ir::print(k));
}

}  // namespace

std::vector<std::string_view> pass_names() {
    std::vector<std::string_view> names;
    for (const Pass& pass : pipeline) names.push_back(pass.name);
    return names;
}

ir::Kernel lower(const ir::Kernel& recorded, const Options& options) {
    std::vector<std::string_view> stages = pass_names();
    stages.insert(stages.begin(), "ir");
    stages.insert(stages.end(), {"glsl", "spirv"});
    debug::check_dump(stages);

    ir::Kernel k = recorded;
    if (debug::dumps("ir")) debug::dump_text("ir", k.name, "ir", ir::print(k));
    for (const Pass& pass : pipeline)
        if (pass.wide_offsets_too || !options.wide_offsets) run(k, pass);
    return k;
}

}  // namespace pumice::codegen
