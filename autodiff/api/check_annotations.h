// Checks of the annotations of a call.
#pragma once
#include "autodiff/api/derivative_call.h"

namespace pumice::derive {

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

/// Throws Error if the kernel has a rule for this mode. `who` makes derivatives by the transforms alone.
void check_no_rule(const KernelBase& kernel, bool forward, std::string_view who);

}  // namespace pumice::derive
