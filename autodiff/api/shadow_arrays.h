// Shadows and copies of arrays: memory like that of another array, arguments over it, sums.
#pragma once
#include "autodiff/api/derivative_call.h"

namespace pumice::derive {

/// to += from, for each floating leaf. Both arrays have the same element type and count.
void accumulate(const std::shared_ptr<detail::ArrayState>& to, const std::shared_ptr<detail::ArrayState>& from);

/// A new array of `bytes` bytes, zero or unset, with the element type and device of `like`.
std::shared_ptr<detail::ArrayState> allocate_like(const detail::ArrayState& like, int64_t bytes, bool zero);
void fill_zero(const detail::ArrayState& array);
/// The whole array as an argument of one dimension.
HostArgument argument_of(const detail::ArrayState& array);
/// The same argument over other memory.
HostArgument rebound(const HostArgument& argument, const detail::ArrayState& array);

/// Arguments over other memory, which lives as long as this.
class OtherMemory {
public:
    HostArgument over(const HostArgument& argument, std::shared_ptr<detail::ArrayState> array);
    HostArgument over(const HostArgument& argument, std::shared_ptr<detail::ImageState> image);
    /// The argument, an allocated array or image, over new memory. `contents`: with what it holds.
    HostArgument copy_of(const HostArgument& argument, bool contents);
    /// The shadow of an argument, an array or image, as an argument. A shadow is an array.
    HostArgument shadow(const HostArgument& argument, std::shared_ptr<detail::ArrayState> array);

private:
    std::vector<std::shared_ptr<void>> kept;
};

/// True for an array or image with memory.
bool has_memory(const HostArgument& argument);

}  // namespace pumice::derive
