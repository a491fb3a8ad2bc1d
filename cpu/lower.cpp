// The pipeline of passes from recorded IR to what the LLVM emitter takes.
#include "core/debug.h"
#include "core/error.h"
#include "core/passes.h"
#include "cpu/emit.h"

namespace pumice::cpu {
namespace {

struct Pass {
    std::string_view name;
    ir::Kernel (*run)(const ir::Kernel&);
    enum class When { always, narrow_offsets, barriers } when = When::always;
};

constexpr Pass pipeline[] = {
    // Calls become what they call. First: no other pass and no backend looks into functions.
    {"inlining", ir::inlining},
    // Variables become values and carried values: every later pass, and the emitter, see through values only.
    {"promote", ir::promote},
    // Folds what promotion laid bare, so that forward can tell equal indices from different ones.
    {"simplify", ir::simplify},
    // Loads after stores and after equal loads. Before hoist: a load that is gone need not move.
    {"forward", ir::forward},
    // One offset an access; wide offsets are the emitter's.
    {"flatten", ir::flatten, Pass::When::narrow_offsets},
    // Invariant values leave loops. Before guard, whose ifs would hide them.
    {"hoist", ir::hoist},
    // Items past the range arrive at barriers. Without barriers the emitter leaves them out of its packets, which needs no ifs.
    {"guard", ir::guard, Pass::When::barriers},
    // The guard's conditions fold where a kernel tests in_range() itself.
    {"simplify", ir::simplify},
    // Last: it only takes away what no pass needs any more.
    {"dead", ir::dead},
};

bool has_barriers(const ir::Kernel& k) {
    for (const ir::InstId i : k.body().insts)
        if (ir::contains_barrier(k, k[i])) return true;
    return false;
}

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

ir::Kernel lower(const ir::Kernel& recorded, bool wide_offsets) {
    ir::Kernel k = recorded;
    if (debug::dumps("ir")) debug::dump_text("ir", k.name, "ir", ir::print(k));
    for (const Pass& pass : pipeline) {
        if (pass.when == Pass::When::narrow_offsets && wide_offsets) continue;
        if (pass.when == Pass::When::barriers && !has_barriers(k)) continue;
        run(k, pass);
    }
    return k;
}

}  // namespace pumice::cpu
