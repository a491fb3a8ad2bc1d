// Strategies: the ways to run a derivative over a range.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "autodiff/api/derived_kernels.h"

namespace pumice::derive {

/// A launch of a derivative.
struct DerivedLaunch {
    const Derived& derived;
    const Range& range;  ///< with its group, if the results depend on it
    const HostValues& known;
    const std::vector<HostArgument>& arguments;  ///< of the derivative: with shadows and tapes
    const std::shared_ptr<detail::DeviceState>& device;
    bool decided = false;  ///< the strategy is taken if it applies, whether it pays or not
};

struct AdjointStrategy {
    const char* name;
    /// Launches the kernels of the strategy, all but Derived::after. If it does not apply or does not pay, launches nothing and
    /// says why not; `not_made` where the derivative has no kernels for it.
    std::string (*launch)(const DerivedLaunch&);
    static constexpr const char* not_made = "there are no kernels for it";
};

/// In the order in which they are tried. The last one, the plain scatter, always applies.
std::span<const AdjointStrategy> adjoint_strategies();

std::string launch_pairwise_loops(const DerivedLaunch&);
std::string launch_owner_computes(const DerivedLaunch&);
std::string launch_footprint_gather(const DerivedLaunch&);
std::string launch_loop_partial_sums(const DerivedLaunch&);
std::string launch_halo_gather(const DerivedLaunch&);
std::string launch_scatter(const DerivedLaunch&);

}  // namespace pumice::derive
