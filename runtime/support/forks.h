// Forks of the process: threads of the parent, and what they have not done yet, do not exist in the child.
#pragma once
#include <stdint.h>

namespace pumice_rt {

/// The number of forks that led from the first call of watch_forks() to this process. What has another number than at its making
/// was made by a parent of the process.
extern uint32_t forks;

/// Counts forks from now on. False if the system has no memory for that.
bool watch_forks();

}  // namespace pumice_rt
