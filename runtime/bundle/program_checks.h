// Checks of the programs in a bundle.
#pragma once
#include "runtime/bundle/bundle.h"

namespace pumice_rt {

constexpr uint32_t most_program_sizes = 16, most_entry_arguments = 128, most_results = 64, most_scans = 4096;

/// Checks every reference and number of the records of programs. The kernels have been checked.
pumice_status check_programs(const Bundle& bundle);

}  // namespace pumice_rt
