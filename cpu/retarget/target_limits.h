// Legality of a kernel on a target: refuses what the target, or an object without the library, cannot do.
//
// Why: LLVM reports such things late, without the line of the source, and for some of them it ends the process.
//
//     %3 = mul %1, %2 : f32 @7          for "bpf":   function "f" (k.cpp:5) computes with f32 at k.cpp:7 (mul); BPF has no floats
//     print "i={}", %0 @9               any target:  ... prints at k.cpp:9; an object has no library that takes the lines
//
// Every target refuses print, require, digamma and trigamma: these need functions of the library. A function and a kernel for BPF
// run as one work-item, so they have no barriers and no local memory. BPF refuses floats, atomics, extents of arrays, and more
// parameters than registers. A kernel for BPF returns the one element of its Out array; the index of each access must be 0.
// Cost: one scan of the lowered kernel. Limits: what is refused only by LLVM (128-bit products on BPF) comes as LLVM's message.
#pragma once
#include <string>

#include "core/ir/ir.h"

namespace pumice::cpu {

/// The source of an object.
enum class ObjectOf : uint8_t { kernel, function };

/// Throws Error for an instruction of the lowered kernel that the target refuses. `what`: as named(), with the right noun.
void check_limits(const ir::Kernel& lowered, ObjectOf of, bool is_bpf, const std::string& what);

}  // namespace pumice::cpu
