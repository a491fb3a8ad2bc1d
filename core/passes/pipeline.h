// Passes in the order in which a backend runs them.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ir/ir.h"

namespace pumice::ir {

/// One pass of a pipeline. Its name in PUMICE_DUMP is its function's.
struct Pass {
    std::string_view name;
    std::function<Kernel(const Kernel&)> run;
    /// Which kernels it runs for: those whose offsets are 32-bit, and those that have a barrier, may be picked out.
    enum class When { always, narrow_offsets, barriers } when = When::always;
};

/// What the passes make of a kernel as recorded. Builds without NDEBUG, and PUMICE_VALIDATE=1, verify what comes out of each: a
/// pass that breaks the IR is caught at that pass. PUMICE_DUMP prints it.
Kernel run(std::span<const Pass> pipeline, const Kernel& recorded, bool wide_offsets);
std::vector<std::string_view> names_of(std::span<const Pass> pipeline);

}  // namespace pumice::ir
