// The C function of an object: its prototype, its header, and the LLVM function that calls the code of the emitter.
//
// Why: the emitter's entry point takes a frame (cpu/native/frame.h) and a range of groups, which is a matter of this library. A C
// program has arrays, scalars and the extents of a range.
//
//     void saxpy(float* arg1, int64_t arg1_n0, const float* arg2, int64_t arg2_n0, float arg3, int64_t n0);
//
//     define void @saxpy(ptr %arg1, i64 %arg1_n0, ptr %arg2, i64 %arg2_n0, float %arg3, i64 %n0) {
//       %frame = alloca ...                              arguments, extents, range and groups
//       call void @pumice_kernel(ptr %frame, i64 0, i64 %groups)
//     }
//
// A function (and a kernel for BPF) runs as one work-item: scalars come by value, one result is returned by value, several go
// through pointers. The frame disappears there, since all is inlined into one function.
// Cost: a kernel's call fills a frame of some hundred bytes. Limits: extents and ranges are below 2^31, as `lower` assumes.
// Textbook name: a foreign-function wrapper (thunk).
#pragma once
#include <array>
#include <string>

#include "core/host/object_code.h"
#include "core/ir/ir.h"
#include "cpu/retarget/target_processor.h"

namespace pumice::cpu {

struct CInterface {
    std::string prototype, header;
    std::string text;  ///< the LLVM function
};

/// A C function of that name for a kernel that runs over a range, in groups of this size.
CInterface range_interface(const ir::Kernel& kernel, const std::string& symbol, const std::string& section,
                           const std::array<int64_t, 3>& group, int64_t scratch_bytes, const std::string& triple);
/// For a kernel that runs as one work-item. `returns`: the parameter whose elements are the results; -1: none.
CInterface item_interface(const ir::Kernel& kernel, const std::string& symbol, const std::string& section, int returns,
                          const TargetProcessor& processor);

}  // namespace pumice::cpu
