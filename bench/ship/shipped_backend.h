// A device that runs the kernels of a shipped library by libpumice_rt: cases written for Pumice's devices run on it unchanged.
#pragma once
#include <pumice/pumice.h>
#include <pumice/pumice_rt.h>

namespace bench::ship {

/// Opens the runtime's device ("cpu", "vulkan") for kernels of the library, which are found by their names. Throws Error.
pumice::Device open(const pumice_library& library, const std::string& spec);

}  // namespace bench::ship
