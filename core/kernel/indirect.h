// Launches over indirect ranges: the check of the counts, and the kernel that reads them.
#pragma once
#include "core/kernel/kernel.h"

namespace pumice::detail {

/// Bytes of the array of Launch::counts.
inline constexpr int64_t counts_bytes = 6 * sizeof(int32_t);

/// The kernel's code for the device; compiled at the first call.
const std::shared_ptr<Executable>& executable_of(const KernelBase& kernel, const std::shared_ptr<DeviceState>& device);

/// The fault of the range's counts or limits, as the rest of a sentence about the launch; "" if there is none.
std::string wrong_counts(const ir::Kernel& kernel, const Range& range);

/// Starts the kernel that checks the counts on the range's stream. Gives its result, the array of Launch::counts: a copy, so that
/// the launch may overwrite the counts. `group`: of the launch, axis 0 first.
std::shared_ptr<ArrayState> counts_now(const KernelBase& kernel, const Range& range, const std::array<int64_t, 3>& group);
/// The range with such an array for its counts.
Range with_counts(const Range& range, std::shared_ptr<ArrayState> counts);
/// An indirect range with a checked copy of its counts, so that all launches of a derivative run over the same extents; other
/// ranges as they are. Throws Error if the counts are wrong. `device`: that of the arguments.
Range range_now(const KernelBase& kernel, const Range& range, const DeviceState* device);
/// The array as argument of indirect_form().
HostArgument counts_argument(const ArrayState& counts);

/// The kernel with the counts as last argument (core/lowering/indirect_range.h). `with_rules`: functions that have derivative
/// rules are still called; throws Error if that is impossible.
const KernelBase& indirect_form(const KernelBase& kernel, bool with_rules);

/// A launch over an indirect range as one over a range that the host knows, that of the limits: for derivatives.
struct DirectLaunch {
    KernelBase kernel;  ///< indirect_form
    Range range;
    std::shared_ptr<ArrayState> counts;
    HostArgument last;  ///< argument after those of the launch
};
/// `range`: as range_now() gives it.
DirectLaunch direct_launch(const KernelBase& kernel, const Range& range);

}  // namespace pumice::detail
