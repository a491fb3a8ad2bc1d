// The processor for which the device cpu compiles: this machine's, or a level of x86-64 that PUMICE_CPU_TARGET names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cpu/native/llvm.h"

namespace pumice::cpu {

/// "native": host_machine(). "x86-64-v2", "x86-64-v3" and "x86-64-v4": the levels of the x86-64 psABI, for the host's system.
/// Throws Error for another name.
Machine machine_named(std::string_view name);
/// The features of `machine` that the host lacks. If there are none, its code runs here.
std::vector<std::string> features_lacking(const Machine& machine);
/// The machine that PUMICE_CPU_TARGET names, else the host. Throws Error if the host cannot run its code.
Machine target_machine();

}  // namespace pumice::cpu
