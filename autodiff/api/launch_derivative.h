// Launches of derivative kernels, and their tapes.
#pragma once
#include "autodiff/api/derived_kernels.h"

namespace pumice::derive {

/// Launches a derivative over the range. `slots` are those of its signature. `adjoints`, if not null, receives the adjoints of
/// the active scalars as bits, `width` of them a scalar, in order. The tapes are those in `tape`; if `tape` is null or empty,
/// they are made, and stored in `tape`. `sums`, if not null, receives the arrays that hold the adjoints of the scalars.
void launch(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots, std::vector<uint64_t>* adjoints,
            TapeArrays* tape = nullptr, TapeArrays* sums = nullptr);

/// Launches the derivative of a call, as above; in batches of directions where one kernel for all would be too long.
void launch(const Call& call, DerivativeMode mode, std::vector<uint64_t>* adjoints, TapeArrays* sums = nullptr);

/// Launches the kernel of a derivative; split into pieces where too many floats may be added to an element of the arguments in
/// `summed` (chunked_summation.cpp).
void launch_in_chunks(const AnyKernel& kernel, const ir::Kernel& primal, const std::vector<size_t>& summed, const Range& range,
                      const std::vector<HostArgument>& arguments, const detail::DeviceState& device);

/// The device of a launch: that of its stream, else that of its arrays, else the default device.
std::shared_ptr<detail::DeviceState> device_of(const Range& range, const std::vector<ArgumentSlot>& slots);
/// Allocates the tapes of a derivative, whose sizes the arguments of the launch decide. Throws Error naming the bytes.
TapeArrays make_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots);
/// Throws Error where the tapes differ in number, type or size from those of make_tapes; the sizes of counted tapes are not
/// checked.
void check_tapes(const Derived& derived, const Range& range, const std::vector<ArgumentSlot>& slots, const TapeArrays& tapes);
/// The element of a scalar type; one object for each type.
const Element& element_of(Scalar type);

}  // namespace pumice::derive
