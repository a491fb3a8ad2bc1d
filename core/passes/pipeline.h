// Pass manager: runs a backend's list of passes in order.
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
    /// The kernels it runs for: all, only those with 32-bit offsets, or only those with a barrier.
    enum class When { always, narrow_offsets, barriers } when = When::always;
};

/// Runs the passes on a kernel as recorded. Builds without NDEBUG, and PUMICE_VALIDATE=1, verify the result of each pass, so
/// that a pass that breaks the IR is named. PUMICE_DUMP prints the results of the passes it names.
Kernel run(std::span<const Pass> pipeline, const Kernel& recorded, bool wide_offsets);
std::vector<std::string_view> names_of(std::span<const Pass> pipeline);

}  // namespace pumice::ir
