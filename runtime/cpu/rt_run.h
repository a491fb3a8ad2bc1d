// Running a native function over a launch's groups: frames, shares for threads, and private copies of sums.
#pragma once
#include "runtime/cpu/rt_frame.h"
#include "runtime/cpu/rt_scratch_blocks.h"
#include "runtime/cpu/rt_thread_pool.h"
#include "runtime/device/rt_device.h"

namespace pumice_rt {

/// The bytes of memory of the device cpu.
char* host_bytes(pumice_memory memory);

/// The priority of the stream's work in the pool.
inline int priority_of(pumice_stream stream) { return (stream ? stream->priority : 0) + 1; }

/// A native function with what is measured of it.
struct NativeCode {
    const NativeRecord* record;
    Entry* entry;
    float group_ns;  ///< nanoseconds of a group, first estimated and then measured; several threads read and write it
};

/// Runs the launch, whose axes are arranged, and returns when it is done. `ring`: for print and require, or null.
pumice_status run_native(const Launch& launch, NativeCode& code, ThreadPool& pool, ScratchBlocks& blocks, uint32_t* ring,
                         uint32_t number);

}  // namespace pumice_rt
