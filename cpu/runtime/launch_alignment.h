// For which launches it is worth it to lay packets out by lines of memory (cpu/plan/alignment_peeling.h).
#pragma once
#include "core/host/backend.h"

namespace pumice::cpu {

/// Whether a launch of a kernel, as it was recorded, gains by packets that lie in whole lines. `streaming`: stores go past the caches, which
/// takes whole lines.
bool worth_lead(const ir::Kernel& kernel, const Launch& launch, bool streaming);

}  // namespace pumice::cpu
