// Kernel text with what the analyses know as comments: PUMICE_DUMP=analysis prints it for the kernel after the last pass.
//
//   # arg1: written
//   # arg2: read
//   kernel "rows" math contract rank 2 (arg1: out f32[2], arg2: in f32[2]) files [] {
//     %0 = global_index 0 : i32  # item: global0; 1 use
//     %1 = global_index 1 : i32  # item: global1; 1 use
//     %2 = extent arg2, 0 : i32  # launch; 1 use
//     %3 = mul %1, %2 : i32  # item: global1*%2 modulo 2^32; 1 use
//     %4 = add %3, %0 : i32  # item: global0 + global1*%2 modulo 2^32; 2 uses
//     %5 = load arg2[%4] : f32  # item; 1 use
//     for %10 = %6 to %7 step %8 {  # 8 iterations, control: launch
//       store arg1[%4], %5 : f32  # may alias 1
//
// A value has its scope of uniformity (launch, group, subgroup, item); if it differs between items and is affine in their
// indices, its form; its number of uses; and, in a for, whether other items can rematerialise it. A construct has the scope in
// which its control flow is uniform, and a loop its trip count, if that is constant. An access has the number of other accesses
// that must or may touch the same bytes, if one of the two writes. The text parses to the same kernel.
// Cost: one run of each analysis; made only when it is dumped. Field's name: analysis printer (LLVM's print<analysis> passes).
#pragma once
#include <string>

#include "core/ir/ir.h"

namespace pumice::ir {

/// For kernels without functions and variables, as passes leave them.
std::string annotated(const Kernel& kernel);

}  // namespace pumice::ir
