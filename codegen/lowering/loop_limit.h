// Bound on loop iterations, for drivers that end the loops of a work-item after a limit (loop_limit.cpp).
#pragma once
#include <cstdint>
#include <string>

#include "core/ir/ir.h"

namespace pumice::codegen {

/// Upper bound on the iterations of all loops of a work-item together, including those in the prelude's functions that
/// operations call; INT64_MAX if no bound is known. The kernel's calls must have been inlined.
int64_t most_iterations(const ir::Kernel& kernel);

/// The kernel with the requirement in front of each return, under the kernel's own source line; unchanged if its bound is below
/// the limit. The kernel's calls must have been inlined. `device` is the device's name in the message.
ir::Kernel require_loops(const ir::Kernel& kernel, int64_t limit, const std::string& device);

}  // namespace pumice::codegen
