#include "core/passes/pipeline.h"

#include "core/analysis/annotated.h"
#include "core/support/debug.h"
#include "core/support/error.h"
#include "core/support/trace.h"

namespace pumice::ir {
namespace {

Kernel run(const Pass& pass, const Kernel& before) {
    trace::Span span("pass", pass.name);
    span.add("kernel", before.name);
    Kernel k = pass.run(before);
#ifndef NDEBUG
    const bool check = true;
#else
    const bool check = debug::validate();
#endif
    if (check)
        if (const std::string broken = verify(k); !broken.empty())
            library_bug(text("pass ", pass.name, " breaks kernel \"", k.name, "\": ", broken));
    if (debug::dumps(pass.name)) debug::dump_text(pass.name, k.name, "ir", print(k));
    return k;
}

}  // namespace

Kernel run(std::span<const Pass> pipeline, const Kernel& recorded, bool wide_offsets) {
    Kernel k = recorded;
    if (debug::dumps("ir")) debug::dump_text("ir", k.name, "ir", print(k));
    for (const Pass& pass : pipeline) {
        if (pass.when == Pass::When::narrow_offsets && wide_offsets) continue;
        if (pass.when == Pass::When::barriers && !contains_barrier(k)) continue;
        k = run(pass, k);
    }
    if (debug::dumps("analysis")) debug::dump_text("analysis", k.name, "ir", annotated(k));
    return k;
}

std::vector<std::string_view> names_of(std::span<const Pass> pipeline) {
    std::vector<std::string_view> names;
    for (const Pass& pass : pipeline) names.push_back(pass.name);
    return names;
}

}  // namespace pumice::ir
