// The arguments of compiled code, in plain C layout, since LLVM text reads them by offset.
#pragma once
#include <cstddef>
#include <cstdint>

namespace pumice::cpu {

/// One parameter of the kernel, in order.
struct FrameArgument {
    uint64_t bits = 0;                 ///< an array's first byte as an address; a scalar's bits, in the low bytes
    const int64_t* extents = nullptr;  ///< of an array: axis 0 first, one for each dimension
};

/// One thread's part of a launch, with `scratch` memory of its own.
struct Frame {
    const FrameArgument* arguments = nullptr;
    std::byte* scratch = nullptr;   ///< Emitted::scratch_bytes, aligned to 64; initially undefined for every group
    std::byte* ring = nullptr;      ///< where print and require write (core/host/ring.h); null if the kernel has neither
    int32_t start[3] = {};          ///< first global index along each axis (axis 0 first)
    int32_t extent[3] = {1, 1, 1};  ///< items along each axis
    int32_t count[3] = {1, 1, 1};   ///< groups along each axis
    uint32_t launch = 0;            ///< the launch's number in the ring's records
    int32_t columns[2] = {0, 1};    ///< the groups [columns[0], columns[1]) along axis 0 that are run in each row
};
static_assert(offsetof(Frame, start) == 24 && offsetof(Frame, extent) == 36 && offsetof(Frame, count) == 48 &&
              offsetof(Frame, columns) == 64);

/// A compiled kernel: runs `count` groups that lie in Frame::columns. `first` is the linear index of the first of them among all
/// groups of the launch (axis 0 is the fastest). Other threads see the stores of a streaming variant only after a fence.
using Entry = void(const Frame* frame, int64_t first, int64_t count);

}  // namespace pumice::cpu
