// PUMICE_TRACE: the description of a launch, with bytes and operations known from the IR.
#pragma once
#include <atomic>
#include <memory>
#include <string>

#include "core/host/traced_work.h"
#include "core/kernel/kernel.h"

namespace pumice::detail {

/// `kernel` is without calls; `number` is that of `base`, which no other kernel has. `bytes` of an array are at most the bytes
/// that the array spans: items that read one element share it in the caches. Launches alike have one description.
std::shared_ptr<const TracedWork> traced_launch(const KernelBase& base, uint64_t number, const ir::Kernel& kernel,
                                                const Launch& launch, DeviceState& device);

/// trace::lasting(name), which `known` keeps.
const char* lasting_name(const std::string& name, std::atomic<const char*>& known);

}  // namespace pumice::detail
