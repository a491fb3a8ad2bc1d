// Derivative kernels: made once for each kernel and signature. launch_derivative.h launches them.
#pragma once
#include "autodiff/api/derivative_call.h"

namespace pumice::derive {

enum class DerivativeMode { forward, adjoint, augmented, reverse };

/// The derivative of a kernel, ready to launch.
struct Derived {
    struct After {
        AnyKernel kernel;
        int64_t items;
        std::optional<AnyKernel> row_by_row;
    };  // as FollowUpKernel
    struct HaloGatherKernel {
        AnyKernel kernel;
        std::optional<AnyKernel> by_rows;
        std::array<int64_t, 3> before, after;
    };
    struct PairwiseKernels {
        AnyKernel kernel, zero;
        std::function<bool(const HostValues&, int64_t, int64_t)> fits;
    };
    struct OwnerComputesKernels {
        struct Owner {
            AnyKernel kernel;
            OwnerComputesAdjoint::OwnerRange range;
            int instructions;
        };
        std::vector<Owner> owners;
        AnyKernel rest;
        std::vector<size_t> summed;  ///< Derived::summed, of the rest
    };
    struct FootprintGatherKernels {
        struct Gatherer {
            AnyKernel kernel;
            std::vector<int> axes;
            size_t parameter;
            std::vector<FootprintGatherAdjoint::Gatherer::Group> groups;
        };
        std::vector<Gatherer> gatherers;
        AnyKernel rest;
        std::vector<size_t> summed;  ///< Derived::summed, of the rest
    };
    struct LoopPartialSumsKernels {
        AnyKernel kernel;
        std::optional<AnyKernel> interchanged;
        AnyKernel total;
        Scalar type;
        int64_t count, passed_values;
        std::function<int64_t(const HostValues&)> iterations;
        bool adds_beside;  ///< the kernel adds to other elements, too
    };
    AnyKernel kernel;
    DerivativeMode mode;
    Signature signature;
    std::vector<After> after = {};  ///< kernels that are launched after `kernel`, with the same arguments
    std::vector<TapeParameter> tapes = {};
    std::optional<AnyKernel> count = {};
    bool count_writes = false;
    std::shared_ptr<const ir::Kernel> primal = nullptr;
    bool by_group = false;  ///< the results of the primal depend on its groups
    /// By parameter of the primal: the derivative loads from it; the derivative writes to it. The tape of a program keeps only
    /// arrays that are read; a step of its reverse sweep writes to copies, because earlier steps need the arrays.
    std::vector<bool> reads = {}, writes = {};
    // These replace `kernel` where they apply (adjoint_strategy.h).
    Lazy<HaloGatherKernel> halo_gather = {};
    Lazy<PairwiseKernels> pairwise = {};
    Lazy<OwnerComputesKernels> owner_computes = {};
    Lazy<FootprintGatherKernels> footprint_gather = {};
    Lazy<LoopPartialSumsKernels> loop_partial_sums = {}, interchanged = {};
    /// Chunked summation: the shadows of `in` arrays to which items add atomically, by parameter of the derivative. Empty where
    /// the range must not be split.
    std::vector<size_t> summed = {};
    Fits fits = {};
    Lazy<Derived> for_any_range = {};  ///< for launches that `fits` refuses
};

/// The derivative of a kernel, from the cache in the kernel; made at the first call.
const Derived& derived(const KernelBase& kernel, DerivativeMode mode, const Signature& signature);

/// `derived`, if it is safe for a launch with these values and items; else the version that is safe in every launch.
const Derived& derived_for(const Derived& derived, const HostValues& known, const std::array<int64_t, 3>& items);

/// The signature of a call. Integers, and arrays without floats, become constant.
Signature signature_of(const ir::Kernel& kernel, const std::vector<ArgumentSlot>& slots, int width, DerivativeMode mode);

}  // namespace pumice::derive
