// PUMICE_TRACE: the description of a launch, with bytes and operations known from the IR.
#pragma once
#include <memory>

#include "core/host/traced_work.h"
#include "core/kernel/kernel.h"

namespace pumice::detail {

/// `kernel` is without calls. `bytes` of an array are at most the bytes that the array spans: items that read one element share
/// it in the caches. A launch like the last one of the kernel has its description.
std::shared_ptr<const TracedWork> traced_launch(const KernelBase& base, const ir::Kernel& kernel, const Launch& launch,
                                                DeviceState& device);

}  // namespace pumice::detail
