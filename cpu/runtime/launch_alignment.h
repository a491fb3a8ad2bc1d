// Cost model: the launches for which alignment peeling pays (cpu/plan/alignment_peeling.h).
#pragma once
#include "core/host/backend.h"

namespace pumice::cpu {

/// True if a launch of a kernel, as recorded, gains by packets aligned to cache lines. `streaming`: it has non-temporal stores,
/// which want whole lines.
bool worth_peeling(const ir::Kernel& kernel, const Launch& launch, bool streaming);

}  // namespace pumice::cpu
