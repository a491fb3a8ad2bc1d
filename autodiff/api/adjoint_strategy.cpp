// Strategies: their order, and two whose launch is short.
//
//     pairwise_loops      n-body loops: each item takes the contributions of all others
//     owner_computes      products of matrices: an item for each shadow element
//     footprint_gather    samples at affine positions: an item for each texel gathers from the items around it
//     loop_partial_sums   loops in which all items add to the same elements: sums of iterations in cells
//     halo_gather         stencils: a range wider by the halo, whose items gather
//     scatter             the range of the primal; items add to what they have read, chunked if the sums are long
//
// Why in this order: each of the first five applies to few kernels, and is faster where it applies. The scatter is right for all.
// Cost: a strategy's kernels are made when it is first tried. PUMICE_LOG=1 prints which strategy a launch took, and why not those
// before it.
// Textbook name: multi-versioning with run-time dispatch; each strategy names its own source (autodiff/strategy).
#include "autodiff/api/adjoint_strategy.h"

#include "autodiff/api/launch_derivative.h"
#include "core/host/next_launch_hint.h"
#include "core/support/error.h"

namespace pumice::derive {

std::span<const AdjointStrategy> adjoint_strategies() {
    static constexpr AdjointStrategy all[] = {
        {"pairwise_loops", launch_pairwise_loops},     {"owner_computes", launch_owner_computes},
        {"footprint_gather", launch_footprint_gather}, {"loop_partial_sums", launch_loop_partial_sums},
        {"halo_gather", launch_halo_gather},           {"scatter", launch_scatter},
    };
    return all;
}

/// On a device whose threads have private copies of the shadows (the cpu), scattering to them costs less than computing the
/// contributions of other items (3.3 ms against 4.2 ms for 4,096 bodies).
std::string launch_pairwise_loops(const DerivedLaunch& l) {
    const auto* const pairwise = l.derived.pairwise.get();
    if (!pairwise) return AdjointStrategy::not_made;
    if (!l.decided && l.device->backend->traits().private_sums) return "the device adds to private copies";
    if (l.range.rank != 1) return "the range does not have the kernel's rank";
    if (!pairwise->fits(l.known, l.range.from[0], l.range.to[0])) return "the loop's bounds are not those of the range";
    pairwise->kernel.launch(l.range, l.arguments);
    pairwise->zero.launch(l.range, l.arguments);
    return "";
}

std::string launch_scatter(const DerivedLaunch& l) {
    const detail::NextLaunchHint hint(!l.derived.after.empty());
    launch_in_chunks(l.derived.kernel, *l.derived.primal, l.derived.summed, l.range, l.arguments, *l.device);
    return "";
}

namespace {

/// The kernel for this device; null if there is none.
const AnyKernel* kernel_for(const Derived::HaloGatherKernel& made, const detail::DeviceState& device) {
    if (!device.backend->traits().splits_rows) return &made.kernel;
    return made.by_rows ? &*made.by_rows : nullptr;
}

}  // namespace

std::string launch_halo_gather(const DerivedLaunch& l) {
    const auto* const made = l.derived.halo_gather.get();
    const AnyKernel* const kernel = made ? kernel_for(*made, *l.device) : nullptr;
    if (!kernel) return AdjointStrategy::not_made;
    if (l.derived.primal->range[0]) return "the kernel fixes its range";
    if (l.range.rank != l.derived.primal->rank) return "the range does not have the kernel's rank";
    Range range = l.range;
    for (size_t d = 0, axis = size_t(range.rank); d < size_t(range.rank); ++d) {
        --axis;
        const int64_t halo = made->before[axis] + made->after[axis];
        if (!l.decided && halo > 64 + (range.to[d] - range.from[d]) / 8)
            return text("a halo of ", halo, " items is wide for this range");
        range.from[d] -= made->before[axis];
        range.to[d] += made->after[axis];
        if (range.from[d] < INT32_MIN || range.to[d] > INT32_MAX || range.to[d] - range.from[d] > INT32_MAX)
            return "indices of the wider range exceed 32 bits";
    }
    const detail::NextLaunchHint hint(!l.derived.after.empty());
    kernel->launch(range, l.arguments);
    return "";
}

}  // namespace pumice::derive
