// The arguments of native functions. Their layout is that of cpu/native/frame.h, by whose offsets the library's LLVM emitter
// makes the code read them; rt_choice_test.cpp compares both.
#pragma once
#include <stdint.h>

namespace pumice_rt {

struct FrameArgument {
    uint64_t bits;           ///< an array's first byte as an address; a scalar's bits
    const int64_t* extents;  ///< of an array: axis 0 first
};

struct Frame {
    const FrameArgument* arguments;
    void* scratch;  ///< aligned to 64 bytes
    void* ring;     ///< for print and require; else null
    int32_t start[3], extent[3], count[3];
    uint32_t launch;
    int32_t columns[2];  ///< the groups [columns[0], columns[1]) along axis 0 that are run in each row
};

/// Runs `count` groups that lie in Frame::columns. `first` is the linear index of the first of them among all groups.
using Entry = void(const Frame* frame, int64_t first, int64_t count);

}  // namespace pumice_rt
