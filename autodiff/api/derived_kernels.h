// Derivative kernels: made once for each kernel and signature, and launched.
#pragma once
#include <mutex>

#include "autodiff/api/derivative_call.h"

namespace pumice::derive {

enum class Mode { forward, adjoint, augmented, reverse };

/// The derivative of a kernel, ready to launch.
struct Derived {
    struct After {
        AnyKernel kernel;
        int64_t items;
        std::optional<AnyKernel> row_by_row;
    };  // as Step
    struct HaloGatherKernel {
        AnyKernel kernel;
        std::optional<AnyKernel> by_rows;
        std::array<int64_t, 3> before, behind;
    };
    struct PairwiseKernels {
        AnyKernel kernel, zero;
        std::function<bool(const HostValues&, int64_t, int64_t)> fits;
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
    Mode mode;
    Signature signature;
    std::vector<After> after;  // kernels that are launched after `kernel`, with the same arguments
    std::vector<Tape> tapes;
    std::optional<AnyKernel> count;
    bool count_writes = false;
    std::shared_ptr<const ir::Kernel> primal;
    bool by_group = false;  // the results of the primal depend on its groups
    // By parameter of the primal: the derivative loads from it; the derivative writes to it. The tape of a program keeps only
    // arrays that are read; a step of its reverse sweep writes to copies, because earlier steps need the arrays.
    std::vector<bool> reads, writes;
    std::optional<HaloGatherKernel> halo_gather;                            // replaces `kernel` where it applies
    std::optional<PairwiseKernels> pairwise;                                // likewise
    std::optional<LoopPartialSumsKernels> loop_partial_sums, interchanged;  // likewise
    // Chunked summation: the shadows of `in` arrays to which items add atomically, by parameter of the derivative. Empty where
    // the range must not be split.
    std::vector<size_t> summed;
    /// The derivative for launches that `fits` refuses; made for the first such launch.
    struct Any {
        std::once_flag once;
        std::unique_ptr<Derived> derived;
    };
    Fits fits;
    std::shared_ptr<Any> any;
};

/// The derivative of a kernel, from the cache in the kernel; made at the first call.
const Derived& derived(const KernelBase& kernel, Mode mode, const Signature& signature);

/// `derived`, if it is safe for a launch with these values and items; else the version that is safe in every launch.
const Derived& derived_for(const Derived& derived, const HostValues& known, const std::array<int64_t, 3>& items);

/// The signature of a call. Integers, and arrays without floats, become constant.
Signature signature_of(const ir::Kernel& kernel, const std::vector<ArgumentSlot>& slots, int width, Mode mode);

/// Launches a derivative over the range. `slots` are those of its signature. `adjoints`, if not null, receives the adjoints of
/// the active scalars as bits, `width` of them a scalar, in order. The tapes are those in `tape`; if `tape` is null or empty,
/// they are made, and stored in `tape`. `sums`, if not null, receives the arrays that hold the adjoints of the scalars.
void launch(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots, std::vector<uint64_t>* adjoints,
            TapeArrays* tape = nullptr, TapeArrays* sums = nullptr);

/// Launches the derivative of a call, as above; in batches of directions where one kernel for all would be too long.
void launch(const Call& call, Mode mode, std::vector<uint64_t>* adjoints, TapeArrays* sums = nullptr);

/// Launches the kernel of a derivative; split into pieces where too many floats may be added to an element of the arguments in
/// `summed` (chunked_summation.cpp).
void launch_in_chunks(const AnyKernel& kernel, const ir::Kernel& primal, const std::vector<size_t>& summed, const Range& range,
                      const std::vector<HostArgument>& arguments, const detail::DeviceState& device);

/// Launches the adjoint with loop partial sums, if there are such kernels and they pay. True if it did.
bool launch_loop_partial_sums(const Derived& derived, const Range& range, const HostValues& known,
                              const std::vector<HostArgument>& arguments, const std::shared_ptr<detail::DeviceState>& device);

/// The device of a launch: that of its stream, else that of its arrays, else the default device.
std::shared_ptr<detail::DeviceState> device_of(const Range& range, const std::vector<ArgumentSlot>& slots);
/// Allocates the tapes of a derivative, whose sizes the arguments of the launch decide. Throws Error naming the bytes.
TapeArrays make_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots);
/// Throws Error where the tapes differ in number, type or size from those of make_tapes; the sizes of counted tapes are not
/// checked.
void check_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots, const TapeArrays& tapes);
/// The element of a scalar type; one object for each type.
const Element& element_of(Scalar type);

/// to += from, for each floating leaf. Both arrays have the same element type and count.
void accumulate(const std::shared_ptr<detail::ArrayState>& to, const std::shared_ptr<detail::ArrayState>& from);

/// A new array of `bytes` bytes, zero or unset, with the element type and device of `like`.
std::shared_ptr<detail::ArrayState> allocate_like(const detail::ArrayState& like, int64_t bytes, bool zero);
void fill_zero(const detail::ArrayState& array);
/// The whole array as an argument of one dimension.
HostArgument argument_of(const detail::ArrayState& array);
/// The same argument over other memory.
HostArgument rebound(const HostArgument& argument, const detail::ArrayState& array);

bool has_floats(const Element& element);
bool overlap(const detail::ArrayState& a, const detail::ArrayState& b);

/// Checks a scalar that is differentiated. Gives a sentence with the error, or "".
std::string wrong_scalar(const ArgumentSlot& slot, const std::string& who, int width, bool forward);
/// The same for an argument of a program.
std::string wrong_in_program(const ArgumentSlot& slot, int width, bool forward);
/// The same for a Duplicated array and its shadows. `who` is the name of the argument in messages.
std::string wrong_array(const ArgumentSlot& slot, const std::string& who, int width);

/// Throws Error for the first misuse of a call.
void check(const Call& call, bool forward);

}  // namespace pumice::derive
