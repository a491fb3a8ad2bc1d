// What compiled code is called with: plain C layout, since LLVM text reads it by offsets.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pumice::cpu {

/// One parameter of the kernel, in order.
struct FrameArgument {
    uint64_t bits = 0;                 ///< an array's first byte as an address; a scalar's bits, in the low bytes
    const int64_t* extents = nullptr;  ///< arrays: axis 0 first, as many as the array has dimensions
};

/// One thread's part of a launch. `scratch` and `ring` are the thread's, all else is the launch's.
struct Frame {
    const FrameArgument* arguments = nullptr;
    std::byte* scratch = nullptr;   ///< Emitted::scratch_bytes, aligned to 64; what it holds before a group is never read
    std::byte* ring = nullptr;      ///< core/host/ring.h: where print and require write; null where the kernel has neither
    int32_t start[3] = {};          ///< first global index along each axis (axis 0 first)
    int32_t extent[3] = {1, 1, 1};  ///< items along each axis
    int32_t count[3] = {1, 1, 1};   ///< groups along each axis
    uint32_t launch = 0;            ///< the launch's number in the ring's records
    int32_t columns[2] = {0, 1};    ///< the groups along axis 0 that are run in each row: from the one on, before the other
};
static_assert(offsetof(Frame, start) == 24 && offsetof(Frame, extent) == 36 && offsetof(Frame, count) == 48 &&
              offsetof(Frame, columns) == 64);

/// A compiled kernel: runs `count` groups of Frame::columns, from the linear index `first` on (axis 0 is the fastest). Of a streaming
/// variant's stores others know only behind a fence.
using Entry = void(const Frame* frame, int64_t first, int64_t count);

}  // namespace pumice::cpu
