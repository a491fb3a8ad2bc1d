// The kernel that clears consumed shadows after a gathering adjoint.
#pragma once
#include <optional>

#include "core/ir/ir.h"

namespace pumice::derive {

struct Primal;

/// The kernel that stores zero to the shadows of the stores of the primal, with the parameters of `beside`. Items of a
/// gathering kernel read the shadows of other items, so the shadows are cleared after it.
ir::Kernel clear_shadows(const Primal& primal, const ir::Kernel& beside);
/// FollowUpKernel::row_by_row of such a kernel: strip-mined over rows.
std::optional<ir::Kernel> row_by_row(const ir::Kernel& clearing);

}  // namespace pumice::derive
