// The CPU device, for the list of backends.
#pragma once
#include <memory>
#include <string>

#include "core/host/backend.h"

namespace pumice::cpu {

/// Why the device cannot be used, as a sentence; "" where it can.
std::string unavailable_reason();
/// "cpu (znver4, 16 wide, 2 threads)", after the debug switches PUMICE_CPU_WIDTH and PUMICE_CPU_THREADS.
std::string name();
Limits limits();
/// Opens the device. Throws Error where it cannot be used, or where a debug switch has no meaning.
std::shared_ptr<Backend> open();

}  // namespace pumice::cpu
