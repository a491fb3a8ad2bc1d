// The bundles of libraries: opened at the first use, for all devices of the process.
#pragma once
#include "runtime/bundle/bundle.h"

namespace pumice_rt {

/// The opened bundle of a library. Thread-safe; a second call costs one load.
pumice_status bundle_of(const pumice_library* library, const Bundle*& bundle);

/// Gives an error to the device's hook, and returns the status; `device` may be null.
pumice_status report(pumice_device device, pumice_status status);

}  // namespace pumice_rt
