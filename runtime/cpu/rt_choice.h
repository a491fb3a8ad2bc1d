// The choice of a native function for a launch: the best level of instruction sets that the processor has (x86-64-v2, v3, v4),
// then its group size and its variant, by the rules of the library's device cpu.
//
// A bundle has a kernel's code for some group sizes and kinds of launches (NativeRecord). Where items cannot tell their group
// (KernelRecord::movable) any of them is right, and the rules of cpu/runtime/cpu_program.cpp say which is fast; else the group
// size must be the launch's. Cost: a loop over the kernel's records, at every launch.
#pragma once
#include "runtime/cpu/rt_run.h"

namespace pumice_rt {

constexpr int64_t long_range = 65536;  ///< items, as the library's
constexpr int64_t most_peeled = 16;    ///< a peeled row begins early by fewer items

/// True if items own ranges of this argument's elements between adjacent bounds (ParameterRecord::bounds), and threads shall add
/// to the array itself if the bounds never decrease: nothing else uses the array meanwhile, and it is not small.
bool items_own(const Launch& launch, uint32_t parameter);

/// The function for a launch whose axes are arranged already, among the usable ones (entry is not null) of the best level up to
/// `most_level`; null: there is none for its group size or for this processor. `codes`: one for each NativeRecord of the bundle.
NativeCode* choose_native(const Launch& launch, NativeCode* codes, uint32_t most_level, int threads, int64_t cache_bytes);

}  // namespace pumice_rt
