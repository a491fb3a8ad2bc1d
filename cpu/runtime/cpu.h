// The CPU device, for the list of backends.
#pragma once
#include <memory>
#include <string>

#include "core/host/backend.h"

namespace pumice::cpu {

/// The reason why the device cannot be used, as a sentence; "" if it can.
std::string unavailable_reason();
/// "cpu (znver4, 16 wide, 2 threads)", as PUMICE_CPU_WIDTH and PUMICE_CPU_THREADS request.
std::string name();
Limits limits();
/// Opens the device. Throws Error if it cannot be used, or if a debug switch is invalid.
std::shared_ptr<Backend> open();

}  // namespace pumice::cpu
